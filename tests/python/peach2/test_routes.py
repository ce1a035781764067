# SPDX-License-Identifier: Apache-2.0
"""Do the windows of rings lead from every node to every node, and are windows with loops, wait-for cycles or
invalid values refused? Paths are walked here hub by hub, by separate cable tables, and networkx checks for wait-for cycles."""

from __future__ import annotations

import json
import random
from pathlib import Path

import networkx as nx
import pytest
import thalweg
from thalweg.cli import main
from thalweg.cluster.topology import Topology, build
from thalweg.errors import InputError
from thalweg.route.proof import BadRoutes
from thalweg.systems.peach2.cluster import Cluster
from thalweg.systems.peach2.routes import (
    ALL_PAGES,
    BUS,
    EAST,
    HUB_PAGES,
    NODE_PAGES,
    NORTH,
    SOUTH,
    WEST,
    Tables,
    Window,
    check_windows,
    prove,
    windows,
)

RINGS = [(count, size) for count in (1, 2) for size in range(2, 17) if count * size <= 16]


def rings(count: int, size: int) -> Topology:
    return build("ring" if count == 1 else "prism", [size])


def behind(count: int, size: int, hub: int, port: int) -> tuple[int, int]:
    """The hub and the port at the other end of a cable."""
    if port == SOUTH:
        return (hub + size) % (2 * size), SOUTH
    ring, place = divmod(hub, size)
    step, came = (1, WEST) if port == EAST else (-1, EAST)
    return ring * size + (place + step) % size, came


def way(count: int, size: int, tables: Tables, hub: int, page: int) -> list[tuple[int, int]] | None:
    """The hubs and ports that a packet passes; None for a loop."""
    came, ways = -1, []
    for _ in range(50):
        to = next((port for port, mask, lower, upper in tables[hub] if lower <= page & mask <= upper), None)
        if page // HUB_PAGES == hub * 32 + 31:
            to = BUS
        if to is None or to == came:
            return ways
        ways.append((hub, to))
        if to in (NORTH, BUS):
            return ways
        hub, came = behind(count, size, hub, to)
    return None


def pages(tables: Tables) -> list[int]:
    firsts = {0} | {hub * NODE_PAGES + at for hub in range(16) for at in (0, NODE_PAGES - HUB_PAGES)}
    for table in tables:
        for _, _, lower, upper in table:
            firsts |= {lower, upper + 1}
    return [page for page in firsts if page <= ALL_PAGES]


@pytest.mark.parametrize(("count", "size"), RINGS)
def test_every_node_is_reached_and_none_through_node_0(count: int, size: int) -> None:
    tables = windows(rings(count, size))
    proof = prove(rings(count, size))
    longest = 0
    for here in range(count * size):
        for there in range(count * size):
            for page, port in ((there * NODE_PAGES, NORTH), ((there + 1) * NODE_PAGES - 1, BUS)):
                ways = way(count, size, tables, here, page)
                assert ways is not None and ways[-1] == (there, port)
                for (_, out), (hub, on) in zip(ways, ways[1:-1], strict=False):
                    assert hub % size or out == SOUTH or on == SOUTH
                longest = max(longest, len(ways) - 1)
    assert proof.longest_path == longest


