# SPDX-License-Identifier: Apache-2.0
"""Consecutive reductions without a pause: is each result copied, whoever writes the records, and is none overwritten
before?"""

from __future__ import annotations

import numpy as np
import pytest
from thalweg.systems.peach2 import _sim
from thalweg.systems.peach2.cluster import pair_of
from thalweg.systems.peach2.hubs import Hubs, Node

CONTEXT = 3
RECORD = 32  # bytes: two beats
RECORDS = 1 << 16
"""Address of the records in a GPU's memory."""


def hub_of(node: Node, at: int = 0) -> int:
    return _sim.hub_address(node.number, at)


def copies_each_result(node: Node, to: int) -> int:
    """Makes the hub itself copy the context's results to `to`; returns the context's address."""
    chain, calculator = hub_of(node, 0x30002000), hub_of(node, 0x20000000 + CONTEXT * (1 << 26))
    op, datatype = pair_of("sum float32")
    node.store(chain, np.array([calculator, to, 0, RECORD | 1 << 32], np.uint64))
    node.store(
        hub_of(node, 0x38000500 + 16 * CONTEXT),
        np.array([2 | op << 32 | datatype << 40 | 1 << 48, chain | 1 << 63], np.uint64),
    )
    return calculator


@pytest.mark.parametrize("others", [False, True])
@pytest.mark.parametrize("count", [1, 100, 1000])
def test_each_result_is_copied(count: int, others: bool) -> None:
    """With `others`, all nodes write records into one calculator at once; the result is sent to another calculator,
    which sums all."""
    hubs = Hubs("peach2-ring-4")
    root, writers = hubs.nodes[0], hubs.nodes if others else hubs.nodes[:1]
    total, wanted = hub_of(root, 0x20000000 + (1 << 26)), len(writers) * count
    op, datatype = pair_of("sum float32")
    root.store(hub_of(root, 0x38000510), np.array([2 * wanted | op << 32 | datatype << 40 | 1 << 48, 0], np.uint64))
    calculator = copies_each_result(root, total)
    hubs.run()
    for node in writers:
        node.gpus[0].write(RECORDS, np.repeat(np.arange(1, count + 1, dtype=np.float32), 8))
        node.put(calculator, node.gpus[0].address(RECORDS), RECORD * count)
    hubs.run()
    root.work(wanted * 2000)
    hubs.run()
    counts = root.counts()
    assert counts["results"][CONTEXT] == wanted
    assert counts["chains"] == wanted + 1
    assert (counts["missed"], counts["faults"], counts["strays"], counts["dropped"]) == (0, 0, 0, 0)
    root.put(root.processor.address(), total, RECORD)
    hubs.run()
    assert root.processor.read(0, 8, np.float32) == pytest.approx(len(writers) * count * (count + 1) / 2)
