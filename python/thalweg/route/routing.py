# SPDX-License-Identifier: Apache-2.0
"""Routing algorithms, which compute tables for a topology.

Grids use dimension order with two classes per ring (Dally and Seitz, 1987). Any graph can use up*/down* (Schroeder et
al., Autonet, 1991) or DFSSSP (Domke, Hoefler and Nagel, IPDPS 2011): shortest paths balanced over the links by weights,
and cycles broken by moving paths to further layers. Searched paths for hardware without virtual channels are in
thalweg.route.trees. All tables are proved by thalweg.route.proof before use.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from thalweg.cluster.topology import MAX_NODES, Topology
from thalweg.route import grid
from thalweg.route.acyclic import AcyclicGraph
from thalweg.route.grid import GridRoutes
from thalweg.route.paths import Paths
from thalweg.route.routes import (
    KEEP_CLASS,
    NO_ROUTE,
    Bytes,
    NoRoutes,
    Routes,
    in_one_layer,
    require_connected,
    towards_neighbours,
)


def dimension_order(topology: Topology, max_classes: int = 2) -> Routes:
    """Dimension-order routing (thalweg.route.grid), for at most `MAX_NODES` nodes."""
    return grid.dimension_order(topology, max_classes).tables


def up_down(topology: Topology, max_classes: int = 1) -> Routes:
    """Up*/down* routing: towards the root of a breadth-first tree, then away from it, in one class.

    The root is a node in the middle of the graph. In a fat tree, up is towards the spines. Of equally long paths, the
    one whose link has fewer routes is used.
    """
    require_connected(topology)
    if topology.level:
        depth = -np.array(topology.level)
    else:
        depth = topology.distances[int(topology.distances.max(axis=1).argmin())]
    rank = np.lexsort((np.arange(topology.nodes), depth)).argsort()
    peer, joined = topology.peer, topology.peer >= 0
    is_up = joined & (rank[peer] < rank[:, None])
    is_down = joined & ~is_up
    from_root = np.argsort(rank)
    nodes = topology.nodes
    far = nodes * 4
    port = np.full((nodes, nodes), NO_ROUTE, np.uint8)
    load = np.zeros(peer.shape, np.int64)
    for destination in range(nodes):
        steps = np.full(nodes + 1, far)  # the last entry represents unconnected ports
        steps[destination] = 0
        # a node with a path down must use it: its packets may have come down already
        for allowed, order in ((is_down, from_root[::-1]), (is_up, from_root)):
            for node in order:
                if steps[node] < far:
                    continue
                costs = np.where(allowed[node], steps[peer[node]], far)
                best = costs.min()
                if best < far:
                    candidates = np.flatnonzero(costs == best)
                    chosen = candidates[load[node, candidates].argmin()]
                    steps[node] = best + 1
                    port[node, destination] = chosen
                    load[node, chosen] += 1
    if topology.level:
        # spines have no path up to each other: packets between them turn at the first leaf, unlike those between hosts
        lost = (port == NO_ROUTE) & ~np.eye(nodes, dtype=bool)
        port[lost] = np.broadcast_to(port[:, topology.hosts, None], port.shape)[lost]
    return in_one_layer("up-down", port)


def dfsssp(topology: Topology, max_classes: int = 2) -> Routes:
    """DFSSSP routing: balanced shortest paths, in as few layers as break all cycles. Packets keep their layer.

    Raises NoRoutes if more than `max_classes` layers are needed.
    """
    require_connected(topology)
    port = _balanced_shortest_paths(topology)
    layer, layers = _layers(topology, port, max_classes)
    return Routes("dfsssp", port, np.full_like(port, KEEP_CLASS), layer, layers)


ALGORITHMS: dict[str, Callable[[Topology, int], Routes]] = {
    "dimension-order": dimension_order,
    "up-down": up_down,
    "dfsssp": dfsssp,
}


def route(topology: Topology, algorithm: str | None, max_classes: int) -> Routes | GridRoutes:
    """Returns routes by `algorithm`; by default dimension order for grids, up*/down* for fat trees, and DFSSSP for others.

    By default, up*/down* replaces DFSSSP if that needs more than `max_classes` layers. Raises NoRoutes.
    """
    if algorithm == "dimension-order" or (algorithm is None and topology.is_whole_grid):
        return grid.dimension_order(topology, max_classes)
    if topology.nodes > MAX_NODES:
        raise NoRoutes(f"{topology.nodes} nodes; {algorithm} supports at most {MAX_NODES}, dimension-order more")
    if algorithm is not None:
        return ALGORITHMS[algorithm](topology, max_classes)
    if topology.level:
        return up_down(topology, max_classes)
    try:
        return dfsssp(topology, max_classes)
    except NoRoutes:
        return up_down(topology, max_classes)


def _balanced_shortest_paths(topology: Topology) -> Bytes:
    """Returns the ports of shortest paths; of equally short ones, the one with the lowest sum of routes over its links."""
    nodes, peer = topology.nodes, topology.peer
    joined = peer >= 0
    port = np.full((nodes, nodes), NO_ROUTE, np.uint8)
    load = np.zeros(peer.shape, np.int64)
    for destination in range(nodes):
        hops = topology.distances[:, destination]
        cost = np.zeros(nodes, np.int64)
        levels = [np.flatnonzero(hops == level) for level in range(1, int(hops.max()) + 1)]
        for level, at in enumerate(levels):
            nearer = joined[at] & (hops[peer[at]] == level)
            costs = np.where(nearer, load[at] + cost[peer[at]], np.iinfo(np.int64).max)
            chosen = costs.argmin(axis=1)
            port[at, destination] = chosen
            cost[at] = costs[np.arange(len(at)), chosen]
        through = np.ones(nodes, np.int64)
        for at in reversed(levels):
            chosen = port[at, destination]
            np.add.at(through, peer[at, chosen], through[at])
            load[at, chosen] += through[at]
    return port


def _layers(topology: Topology, port: Bytes, most: int) -> tuple[Bytes, int]:
    """Returns the layer of each (source, destination), and the number of layers.

    Dependencies between links are added to a layer in descending order of the number of paths that have them. Paths
    with a dependency that would close a cycle move to the next layer.
    """
    nodes = topology.nodes
    paths = Paths.by_ports(port, topology.peer)
    node, destination = np.divmod(np.arange(nodes * nodes), nodes)
    channel = node * topology.link_ports + towards_neighbours(topology, port, paths).ravel()
    turns = np.flatnonzero((node != destination) & (paths.next.ravel() != destination))
    after = channel[paths.next.ravel()[turns] * nodes + destination[turns]]
    channels = nodes * topology.link_ports
    dependency = channel[turns] * channels + after

    layer = np.zeros((nodes, nodes), np.uint8)
    members = ~np.eye(nodes, dtype=bool)
    for current in range(most):
        weight = paths.through(members).ravel()[turns]
        used = weight > 0
        kinds, kind = np.unique(dependency[used], return_inverse=True)
        order = np.argsort(-np.bincount(kind, weights=weight[used]), kind="stable")
        graph = AcyclicGraph(channels)
        refused = np.zeros(len(kinds), bool)
        for index in order:
            refused[index] = not graph.add(*divmod(int(kinds[index]), channels))
        if not refused.any():
            return layer, current + 1
        marked = np.zeros(nodes * nodes, bool)
        marked[turns[used][refused[kind]]] = True
        members &= paths.marked(marked.reshape(nodes, nodes)) > 0
        layer[members] = current + 1
    raise NoRoutes(
        f'dfsssp needs more than {most} layers; give the router more virtual channels, or routing = "up-down"'
    )
