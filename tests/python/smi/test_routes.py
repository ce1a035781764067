# SPDX-License-Identifier: Apache-2.0
"""Do packets reach their destinations by short paths, and is a wait-for cycle impossible? The proof is compared with
walks of every packet over networkx graphs, with an exhaustive search, and with kernels that poll full FIFOs."""

from __future__ import annotations

import itertools
import random
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from thalweg.cluster.topology import Topology, build
from thalweg.errors import InputError
from thalweg.route.proof import BadRoutes
from thalweg.systems.smi import routes, routes_proof
from thalweg.systems.smi.routes import Endpoint, Table
from thalweg.systems.smi.topology import read

LINKS = 4
TORUS = Path(__file__).with_name("torus-2x4.json")

Vertex = tuple[object, ...]


def ends(topology: Topology) -> dict[tuple[int, int], tuple[int, int]]:
    found = {}
    for a, port_a, b, port_b in topology.links.tolist():
        found[a, port_a], found[b, port_b] = (b, port_b), (a, port_a)
    return found


def random_graph(ranks: int, seed: int) -> Topology:
    """Connected, with at most 4 links per rank."""
    draw = random.Random(seed)
    edges = [(rank, draw.randrange(max(0, rank - 3), rank)) for rank in range(1, ranks)]
    degree = [sum(rank in edge for edge in edges) for rank in range(ranks)]
    for a, b in draw.sample(list(itertools.combinations(range(ranks), 2)), ranks):
        if degree[a] < LINKS and degree[b] < LINKS:
            edges.append((a, b))
            degree[a] += 1
            degree[b] += 1
    assert max(degree) <= LINKS
    return build("edges", [ranks], edges)


def walk(topology: Topology, tables: Table, rank: int, kernel: int, destination: int) -> list[Vertex]:
    """The vertices that a packet passes, from a send kernel to the receive kernel at its end."""
    joined, way = ends(topology), []
    for _ in range(200):
        output = int(tables[rank, kernel, destination])
        if output == 1:
            assert rank == destination
            return [*way, ("send to receive", rank, kernel)]
        if output == 0:
            way.append(("link", rank, kernel))
            rank, kernel = joined[rank, kernel]
            if rank == destination:
                return way
            way.append(("receive to send", rank, kernel))
        else:
            other = [link for link in range(LINKS) if link != kernel][output - 2]
            way.append(("send to send", rank, kernel, other))
            kernel = other
    raise AssertionError("goes round")


def everyone(topology: Topology) -> Iterator[tuple[int, int, int]]:
    ranks = topology.nodes
    return itertools.product(range(ranks), range(LINKS), range(ranks))


def waits(topology: Topology, tables: Table) -> nx.DiGraph:
    graph = nx.DiGraph()
    for rank, kernel, destination in everyone(topology):
        way = walk(topology, tables, rank, kernel, destination)
        nx.add_path(graph, way)
        last = way[-1]
        at = ends(topology)[last[1:]] if last[0] == "link" else last[1:]
        for other in range(LINKS):
            if other != at[1]:
                graph.add_edge(last, ("receive to receive", at[0], at[1], other))
    return graph


def shortest_tables(topology: Topology, choose: random.Random | None = None) -> Table:
    """Shortest paths over links (100) and kernels of a rank (1), as in the public reference implementation."""
    graph = nx.Graph()
    for rank in range(topology.nodes):
        graph.add_edges_from(itertools.combinations([(rank, link) for link in range(LINKS)], 2), weight=1)
    edges = [((a, port_a), (b, port_b)) for a, port_a, b, port_b in topology.links.tolist()]
    if choose:
        choose.shuffle(edges)
    graph.add_edges_from(edges, weight=100)
    tables = np.zeros((topology.nodes, LINKS, 256), np.uint8)
    for rank, kernel in itertools.product(range(topology.nodes), range(LINKS)):
        paths = nx.single_source_dijkstra_path(graph, (rank, kernel))
        for destination in range(topology.nodes):
            way = min((paths[destination, link] for link in range(LINKS)), key=len)
            if rank == destination:
                tables[rank, kernel, destination] = 1
            elif way[1][0] == rank:
                tables[rank, kernel, destination] = 2 + [x for x in range(LINKS) if x != kernel].index(way[1][1])
    return tables


GRAPHS = {
    "ring 3": build("ring", [3]),
    "ring 7": build("ring", [7]),
    "line 8": build("line", [8]),
    "torus 2x4": build("torus", [2, 4]),
    "torus 4x4": build("torus", [4, 4]),
    "torus 3x5": build("torus", [3, 5]),
    "mesh 3x3": build("mesh", [3, 3]),
    "two planes": build("ring", [5], planes=2),
    "two planes of a line": build("line", [4], planes=2),
    **{f"random {seed}": random_graph(4 + 2 * seed, seed) for seed in range(8)},
}


