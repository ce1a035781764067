# SPDX-License-Identifier: Apache-2.0
"""Forwarding tables of Ethernet switches: shortest paths to each station, balanced over equal ones, and a tree for
broadcasts."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from thalweg.cluster.topology import Topology


def routes(topology: Topology, station: tuple[int, int], ends: Collection[int]) -> Mapping[int, int]:
    """Returns, for each switch with a path to a station (node, port), its output port. `ends` are nodes that do not
    forward frames."""
    node, port = station
    first, last_port = int(topology.peer[station]), int(topology.peer_port[station])
    if first < 0 or first in ends:
        return {}
    found = {first: last_port}
    front = [first]
    while front:
        neighbours: dict[int, list[int]] = {}
        for at in front:
            for out in np.flatnonzero(topology.peer[at] >= 0).tolist():
                other = int(topology.peer[at, out])
                if other not in found and other not in ends:
                    neighbours.setdefault(other, []).append(int(topology.peer_port[at, out]))
        for other, ports in neighbours.items():
            found[other] = sorted(ports)[(node + port) % len(ports)]
        front = sorted(neighbours)
    return found


def flood_ports(topology: Topology, switch: int, ends: Collection[int]) -> set[int]:
    """Returns the ports of a switch on a tree to all reachable nodes, so that no broadcast frame is duplicated."""
    peer, peer_port = topology.peer, topology.peer_port
    group, queue = {switch}, [switch]
    for node in queue:
        for other in peer[node][peer[node] >= 0].tolist():
            if other not in group and other not in ends:
                group.add(other)
                queue.append(other)
    first = min(group)
    reached, queue, tree = {first}, [first], set[int]()
    for node in queue:
        for port in np.flatnonzero(peer[node] >= 0).tolist():
            other = int(peer[node, port])
            if other in ends:  # each port of a node with several has its own address
                tree |= {port} if node == switch else set()
            elif other not in reached:
                reached.add(other)
                queue.append(other)
                tree |= {port} if node == switch else {int(peer_port[node, port])} if other == switch else set()
    return tree
