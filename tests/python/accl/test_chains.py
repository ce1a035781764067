# SPDX-License-Identifier: Apache-2.0
"""Is the cost of chains and of many outstanding calls proportional to their number, and are their reports short?"""

from __future__ import annotations

import random
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from thalweg.accl import AcclError, Rank, run
from thalweg.errors import FabricStopped
from thalweg.systems.accl.report import counted
from thalweg.systems.accl.unread_results import UnreadResults

LONG = 4000


def chain(rank: Rank) -> None:
    requests = [rank.nop(run_async=True)]
    for _ in range(LONG):
        requests.append(rank.nop(run_async=True, waitfor=requests[-1:]))
    requests[-1].wait()


def at_once(rank: Rank) -> None:
    for request in [rank.nop(run_async=True) for _ in range(LONG)]:
        request.wait()


def copies(rank: Rank) -> None:
    """Between parts of two buffers, none of which has been waited for."""
    numbers, copied = rank.create_buffer(np.arange(LONG, dtype=np.int32)), rank.create_buffer(LONG, np.int32)
    requests = [rank.copy(numbers[k : k + 1], copied[k : k + 1], 1, run_async=True) for k in range(LONG)]
    for request in requests:
        request.wait()
    assert (copied.array == np.arange(LONG)).all()


@pytest.mark.serial
@pytest.mark.parametrize("program", [chain, at_once, copies])
def test_thousands_of_calls_take_seconds(program: Any) -> None:
    begin = time.process_time()
    run(program, ranks=1)
    assert time.process_time() - begin < 3


def test_a_chain_that_branches() -> None:
    """A call begins when its last predecessor ends; each takes the same time, so the ends are those of the longest
    paths."""

    def program(rank: Rank) -> list[float]:
        numbers = [rank.create_buffer(10) for _ in range(7)]
        before: dict[int, list[int]] = {0: [], 1: [0], 2: [0], 3: [1, 2], 4: [], 5: [3, 4, 4], 6: [5, 0]}
        made: list[Any] = []
        for k, earlier in before.items():
            made.append(
                rank.kernel().copy(numbers[k], numbers[k], 10, run_async=True, waitfor=[made[e] for e in earlier])
            )
        for each in made:
            each.wait()
        assert all(made[k].ended_us > made[e].ended_us for k, earlier in before.items() for e in earlier)
        return [each.ended_us for each in made]

    (ends,) = run(program, ranks=1).values
    assert sorted(range(7), key=ends.__getitem__)[-2:] == [5, 6]


def test_a_failure_goes_down_a_chain_to_its_end() -> None:
    def program(rank: Rank) -> None:
        requests = [rank.recv(rank.create_buffer(1), 1, 0, run_async=True)]
        for _ in range(100):
            requests.append(rank.nop(run_async=True, waitfor=requests[-1:]))
        for request in requests:
            with pytest.raises(AcclError) as caught:
                request.wait()
            before = "" if request is requests[0] else "the recv before it failed: "
            assert f"receive time-out (0x800): {before}waited for a message from rank 0" in str(caught.value)

    run(program, ranks=1, time_out_us=100)


def test_who_waits_is_said_once_with_its_count() -> None:
    def program(rank: Rank) -> None:
        place = rank.create_buffer(1)
        for request in [rank.recv(place, 1, 0, run_async=True) for _ in range(500)]:
            request.wait()

    with pytest.raises(FabricStopped, match=r"64 calls are in progress \(436 times\)") as caught:
        run(program, ranks=1, time_out_us=0)
    assert len(str(caught.value)) < 1000 and len(caught.value.blocked) == 500


def test_calls_are_counted_by_their_kinds() -> None:
    assert counted(["nop"] * 3998 + ["send", "nop", "recv", "nop"]) == "4000 nop, send, recv"


def test_places_of_results(seed: int) -> None:
    """Compared with sets of bytes."""
    draw = random.Random(seed)

    def buffer() -> Any:
        size = draw.choice([0, 1, 3, 8, 50, draw.randrange(500)])
        at = draw.randrange(2000)
        return SimpleNamespace(address=at, host=draw.random() < 0.3, array=np.zeros(size, np.uint8))

    def places(of: Any) -> set[int]:
        return set(range(of.address, of.address + of.array.nbytes))

    for _ in range(20):
        newer, open_ = UnreadResults(), list[Any]()
        for _ in range(60):
            if open_ and draw.random() < 0.3:
                newer.remove(open_.pop(draw.randrange(len(open_))))
            else:
                results = [open_[-1].results[0]] if open_ and draw.random() < 0.2 else [buffer()]
                open_.append(Request(results))
                newer.add(open_[-1])
            operand = buffer()
            stored = [operand.address + k for first, last in newer.older(operand) for k in range(first, last)]
            taken = [each.results[0] for each in open_ if each.results[0].host == operand.host]
            assert stored == sorted(places(operand).difference(*map(places, taken)))


class Request(SimpleNamespace):
    def __init__(self, results: list[Any]) -> None:
        super().__init__(results=results)

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other
