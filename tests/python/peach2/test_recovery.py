# SPDX-License-Identifier: Apache-2.0
"""After a run has stopped, are later operations unaffected?"""

from __future__ import annotations

import numpy as np
import pytest
from thalweg.errors import FabricStopped, InputError
from thalweg.systems.peach2.hubs import Group, Hubs, Reduction

RESULT = 1 << 20


def stopped(hubs: Hubs, said: str) -> None:
    with pytest.raises(FabricStopped, match=said):
        hubs.run()


def sums(hubs: Hubs, group: Group, value: float, particles: int = 1) -> None:
    """Reduces 8 x 8 fields of a value in each node, to records of `particles`."""
    for number in group.nodes:
        node = hubs.nodes[number]
        node.gpus[0].write(0, np.full(64, value, np.float32))
        group.reduce(number, [(node.gpus[0].address(), 256)])
    hubs.run()
    for number in group.nodes:
        assert (
            hubs.nodes[number].processor.read(RESULT, 8, np.float32) == 8 // particles * value * len(group.nodes)
        ).all()


@pytest.mark.parametrize("missing", range(3))
@pytest.mark.parametrize("before", [0, 1, 2])
def test_a_group_of_which_a_node_did_not_come(missing: int, before: int) -> None:
    hubs = Hubs("peach2-ring-4")
    group = hubs.group([0, 1, 2], RESULT)
    for turn in range(before):
        sums(hubs, group, 1 + turn)
    for number in group.nodes:
        if number != missing:
            group.reduce(number, [(hubs.nodes[number].gpus[0].address(), 32)])
    stopped(hubs, "the processor of node . has waited since .* for")
    with pytest.raises(InputError, match="the group is invalid"):
        group.reduce(missing, [(hubs.nodes[missing].gpus[0].address(), 32)])
    for context, record in ((0, 32), (2, 64)):
        again = hubs.group([2, 1, 0], RESULT, Reduction(context=context, record_bytes=record))
        for turn in range(3):
            sums(hubs, again, 10 + turn, record // 32)


@pytest.mark.parametrize("by_hub", [True, False])
def test_operations_after_a_wait_for_nothing(by_hub: bool) -> None:
    hubs = Hubs("peach2-ring-4")
    node, other = hubs.nodes[:2]
    node.gpus[0].write(0, np.ones(64, np.float32))

    def all_sorts() -> None:
        node.put(other.processor.address(64), node.gpus[0].address(), 64, wait=False)
        node.put(other.processor.address(256), node.gpus[0].address(), 64, "host", wait=False)
        other.get(other.processor.address(512), node.gpus[0].address(), 64)
        node.reduce(other.processor.address(1024), [(node.gpus[0].address(), 256)], by_hub=by_hub)

    all_sorts()
    waits = node.wait_for(0, 1)
    all_sorts()
    discarded = node.work(5)
    stopped(hubs, "the processor of node 0 has waited since .* us for 1 at 0 of its memory")
    assert waits.begin_us > 0 and not waits.done
    for time in ("end_us", "time_us"):
        for operation in (waits, discarded):
            with pytest.raises(InputError, match="the operation never ended: a stopped run has discarded it"):
                getattr(operation, time)
    with pytest.raises(InputError, match="the operation has not been executed"):
        _ = node.work(5).time_us
    for _ in range(2):
        all_sorts()
        hubs.run()
    assert (other.processor.read(1024, 8, np.float32) == 8).all()
