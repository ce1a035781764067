# SPDX-License-Identifier: Apache-2.0
"""Is a group's operation done when its own result has arrived, whatever the memory held before, and in any order of
arrival?"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from thalweg.errors import InputError
from thalweg.systems.peach2.hubs import Group, Hubs, Reduction
from thalweg.systems.peach2.running import Operation

RESULT = 1 << 20
SEEN = 2 << 20


def bring(hubs: Hubs, group: Group, value: float, records: int = 1) -> list[Operation]:
    """All nodes of a group reduce records of `value`, and then copy the result."""
    operations = []
    for number in group.nodes:
        node = hubs.nodes[number]
        at = int(value) << 16  # separate from those of other values, which may still be read
        node.gpus[0].write(at, np.full(8 * records, value, np.float32))
        operations.append(group.reduce(number, [(node.gpus[0].address(at), 32 * records)]))
        node.put(node.processor.address(SEEN), node.processor.address(RESULT), 32)
    return operations


def seen(hubs: Hubs, nodes: Sequence[int]) -> list[float]:
    return [float(hubs.nodes[number].processor.read(SEEN, 1, np.float32)[0]) for number in nodes]


def test_groups_with_results_at_one_place() -> None:
    hubs = Hubs("peach2-ring-4")
    first, second = (hubs.group([0, 1, 2, 3], RESULT, Reduction(context=context)) for context in (0, 2))
    for turn in range(3):
        bring(hubs, first, 1 + turn)
        hubs.run()
        assert seen(hubs, first.nodes) == [4 + 4 * turn] * 4
        bring(hubs, second, 100, 1024)
        hubs.run()
        assert seen(hubs, second.nodes) == [409600] * 4


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_memory_that_happens_to_hold_any_number(number: int) -> None:
    hubs = Hubs("peach2-ring-4")
    for node in hubs.nodes:
        node.processor.write(RESULT - 4096, np.full(4096, number, np.uint32))
    group = hubs.group([2, 0, 1], RESULT)
    for turn in range(3):
        bring(hubs, group, turn, 64)
        hubs.run()
        assert seen(hubs, group.nodes) == [3 * 64 * turn] * 3
        beside = hubs.nodes[0].processor.read(RESULT + 32, 8, np.uint32)
        assert (beside == number).all()  # a result is one record, and the rest of the memory is unchanged


@pytest.mark.parametrize("late", range(4))
def test_members_that_come_before_their_leader(late: int) -> None:
    hubs = Hubs("peach2-ring-4")
    hubs.nodes[late].work(50_000)
    group = hubs.group([0, 1, 2, 3], RESULT)
    bring(hubs, group, 2)
    hubs.run()
    assert seen(hubs, group.nodes) == [8] * 4
    assert all(node.counts()["dropped"] == 0 for node in hubs.nodes)


@pytest.mark.parametrize("late", [(0,), (8,), (8, 0), (0, 8), (3, 11), (15,)])
def test_two_levels_with_late_leaders(late: tuple[int, ...]) -> None:
    hubs = Hubs("peach2")
    for delay, number in enumerate(late, 1):
        hubs.nodes[number].work(30_000 * delay)
    group = hubs.group(range(16), RESULT)
    for value in (1, 3):
        bring(hubs, group, value)
    hubs.run()
    assert seen(hubs, group.nodes) == [48] * 16
    assert all(node.counts()["dropped"] == 0 for node in hubs.nodes)


@pytest.mark.parametrize("memories", [(1,), (2, 1), (0, 1, 2)])
@pytest.mark.parametrize("nodes", [[0], [3, 1, 2], list(range(16))])
def test_results_go_to_the_memories_that_the_group_names(nodes: list[int], memories: tuple[int, ...]) -> None:
    """A sum of whole numbers, in each of these memories of each member when its operation has ended, and in no other."""
    hubs = Hubs("peach2")
    group = hubs.group(nodes, RESULT, memories=memories)
    for turn in range(1, 4):
        bring(hubs, group, turn, 8)
        hubs.run()
        for node in hubs.nodes:
            for number, memory in enumerate((node.processor, *node.gpus)):
                receives = node.number in nodes and number in memories
                wanted = np.full(8, 8 * turn * len(nodes) if receives else 0, np.float32)
                assert memory.read(RESULT, 8, np.float32).tolist() == wanted.tolist()


@pytest.mark.parametrize("memories", [(), (0, 0), (3,), (1 << 40,)])
def test_memories_that_receive_no_results(memories: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="memory"):
        Hubs("peach2-ring-4").group([0, 1], RESULT, memories=memories)
    with pytest.raises(InputError, match="within a memory"):
        Hubs("peach2-ring-4").group([0, 1], (1 << 33) - 16, memories=(1,))


def test_two_groups_of_overlapping_nodes_at_once() -> None:
    hubs = Hubs("peach2-ring-4")
    groups = hubs.group([0, 1, 2], RESULT, Reduction(context=0)), hubs.group([3, 2, 1], RESULT, Reduction(context=2))
    for _ in range(5):
        for group in groups:
            bring(hubs, group, 1 + groups.index(group))
    hubs.run()
    assert seen(hubs, range(4)) == [3, 6, 6, 6]


def test_a_wait_of_50_ms() -> None:
    hubs = Hubs("peach2-ring-4")
    one, other = hubs.nodes[:2]
    one.work(50e6)
    one.store(other.processor.address(), np.array([7], np.uint32))
    wait = other.wait_for(0, 7)
    hubs.run()
    assert 50_000 < wait.end_us < 50_002


def test_what_a_program_writes_to_a_context_itself_is_its_own() -> None:
    hubs = Hubs("peach2-ring-4")
    node, other = hubs.nodes[:2]
    calculator = 31 << 30 | 0x20000000
    for context, by in itertools.product((2, 3), (node, other)):
        by.put(calculator + context * (1 << 26), by.gpus[0].address(), 32)
    with pytest.raises(InputError, match="context 3 of node 0 belongs to the program, which has written to it"):
        node.reduce(node.processor.address(), [(node.gpus[0].address(), 32)], Reduction(context=3))
    with pytest.raises(InputError, match="context 2 of node 0 belongs to the program"):
        hubs.group([0, 1], RESULT, Reduction(context=1))
    node.reduce(node.processor.address(), [(node.gpus[0].address(), 32)], Reduction(context=0))
    with pytest.raises(InputError, match="context 0 of hub 0, which belongs to reductions of its node"):
        other.put(calculator, other.gpus[0].address(), 32)
