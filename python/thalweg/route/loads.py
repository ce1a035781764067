# SPDX-License-Identifier: Apache-2.0
"""Link loads under uniform all-to-all traffic, independent of routing tables."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thalweg.cluster.topology import Topology


def by_shortest_paths(topology: Topology) -> NDArray[np.float64]:
    """Returns the load of each link as an array (nodes, link ports) if each node sends one packet to each other node.

    The packets of each pair are spread evenly over all links that reduce the distance.
    """
    peer = topology.peer
    distance = topology.distances
    flow = 1.0 - np.eye(topology.nodes)  # flow at each node towards each destination
    load = np.zeros(peer.shape)
    nearer = (peer[:, :, None] >= 0) & (distance[peer] == distance[:, None, :] - 1)
    next_hops = np.maximum(nearer.sum(axis=1), 1)
    for far in range(int(distance.max()), 0, -1):
        share = np.where(distance == far, flow / next_hops, 0)
        for link in range(topology.link_ports):
            part = np.where(nearer[:, link], share, 0)
            load[:, link] += part.sum(axis=1)
            joined = peer[:, link] >= 0
            np.add.at(flow, peer[joined, link], part[joined])
    return load
