# SPDX-License-Identifier: Apache-2.0
"""Do routes reach every node, with the expected lengths, without a cycle, and is a bad table rejected?

The reference is networkx, on graphs that are built here by walking every path node by node.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from thalweg.cluster.topology import Topology, build
from thalweg.route.acyclic import AcyclicGraph, find_cycle
from thalweg.route.proof import BadRoutes, Proof, channels, dependencies, ways
from thalweg.route.proof import prove as prove_tables
from thalweg.route.routes import KEEP_CLASS, NO_ROUTE, NoRoutes, Routes
from thalweg.route.routing import ALGORITHMS, dfsssp, dimension_order, route, up_down
from thalweg.route.trees import tree_search
from thalweg.systems.mpi_fpga.slots import prove, slot_graph

SHAPES = [
    ("line", (2,)),
    ("line", (7,)),
    ("ring", (3,)),
    ("ring", (9,)),
    ("ring", (10,)),
    ("mesh", (4, 3)),
    ("mesh", (2, 3, 4)),
    ("torus", (2,)),
    ("torus", (2, 2, 2)),
    ("torus", (4, 4)),
    ("torus", (4, 4, 2)),
    ("torus", (5, 3, 2)),
    ("torus", (6, 6)),
    ("torus", (3, 3, 2, 3)),
    ("star", (2,)),
    ("star", (9,)),
]
CHANNELS = 16
ROUTERS = {**ALGORITHMS, "tree-search": tree_search}


def proved(topology: Topology, routes: Routes) -> Proof:
    """With slots and relays if the algorithm supports them."""
    if routes.algorithm in ALGORITHMS:
        return prove(topology, routes, masks(routes), CHANNELS, slot_packets=1)
    return prove_tables(topology, routes, masks(routes), CHANNELS)


def masks(routes: Routes) -> list[list[int]]:
    """One virtual channel for each message class and route class."""
    return [[1 << (message * routes.classes + c) for c in range(routes.classes)] for message in range(2)]


def graph_of(topology: Topology) -> nx.MultiGraph:
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(topology.nodes))
    graph.add_edges_from((a, b) for a, _, b, _ in topology.links.tolist())
    return graph


def walk(topology: Topology, routes: Routes) -> tuple[bool, nx.DiGraph]:
    """Whether every pair is reached, and the wait-for graph of (node, port, message class, route class)."""
    ends = {}
    for a, port_a, b, port_b in topology.links.tolist():
        ends[a, port_a], ends[b, port_b] = b, a
    waits = nx.DiGraph()
    reached = True
    for source in range(topology.nodes):
        for destination in range(topology.nodes):
            node, route_class, held, seen = source, int(routes.layer[source, destination]), None, set()
            while node != destination and node not in seen:
                seen.add(node)
                port = int(routes.port[node, destination])
                if (node, port) not in ends:
                    break
                if routes.route_class[node, destination] != KEEP_CLASS:
                    route_class = int(routes.route_class[node, destination])
                for message in range(2):
                    wanted = (node, port, message, route_class)
                    waits.add_node(wanted)
                    if held is not None:
                        waits.add_edge((*held[:2], message, held[2]), wanted)
                held = (node, port, route_class)
                node = ends[node, port]
            reached &= node == destination
    return reached, waits


def lengths(topology: Topology, routes: Routes) -> np.ndarray:
    ends = {}
    for a, port_a, b, port_b in topology.links.tolist():
        ends[a, port_a], ends[b, port_b] = b, a
    result = np.zeros((topology.nodes, topology.nodes), int)
    for source in range(topology.nodes):
        for destination in range(topology.nodes):
            node = source
            while node != destination:
                node = ends[node, int(routes.port[node, destination])]
                result[source, destination] += 1
    return result


def shortest(topology: Topology) -> np.ndarray:
    table = dict(nx.all_pairs_shortest_path_length(graph_of(topology)))
    return np.array([[table[a][b] for b in range(topology.nodes)] for a in range(topology.nodes)])


@st.composite
def connected_graphs(draw: st.DrawFn, most: int = 14) -> Topology:
    """Random connected multigraphs: a random tree and some additional links."""
    nodes = draw(st.integers(2, most))
    edges = [(draw(st.integers(0, node - 1)), node) for node in range(1, nodes)]
    node = st.integers(0, nodes - 1)
    edges += draw(st.lists(st.tuples(node, node).filter(lambda edge: edge[0] != edge[1]), max_size=2 * nodes))
    return build("edges", [nodes], edges, draw(st.sampled_from([1, 1, 2])))


# ---- topologies


@pytest.mark.parametrize("shape, size", SHAPES)
def test_a_shape_is_the_graph_of_its_name(shape: str, size: tuple[int, ...]) -> None:
    topology = build(shape, size)
    if shape == "star":
        expected = nx.star_graph(size[0] - 1)
    else:
        expected = nx.MultiGraph()
        stride = 1
        for length in size:
            for node in range(math.prod(size)):
                place = node // stride % length
                if place < length - 1:
                    expected.add_edge(node, node + stride)
                elif shape in ("ring", "torus"):
                    expected.add_edge(node, node - stride * (length - 1))
            stride *= length
        simple = nx.grid_graph(size[::-1], periodic=shape in ("ring", "torus"))
        assert nx.is_isomorphic(nx.Graph(expected), nx.convert_node_labels_to_integers(simple))
    links = sorted((min(a, b), max(a, b)) for a, b in graph_of(topology).edges())
    assert links == sorted((min(a, b), max(a, b)) for a, b in expected.edges())


@pytest.mark.parametrize("shape, size", SHAPES)
def test_closed_forms_are_the_graphs_own(shape: str, size: tuple[int, ...]) -> None:
    topology = build(shape, size)
    distances = shortest(topology)
    pairs = topology.nodes * (topology.nodes - 1)
    assert (topology.distances == distances).all()
    assert topology.diameter == distances.max()
    assert topology.average_distance == pytest.approx(distances.sum() / pairs)


@given(connected_graphs())
@settings(max_examples=50, deadline=None)
def test_every_port_has_one_link(topology: Topology) -> None:
    ends = [(a, port) for a, port, _, _ in topology.links.tolist()] + [
        (b, port) for _, _, b, port in topology.links.tolist()
    ]
    assert len(set(ends)) == len(ends)
    for node, port in ends:
        other, back = topology.peer[node, port], topology.peer_port[node, port]
        assert topology.peer[other, back] == node and topology.peer_port[other, back] == port
    assert (topology.peer >= 0).sum() == len(ends)


def test_two_planes_are_two_networks() -> None:
    topology = build("torus", (4, 4), planes=2)
    assert len(topology.links) == 64 and topology.link_ports == 8
    routes = dimension_order(topology)
    for destination in range(16):
        used = {int(port) // 4 for node, port in enumerate(routes.port[:, destination]) if node != destination}
        assert len(used) == 1
    assert {int(port) // 4 for port in routes.port[routes.port != NO_ROUTE]} == {0, 1}


# ---- algorithms


@pytest.mark.parametrize("shape, size", SHAPES)
@pytest.mark.parametrize("algorithm", ROUTERS)
def test_routes_reach_and_do_not_deadlock(shape: str, size: tuple[int, ...], algorithm: str) -> None:
    topology = build(shape, size)
    if algorithm == "dimension-order" and shape == "star":
        with pytest.raises(NoRoutes, match="dfsssp"):
            dimension_order(topology)
        return
    routes = ROUTERS[algorithm](topology, 8)
    reached, waits = walk(topology, routes)
    assert reached
    assert nx.is_directed_acyclic_graph(waits)
    proof = proved(topology, routes)
    assert proof.dependencies == waits.number_of_edges()
    length = lengths(topology, routes)
    assert proof.longest_path == length.max()
    assert proof.average_path == pytest.approx(length.sum() / (topology.nodes * (topology.nodes - 1)))
    if algorithm in ("dimension-order", "dfsssp"):
        assert (length == shortest(topology)).all()


@pytest.mark.sample(2)
@pytest.mark.slow
@given(connected_graphs(), st.sampled_from(["up-down", "dfsssp", "tree-search"]))
@settings(max_examples=60, deadline=None)
def test_random_graphs_never_deadlock(topology: Topology, algorithm: str) -> None:
    routes = ROUTERS[algorithm](topology, 8)
    reached, waits = walk(topology, routes)
    assert reached
    assert nx.is_directed_acyclic_graph(waits)
    proof = proved(topology, routes)
    assert proof.dependencies == waits.number_of_edges()
    if algorithm == "dfsssp":
        assert (lengths(topology, routes) == shortest(topology)).all()


@given(connected_graphs(most=24), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_the_default_always_has_routes(topology: Topology, classes: int) -> None:
    routes = route(topology, None, classes)
    assert routes.classes <= classes
    assert walk(topology, routes)[0]
    prove(topology, routes, masks(routes), CHANNELS, slot_packets=1)


def test_up_down_never_goes_up_after_down() -> None:
    """In a ring of 9 with a chord, by the levels of a breadth-first search from the node at which most routes turn."""
    topology = build("edges", [9], [(node, (node + 1) % 9) for node in range(9)] + [(0, 4)])
    routes = up_down(topology)
    distances = shortest(topology)
    root = int(distances.max(axis=1).argmin())
    rank = {node: (int(distances[root, node]), node) for node in range(9)}
    for source in range(9):
        for destination in range(9):
            node, came_down = source, False
            while node != destination:
                following = int(topology.peer[node, routes.port[node, destination]])
                down = rank[following] > rank[node]
                assert down or not came_down
                node, came_down = following, down


def test_dfsssp_takes_layers_where_one_is_not_enough() -> None:
    ring = build("edges", [9], [(node, (node + 1) % 9) for node in range(9)])
    assert dfsssp(ring, 8).classes == 2
    with pytest.raises(NoRoutes, match="more than 1 layers"):
        dfsssp(ring, 1)
    assert route(ring, None, 1).algorithm == "up-down"


@pytest.mark.parametrize("size", [(4,), (8,), (4, 4), (8, 8), (4, 4, 4)])
def test_equally_long_ways_are_shared_evenly(size: tuple[int, ...]) -> None:
    """On a torus of even sizes every link of a dimension carries the same number of routes."""
    topology = build("torus", size)
    load = link_loads(topology, dimension_order(topology))
    for dimension, length in enumerate(size):
        assert (load[:, 2 * dimension : 2 * dimension + 2] == topology.nodes * length // 8).all()


@pytest.mark.parametrize("size", [(2,), (2, 2), (2, 2, 2), (4, 4, 2), (2, 3)])
def test_both_links_of_a_pair_are_used(size: tuple[int, ...]) -> None:
    topology = build("torus", size)
    port = dimension_order(topology).port
    used = {(node, int(port[node, other])) for node, other in np.argwhere(~np.eye(topology.nodes, dtype=bool))}
    for a, port_a, b, port_b in topology.links.tolist():
        if size[port_a // 2] == 2:
            assert (a, port_a) in used or (b, port_b) in used


@pytest.mark.parametrize("size", [(9,), (8,), (4, 5), (3, 7)])
def test_class_1_is_the_half_of_the_destination(size: tuple[int, ...]) -> None:
    """In class 0 a path, this hop included, still leads from one half of its ring into the other."""
    topology = build("torus", size)
    routes = dimension_order(topology)
    half = 2 * topology.coordinates < size
    for source in range(topology.nodes):
        for destination in range(topology.nodes):
            node, hops = source, []
            while node != destination:
                port = int(routes.port[node, destination])
                following = int(topology.peer[node, port])
                crosses = half[node, port // 2] != half[following, port // 2]
                hops.append((port // 2, int(routes.route_class[node, destination]), crosses))
                node = following
            for index, (dimension, route_class, _) in enumerate(hops):
                still = any(crosses for other, _, crosses in hops[index:] if other == dimension)
                assert route_class == (0 if still else 1)


def test_dfsssp_spreads_its_routes() -> None:
    """On a torus given only as a list of links, the busiest link has less than a third more than the average."""
    grid = build("torus", (8, 8))
    topology = build("edges", [64], [(a, b) for a, _, b, _ in grid.links.tolist()])
    load = link_loads(topology, dfsssp(topology, 8))
    assert load.max() < 4 / 3 * load.mean()


def link_loads(topology: Topology, routes: Routes) -> np.ndarray:
    """The number of pairs whose paths leave each node by each port."""
    load = np.zeros((topology.nodes, topology.link_ports), int)
    for source in range(topology.nodes):
        for destination in range(topology.nodes):
            node = source
            while node != destination:
                port = int(routes.port[node, destination])
                load[node, port] += 1
                node = int(topology.peer[node, port])
    return load


@pytest.mark.parametrize("algorithm", ROUTERS)
def test_dependencies_are_those_of_a_walk(algorithm: str) -> None:
    """From (link, class) to (link, class), for a ring with a chord, where dfsssp has two layers whose packets keep
    their class."""
    topology = build("edges", [9], [(node, (node + 1) % 9) for node in range(9)] + [(0, 4)])
    if algorithm == "dimension-order":
        topology = build("torus", [3, 5])
    routes = ROUTERS[algorithm](topology, 8)
    others = ~np.eye(topology.nodes, dtype=bool)
    found = dependencies(ways(topology, routes), channels(topology, routes.port), others, routes)
    expected = {
        tuple((node * topology.link_ports + port) * routes.classes + held for node, port, _, held in edge)
        for edge in walk(topology, routes)[1].edges
        if edge[0][2] == 0  # the message class
    }
    assert len(found) == len(expected) and set(map(tuple, found.tolist())) == expected


def test_relays_take_several_links_to_a_node_for_one() -> None:
    """Routes over both links of a ring of two have no cycle, but those of the relay have one."""
    topology = build("torus", [2, 2, 2])
    routes = tree_search(topology)
    assert nx.is_directed_acyclic_graph(walk(topology, routes)[1])
    in_relay = walk(topology, replace(routes, port=one_link_to_each(topology, routes.port)))[1]
    assert not nx.is_directed_acyclic_graph(in_relay)
    prove_tables(topology, routes, masks(routes), CHANNELS)
    with pytest.raises(BadRoutes) as found:
        prove(topology, routes, masks(routes), CHANNELS, slot_packets=1)
    assert_is_cycle(found.value, in_relay, routes)


# ---- bad tables


def test_a_ring_without_a_dateline_is_rejected_with_its_cycle() -> None:
    topology = build("ring", (8,))
    good = dimension_order(topology)
    bad = replace(good, route_class=np.zeros_like(good.route_class), classes=1)
    with pytest.raises(BadRoutes, match="cycle of 8 buffers") as found:
        prove(topology, bad, masks(bad), CHANNELS, slot_packets=1)
    assert_is_cycle(found.value, walk(topology, bad)[1], bad)


def assert_is_cycle(error: BadRoutes, waits: nx.DiGraph, routes: Routes) -> None:
    buffers = [(b.node, b.port, *divmod(b.vc, routes.classes)) for b in error.cycle]
    assert buffers and len(set(buffers)) == len(buffers)
    for held, wanted in pairwise([*buffers, buffers[0]]):
        assert waits.has_edge(held, wanted)
    for buffer in error.cycle:
        assert str(buffer) in str(error)


def one_link_to_each(topology: Topology, port: np.ndarray) -> np.ndarray:
    """The ports as the relay uses them: one of several links to a node, namely the link for packets to this node."""
    ends = {}
    for a, port_a, b, port_b in topology.links.tolist():
        ends[a, port_a], ends[b, port_b] = b, a
    ones = port.copy()
    for node, destination in np.ndindex(*port.shape):
        following = ends.get((node, int(port[node, destination])))
        if following is not None and ends.get((node, int(port[node, following]))) == following:
            ones[node, destination] = port[node, following]
    return ones


@pytest.mark.slow
@given(connected_graphs(most=9), st.integers(0, 2**32), st.integers(0, 12), st.booleans())
@settings(max_examples=250, deadline=None)
def test_a_damaged_table_is_judged_as_networkx_judges_it(
    topology: Topology, seed: int, changes: int, classless: bool
) -> None:
    dice = random.Random(seed)
    good = dfsssp(topology, 8)
    port, route_class = good.port.copy(), good.route_class.copy()
    if classless:
        route_class[:] = 0
    for _ in range(changes):
        node, destination = dice.randrange(topology.nodes), dice.randrange(topology.nodes)
        port[node, destination] = dice.choice([*range(topology.link_ports), NO_ROUTE])
        route_class[node, destination] = dice.choice([*range(good.classes), KEEP_CLASS])
    bad = replace(good, port=port, route_class=route_class)
    reached, waits = walk(topology, bad)
    acyclic = nx.is_directed_acyclic_graph(waits)
    if acyclic:
        in_relay = nx.compose(waits, walk(topology, replace(bad, port=one_link_to_each(topology, port)))[1])
    try:
        proof = prove(topology, bad, masks(bad), CHANNELS, slot_packets=1)
    except BadRoutes as error:
        if error.pair:
            assert not reached
            only = replace(bad, port=np.full_like(port, NO_ROUTE))
            only.port[:, error.pair[1]] = port[:, error.pair[1]]
            assert not arrives(topology, only, *error.pair)
        else:
            assert reached and not (acyclic and nx.is_directed_acyclic_graph(in_relay))
            assert_is_cycle(error, in_relay if acyclic else waits, bad)
    else:
        assert reached and acyclic and nx.is_directed_acyclic_graph(in_relay)
        assert proof.dependencies == waits.number_of_edges()


def arrives(topology: Topology, routes: Routes, node: int, destination: int) -> bool:
    for _ in range(topology.nodes):
        if node == destination:
            return True
        port = int(routes.port[node, destination])
        if port >= topology.link_ports or topology.peer[node, port] < 0:
            return False
        node = int(topology.peer[node, port])
    return node == destination


@pytest.mark.parametrize(
    "vc_mask, what",
    [
        ([[1, 2], [2, 4]], "share virtual channels"),
        ([[1, 2], [4]], "message class 1, route class 1 has no virtual channel among"),
        ([[1, 2], [4, 0]], "message class 1, route class 1 has no virtual channel among"),
        ([[1, 2], [4, 16]], "message class 1, route class 1 has no virtual channel among"),
        ([[1, 1], [2, 2]], "cycle"),
    ],
)
def test_classes_that_are_no_classes_are_rejected(vc_mask: list[list[int]], what: str) -> None:
    topology = build("ring", (6,))
    with pytest.raises(BadRoutes, match=what):
        prove(topology, dimension_order(topology), vc_mask, 4, slot_packets=1)


def test_a_slot_without_room_is_rejected() -> None:
    topology = build("line", (3,))
    with pytest.raises(BadRoutes, match="slot_packets"):
        prove(topology, dimension_order(topology), [[1], [2]], 2, slot_packets=0)


# ---- foundations of the proof


@given(st.integers(2, 12), st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_a_cycle_is_found_where_there_is_one(vertices: int, seed: int) -> None:
    dice = random.Random(seed)
    edges = {(dice.randrange(vertices), dice.randrange(vertices)) for _ in range(dice.randrange(2 * vertices))}
    graph = nx.DiGraph()
    graph.add_nodes_from(range(vertices))
    graph.add_edges_from(edges)
    cycle = find_cycle(vertices, np.array(sorted(edges), np.int64).reshape(-1, 2))
    assert (cycle is None) == nx.is_directed_acyclic_graph(graph)
    if cycle is not None:
        assert len(set(cycle)) == len(cycle)
        assert all(graph.has_edge(a, b) for a, b in pairwise([*cycle, cycle[0]]))


@given(st.integers(2, 15), st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_a_growing_graph_refuses_exactly_what_closes_a_cycle(vertices: int, seed: int) -> None:
    dice = random.Random(seed)
    graph, judge = AcyclicGraph(vertices), nx.DiGraph()
    judge.add_nodes_from(range(vertices))
    for _ in range(4 * vertices):
        tail, head = dice.randrange(vertices), dice.randrange(vertices)
        closes = tail == head or nx.has_path(judge, head, tail)
        assert graph.add(tail, head) is not closes
        if not closes:
            judge.add_edge(tail, head)
        if dice.random() < 0.1:  # rebuilt from its edges
            graph = AcyclicGraph(vertices, list(judge.edges))


@pytest.mark.parametrize("ranks", [*range(2, 20), 64, 100, 128])
def test_slots_never_wait_in_a_circle(ranks: int) -> None:
    """Slots are the edges of the binomial tree and of recursive doubling, in both directions, as docs/architecture.md
    defines them."""
    tree = {(v, v + (1 << k)) for k in range(10) for v in range(0, ranks, 2 << k) if v + (1 << k) < ranks}
    power = 1 << int(math.log2(ranks))
    exchange = {(v, v ^ (1 << k)) for v in range(power) for k in range(power.bit_length() - 1)}
    folded = {(v, v - power) for v in range(power, ranks)}
    edges = {*tree, *exchange, *folded}
    graph = slot_graph(ranks)
    assert set(graph) == edges | {(b, a) for a, b in edges}
    waits = nx.DiGraph((slot, then) for slot, after in graph.items() for then in after)
    assert nx.is_directed_acyclic_graph(waits)
    assert nx.is_tree(nx.Graph(tree))
    for child in (1 << k for k in range(10) if 1 << k < ranks):  # an allreduce turns at rank 0, and nowhere else
        assert {(0, other) for other in (1 << k for k in range(10)) if other < ranks} <= graph[child, 0]
    assert all((b, a) not in after for (a, b), after in graph.items() if b != 0)
    # From any leaf of the tree a broadcast reaches all others by slots that wait for one another.
    for leaf in (v for v in range(1, ranks, 2)):
        first = (leaf, leaf - 1)
        assert {slot[1] for slot in nx.descendants(waits, first)} | {leaf - 1} >= set(range(ranks)) - {leaf}


def test_slots_of_every_size_of_communicator_never_wait_in_a_circle() -> None:
    for ranks in range(1, 129):
        assert nx.is_directed_acyclic_graph(
            nx.DiGraph((slot, then) for slot, after in slot_graph(ranks).items() for then in after)
        )


def test_a_torus_of_512_is_proved_in_seconds() -> None:
    import time

    begin = time.process_time()
    topology = build("torus", (8, 8, 8))
    routes = dimension_order(topology)
    proof = prove(topology, routes, masks(routes), 4, slot_packets=1)
    assert proof.nodes == 512 and proof.longest_path == 12
    assert time.process_time() - begin < 10


@given(connected_graphs())
@settings(max_examples=20, deadline=None)
def test_a_cluster_that_is_cut_has_no_routes(topology: Topology) -> None:
    assume(topology.nodes < 14)
    alone = build(
        "edges", [topology.nodes + 1], [(a, b) for a, _, b, _ in topology.links.tolist()][: topology.nodes - 1]
    )
    for algorithm in (up_down, dfsssp, tree_search):
        with pytest.raises(NoRoutes, match=f"node {topology.nodes}"):
            algorithm(alone)