@pytest.mark.parametrize("name", GRAPHS)
def test_the_proof_says_what_a_walk_of_every_packet_finds(name: str) -> None:
    topology = GRAPHS[name]
    tables = routes.send_tables(routes.leaves_by(topology, LINKS))
    proof = routes_proof.prove(topology, tables)
    graph = waits(topology, tables)
    assert nx.is_directed_acyclic_graph(graph)
    assert proof.dependencies == graph.number_of_edges()
    hops = {
        (rank, destination): {
            sum(at[0] == "link" for at in walk(topology, tables, rank, kernel, destination)) for kernel in range(LINKS)
        }
        for rank, destination in itertools.permutations(range(topology.nodes), 2)
    }
    assert all(len(of_pair) == 1 for of_pair in hops.values())
    lengths = {pair: of_pair.pop() for pair, of_pair in hops.items()}
    assert proof.average_path == pytest.approx(np.mean(list(lengths.values())))
    assert proof.longest_path == max(lengths.values())
    plain = nx.MultiGraph([(a, b) for a, _, b, _ in topology.links.tolist()])
    shortest = dict(nx.all_pairs_shortest_path_length(plain))
    assert proof.longer_pairs == sum(length > shortest[a][b] for (a, b), length in lengths.items())
    assert proof.average_shortest == pytest.approx(np.mean([shortest[a][b] for a, b in lengths]))
    load = {}
    for (rank, destination), kernel in itertools.product(lengths, range(LINKS)):
        for at in walk(topology, tables, rank, kernel, destination):
            if at[0] == "link":
                load[at] = load.get(at, 0) + 1 / LINKS
    assert proof.uniform_load == pytest.approx(max(load.values()) / (topology.nodes - 1))


@pytest.mark.parametrize("seed", range(30))
def test_random_shortest_paths_pass_where_networkx_sees_no_cycle(seed: int) -> None:
    draw = random.Random(seed)
    topology = random_graph(draw.randint(3, 7), seed) if seed % 3 else build("torus", [2, draw.choice((2, 3, 4))])
    tables = shortest_tables(topology, draw)
    graph = waits(topology, tables)
    if nx.is_directed_acyclic_graph(graph):
        assert routes_proof.prove(topology, tables).longer_pairs == 0
    else:
        with pytest.raises(BadRoutes, match=r"^a wait-for cycle of \d+ links and FIFOs: "):
            routes_proof.prove(topology, tables)


def test_shortest_paths_on_the_torus_of_2_by_4_have_a_cycle_and_ours_none() -> None:
    fpgas = read(TORUS)
    assert fpgas.names[:3] == ("node-1:acl0", "node-1:acl1", "node-2:acl0")
    with pytest.raises(BadRoutes) as bad:
        routes_proof.prove(fpgas.topology, shortest_tables(fpgas.topology))
    assert any(word.startswith("link ") for word in bad.value.cycle)
    assert str(bad.value).count("rank") >= len(bad.value.cycle)
    proof = routes_proof.prove(fpgas.topology, routes.send_tables(routes.leaves_by(fpgas.topology, LINKS)))
    # No path is longer than a shortest one, and no link is busier than with all shortest ones.
    assert (proof.longer_pairs, proof.longest_path) == (0, 3)
    assert proof.uniform_load == pytest.approx(proof.even_load)


@pytest.mark.parametrize("ranks", [3, 4, 5])
def test_no_routes_of_a_ring_without_a_cycle_are_shorter(ranks: int) -> None:
    """Exhaustive: each destination's tree omits one of the ring's links."""
    topology = build("ring", [ranks])
    best = None
    for cuts in itertools.product(range(ranks), repeat=ranks):
        graph, hops = nx.DiGraph(), 0
        for destination, cut in enumerate(cuts):  # the cut is between rank `cut` and the next one
            for rank in range(ranks):
                up = (destination - rank) % ranks
                goes_up = (cut - rank) % ranks >= up
                step, length = (1, up) if goes_up else (-1, (rank - destination) % ranks)
                hops += length
                way = [((rank + step * at) % ranks, step) for at in range(length)]
                nx.add_path(graph, way)
        if (best is None or hops < best) and nx.is_directed_acyclic_graph(graph):
            best = hops
    proof = routes_proof.prove(topology, routes.send_tables(routes.leaves_by(topology, LINKS)))
    assert best is not None
    assert proof.average_path == pytest.approx(best / (ranks * (ranks - 1)))


def test_routes_of_a_large_torus_are_nearly_as_short_as_can_be() -> None:
    """In dimension order they have 18/7 in a ring of 8 (test_cluster), and 2 * 18/7 * 56/63 in the torus."""
    topology = build("torus", [8, 8])
    proof = routes_proof.prove(topology, routes.send_tables(routes.leaves_by(topology, LINKS)))
    assert proof.average_shortest < proof.average_path < 2 * 18 / 7 * 56 / 63
    assert proof.uniform_load < 2 * proof.even_load