def test_windows_are_those_of_the_ring() -> None:
    """Node 0 has separate windows, and the opposite node is reached by the neighbour with the lower number."""
    assert [
        [(to, lower // NODE_PAGES, upper // NODE_PAGES) for to, _, lower, upper in table]
        for table in windows(rings(1, 4))
    ] == [
        [(NORTH, 0, 0), (EAST, 1, 2), (WEST, 3, 3)],
        [(NORTH, 1, 1), (WEST, 0, 0), (EAST, 2, 3)],
        [(NORTH, 2, 2), (WEST, 0, 0), (WEST, 1, 1), (EAST, 3, 3)],
        [(NORTH, 3, 3), (EAST, 0, 0), (WEST, 1, 2)],
    ]


def test_hops_are_those_of_the_paper_s_ring() -> None:
    cluster = Cluster.load("peach2")
    assert [cluster.hops(0, node) for node in range(8)] == [0, 1, 2, 3, 4, 3, 2, 1]
    assert [cluster.hops(1, node) for node in range(8)] == [1, 0, 1, 2, 3, 4, 5, 6]
    assert cluster.hops(1, 9) == 1 and cluster.hops(1, 15) == 7


@pytest.mark.parametrize("count", [1, 2])
def test_random_windows_are_judged_as_networkx_judges_them(count: int, seed: int) -> None:
    draw, size = random.Random(seed), 4
    judged = {"right": 0, "round": 0, "circle": 0}
    for _ in range(150):
        tables = windows(rings(count, size))
        ports = (NORTH, EAST, WEST, SOUTH)[: 4 if count == 2 else 3]
        round_ring = draw.choice((EAST, WEST, NORTH))
        for table in tables:
            for _ in range(draw.choice((0, 0, 1, 2))):
                lower = draw.randrange(count * size) * NODE_PAGES + draw.choice((0, 1, 2, NODE_PAGES - 3))
                upper = lower + draw.choice((0, 2, NODE_PAGES))
                table.insert(draw.randrange(2), (draw.choice(ports), ALL_PAGES, lower, upper))
            if draw.random() < 0.8:  # there is no node 9
                table.append((round_ring, ALL_PAGES, 9 * NODE_PAGES, 9 * NODE_PAGES))
        waits, goes_round = nx.DiGraph(), False
        for page in pages(tables):
            for hub in range(count * size):
                ways = way(count, size, tables, hub, page)
                goes_round |= ways is None
                nx.add_path(waits, [at for at in ways or [] if at[1] not in (NORTH, BUS)])
        try:
            check_windows(rings(count, size), tables)
        except BadRoutes as error:
            judged["circle" if error.cycle else "round"] += 1
            assert goes_round or not nx.is_directed_acyclic_graph(waits)
            assert goes_round != bool(error.cycle)
        else:
            judged["right"] += 1
            assert not goes_round and nx.is_directed_acyclic_graph(waits)
    print(judged)
    assert all(judged.values())


def test_windows_that_lead_round_for_ever_are_refused() -> None:
    tables = windows(rings(1, 4))
    for table in tables:
        table.append((EAST, ALL_PAGES, 9 * NODE_PAGES, 9 * NODE_PAGES))  # there is no node 9
    with pytest.raises(BadRoutes, match="^page 0x4800000 cannot be reached from hub 0: packets loop: hub 0, hub 1 "):
        check_windows(rings(1, 4), tables)
    tables[-1].pop()  # ends where no window contains it
    check_windows(rings(1, 4), tables)


def test_pages_behind_a_hub_s_own_are_followed_too() -> None:
    """The first pages of one window end in hub 1's own memory; the later ones loop."""
    tables = [[(EAST, ALL_PAGES, 2 * NODE_PAGES - 3, 3 * NODE_PAGES)] for _ in range(4)]
    with pytest.raises(BadRoutes, match=f"^page {2 * NODE_PAGES:#x} cannot be reached from hub 0: packets loop"):
        check_windows(rings(1, 4), tables)


def test_a_circle_of_waits_is_refused_though_every_way_ends() -> None:
    def of(to: int, node: int) -> Window:
        return to, ALL_PAGES, node * NODE_PAGES, (node + 1) * NODE_PAGES - 1

    tables = [[of(NORTH if node == hub else EAST, node) for node in range(4)] for hub in range(4)]
    with pytest.raises(BadRoutes) as bad:
        check_windows(rings(1, 4), tables)
    first = int(bad.value.cycle[0].removeprefix("east of hub "))
    assert bad.value.cycle == [f"east of hub {(first + at) % 4}" for at in range(4)]
    assert str(bad.value) == f"a wait-for cycle of 4 links: {'; '.join(bad.value.cycle)}"


def test_the_command_prints_the_proof_and_writes_the_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["route", "peach2", "--check", "--out", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "routes         rings, 16 nodes, 24 links"
    assert "buffers        48, links x 2 directions x virtual channels" in lines
    found = thalweg.routes("peach2")
    assert json.loads((tmp_path / "proof.json").read_text()) == found.record()
    assert (tmp_path / "routes.csv").read_text().splitlines()[1] == "0,1,0,0,0"
    with pytest.raises(InputError, match="^route has no option 'routing'; it has none$"):
        thalweg.routes("peach2", routing="up-down")


PAGE = 9 * NODE_PAGES


@pytest.mark.parametrize(
    ("window", "says"),
    [
        ((NORTH, ALL_PAGES, PAGE, PAGE), ""),
        ((8, ALL_PAGES, PAGE, PAGE), "port is 8; it must be one of north 0, east 1, west 2, south 3, bus 4"),
        ((5, ALL_PAGES, PAGE, PAGE), "port is 5"),
        ((SOUTH, ALL_PAGES, PAGE, PAGE), "it leads to port south of hub 1, which has no link"),
        ((NORTH, ALL_PAGES + 1, PAGE, PAGE), "its mask is"),
        ((NORTH, ALL_PAGES & ~4, PAGE, PAGE), "its mask must consist of leading ones"),
        ((NORTH, ALL_PAGES, ALL_PAGES + 1, ALL_PAGES + 2), "its lower bound is"),
        ((NORTH, ALL_PAGES, PAGE, PAGE + ALL_PAGES + 1), "its upper bound is"),
        ((NORTH, ALL_PAGES, -1, PAGE), "its lower bound is -1"),
        ((NORTH, ALL_PAGES, PAGE, PAGE - 1), "it is empty"),
        ((NORTH, ALL_PAGES & ~7, PAGE + 1, PAGE + 7), "it is empty"),
    ],
)
def test_windows_that_do_not_fit_their_register_or_lead_nowhere_are_refused(window: Window, says: str) -> None:
    tables = windows(rings(1, 2))
    tables[1].append(window)
    if not says:
        check_windows(rings(1, 2), tables)
        return
    with pytest.raises(InputError) as bad:
        check_windows(rings(1, 2), tables)
    assert str(bad.value).startswith(f"window 2 of hub 1: {says}")
