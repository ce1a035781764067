# SPDX-License-Identifier: Apache-2.0
"""Loads of links when each rank of SMI sends a packet to each other rank: by given tables, and by shortest paths."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thalweg.cluster.topology import Topology
from thalweg.systems.smi.routes import TO_LINK, Table, ends, kernel_behind


def by_tables(topology: Topology, tables: Table) -> NDArray[np.float64]:
    """(ranks, links): pairs of ranks whose packets a link carries; each of a rank's send kernels has the same share of a pair."""
    ranks = topology.nodes
    links = tables.shape[1]
    peer, peer_link = ends(topology, links)
    rank, kernel, destination = (
        axis.ravel() for axis in np.meshgrid(range(ranks), range(links), range(ranks), indexing="ij")
    )
    load = np.zeros((ranks, links))
    while True:
        going = rank != destination
        rank, kernel, destination = rank[going], kernel[going], destination[going]
        if not len(rank):
            return load
        output = tables[rank, kernel, destination]
        over = output == TO_LINK
        np.add.at(load, (rank[over], kernel[over]), 1 / links)
        turned = kernel_behind(kernel, np.maximum(output, 2))
        rank, kernel = np.where(over, peer[rank, kernel], rank), np.where(over, peer_link[rank, kernel], turned)


def by_shortest_paths(topology: Topology) -> NDArray[np.float64]:
    """(ranks, links): the same if each pair's packets were spread evenly over the links that bring them nearer."""
    peer, _ = ends(topology, topology.link_ports)
    distance = topology.distances
    flow = 1.0 - np.eye(topology.nodes)  # at a rank, to a destination
    load = np.zeros(peer.shape)
    nearer = (peer[:, :, None] >= 0) & (distance[peer] == distance[:, None, :] - 1)
    ways = np.maximum(nearer.sum(axis=1), 1)
    for far in range(int(distance.max()), 0, -1):
        share = np.where(distance == far, flow / ways, 0)
        for link in range(topology.link_ports):
            part = np.where(nearer[:, link], share, 0)
            load[:, link] += part.sum(axis=1)
            joined = peer[:, link] >= 0
            np.add.at(flow, peer[joined, link], part[joined])
    return load
