# SPDX-License-Identifier: Apache-2.0
"""Operations on virtual circuits: transfer, gather, scatter and allgather; and models of those via the servers' network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from thalweg.bench.operation import (
    Measured,
    Operation,
    Plan,
    Progress,
    Row,
    Sizes,
    WrongRows,
    at_least,
    check,
    one_of,
)
from thalweg.errors import InputError
from thalweg.lost import counted
from thalweg.systems.vcsn import models, overload, rewiring, schedules
from thalweg.systems.vcsn._sim import SEGMENTS, SEQUENCER_INSTRUCTIONS
from thalweg.systems.vcsn.broadcast import BroadcastAllgather
from thalweg.systems.vcsn.circuit_file import Circuits
from thalweg.systems.vcsn.cluster import Cluster, Node
from thalweg.systems.vcsn.collectives import Collective
from thalweg.systems.vcsn.measuring import check_capture, check_port, requested_sizes, wire_us
from thalweg.systems.vcsn.recording import recorded
from thalweg.systems.vcsn.schedules import Move, Schedule, Stage
from thalweg.systems.vcsn.sequenced import INSTRUCTIONS, Sequenced
from thalweg.trace import Recorded
from thalweg.trace.recorded import in_turn


def _sequencers(cluster: Cluster, nodes: Sequence[int], root: int, sizes: Sequence[int]) -> None:
    """Raises InputError if FPGAs cannot run the programs of a gather by fabric."""
    table = cluster.fpga(root)
    have = table.sequencers if isinstance(table, Node) else 0
    if have < table.ports:
        raise InputError(
            f"a gather by fabric needs a sequencer for each of {table.ports} external ports; {cluster.name} has {have} per FPGA"
        )
    stages = Sequenced(cluster, nodes, root, max(sizes)).stages
    if (needed := stages * INSTRUCTIONS + 1) > SEQUENCER_INSTRUCTIONS:
        raise InputError(
            f"nodes is {len(nodes)}: a sequencer of the root needs {needed} instructions; its maximum is {SEQUENCER_INSTRUCTIONS}"
        )
    if table.banks < table.ports:
        raise InputError(
            f"a gather by fabric needs a bank of the root's memory for each of {table.ports} external ports; there are {table.banks}"
        )
    _servers(cluster, nodes)


def _servers(cluster: Cluster, nodes: Iterable[int]) -> None:
    """Raises InputError if a participating FPGA has no server."""
    for node in sorted(nodes):
        if cluster.server_of(node) is None:
            raise InputError(f"FPGA {node} is in no server (kind vcsn-server), whose program starts transfers")


def _banks(cluster: Cluster, name: str, largest: Collective | Sequenced) -> None:
    """Raises InputError if the blocks do not fit into a bank."""
    bank = cluster.fpga(cluster.fpgas[0]).bank_bytes
    if (most := largest.most_bytes) > bank:
        raise InputError(f"{name} of {largest.size} bytes puts {most} bytes into a bank; it has {bank}")


def _check(rows: Sequence[Row]) -> None:
    """Raises WrongRows with the drops."""
    for row in rows:
        if row["lost"]:
            raise WrongRows(f"{row['operation']} of {row['bytes']} bytes lost data: {row['dropped']}", rows)
    check(rows)


def _measured(
    cluster: Cluster, collective: Collective | Sequenced, moved: int, size: int, least_us: float, own: Row
) -> Measured:
    network, time, right = collective.run()
    per_us = network.ticks_per_second / 1e6
    ends = [end for node in cluster.fpgas for _, _, _, end, _ in network.passed(node)]
    begins = [begin for node in cluster.fpgas for _, _, begin, _, _ in network.passed(node)]
    lost = sum(count for _, _, count in network.lost)
    dropped = "; ".join(f"{counted(count, what)} of node {node}" for node, what, count in network.lost)
    own = own | {
        "stages": collective.stages,
        "gb_per_s": moved / time / 1e3,
        "data_us": (max(ends) - min(begins)) / per_us,
        "lost": lost,
        "dropped": dropped,
    }
    return Measured(size, time, least_us, right and not lost, own)


def _recorded(title: str, collectives: Sequence[Collective | Sequenced]) -> Recorded:
    return in_turn(title, [recorded(collective.cluster, collective.run()[0]) for collective in collectives])


def transfer(
    cluster: Cluster,
    *,
    source: int = 0,
    destination: int = 1,
    port: int = 0,
    by: str = "",
    sizes: Sizes = "64:64M",
    circuits: str = "",
    seed: int = 1,
    pcap: str = "",
) -> Plan:
    """Plans a transfer between the memories of two FPGAs, by the five steps of section 4.1 of the paper.

    `port` is the external port of both FPGAs; serial links use the shortest path. `by` "servers" is path C of Figure 7,
    as a model. `circuits` is a circuit file that is opened, one of whose circuits is used. `pcap` is a file for all
    frames of a single size. Raises InputError.
    """
    for what, node in (("source", source), ("destination", destination)):
        if node not in cluster.fpgas:
            raise InputError(
                f"{what} is {node}; the FPGAs of {cluster.name} are {cluster.fpgas[0]} to {cluster.fpgas[-1]}"
            )
    if source == destination:
        raise InputError(f"source and destination are both {source}")
    if by:
        one_of("way", by, ("servers",))
        if port or pcap or circuits:
            raise InputError("a transfer by servers does not support port, circuits and pcap")
        return _transfer_by_servers(cluster, source, destination, requested_sizes(sizes, 1))
    opened = Circuits.load(circuits, cluster) if circuits else None
    if cluster.is_direct:
        if port or pcap:
            raise InputError(f"{cluster.name} has serial links: port, circuits and pcap are not supported")
        move = cluster.front.step(source, destination)
    elif opened:
        one, other = opened.between(source, destination)
        if port not in (0, one.port):
            raise InputError(f"port is {port}; the circuit of {opened.name} is from {one} to {other}")
        port = one.port
        move = Move(source, (port, one.virtual_port), destination, (other.port, other.virtual_port), [source])
    else:
        check_port(cluster, port, [source, destination])
        move = Move(source, (port, 0), destination, (port, 0), [source])
    requested = requested_sizes(sizes, 1)
    at_least("seed", seed, 0)
    check_capture(cluster, pcap, requested)
    others = {
        (one.node, (one.port, one.virtual_port), other.node, (other.port, other.virtual_port))
        for one, other in (opened.all if opened else ())
    }
    schedule = Schedule(destination, [Stage([move])], steps=True, others=others)
    _servers(cluster, schedule.nodes)
    _banks(cluster, "transfer", Collective(cluster, schedule, max(requested)))

    def measure(progress: Progress, _: int) -> Iterator[Measured]:
        for index, size in enumerate(requested):
            yield _measured(
                cluster,
                Collective(cluster, schedule, size, seed, pcap=pcap, divided=opened),
                size,
                size,
                wire_us(cluster, size, port),
                {},
            )
            progress((index + 1) / len(requested))

    def record(rows: Sequence[Row]) -> Recorded:
        return _recorded(title, [Collective(cluster, schedule, row["bytes"], seed, divided=opened) for row in rows])

    hops = len(cluster.way(source, destination)) - 1 if cluster.is_direct else 0
    by = f"{hops} link{'s' * (hops > 1)}" if cluster.is_direct else f"external port {port}"
    if opened:
        by += f", {len(opened.all)} circuits of {opened.name}"
    title = f"transfer from node {source} to node {destination} on {cluster.name}, {by}"
    return Plan(
        cluster, "transfer", title, "the program receives the interrupt", measure, {"data": seed}, _check, record
    )


def gather_schedule(cluster: Cluster, by: str, nodes: Sequence[int], root: int) -> Schedule:
    """Returns the schedule of a gather or scatter.

    Parameters
    ----------
    cluster : Cluster
    by : str
        "ring", "tree" or "relink".
    nodes : sequence of int
        Participating FPGAs.
    root : int
        One of them.

    Raises
    ------
    InputError
        A direct network is not a ring.
    """
    if cluster.is_direct and cluster.topology.shape != "ring":
        raise InputError(f"gather and scatter need a ring; {cluster.name} is a {cluster.topology.shape}")
    return cluster.front.gather_schedule(by, nodes, root)


def _message_us(cluster: Cluster, servers: Sequence[int]) -> float:
    """Returns the time of a message between servers: a round of their barrier (Equation 6)."""
    return max(cluster.server_tables[server].barrier_round_us for server in servers)


def _network_gb(cluster: Cluster, servers: Sequence[int]) -> float:
    return min(cluster.server_tables[server].network_gbit_s for server in servers) / 8


def _modelled(
    cluster: Cluster, name: str, title: str, requested: Sequence[int], seconds: Callable[[int], float], moved: int
) -> Plan:
    """Plans a closed form, which moves `moved` times the size; nothing is executed."""

    def measure(progress: Progress, _: int) -> Iterator[Measured]:
        for size in requested:
            us = seconds(size) * 1e6
            yield Measured(size, us, None, None, {"by": "servers", "gb_per_s": moved * size / us / 1e3})
        progress(1)

    return Plan(
        cluster,
        name,
        f"{title} by the servers' network, a model",
        "all data have arrived",
        measure,
        record="it is a model",
    )


def _transfer_by_servers(cluster: Cluster, source: int, destination: int, requested: Sequence[int]) -> Plan:
    servers = []
    for node in (source, destination):
        if (server := cluster.server_of(node)) is None:
            raise InputError(f"FPGA {node} is in no server (kind vcsn-server), whose network carries its data")
        servers.append(server)
    if servers[0] == servers[1]:
        raise InputError(
            f"FPGAs {source} and {destination} are in one server, {servers[0]}, so no network lies between them"
        )
    slot = min(cluster.slot_of(node).gbit_s for node in (source, destination)) / 8
    message = _message_us(cluster, servers) * 1e-6

    def seconds(size: int) -> float:
        return models.host_transfer(size, slot * 1e9, _network_gb(cluster, servers) * 1e9, message)

    title = f"transfer from node {source} to node {destination} on {cluster.name}"
    return _modelled(cluster, "transfer", title, requested, seconds, 1)


def _gather_by_servers(cluster: Cluster, nodes: int, sizes: Sizes) -> Plan:
    count = nodes or len(cluster.servers)
    if not 2 <= count <= len(cluster.servers):
        raise InputError(
            f"nodes is {count}; by servers, these take part, and {cluster.name} has {len(cluster.servers)}, of which 2 at least do"
        )
    servers = cluster.servers[:count]
    message = _message_us(cluster, servers) * 1e-6

    def seconds(size: int) -> float:
        return models.host_gather(count, size, _network_gb(cluster, servers) * 1e9, message)

    title = f"gather to one of {count} servers on {cluster.name}, bytes of each"
    return _modelled(cluster, "gather", title, requested_sizes(sizes, count - 1), seconds, count - 1)


def _schedule(cluster: Cluster, name: str, by: str, nodes: Sequence[int], root: int) -> Schedule:
    """Raises InputError."""
    if name != "allgather" or by == "broadcast":
        made = gather_schedule(cluster, "tree" if by == "broadcast" else by, nodes, root)
        return schedules.scatter(made) if name == "scatter" else made
    if cluster.is_direct and cluster.topology.shape != "ring":
        raise InputError(f"allgather needs a ring; {cluster.name} is a {cluster.topology.shape}")
    return cluster.front.allgather_schedule(nodes)


def _collective(
    cluster: Cluster, name: str, by: str, nodes: int, root: int, sizes: Sizes, late: bool, seed: int, pcap: str
) -> Plan:
    ways = {
        "gather": (*schedules.GATHERS, "fabric", "servers"),
        "scatter": (*schedules.GATHERS,),
        "allgather": ("ring", "broadcast"),
    }[name]
    by = one_of("way", by or ("ring" if cluster.is_direct or name == "allgather" else "tree"), ways)
    if by == "servers":
        if root or late or pcap:
            raise InputError("a gather by servers is a model with root 0: root, late and pcap are not supported")
        return _gather_by_servers(cluster, nodes, sizes)
    nodes = nodes or len(cluster.fpgas)
    if not 2 <= nodes <= len(cluster.fpgas):
        raise InputError(
            f"nodes is {nodes}; {cluster.name} has {len(cluster.fpgas)} FPGAs, of which at least 2 must take part"
        )
    taking_part = cluster.fpgas[:nodes]
    if root not in taking_part:
        raise InputError(f"root is {root}; the FPGAs that take part are {taking_part[0]} to {taking_part[-1]}")
    table = cluster.fpga(root)
    if cluster.is_direct and by != "ring":
        raise InputError(f"{name} by {by} needs circuits; {cluster.name} has serial links: use by ring")
    if not cluster.is_direct and by != "relink" and table.virtual_of_port < 2:
        raise InputError(f"a {by} needs two virtual ports per external port; {cluster.name} has one")
    if table.dmas < table.ports:
        raise InputError(
            f"{name} needs a pair of DMA engines for each of {table.ports} external ports; there are {table.dmas}"
        )
    if not cluster.is_direct:
        for port in range(table.ports):
            check_port(cluster, port, taking_part)
    requested = requested_sizes(sizes, (nodes if name == "allgather" else 1) * (nodes - 1))
    at_least("seed", seed, 0)
    check_capture(cluster, pcap, requested)
    if by == "broadcast":
        for port in range(table.ports):
            cluster.group_ports((root, port), [(node, port) for node in taking_part if node != root])

    def made(size: int, pcap: str = "") -> Collective | Sequenced:
        if by == "fabric":
            return Sequenced(cluster, taking_part, root, size, seed, pcap)
        return (BroadcastAllgather if by == "broadcast" else Collective)(cluster, schedule, size, seed, late, pcap)

    if by == "fabric":
        if late:
            raise InputError("late affects barriers; a gather by fabric has none while it is measured")
        _sequencers(cluster, taking_part, root, requested)
    else:
        schedule = _schedule(cluster, name, by, taking_part, root)
        if (most := max(len(move.blocks) for stage in schedule.stages for move in stage.moves)) > SEGMENTS:
            raise InputError(
                f"nodes is {nodes}: by {by}, a transfer has {most} blocks; a DMA engine supports {SEGMENTS} segments"
            )
        _servers(cluster, schedule.nodes)
    _banks(cluster, name, made(max(requested)))

    def measure(progress: Progress, _: int) -> Iterator[Measured]:
        for index, size in enumerate(requested):
            moved = (nodes - 1) * size
            # the root's ports carry all blocks but its own, as all nodes' ports do in an allgather
            least = wire_us(cluster, -(-(nodes - 1) // table.ports) * size)
            own: Row = {"by": by, "nodes": nodes}
            measured = _measured(cluster, made(size, pcap), moved, size, least, own)
            measured.own["share_of_ports"] = measured.own["gb_per_s"] / (table.ports * cluster.payload_gb)
            yield measured
            progress((index + 1) / len(requested))

    def record(rows: Sequence[Row]) -> Recorded:
        return _recorded(title, [made(row["bytes"]) for row in rows])

    where = {"gather": f"to node {root} of", "scatter": f"from node {root} of", "allgather": "of"}[name]
    title = f"{name} {where} {nodes} by {by} on {cluster.name}, bytes of each node"
    ends = (
        "the root's program receives its interrupts, from its start"
        if by == "fabric"
        else "the last program receives its interrupt"
    )
    return Plan(cluster, name, title, ends, measure, {"data": seed}, _check, record)


def gather(
    cluster: Cluster,
    *,
    by: str = "",
    nodes: int = 0,
    root: int = 0,
    sizes: Sizes = "64K:4M",
    late: bool = False,
    seed: int = 1,
    pcap: str = "",
) -> Plan:
    """Plans a gather from the first `nodes` FPGAs (0: all) to `root`.

    `by` is "ring", "tree" or "relink" (default: tree, or ring with serial links); "fabric": by sequencers in the FPGAs,
    with programs loaded before the start; "servers": MPI_Gather of the servers, as a model. With `late`, barriers
    include their average delay after work (section 6.3). `pcap` is a file for all frames of a single size. Raises
    InputError.
    """
    return _collective(cluster, "gather", by, nodes, root, sizes, late, seed, pcap)


def scatter(
    cluster: Cluster,
    *,
    by: str = "",
    nodes: int = 0,
    root: int = 0,
    sizes: Sizes = "64K:4M",
    late: bool = False,
    seed: int = 1,
    pcap: str = "",
) -> Plan:
    """Plans a scatter from `root`; options as for `gather`."""
    return _collective(cluster, "scatter", by, nodes, root, sizes, late, seed, pcap)


def allgather(
    cluster: Cluster,
    *,
    by: str = "",
    nodes: int = 0,
    sizes: Sizes = "64K:1M",
    late: bool = False,
    seed: int = 1,
    pcap: str = "",
) -> Plan:
    """Plans an allgather of the first `nodes` FPGAs (0: all).

    `by` is "ring" (two circuits at each external port, or serial links) or "broadcast": a gather by tree to the first
    FPGA, then multicast frames (section 5.3). Raises InputError.
    """
    return _collective(cluster, "allgather", by, nodes, cluster.fpgas[0], sizes, late, seed, pcap)


OPERATIONS: dict[str, Any] = {
    "transfer": Operation(transfer),
    "gather": Operation(gather),
    "scatter": Operation(scatter),
    "allgather": Operation(allgather),
    "overload": Operation(overload.overload),
    "rewire": Operation(rewiring.rewire),
}
