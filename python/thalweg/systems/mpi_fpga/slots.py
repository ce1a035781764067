# SPDX-License-Identifier: Apache-2.0
"""Proof of routes for routers with collective units: every packet that arrives is accepted, and there is no wait-for cycle
of slots.

1. Message classes and route classes have separate virtual channels, so a plain message never waits for a collective's.
A collective packet enters the network only with a credit for the slot at its end, or for the relay's buffer at the next
node, of which there is one per link and route class. Of parallel links the relay uses one, that of packets for the next
node itself; with these merged, the dependency graph is acyclic as well. 2. Slots do not form wait-for cycles: over the
tree of the communicator of all hosts (any root), through its top for an allreduce, and over the stages of an exchange,
the graph of waiting slots is acyclic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thalweg.cluster.topology import Topology
from thalweg.route import grid_proof, proof
from thalweg.route.grid import GridRoutes
from thalweg.route.proof import BadRoutes
from thalweg.route.routes import Routes, towards_neighbours

if TYPE_CHECKING:
    from thalweg.systems.mpi_fpga._sim import Group

Slots = dict[tuple[int, ...], set[tuple[int, ...]]]
"""Slots that each slot may wait for; a slot is a directed edge (from, to) of the communicator, and the stage of an exchange."""


@dataclass(frozen=True)
class Proof(proof.Proof):
    slots: int = (
        0  # number of directed edges in trees and exchanges of the communicator of all hosts; 0 without collectives
    )
    slot_dependencies: int = 0


def prove(
    topology: Topology,
    routes: Routes | GridRoutes,
    vc_mask: Sequence[Sequence[int]],
    virtual_channels: int,
    slot_packets: int | None,
    waits: Slots | None = None,
) -> Proof:
    """Proves routes, and returns their figures. Raises BadRoutes.

    `slot_packets` is None for a fabric without collectives. `waits` has the slots of the communicator of all hosts; by
    default, tree and exchange follow rank numbers. `vc_mask[message class][route class]` is a bit mask of virtual
    channels.
    """
    if slot_packets is None:
        if isinstance(routes, GridRoutes):
            return Proof(**grid_proof.prove(routes, vc_mask, virtual_channels).as_dict())
        return Proof(**proof.prove(topology, routes, vc_mask, virtual_channels).as_dict())
    if slot_packets < 1:
        raise BadRoutes("slot_packets is 0; it must be at least 1")
    plain, collective = (int(np.bitwise_or.reduce(masks[: routes.classes])) for masks in vc_mask)
    if plain & collective:
        raise BadRoutes(f"plain messages and collectives share virtual channels (mask {plain & collective:#x})")
    if isinstance(routes, GridRoutes):
        of_routes = grid_proof.prove(routes, vc_mask, virtual_channels)
        grid_proof.check_relays(routes)
    else:
        paths = proof.ways(topology, routes)
        of_routes = proof.prove(topology, routes, vc_mask, virtual_channels, paths)
        of_relay = proof.channels(topology, towards_neighbours(topology, routes.port, paths))
        others = ~np.eye(topology.nodes, dtype=bool)
        proof.check_buffers(topology, proof.dependencies(paths, of_relay, others, routes), routes.classes)
    slots, slot_dependencies = check_slots(slot_graph(topology.hosts) if waits is None else waits)
    return Proof(**of_routes.as_dict(), slots=slots, slot_dependencies=slot_dependencies)


def slot_graph(ranks: int) -> Slots:
    """Returns which slots a slot may wait for; a slot is a directed edge (from rank, to rank).

    Covers the binomial tree for any root, with the turn at rank 0 of an allreduce, and recursive doubling, whose ranks
    beyond the largest power of two are folded in first and get the result last.
    """

    def parent(rank: int) -> int:
        return rank & (rank - 1)

    neighbours: dict[int, list[int]] = {rank: [] for rank in range(ranks)}
    for rank in range(1, ranks):
        neighbours[rank].append(parent(rank))
        neighbours[parent(rank)].append(rank)
    waits: Slots = {}
    for middle, around in neighbours.items():
        for before in around:
            slots: set[tuple[int, ...]] = {(middle, after) for after in around if after != before or middle == 0}
            waits.setdefault((before, middle), set()).update(slots)

    power = 1 << (ranks.bit_length() - 1)
    stages = [1 << k for k in range(power.bit_length() - 1)]
    for rank in range(power):
        folded = rank + power if rank + power < ranks else None
        for k, bit in enumerate(stages):
            slots = {(rank, rank ^ later) for later in stages[k + 1 :]}
            slots |= {(rank, folded)} if folded is not None else set()
            waits.setdefault((rank ^ bit, rank), set()).update(slots)
        if folded is not None:
            waits.setdefault((folded, rank), set()).update((rank, rank ^ bit) for bit in stages)
            waits.setdefault((rank, folded), set())
    return waits


def group_slots(group: Group) -> Slots:
    """Returns the same for any tree, and for an exchange in groups, which has separate slots."""
    waits: Slots = {}
    for middle, edges in enumerate(group.tree):
        at_top = not any(leads_up for _, leads_up in edges)
        for before, _ in edges:
            waits[before, middle] = {(middle, after) for after, _ in edges if after != before or at_top}

    def slot(stage: int, source: int, target: int) -> tuple[int, ...]:
        return (source, target, stage)

    stages = max(map(len, group.exchange))
    beyond = [rank for rank, groups in enumerate(group.exchange) if not groups] if stages else []
    folded = {rank - (len(group.exchange) - len(beyond)): rank for rank in beyond}
    for rank, groups in enumerate(group.exchange):
        sent = [{slot(k, rank, peer) for peer in peers if peer != rank} for k, peers in enumerate(groups)]
        if rank in folded:
            sent.append({slot(stages, rank, folded[rank])})
            waits[slot(-1, folded[rank], rank)] = set().union(*sent)
            waits[slot(stages, rank, folded[rank])] = set()
        for k, peers in enumerate(groups):
            for peer in peers:
                if peer != rank:
                    waits[slot(k, peer, rank)] = set().union(*sent[k + 1 :])
    if group.doubles:  # scans, and allgather by exchange
        ranks, first = len(group.exchange), stages if group.by_dimensions else 0
        for rank in range(ranks):
            peers = [rank ^ 1 << k for k in range((ranks - 1).bit_length())]
            for k, peer in enumerate(peers):
                later = {slot(first + j, rank, to) for j, to in enumerate(peers) if j > k and to < ranks}
                if peer < ranks:
                    waits.setdefault(slot(first + k, peer, rank), set()).update(later)
    return waits


def check_slots(waits: Slots) -> tuple[int, int]:
    """Returns the numbers of slots and of dependencies. Raises BadRoutes if there is a wait-for cycle."""
    number = {slot: index for index, slot in enumerate(waits)}
    edges = np.array(
        [(number[slot], number[then]) for slot, after in waits.items() for then in after], np.int64
    ).reshape(-1, 2)
    slots = list(waits)
    proof.check_acyclic(len(slots), edges, "slots", lambda index: "{} to {}".format(*slots[index][:2]))
    return len(number), len(edges)