def links_of_pair(topology: Topology, rank: int, destination: int) -> list[int]:
    """For each send kernel, the link by which packets leave the rank."""
    by = routes.leaves_by(topology, LINKS)
    return by[rank, :, destination].tolist()


@pytest.mark.parametrize("links", [(0, 1), (0, 2), (2, 3), (1, 3)])
def test_two_cables_between_ranks_carry_half_of_the_send_kernels_each(links: tuple[int, int]) -> None:
    a, b = links
    topology = Topology("edges", (2,), 1, 2, max(links) + 1, np.array([[0, a, 1, b], [0, b, 1, a]], np.int32))
    for rank in (0, 1):
        of = links_of_pair(topology, rank, 1 - rank)
        assert sorted(of) == [a, a, b, b]
        # The first two send kernels, and the first pushes of a program that also pops, do not share a link.
        assert of[0] != of[1]
        assert of[0] != of[2]
    proof = routes_proof.prove(topology, routes.send_tables(routes.leaves_by(topology, LINKS)))
    assert proof.uniform_load == 0.5


def test_cables_behind_the_first_hop_are_shared_too() -> None:
    """A line of three ranks, whose neighbours are connected by two cables each."""
    cables = [[0, 2, 1, 0], [0, 3, 1, 1], [1, 2, 2, 0], [1, 3, 2, 1]]
    topology = Topology("edges", (3,), 1, 3, 4, np.array(cables, np.int32))
    tables = routes.send_tables(routes.leaves_by(topology, LINKS))
    assert routes_proof.prove(topology, tables).uniform_load == 0.5
    ways = [tuple(at for at in walk(topology, tables, 0, kernel, 2) if at[0] == "link") for kernel in range(LINKS)]
    assert sorted(map(ways.count, set(ways))) == [2, 2]
    assert {at[1:] for way in ways for at in way} == {(0, 2), (0, 3), (1, 2), (1, 3)}


def test_on_the_torus_of_2_by_4_neighbours_use_both_of_their_cables() -> None:
    topology = read(TORUS).topology
    for rank in range(topology.nodes):
        of = links_of_pair(topology, rank, rank ^ 1)
        assert sorted(map(of.count, set(of))) == [2, 2]


def test_routes_are_the_same_every_time() -> None:
    topology = random_graph(12, 3)
    assert (routes.leaves_by(topology, LINKS) == routes.leaves_by(topology, LINKS)).all()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ((0, 0, 1, 1), "rank 1 cannot be reached from send kernel 0 of rank 0: .* delivers the packet of another rank"),
        ((0, 2, 0, 0), "rank 0 cannot be reached from send kernel 2 of rank 0: .* forwards its own packet"),
        (
            (0, 2, 1, 0),
            "rank 1 cannot be reached from send kernel 2 of rank 0: .* uses a link that does not exist",
        ),
        ((1, 0, 3, 9), "rank 3 cannot be reached .* has no output above 4"),
        ((1, 0, 3, 2), "rank 3 cannot be reached .* packets loop"),
    ],
)
def test_wrong_tables_are_named(change: tuple[int, int, int, int], what: str) -> None:
    topology = build("line", [4])
    tables = routes.send_tables(routes.leaves_by(topology, LINKS))
    tables[change[:3]] = change[3]
    if what.endswith("loop"):
        tables[1, 1, 3] = 2  # send kernels 0 and 1 forward it to each other
    with pytest.raises(BadRoutes, match=what):
        routes_proof.prove(topology, tables)


def test_a_table_that_goes_back_over_a_ring_is_a_cycle_of_links() -> None:
    topology = build("ring", [4])
    same_way = np.where(np.eye(4, dtype=bool), -1, 0).astype(np.int8)
    tables = routes.send_tables(np.repeat(same_way[:, None, :], LINKS, axis=1))
    with pytest.raises(BadRoutes) as bad:
        routes_proof.prove(topology, tables)
    assert len([word for word in bad.value.cycle if word.startswith("link 0 of rank")]) == 4


# ---------------------------------------------------------------- receive kernels


