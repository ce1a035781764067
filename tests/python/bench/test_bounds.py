# SPDX-License-Identifier: Apache-2.0
"""Are the bounds below the best schedule of an exhaustive search, and do they equal the closed forms on whole tori?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import thalweg
from thalweg.systems.mpi_fpga.bench import COLLECTIVES
from thalweg.systems.mpi_fpga.bounds import Network, collective_ticks, last_entry_ticks, message_ticks

State = tuple[tuple[int, ...], ...]  # the ranks whose contribution to each data unit a node knows, as bits


def ring(nodes: int) -> list[tuple[int, int]]:
    """Directed links; a ring of two has two links, each in both directions."""
    return [link for i in range(nodes) for link in ((i, (i + 1) % nodes), ((i + 1) % nodes, i))]


def line(nodes: int) -> list[tuple[int, int]]:
    return [link for i in range(nodes - 1) for link in ((i, i + 1), (i + 1, i))]


def star(nodes: int) -> list[tuple[int, int]]:
    return [link for i in range(1, nodes) for link in ((0, i), (i, 0))]


def torus(*size: int) -> list[tuple[int, int]]:
    links = []
    for node in itertools.product(*map(range, size)):
        for d, k in enumerate(size):
            if k > 1:
                far = (*node[:d], (node[d] + 1) % k, *node[d + 1 :])
                links += [(index(node, size), index(far, size)), (index(far, size), index(node, size))]
    return links


def index(node: Sequence[int], size: Sequence[int]) -> int:
    number = 0
    for x, k in zip(reversed(node), reversed(size), strict=True):
        number = number * k + x
    return number


def fewest_steps(
    nodes: int, links: Sequence[tuple[int, int]], start: State, done: Callable[[State], bool], merge: bool
) -> int:
    """Minimum number of steps until `done`, if every link carries one unit per step.

    `merge`: a unit that is sent carries the combination of all contributions that its sender knows; otherwise one
    rank's contribution.
    """

    def choices(state: State, tail: int, head: int) -> Iterator[tuple[int, int]]:
        for unit, known in enumerate(state[tail]):
            new = known & ~state[head][unit]
            if new and merge:
                yield unit, known
            elif new:
                yield from ((unit, 1 << r) for r in range(nodes) if new >> r & 1)

    frontier, seen = {start}, {start}
    for step in itertools.count():
        if any(done(state) for state in frontier):
            return step
        following = set()
        for state in frontier:
            moves = [list(choices(state, *link)) or [None] for link in links]
            for chosen in itertools.product(*moves):
                after = [list(units) for units in state]
                for link, move in zip(links, chosen, strict=True):
                    if move:
                        after[link[1]][move[0]] |= move[1]
                following.add(tuple(map(tuple, after)))
        frontier = following - seen
        seen |= following
    raise AssertionError


def searched(
    operation: str, nodes: int, links: Sequence[tuple[int, int]], members: Sequence[int], units: int, root: int
) -> int:
    everyone = sum(1 << node for node in members)
    source = members[root]
    blocks = operation in ("gather", "allgather")  # a rank's block is unit 0 .. of that rank alone: never combined
    if operation == "broadcast":
        start = tuple(tuple((1 << source) if node == source else 0 for _ in range(units)) for node in range(nodes))
        return fewest_steps(nodes, links, start, lambda s: all(all(s[m]) for m in members), merge=False)
    if operation == "scatter":  # as in a gather, but a unit belongs to its destination rank
        start = tuple(tuple(everyone if node == source else 0 for _ in range(units)) for node in range(nodes))
        return fewest_steps(nodes, links, start, lambda s: all(k >> m & 1 for m in members for k in s[m]), merge=False)
    start = tuple(tuple((1 << node) if node in members else 0 for _ in range(units)) for node in range(nodes))
    if operation == "reduce_scatter":  # units of every member, combined on their way to it
        own = {member: range(i * units, (i + 1) * units) for i, member in enumerate(members)}
        start = tuple(known[:1] * (units * len(members)) for known in start)
        return fewest_steps(
            nodes, links, start, lambda s: all(s[m][u] == everyone for m in members for u in own[m]), merge=True
        )
    if operation == "alltoall":  # units for every member, each of one rank
        own = {member: range(i * units, (i + 1) * units) for i, member in enumerate(members)}
        start = tuple(known[:1] * (units * len(members)) for known in start)
        return fewest_steps(
            nodes, links, start, lambda s: all(s[m][u] == everyone for m in members for u in own[m]), merge=False
        )
    if operation in ("scan", "exscan"):  # a rank may have received more than it needs
        needed = [sum(1 << m for m in members[: i + (operation == "scan")]) for i in range(len(members))]
        return fewest_steps(
            nodes,
            links,
            start,
            lambda s: all(k & n == n for m, n in zip(members, needed, strict=True) for k in s[m]),
            merge=True,
        )
    receivers = members if operation in ("allreduce", "allgather", "barrier") else [source]
    return fewest_steps(
        nodes, links, start, lambda s: all(k == everyone for m in receivers for k in s[m]), merge=not blocks
    )


CASES = [
    ("ring of 2", 2, ring(2), [0, 1]),
    ("ring of 3", 3, ring(3), [0, 1, 2]),
    ("ring of 4", 4, ring(4), [0, 1, 2, 3]),
    ("opposite nodes of a ring of 4", 4, ring(4), [0, 2]),
    ("three of a ring of 4", 4, ring(4), [3, 0, 1]),
    ("line of 3", 3, line(3), [0, 1, 2]),
    ("the ends of a line of 4", 4, line(4), [3, 0]),
    ("line of 4", 4, line(4), [0, 1, 2, 3]),
    ("star of 4", 4, star(4), [0, 1, 2, 3]),
    ("the leaves of a star of 4", 4, star(4), [1, 2, 3]),
]
MOST = {"gather": 8, "allgather": 8, "scatter": 8, "reduce_scatter": 4, "alltoall": 4}
"""Units times nodes beyond which there are too many schedules to search."""
SEARCHED = [
    pytest.param(operation, units, *case[1:], id=f"{operation} of {units}, {case[0]}")
    for operation in COLLECTIVES
    for units in (1, 2)
    for case in CASES
    if units * case[1] < MOST.get(operation, 10)
]


@pytest.mark.parametrize(("operation", "units", "nodes", "links", "members"), SEARCHED)
def test_no_schedule_beats_the_bound(
    operation: str, units: int, nodes: int, links: list[tuple[int, int]], members: list[int]
) -> None:
    network = Network(nodes, [(tail, head, 1, 1.0) for tail, head in links])
    for root in range(len(members) if operation in ("broadcast", "reduce", "gather", "scatter") else 1):
        best = searched(operation, nodes, links, members, 1 if operation == "barrier" else units, root)
        bound = collective_ticks(network, members, operation, units, root)
        # The last unit's own step is in its hop and in m/B: the bound omits the last router, which takes longer.
        assert bound - 1 <= best
        assert bound - 1 > best - 2, "the bound is far below what can be reached"


@pytest.mark.parametrize("size", [(8,), (4, 4), (2, 2, 2), (4, 4, 2), (4, 4, 4), (4, 4, 8)])
def test_closed_forms_on_whole_tori(size: tuple[int, ...]) -> None:
    ranks, latency, rate, m = 1, 114, 32.0, 1 << 20
    for k in size:
        ranks *= k
    n, diameter = len(size), sum(k // 2 for k in size)
    network = Network(
        ranks, [(a, b, latency, rate) for a, b in torus(*size)], lane=14, pcie_latency=100, pcie_rate=48.0
    )
    hops, members = diameter * latency, range(ranks)
    assert collective_ticks(network, members, "barrier", 0) == hops
    assert collective_ticks(network, members, "barrier", 0, host=True) == hops + 200
    for operation in ("broadcast", "reduce"):
        for root in (0, ranks - 1):
            assert collective_ticks(network, members, operation, m, root) == pytest.approx(hops + m / (2 * n * rate))
            assert collective_ticks(network, members, operation, m, root, host=True) == pytest.approx(
                hops + m / min(2 * n * rate, 48) + 200
            )
    assert collective_ticks(network, members, "allreduce", m) == pytest.approx(
        max((ranks - 1) * m / (ranks * n * rate), hops + m / (2 * n * rate))
    )
    assert collective_ticks(network, members, "allreduce", 4) == pytest.approx(hops + 14)
    assert collective_ticks(network, members, "alltoall", m) == pytest.approx(ranks * m * sum(size) / (8 * n * rate))
    for operation in ("gather", "allgather", "scatter", "reduce_scatter"):
        assert collective_ticks(network, members, operation, m) == pytest.approx(
            latency + (ranks - 1) * m / (2 * n * rate)
        )
        assert collective_ticks(network, members, operation, 0) == hops + (14 if operation == "reduce_scatter" else 0)


def test_an_all_to_all_passes_the_links_above_each_switch() -> None:
    """6 hosts below switch 8, 2 below switch 9, a link from each to switch 10."""
    pairs = [*((host, 8 if host < 6 else 9) for host in range(8)), (8, 10), (9, 10)]
    links = [(a, b, 1, 2.0) for a, b in pairs] + [(b, a, 1, 2.0) for a, b in pairs]
    network = Network(11, links, switches=3)
    assert collective_ticks(network, range(8), "alltoall", 1000) == 6 * 2 * 1000 / 2.0
    assert collective_ticks(network, [0, 1, 6], "alltoall", 1000) == pytest.approx(2 * 1 * 1000 / 2.0, abs=4)
    assert collective_ticks(network, [0, 1, 2], "alltoall", 1000) == pytest.approx(2 * 1000 / 2.0, abs=2)


def test_a_message_takes_one_route() -> None:
    network = Network(16, [(a, b, 10, 32.0) for a, b in torus(4, 4)], pcie_latency=7, pcie_rate=16.0)
    assert message_ticks(network, 0, 10, 3200) == 40 + 100
    assert message_ticks(network, 0, 10, 3200, host=True) == 40 + 200 + 14


def test_an_all_to_all_without_data_sends_nothing() -> None:
    network = Network(4, [(a, b, 10, 1.0) for a, b in ring(4)], pcie_latency=5)
    assert collective_ticks(network, range(4), "alltoall", 0, host=True) == 10
    (row,) = thalweg.measure("alltoall", "ring:4", sizes=[0])
    assert row["bound_us"] <= row["time_us"]


@pytest.mark.parametrize("rate_gbps", [0.1, 1, 2, 5])
def test_a_slow_link_is_no_reason_to_be_below_the_bound(rate_gbps: float, tmp_path: Path) -> None:
    (cluster := tmp_path / "slow.toml").write_text(
        f'[topology]\nshape = "ring"\nsize = [3]\n[link]\nrate_gbps = {rate_gbps}\n'
    )
    for operation in [*COLLECTIVES, "latency", "bandwidth"]:
        sizes = {} if operation == "barrier" else {"sizes": [8, 64]}
        for row in thalweg.measure(operation, cluster, **sizes):
            assert row["bound_kernel_us"] <= row["time_kernel_us"], (operation, row["bytes"])


def test_one_rank_needs_no_time() -> None:
    network = Network(4, [(a, b, 1, 1.0) for a, b in ring(4)], pcie_latency=5)
    for operation in COLLECTIVES:
        assert collective_ticks(network, [2], operation, 1000, host=True) == 0


@pytest.mark.parametrize("operation", COLLECTIVES)
@pytest.mark.parametrize("size", [4, 4096, 1 << 20])
@pytest.mark.parametrize("root", [0, 5])
def test_after_the_last_entry_no_more_is_left_than_the_whole(operation: str, size: int, root: int) -> None:
    network = Network(16, [(a, b, 114, 32.0) for a, b in torus(4, 4)], lane=14, pcie_latency=65, pcie_rate=52.0)
    members = [3, 1, 4, 15, 9, 2, 6]
    after_last = last_entry_ticks(network, members, operation, size, root)
    assert 2 * 65 < after_last <= collective_ticks(network, members, operation, size, root, host=True)


def test_what_the_last_rank_gives_has_to_reach_the_farthest() -> None:
    """On a line of 3 the rank in the middle is the nearest to all: one hop."""
    network = Network(3, [(a, b, 10, 1.0) for a, b in line(3)], pcie_latency=5, pcie_rate=4.0)
    assert last_entry_ticks(network, [0, 1, 2], "barrier", 0) == 10 + 10
    assert last_entry_ticks(network, [0, 1, 2], "allreduce", 8) == 10 + 10 + 8 / 1.0
    assert last_entry_ticks(network, [0, 1, 2], "broadcast", 8) == 10 + 8 / 4.0
    assert last_entry_ticks(network, [0, 1, 2], "gather", 8) == 10 + 2 * 8 / 4.0


@pytest.mark.parametrize("size", [(4, 4), (2, 3, 3), (2, 2), (5,)])
@pytest.mark.parametrize("slower", [None, 0])
def test_ranks_that_are_alike_have_the_bounds_of_each(size: tuple[int, ...], slower: int | None) -> None:
    links = [(a, b, 1 + (i == slower or i - 1 == slower), 32.0) for i, (a, b) in enumerate(torus(*size))]
    nodes = math.prod(size)
    given = {"lane": 14, "pcie_latency": 65, "pcie_rate": 52.0}
    whole, each = Network(nodes, links, grid=size, **given), Network(nodes, links, **given)
    assert whole.alike == (slower is None)
    assert not each.alike
    for operation in COLLECTIVES:
        for bytes_, root in ((8, 0), (4096, nodes - 1)):
            operands = (list(range(nodes)), operation, bytes_, root)
            assert collective_ticks(whole, *operands) == pytest.approx(collective_ticks(each, *operands))
            assert last_entry_ticks(whole, *operands) == pytest.approx(last_entry_ticks(each, *operands))
