# SPDX-License-Identifier: Apache-2.0
"""Operations of SMI for `thalweg bench` and `thalweg.measure`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thalweg.bench.operation import (
    Measured,
    Operation,
    Plan,
    Progress,
    Row,
    Sizes,
    at_least,
    one_of,
    parse_sizes,
    peer_at,
)
from thalweg.errors import InputError
from thalweg.systems.smi import bounds, metadata, plots, routes
from thalweg.systems.smi.cluster import Cluster
from thalweg.systems.smi.run import Buffer, Result, Run
from thalweg.trace import Recorded
from thalweg.trace.recorded import in_turn

if TYPE_CHECKING:
    from thalweg.systems.mpi_fpga.cluster import Cluster as Switches

BYTES = metadata.BYTES
COLLECTIVES = ("broadcast", "reduce", "scatter", "gather")
MAX_SENDERS = 4
_SWITCHED = {"packet": "packets", "circuit": "circuits"}
SWITCHINGS = tuple(_SWITCHED)
ROUNDS = 20
"""Number of rounds of a ping-pong."""


@dataclass(frozen=True)
class BenchmarkRun:
    """A run of the benchmark's kernels."""

    result: Result
    right: bool
    """Whether all elements were correct."""
    recorded: Recorded | None


class _Micro:
    """A run of the benchmark's kernels."""

    def __init__(
        self,
        cluster: Cluster,
        element: str,
        endpoints: Sequence[tuple[str, int]],
        engine: str,
        ranks: int | None = None,
        in_switch: Switches | None = None,
        record: bool = False,
    ) -> None:
        operations = [
            metadata.Operation.model_validate({"type": kind, "port": port, "data_type": element})
            for kind, port in endpoints
        ]
        self.run = Run(
            cluster,
            ranks,
            metadata.Program("micro", tuple(operations), cluster.node.reads, cluster.topology.nodes),
            defines=(f"ELEMENT={element}", f"TYPE=SMI_{element.upper()}"),
            engine=engine,
            in_switch=in_switch,
            record=record,
        )
        self.file = Path(__file__).parent / "kernels" / "micro.c"
        self.wrong: list[Buffer] = []  #: number of wrong elements, of each checking kernel

    def start(self, kernel: str, rank: int, checks: bool = False, **arguments: Any) -> None:
        if checks:
            self.wrong.append(self.run.buffer(rank, np.full(1, -1, np.int32)))
            arguments["wrong"] = self.wrong[-1]
        self.run.kernel(self.file, kernel, rank, **arguments)

    def end(self) -> BenchmarkRun:
        result = self.run.run()
        return BenchmarkRun(result, all(buffer.array[0] == 0 for buffer in self.wrong), self.run.recorded)


def pushes(
    cluster: Cluster, element: str, count: int, peer: int, senders: int, engine: str = "sim", record: bool = False
) -> BenchmarkRun:
    """Sends `count` elements from each of several kernels of rank 0, each at its own port, to another rank."""
    ports = range(senders)
    endpoints = [("push", port) for port in ports] + [("pop", port) for port in ports]
    micro = _Micro(cluster, element, endpoints, engine, record=record)
    for port in ports:
        micro.start(f"sends_{port}", 0, n=count, peer=peer)
        micro.start(f"takes_{port}", peer, True, n=count, peer=0)
    return micro.end()


def ping_pong_us(cluster: Cluster, element: str, peer: int) -> tuple[float, bool]:
    """Returns half of the round-trip time of a message of one element in us."""
    micro = _Micro(cluster, element, [("push", 0), ("pop", 0), ("push", 1), ("pop", 1)], "sim")
    micro.start("asks", 0, True, rounds=ROUNDS, peer=peer)
    micro.start("answers", peer, rounds=ROUNDS, peer=0)
    ran = micro.end()
    return ran.result.cycle(0, "asks") / ran.result.hertz * 1e6 / (2 * ROUNDS), ran.right