def test_receive_tables_lead_each_packet_to_its_endpoint() -> None:
    kinds = ("push", "pop", "broadcast", "reduce", "gather", "scatter", "push", "pop", "pop")
    ports = (0, 0, 1, 2, 3, 4, 5, 6, 255)
    endpoints = [Endpoint(kind, port) for kind, port in zip(kinds, ports, strict=True)]
    tables = routes.receive_tables(endpoints, LINKS)
    reached = set()
    for kernel, port, control in itertools.product(range(LINKS), range(256), range(2)):
        at, output = kernel, int(tables[kernel, port * 2 + control])
        takers = [
            number
            for number, of in enumerate(endpoints)
            if of.port == port and of.kind != ("pop" if control else "push")
        ]
        if not takers:
            assert output == 0
            continue
        if 0 < output < LINKS:
            at = [link for link in range(LINKS) if link != kernel][output - 1]
            output = int(tables[at, port * 2 + control])
        assert output >= LINKS
        place, is_control = divmod(output - LINKS, 2)
        assert (at + LINKS * place, is_control) == (takers[0], control)
        reached.add((takers[0], control))
    assert len(reached) == 9 + 4  # collectives use both


@pytest.mark.parametrize(
    ("endpoints", "what"),
    [
        ([("push", 1), ("push", 1)], "port 1 has two endpoints of a rank, push and push"),
        ([("pop", 7), ("reduce", 7)], "port 7 has two endpoints of a rank, pop and reduce"),
        ([("push", 256)], "port is 256; it must be 0 to 255"),
        ([("shout", 0)], "unknown kind of endpoint 'shout'"),
    ],
)
def test_endpoints_that_cannot_be_are_named(endpoints: list[tuple[str, int]], what: str) -> None:
    with pytest.raises(InputError, match=what):
        routes.receive_tables([Endpoint(*of) for of in endpoints], LINKS)


def test_receive_kernels_that_hand_on_to_one_without_the_endpoint_are_named() -> None:
    topology = build("line", [2])
    tables = routes.send_tables(routes.leaves_by(topology, LINKS))
    receive = [routes.receive_tables([Endpoint("pop", 3)], LINKS) for _ in range(2)]
    routes_proof.prove(topology, tables, receive)
    receive[1][0, 6] = 0
    with pytest.raises(BadRoutes, match="rank 1: receive kernel 1 passes data of port 3 to 0, which has no endpoint"):
        routes_proof.prove(topology, tables, receive)


# ---------------------------------------------------------------- kernels that poll


def stands_still(topology: Topology, tables: Table, cycles: int = 3000) -> bool:
    """Whether packets deadlock if every rank sends to all at full rate, and receives on arrival."""
    joined, draw = ends(topology), random.Random(1)
    fifos: dict[Vertex, deque[tuple[int, int]]] = {}
    kernels: list[tuple[str, int, int, list[Vertex]]] = []
    for rank, at in itertools.product(range(topology.nodes), range(LINKS)):
        others = [link for link in range(LINKS) if link != at]
        from_link = ("link", *joined[rank, at]) if (rank, at) in joined else ("nothing", rank, at)
        send = [("receive to send", rank, at), *(("send to send", rank, k, at) for k in others), ("endpoint", rank, at)]
        receive = [from_link, ("send to receive", rank, at), *(("receive to receive", rank, k, at) for k in others)]
        kernels += [("send", rank, at, send), ("receive", rank, at, receive)]
        for fifo in (*send, *receive):
            fifos[fifo] = deque()
    turns = [0] * len(kernels)
    last = 0

    def goes_to(sort: str, rank: int, at: int, packet: tuple[int, int]) -> Vertex | None:
        destination, at_end = packet
        if sort == "send":
            return walk_one(rank, at, destination)
        if rank != destination:
            return ("receive to send", rank, at)
        return None if at_end == at else ("receive to receive", rank, at, at_end)

    def walk_one(rank: int, at: int, destination: int) -> Vertex:
        output = int(tables[rank, at, destination])
        if output == 0:
            return ("link", rank, at)
        if output == 1:
            return ("send to receive", rank, at)
        return ("send to send", rank, at, [link for link in range(LINKS) if link != at][output - 2])

    for now in range(cycles):
        for rank, at in itertools.product(range(topology.nodes), range(LINKS)):
            if not fifos["endpoint", rank, at]:
                fifos["endpoint", rank, at].append((draw.randrange(topology.nodes), draw.randrange(LINKS)))
        for number, (sort, rank, at, inputs) in enumerate(kernels):
            fifo = fifos[inputs[turns[number]]]
            to = goes_to(sort, rank, at, fifo[0]) if fifo else None
            if fifo and (to is None or len(fifos[to]) < 2):
                packet = fifo.popleft()
                last = now
                if to:
                    fifos[to].append(packet)
            turns[number] = (turns[number] + 1) % len(inputs)
    return last < cycles - 100


def test_where_shortest_paths_stand_still_ours_go_on() -> None:
    topology = build("torus", [2, 4])
    assert stands_still(topology, shortest_tables(topology))
    assert not stands_still(topology, routes.send_tables(routes.leaves_by(topology, LINKS)))


def test_on_a_graph_of_any_shape_nothing_stands_still() -> None:
    topology = random_graph(8, 5)
    assert not stands_still(topology, routes.send_tables(routes.leaves_by(topology, LINKS)), 1500)
