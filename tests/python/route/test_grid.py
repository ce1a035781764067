# SPDX-License-Identifier: Apache-2.0
"""Does the proof of a grid by its lines give the same results as that of its tables, and hold for 10^5 nodes?"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thalweg.cli import main
from thalweg.cluster.topology import MAX_GRID_NODES, Topology, build
from thalweg.errors import InputError
from thalweg.route import grid_proof, proof
from thalweg.route.grid import GridRoutes, dimension_order
from thalweg.route.proof import BadRoutes, Proof
from thalweg.route.routes import NO_ROUTE, Routes
from thalweg.systems.mpi_fpga import slots
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.limits import MAX_DESTINATIONS
from thalweg.systems.mpi_fpga.spec import NetworkHeader

SIZES = [
    *product(range(2, 10)),
    *product(range(2, 6), repeat=2),
    *product((2, 3), repeat=3),
    (4, 4, 4),
    (5, 4, 3),
    (2, 3, 2, 3),
]
CHANNELS = 4
Judge = Callable[[], Proof]


def masks(classes: int, collectives: bool) -> list[list[int]]:
    """As in MPI-FPGA: a channel for each pair of classes, or half of the channels for each route class."""
    if collectives:
        return [[1 << (message * classes + c) for c in range(classes)] for message in range(2)]
    share = CHANNELS // classes
    return [[((1 << share) - 1) << (share * c) for c in range(classes)]] * 2


def figures(of: Proof) -> dict[str, object]:
    return {**of.as_dict(), "average_path": pytest.approx(of.average_path)}


@pytest.mark.parametrize("shape", ["mesh", "torus"])
@pytest.mark.parametrize("planes", [1, 2])
@pytest.mark.parametrize("collectives", [True, False])
def test_figures_are_those_of_the_tables(shape: str, planes: int, collectives: bool) -> None:
    for size in SIZES:
        topology = build(shape, size, planes=planes)
        routes = dimension_order(topology)
        given = masks(routes.classes, collectives), CHANNELS, 1 if collectives else None, {}
        assert figures(slots.prove(topology, routes.tables, *given)) == slots.prove(topology, routes, *given).as_dict()


@given(
    st.sampled_from(["mesh", "torus"]),
    st.lists(st.integers(2, 5), min_size=1, max_size=3),
    st.sampled_from([1, 1, 2]),
    st.integers(0, 6),
    st.integers(0, 2**32),
)
@settings(max_examples=100, deadline=None)
def test_damaged_routes_are_judged_like_their_tables(
    shape: str, size: list[int], planes: int, changes: int, seed: int
) -> None:
    topology = build(shape, size, planes=planes)
    bad = damaged(dimension_order(topology), changes, random.Random(seed))
    tables, given = bad.tables, (masks(bad.classes, True), CHANNELS)
    expected = judged(lambda: proof.prove(topology, tables, *given))
    found = judged(lambda: grid_proof.prove(bad, *given))
    if isinstance(expected, Proof):
        assert isinstance(found, Proof) and figures(expected) == found.as_dict()
        try:
            grid_proof.check_relays(bad)
        except BadRoutes:
            return
        slots.prove(topology, tables, *given, 1, {})
    else:
        assert isinstance(found, BadRoutes) and bool(found.cycle) == bool(expected.cycle)
        if found.cycle:
            waits = dependencies(topology, tables)
            buffers = [((b.node, b.port), b.vc % bad.classes) for b in found.cycle]
            assert all(waits.has_edge(held, wanted) for held, wanted in pairwise([*buffers, buffers[0]]))


def damaged(routes: GridRoutes, changes: int, dice: random.Random) -> GridRoutes:
    """Changes entries for one position and target to any port of their dimension, or to another class."""
    ports, classes = [p.copy() for p in routes.port], [c.copy() for c in routes.route_class]
    per_plane = routes.topology.link_ports // routes.topology.planes
    for _ in range(changes):
        dimension = dice.randrange(len(ports))
        tags, positions, targets = ports[dimension].shape
        at = dice.choice([slice(None), dice.randrange(tags)]), dice.randrange(positions), dice.randrange(targets)
        if dice.random() < 0.5:
            classes[dimension][at] = dice.randrange(routes.classes)
        else:
            port = 2 * dimension + dice.randrange(2) + per_plane * dice.randrange(routes.topology.planes)
            ports[dimension][at] = NO_ROUTE if dice.random() < 0.1 else port
    if dice.random() < 0.2:
        classes[dice.randrange(len(classes))][:] = 0
    return replace(routes, port=ports, route_class=classes)


def judged(prove: Judge) -> Proof | BadRoutes:
    try:
        return prove()
    except BadRoutes as error:
        return error


def dependencies(topology: Topology, routes: Routes) -> nx.DiGraph:
    """The graph of ((node, port), route class), by walking every path."""
    graph = nx.DiGraph()
    for source, destination in np.argwhere(~np.eye(topology.nodes, dtype=bool)).tolist():
        node, held = source, None
        while node != destination:
            port = int(routes.port[node, destination])
            wanted = (node, port), int(routes.route_class[node, destination])
            if held is not None:
                graph.add_edge(held, wanted)
            node, held = int(topology.peer[node, port]), wanted
    return graph


def test_lines_with_different_links_are_rejected() -> None:
    topology = build("torus", (4, 4))
    links = topology.links.copy()
    links[[4, 8], 2] = links[[8, 4], 2]  # between the second row and the third
    crossed = replace(topology, links=links)
    with pytest.raises(BadRoutes, match="lines of dimension 0 have different links"):
        grid_proof.prove(replace(dimension_order(topology), topology=crossed), [[1, 2]], CHANNELS)


# ---- 110,592 nodes

LARGE = "torus:48x48x48"


def test_sampled_paths_of_a_large_torus_are_shortest() -> None:
    """A walk along the links, by the first dimension in which node and destination differ."""
    topology = build("torus", (48, 48, 48), most_of_grid=MAX_GRID_NODES)
    routes = dimension_order(topology)
    here, dice = topology.coordinates, random.Random(1)
    for _ in range(300):
        node, destination = dice.sample(range(topology.nodes), 2)
        away = (here[node] - here[destination]) % 48
        expected, hops = int(np.minimum(away, 48 - away).sum()), 0
        parity = int(here[destination].sum()) % 2
        while node != destination:
            dimension = int(np.flatnonzero(here[node] != here[destination])[0])
            port = routes.port[dimension][parity, here[node, dimension], here[destination, dimension]]
            node, hops = int(topology.peer[node, port]), hops + 1
        assert hops == expected


def test_a_large_torus_has_the_figures_of_closed_forms() -> None:
    found = Cluster.load(LARGE).proof(collectives=False)
    nodes = 48**3
    assert found.nodes == nodes and found.links == 3 * nodes and found.longest_path == 3 * 24
    assert found.average_path == pytest.approx(3 * 12 * nodes / (nodes - 1))
    assert found.uniform_load == pytest.approx(48 / 8 * nodes / (nodes - 1))


def test_a_large_torus_is_checked_in_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    begin = time.process_time()
    assert main(["cluster", "check", LARGE]) == 0
    assert time.process_time() - begin < 10
    out = capsys.readouterr().out
    assert "dimension-order routes proved" in out
    assert f"only traffic is simulated: a collective packet's header can name {MAX_DESTINATIONS} destinations" in out
    NetworkHeader(destination=MAX_DESTINATIONS - 1).pack()
    with pytest.raises(ValueError, match="destination"):
        NetworkHeader(destination=MAX_DESTINATIONS).pack()


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    "arguments, what",
    [
        (["bench", "allreduce", "--cluster", LARGE], "110592 nodes; a packet's header can name 65536 destinations"),
        (["route", LARGE, "--out", "FOLDER"], "110592 nodes; routing tables have at most 4096"),
        (["route", LARGE, "--table", "FILE"], "110592 nodes; tables have at most 4096"),
        (["route", LARGE, "--routing", "dfsssp"], "dfsssp supports at most 4096"),
        (["cluster", "check", "prism:3000"], "6000 nodes; the maximum is 4096"),
        (["cluster", "check", "torus:4096x4096"], "16777216 nodes; the maximum is 1048576"),
    ],
)
def test_what_needs_tables_is_refused(
    arguments: list[str], what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "routes.csv").write_text("node,destination,port,class,layer\n")
    names = {"FOLDER": str(tmp_path / "out"), "FILE": str(tmp_path / "routes.csv")}
    assert main([names.get(word, word) for word in arguments]) == 2
    err = capsys.readouterr().err
    assert what in err and err.count("\n") == 1


def test_no_table_is_made_of_a_large_grid() -> None:
    cluster = Cluster.load("torus:65x64")
    assert cluster.fabric_config().route(0, 64) == (1, 0)  # the shorter way round, into the other half
    with pytest.raises(InputError, match="at most 4096"):
        _ = cluster.tables


@pytest.mark.parametrize("shape", ["torus:4x3", "dual-torus:4x4", "torus:2x5x3", "mesh:3x4", "ring:7"])
def test_the_simulator_routes_by_dimension_as_by_tables(shape: str) -> None:
    cluster = Cluster.load(shape)
    assert isinstance(cluster.routes, GridRoutes)
    config, tables = cluster.fabric_config(), cluster.tables
    for node, destination in product(range(cluster.topology.nodes), repeat=2):
        if node != destination:
            entry = tables.port[node, destination], tables.route_class[node, destination]
            assert config.route(node, destination) == entry