def behind(
    cluster: Cluster, element: str, count: int, peer: int, to: int, record: bool = False
) -> tuple[float, BenchmarkRun]:
    """Returns the time in us of one element to rank `to`, pushed after half of another kernel's `count` elements for
    `peer`."""
    endpoints = [("push", 0), ("pop", 0), ("pop", 1), ("pop", 2)]
    # both use the same link
    shares = [routes.link_of(cluster.send_tables, 0, at, peer) for at in range(cluster.node.links)]
    late = next((at for at in range(1, len(shares)) if shares[at] == shares[0]), len(endpoints))
    endpoints.insert(late, ("push", 1))
    micro = _Micro(cluster, element, endpoints, "sim", record=record)
    micro.start("sends_0", 0, n=count, peer=peer)
    micro.start("takes_0", peer, True, n=count, peer=0)
    micro.start("sends_late", 0, wait=count // 2, peer=to)
    micro.start("takes_1", to, True, n=1, peer=0)
    ran = micro.end()
    return (ran.result.cycle(to, "takes_1") - count // 2) / ran.result.hertz * 1e6, ran


def injects(cluster: Cluster, messages: int, reads: int, engine: str = "sim", record: bool = False) -> BenchmarkRun:
    """Sends messages of one element from a kernel whose send kernel has one more input than links."""
    cluster = cluster.with_node(reads=reads)
    links = cluster.node.links
    # Four channels of a rank, one per link. The used one is at a link towards the other rank, the last such link, as
    # the following pop is at the first link and gives its send kernel another input.
    way = int(np.flatnonzero(cluster.send_tables[0, :, 1] == routes.TO_LINK)[-1])
    endpoints: list[tuple[str, int]] = [("push", port) for port in range(1, links + 1)]
    endpoints[way] = ("push", 0)
    endpoints.append(("pop", 0))
    micro = _Micro(cluster, "int", endpoints, engine, record=record)
    micro.start("injects", 0, n=messages, peer=1)
    micro.start("collects", 1, True, n=messages, peer=0)
    return micro.end()


def injection(cluster: Cluster, messages: int, reads: int, engine: str = "sim") -> tuple[float, bool]:
    """Returns the cycles between these messages, and whether all were correct."""
    short, long = (injects(cluster, count, reads, engine) for count in (messages, 2 * messages))
    cycles = long.result.cycle(0, "injects") - short.result.cycle(0, "injects")
    return cycles / messages, short.right and long.right


def collective(
    cluster: Cluster,
    operation: str,
    element: str,
    count: int,
    ranks: int,
    root: int,
    engine: str = "sim",
    in_switch: Switches | None = None,
    record: bool = False,
) -> BenchmarkRun:
    micro = _Micro(cluster, element, [(operation, 0)], engine, ranks, in_switch, record)
    for rank in range(ranks):
        micro.start(f"{operation}s", rank, True, n=count, root=root)
    return micro.end()


def _recorder(title: str, once: Callable[[Row], BenchmarkRun]) -> Callable[[Sequence[Row]], Recorded]:
    """Returns a function that repeats each row's run and records it."""

    def one(row: Row) -> Recorded:
        recorded = once(row).recorded
        assert recorded is not None
        return recorded

    return lambda rows: in_turn(title, [one(row) for row in rows])


def _sizes(sizes: Sizes, element: str, most: int = 1 << 26) -> list[int]:
    one_of("type", element, BYTES)
    requested = parse_sizes(sizes)
    if bad := [size for size in requested if size % BYTES[element] or not 0 < size <= most]:
        raise InputError(
            f"{bad[0]} bytes; the size must be a positive multiple of {BYTES[element]} (an element), at most {most}"
        )
    return requested


def _with_switching(cluster: Cluster, switching: str | None, circuit_packets: int | None) -> Cluster:
    if switching is not None:
        cluster = cluster.with_node(switching=one_of("switching", switching, SWITCHINGS))
    if circuit_packets is not None:
        cluster = cluster.with_node(circuit_packets=at_least("circuit_packets", circuit_packets, 0))
        if circuit_packets and cluster.node.switching != "circuit":
            raise InputError(
                f"circuit_packets is {circuit_packets}, but switching is {cluster.node.switching}; set switching to circuit"
            )
    return cluster


def push(
    cluster: Cluster,
    *,
    engine: str = "sim",
    element: str = "float",
    senders: int = 1,
    hops: int = 1,
    switching: str | None = None,
    circuit_packets: int | None = None,
    sizes: Sizes = "8:1M",
) -> Plan:
    """Plans a message between kernels of two ranks.

    `senders` kernels at separate ports share the bytes. `hops` is the number of links between the ranks. `switching` is
    "packet" or "circuit", and `circuit_packets` the maximum number of packets per circuit, 0 for a whole message;
    defaults are the cluster's. Raises InputError.
    """
    cluster = _with_switching(cluster, switching, circuit_packets)
    requested = _sizes(sizes, element)
    if not 1 <= at_least("senders", senders, 1) <= MAX_SENDERS:
        raise InputError(f"senders is {senders}; it must be 1 to {MAX_SENDERS}")
    peer = peer_at(cluster, hops)
    links = len({path[0] for path in bounds.push_paths(cluster, peer, senders)})
    if bad := [size for size in requested if size % (senders * BYTES[element])]:
        each = senders * BYTES[element]
        raise InputError(f"{bad[0]} bytes; {senders} senders of {element} need a multiple of {each}")

    def once(size: int, record: bool = False) -> BenchmarkRun:
        return pushes(cluster, element, size // BYTES[element] // senders, peer, senders, engine, record)

    def measure(progress: Progress, _: int) -> Iterator[Measured]:
        for index, size in enumerate(requested):
            ran = once(size)
            time = ran.result.time_us
            bound = bounds.push_us(cluster, size // BYTES[element], BYTES[element], peer, senders)
            own = {
                "element": element,
                "senders": senders,
                "hops": hops,
                "switching": cluster.node.switching,
                "circuit_packets": cluster.node.circuit_packets,
                "gbit_per_s": size * 8 / time / 1e3,
                "share_of_payload": size * 8 / time / 1e3 / (links * cluster.payload_gbit),
            }
            yield Measured(size, time, bound, ran.right, own)
            progress((index + 1) / len(requested))

    of = "a kernel" if senders == 1 else f"{senders} kernels"
    by = _SWITCHED[cluster.node.switching]
    title = f"push of {element} by {of} in {by}, {hops} hop{'s' * (hops > 1)}, on {cluster.name}"
    record = _recorder(title, lambda row: once(row["bytes"], record=True))
    return Plan(cluster, "push", title, "the last element is popped", measure, record=record)


def latency(
    cluster: Cluster,
    *,
    element: str = "float",
    hops: int = 1,
    switching: str | None = None,
    circuit_packets: int | None = None,
    sizes: Sizes = "1K:1M",
) -> Plan:
    """Plans a message of one element behind another kernel's message of `sizes` bytes to the same rank, half of which has
    been pushed.

    `hops`, `switching` and `circuit_packets` are as for `push`. Raises InputError.
    """
    cluster = _with_switching(cluster, switching, circuit_packets)
    requested = _sizes(sizes, element)
    peer = peer_at(cluster, hops)

    def once(size: int, record: bool = False) -> tuple[float, BenchmarkRun]:
        return behind(cluster, element, size // BYTES[element], peer, peer, record)

    def measure(progress: Progress, _: int) -> Iterator[Measured]:
        for index, size in enumerate(requested):
            us, ran = once(size)
            own = {
                "element": element,
                "hops": hops,
                "switching": cluster.node.switching,
                "circuit_packets": cluster.node.circuit_packets,
            }
            yield Measured(size, us, bounds.push_us(cluster, 1, BYTES[element], peer), ran.right, own)
            progress((index + 1) / len(requested))

    by = _SWITCHED[cluster.node.switching]
    title = f"latency of a {element} behind a message in {by}, {hops} hop{'s' * (hops > 1)}, on {cluster.name}"
    record = _recorder(title, lambda row: once(row["bytes"], record=True)[1])
    return Plan(cluster, "latency", title, "it is popped", measure, record=record)


def inject(cluster: Cluster, *, engine: str = "sim", reads: Sizes = "1,4,8,16", messages: int = 2000) -> Plan:
    """Plans messages of one element, and measures the cycles between them.

    `reads` are values of R, the consecutive reads of one input. Raises InputError.
    """
    requested = parse_sizes(reads)
    if bad := [times for times in requested if not 1 <= times <= metadata.MAX_READS]:
        raise InputError(f"reads is {bad[0]}; it must be 1 to {metadata.MAX_READS}")
    at_least("messages", messages, 1)

    def measure(progress: Progress, _: int) -> Iterator[Measured]:
        for index, times in enumerate(requested):
            cycles, right = injection(cluster, messages, times, engine)
            own = {
                "reads": times,
                "cycles": cycles,
                "polling_cycles": (times + cluster.node.links) / times,
                "link_cycles": bounds.packet_cycles(cluster),
            }
            yield Measured(BYTES["int"], cycles / cluster.mhz, 1 / cluster.mhz, right, own)
            progress((index + 1) / len(requested))

    title = f"injection of messages of one element on {cluster.name}"
    record = _recorder(title, lambda row: injects(cluster, messages, row["reads"], engine, record=True))
    until = "the next message is pushed"
    return Plan(cluster, "injection", title, until, measure, record=record, draw=plots.cycles_over_reads)


def _check_children(cluster: Cluster, ranks: int, instead: str = "") -> None:
    """Raises InputError if a rank of a reduction of `ranks` ranks has more children than its hardware takes."""
    children, most = min(cluster.node.arity or ranks, ranks - 1), cluster.node.children
    if children > most:
        raise InputError(
            f"{cluster.name}: in a reduction of {ranks} ranks one has {children} children, and its hardware takes {most}: "
            f"give at most {most + 1} ranks{instead}"
        )


def _collective(operation: str) -> Callable[..., Plan]:
    def plan(
        cluster: Cluster,
        *,
        engine: str = "sim",
        element: str = "float",
        ranks: int = 0,
        root: int = 0,
        arity: int | None = None,
        any_order: bool | None = None,
        in_switch: str | Path | None = None,
        sizes: Sizes = "4:64K",
    ) -> Plan:
        """Plans a collective.

        `ranks` are the first ones of the cluster, 0 for all. `arity` is the number of children per rank in the tree, 0
        for the paper's linear scheme. With `any_order`, a reduction combines contributions in order of arrival.
        `in_switch` is an MPI-FPGA cluster whose switches execute the collective. Raises InputError.
        """
        requested = _sizes(sizes, element)
        there = cluster.topology.nodes
        taking = ranks or there
        if not 2 <= taking <= there or not 0 <= root < taking:
            raise InputError(
                f"{taking} ranks with root {root}; {cluster.name} has {there} ranks, and a collective needs at least 2"
            )
        changed = {"arity": arity, "any_order": any_order}
        switches = None
        if in_switch is not None:
            from thalweg import in_switch as switched
            from thalweg.systems.smi.in_switch import bound_us

            if set(changed.values()) != {None}:
                raise InputError("arity and any_order apply to collectives in ranks; leave them out with in_switch")
            if engine != "sim":
                raise InputError(f"engine {engine!r} applies to collectives in ranks; leave it out with in_switch")
            switches = switched.load(in_switch, cluster, taking)
        on = cluster.with_node(**{key: value for key, value in changed.items() if value is not None})
        if operation == "reduce" and switches is None:
            _check_children(on, taking, f", or an arity of 1 to {on.node.children}")
        far = int(cluster.topology.distances[root, :taking].max())

        def once(size: int, record: bool = False) -> BenchmarkRun:
            count = size // BYTES[element]
            return collective(on, operation, element, count, taking, root, engine, switches, record)

        def measure(progress: Progress, _: int) -> Iterator[Measured]:
            for index, size in enumerate(requested):
                count = size // BYTES[element]
                ran = once(size)
                bound = (
                    bound_us(on, switches, operation, count, BYTES[element], root, taking)
                    if switches
                    else bounds.collective_us(on, operation, count, BYTES[element], far, taking)
                )
                own = {
                    "element": element,
                    "ranks": taking,
                    "root": root,
                    "in_switch": switches.name if switches else None,
                    "arity": on.node.arity,
                    "any_order": on.node.any_order,
                }
                yield Measured(size, ran.result.time_us, bound, ran.right, own)
                progress((index + 1) / len(requested))

        title = f"{operation} of {element} on {taking} ranks of {cluster.name}"
        title += f", in the switches of {switches.name}" if switches else ""
        record = _recorder(title, lambda row: once(row["bytes"], record=True))
        return Plan(cluster, operation, title, "the last rank's kernel ends", measure, record=record)

    return plan


def trees(cluster: Cluster, *, element: str = "float", ranks: int = 0, arity: int = 2, sizes: Sizes = "64:64K") -> Plan:
    """Plans broadcast and reduction over trees with `arity` children per rank, compared with the paper's linear scheme.

    Also compares reductions in fixed order and in order of arrival. `ranks` are the first ones of the cluster, 0 for
    all. Raises InputError.
    """
    requested = _sizes(sizes, element)
    taking = ranks or cluster.topology.nodes
    if not 3 <= taking <= cluster.topology.nodes:
        raise InputError(f"{taking} ranks; {cluster.name} has {cluster.topology.nodes}, and a tree needs at least 3")
    if at_least("arity", arity, 1) >= taking - 1:
        raise InputError(f"an arity of {arity} is the linear scheme; for {taking} ranks it must be below {taking - 1}")
    far = int(cluster.topology.distances[0, :taking].max())
    linear, tree = cluster.with_node(arity=0, any_order=False), cluster.with_node(arity=arity, any_order=False)
    unordered = linear.with_node(any_order=True)
    for on in (linear, tree):
        _check_children(on, taking)

    def once(operation: str, size: int) -> BenchmarkRun:
        return collective(tree, operation, element, size // BYTES[element], taking, 0, record=True)

    def measure(progress: Progress, _: int) -> Iterator[Measured]:
        done = 0
        for operation in ("broadcast", "reduce"):
            for size in requested:
                count = size // BYTES[element]

                by_root, by_tree = (collective(on, operation, element, count, taking, 0) for on in (linear, tree))
                one, other = by_root.result.time_us, by_tree.result.time_us
                any_order = None
                if operation == "reduce":
                    any_order = collective(unordered, operation, element, count, taking, 0).result.time_us
                own = {
                    "collective": operation,
                    "element": element,
                    "ranks": taking,
                    "arity": arity,
                    "time_linear_us": one,
                    "times_as_fast": one / other,
                    "order_costs": None if any_order is None else one / any_order,
                }
                bound = bounds.collective_us(tree, operation, count, BYTES[element], far, taking)
                yield Measured(size, other, bound, by_root.right and by_tree.right, own)
                done += 1
                progress(done / (2 * len(requested)))

    title = f"trees of arity {arity} compared with the linear scheme, {taking} ranks of {cluster.name}"
    record = _recorder(title, lambda row: once(row["collective"], row["bytes"]))
    return Plan(cluster, "trees", title, "the last rank's kernel ends", measure, record=record, draw=plots.trees)


def faster_from(rows: Sequence[Row], collective: str) -> int | None:
    """Returns the smallest size in bytes from which on the tree is always faster, or None."""
    found = None
    for row in reversed([row for row in rows if row["collective"] == collective]):
        if row["times_as_fast"] <= 1:
            break
        found = row["bytes"]
    return found


OPERATIONS = {
    "push": Operation(push),
    "latency": Operation(latency),
    "injection": Operation(inject),
    "trees": Operation(trees),
    **{operation: Operation(_collective(operation)) for operation in COLLECTIVES},
}
