# SPDX-License-Identifier: Apache-2.0
"""Measurements on boards with ACCL's engine: messages, copies and collectives, called by hosts or by kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

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
    silent,
)
from thalweg.cluster import leaves
from thalweg.errors import CheckFailed, InputError
from thalweg.systems.accl.cluster import Board, Cluster, Server
from thalweg.systems.accl.launch import prepared, run_on
from thalweg.systems.accl.library import Rank
from thalweg.systems.accl.running import Result, Run
from thalweg.systems.accl.spec import AcclPacket
from thalweg.systems.accl.timelines import EndedCall, recorded
from thalweg.systems.accl.values import Array, Buffer, Function, Packet, Request, Stream
from thalweg.systems.ethernet._sim import wire_bytes
from thalweg.trace.recorded import Recorded, in_turn

if TYPE_CHECKING:
    from thalweg.systems.mpi_fpga.cluster import Cluster as Switches

BY = ("kernel", "host")
PACKET_HEADER = AcclPacket.BITS // 8  #: bytes of a packet's header
HEADERS = PACKET_HEADER + 8 + 20  #: with the headers of UDP and IPv4
SEGMENT_HEADERS = 20 + 20  #: headers of TCP and IPv4 in bytes
BUFFERS = 200  #: receive buffers per rank
ELEMENT = 4  #: bytes of an element, float32

# Shares of a measurement's progress: data generated, simulation ended. The rest checks results.
_SET_UP, _SIMULATED = 0.3, 0.8
_LOOKS = 50  #: updates of the progress during the simulation
_WORD = 64  #: bytes per cycle of engine and link
_TO_KERNEL = "words to the kernel"
_EACH = 100_000  #: bytes whose simulation takes as long as a measurement's fixed part


@dataclass(frozen=True)
class _Kind:
    """An operation: its call, its expected result, and a bound."""

    needs: tuple[str, str]  #: elements of operand and result: "n", "N n" or "" for none
    call: Callable[[Rank, Buffer, Buffer, int, int], Sequence[Request]]
    expected: Callable[
        [Sequence[Array], int, int, int], Array | None
    ]  #: expected result, from all inputs, the rank, elements, and the root
    bytes_in_line: Callable[
        [int, int], int
    ]  #: minimum elements on one board's link in one direction, from ranks and elements
    least: int = 2  #: minimum ranks
    most: int = 0  #: maximum ranks; 0: all
    rooted: bool = False


def _both(rank: Rank, send: Buffer, recv: Buffer, n: int, root: int) -> list[Request]:
    peer = 1 - rank.rank
    return [rank.send(send, n, peer, run_async=True), rank.recv(recv, n, peer, run_async=True)]


def _put(rank: Rank, send: Buffer, recv: Buffer, n: int, root: int) -> list[Request]:
    rank.push(send.array)
    return [rank.stream_put(Stream(), n, 1 - rank.rank, stream_id=0, run_async=True)]


def _sum(blocks: Sequence[Array]) -> Array:
    return np.asarray(np.sum(blocks, axis=0, dtype=np.float32))


_KINDS = {
    "sendrecv": _Kind(("n", "n"), _both, lambda i, r, n, _: i[1 - r][:n], lambda ranks, n: n, most=2),
    "put": _Kind(("n", "n"), _put, lambda i, r, n, _: i[1 - r][:n], lambda ranks, n: n, most=2),
    "copy": _Kind(
        ("n", "n"),
        lambda rank, send, recv, n, root: [rank.copy(send, recv, n, run_async=True)],
        lambda i, r, n, _: i[r][:n],
        lambda ranks, n: 0,
        least=1,
        most=1,
    ),
    "combine": _Kind(
        ("n", "n"),
        lambda rank, send, recv, n, root: [rank.combine(n, Function.SUM, send, send, recv, run_async=True)],
        lambda i, r, n, _: i[r][:n] * 2,
        lambda ranks, n: 0,
        least=1,
        most=1,
    ),
    "bcast": _Kind(
        ("n", "n"),
        lambda rank, send, recv, n, root: [rank.bcast(send if rank.rank == root else recv, n, root, run_async=True)],
        lambda i, r, n, root: None if r == root else i[root][:n],
        lambda ranks, n: n,
        rooted=True,
    ),
    "scatter": _Kind(
        ("N n", "n"),
        lambda rank, send, recv, n, root: [rank.scatter(send, recv, n, root, run_async=True)],
        lambda i, r, n, root: i[root][r * n : (r + 1) * n],
        lambda ranks, n: (ranks - 1) * n,
        rooted=True,
    ),
    "gather": _Kind(
        ("n", "N n"),
        lambda rank, send, recv, n, root: [rank.gather(send, recv, n, root, run_async=True)],
        lambda i, r, n, root: np.concatenate([of[:n] for of in i]) if r == root else None,
        lambda ranks, n: (ranks - 1) * n,
        rooted=True,
    ),
    "allgather": _Kind(
        ("n", "N n"),
        lambda rank, send, recv, n, root: [rank.allgather(send, recv, n, run_async=True)],
        lambda i, r, n, _: np.concatenate([of[:n] for of in i]),
        lambda ranks, n: (ranks - 1) * n,
    ),
    "reduce": _Kind(
        ("n", "n"),
        lambda rank, send, recv, n, root: [rank.reduce(send, recv, n, root, Function.SUM, run_async=True)],
        lambda i, r, n, root: _sum([of[:n] for of in i]) if r == root else None,
        lambda ranks, n: n,
        rooted=True,
    ),
    "allreduce": _Kind(
        ("n", "n"),
        lambda rank, send, recv, n, root: [rank.allreduce(send, recv, n, Function.SUM, run_async=True)],
        lambda i, r, n, _: _sum([of[:n] for of in i]),
        lambda ranks, n: n,
    ),
    "reduce_scatter": _Kind(
        ("N n", "n"),
        lambda rank, send, recv, n, root: [rank.reduce_scatter(send, recv, n, Function.SUM, run_async=True)],
        lambda i, r, n, _: _sum([of[r * n : (r + 1) * n] for of in i]),
        lambda ranks, n: (ranks - 1) * n,
    ),
    "alltoall": _Kind(
        ("N n", "N n"),
        lambda rank, send, recv, n, root: [rank.alltoall(send, recv, n, run_async=True)],
        lambda i, r, n, _: np.concatenate([of[r * n : (r + 1) * n] for of in i]),
        lambda ranks, n: (ranks - 1) * n,
    ),
    "barrier": _Kind(
        ("", ""),
        lambda rank, send, recv, n, root: [rank.barrier(run_async=True)],
        lambda i, r, n, _: None,
        lambda ranks, n: 0,
    ),
}


@dataclass(frozen=True)
class _Run:
    """An operation that all its ranks start at the same time."""

    cluster: Cluster
    operation: str
    ranks: int
    root: int
    by: str
    seed: int
    pcap: str
    switches: Switches | None

    @property
    def kind(self) -> _Kind:
        return _KINDS[self.operation]

    def lengths(self, elements: int) -> list[int]:
        """Elements of a rank's operand and result."""
        return [(self.ranks if need.startswith("N") else 1) * elements if need else 1 for need in self.kind.needs]

    def buffer_bytes(self, elements: int) -> int:
        """Size of a receive buffer such that all buffers hold the data sent to a rank."""
        largest = elements * ELEMENT * (self.ranks if "N" in "".join(self.kind.needs) else 1)
        return receive_buffer_bytes(self.board, largest)

    def check(self, size: int) -> None:
        """Raises InputError if the operation does not fit into a board's memory."""
        elements = size // ELEMENT
        needs = sum(self.lengths(elements)) * ELEMENT + BUFFERS * self.buffer_bytes(elements)
        if needs > self.board.memory_bytes:
            raise InputError(
                f"a size of {size} bytes needs {needs} bytes of each board's memory with receive buffers; "
                f"{self.cluster.name} has memory_bytes = {self.board.memory_bytes}"
            )

    def _ran(self, size: int, progress: Progress, expected_us: float) -> tuple[Run, Result]:
        """Runs the operation; each rank returns its data and its calls."""
        elements = size // ELEMENT
        streams = self.operation == "put"
        made = prepared(
            self.ranks,
            self.cluster,
            pcap=self.pcap,
            in_switch=self.switches,
            buffers=BUFFERS,
            buffer_bytes=self.buffer_bytes(elements),
        )
        for other in range(1, self.ranks) if self.switches is None else ():
            if missing := made.network.missing_light(0, other):
                raise InputError(f"{self.operation} of {self.ranks} ranks: {missing}")
        set_up = 0

        def simulated(begin_us: float, us: float) -> None:
            progress(_SET_UP + (_SIMULATED - _SET_UP) * min((us - begin_us) / expected_us, 1))

        def program(rank: Rank) -> tuple[Array, list[EndedCall]]:
            lengths = self.lengths(elements)
            send = rank.create_buffer(self.data(rank.rank, lengths[0]))
            recv = rank.create_buffer(lengths[1])
            nonlocal set_up
            set_up += 1
            progress(_SET_UP * set_up / self.ranks)
            if set_up == self.ranks:
                made.watch(expected_us / _LOOKS, partial(simulated, rank.now_us))
            caller = rank.kernel() if self.by == "kernel" else rank
            requests = self.kind.call(caller, send, recv, elements, self.root)
            for request in requests:
                request.wait()
            calls = [EndedCall(rank.rank, each.operation, each.begun_us, each.ended_us) for each in requests]
            if not streams:
                return recv.array, calls
            rank.barrier()
            packet = put_of(rank)
            calls.append(EndedCall(rank.rank, _TO_KERNEL, calls[0].begin_us, packet.at_us))
            return packet.data[:elements], calls

        return made, run_on(made, program)

    def recorded(self, size: int) -> Recorded:
        made, result = self._ran(size, silent, self.bound_us(size // ELEMENT))
        return recorded(self.cluster, made.network, [call for _, calls in result.values for call in calls])

    def measured(self, size: int, progress: Progress, expected_us: float) -> Measured:
        """Measures a size. `expected_us` is an estimate of the virtual time, for the progress."""
        elements = size // ELEMENT
        _, result = self._ran(size, progress, expected_us)
        inputs = []
        for rank in range(self.ranks):
            inputs.append(self.data(rank, self.lengths(elements)[0]))
            progress(_SIMULATED + (1 - _SIMULATED) * (rank + 1) / (self.ranks + 1))
        right = True
        for rank, (found, _) in enumerate(result.values):
            expected = self.kind.expected(inputs, rank, elements, self.root)
            right = right and (expected is None or np.array_equal(found[: expected.size], expected))
        calls = [call for _, made in result.values for call in made]
        ends = [call.end_us for call in calls if self.operation != "put" or call.name == _TO_KERNEL]
        time_us = max(ends) - min(call.begin_us for call in calls)
        moved = elements * ELEMENT
        own: Row = {"ranks": self.ranks, "by": self.by, "gb_per_s": moved / time_us / 1e3}
        if self.switches:
            own["in_switch"] = self.switches.name
        return Measured(moved, time_us, self.bound_us(elements), right, own)

    def data(self, rank: int, elements: int) -> Array:
        """Integers, whose sums are exact."""
        return np.random.default_rng([self.seed, rank]).integers(-1000, 1000, elements, np.int16).astype(np.float32)

    @property
    def board(self) -> Board:
        table = self.cluster.nodes[self.cluster.node_names[0]]
        assert isinstance(table, Board)
        return table

    def bound_us(self, elements: int) -> float:
        """Lower bound of the time: host's call, minimum data on one board's link, and latency between boards; or the
        memory port's rate."""
        call = self.board.invocation_us if self.by == "host" else 0.0
        if self.ranks == 1:
            return call + elements * ELEMENT / self.board.memory_gb / 1e3
        if self.switches:
            return call + self._switched_us(elements)
        carried = self.kind.bytes_in_line(self.ranks, elements) * ELEMENT
        sent = max(line_us(self.cluster, carried), window_us(self.cluster, carried, self.ranks - 1))
        return call + sent + way_us(self.cluster)

    def _switched_us(self, elements: int) -> float:
        """Minimum time of one board's memory accesses, or the switches' bound."""
        from thalweg.systems.mpi_fpga import bounds

        assert self.switches
        blocks = [(self.ranks if need.startswith("N") else 1) if need else 0 for need in self.kind.needs]
        moved = max(blocks) * elements * ELEMENT / self.board.memory_gb / 1e3
        name = "broadcast" if self.operation == "bcast" else self.operation
        size = elements * ELEMENT if self.operation != "barrier" else 0
        network = bounds.Network.of(self.switches.fabric_config())
        ticks = bounds.collective_ticks(network, range(self.ranks), name, size, self.root)
        return max(moved, ticks / self.switches.values.clock.frequency_mhz)


def turn(rank: Rank, cluster: Cluster, pairs: Sequence[tuple[int, int]]) -> None:
    """Connects these pairs of boards if they are at an optical switch, and waits until its mirrors have turned. All ranks
    call this."""
    switches = [cluster.nodes[cluster.node_names[node]] for node, _ in cluster.mirrors.values()]
    turning_ms = [table.turning_ms for table in switches if isinstance(table, leaves.OpticalSwitch)]
    if not turning_ms:
        return
    if rank.rank == 0:
        rank.rewire(pairs)
    rank.pause(1e3 * max(turning_ms))


def put_of(rank: Rank) -> Packet:
    """Returns the packet put to a rank's kernels, sent before a message that the rank has received.

    Raises CheckFailed if it is not one complete packet.
    """
    packets = rank.pull()
    if len(packets) != 1:
        raise CheckFailed(
            f"rank {rank.rank}: its kernel received {len(packets)} messages instead of 1: the network lost a part, or one was late"
        )
    return packets[0]


def line_us(cluster: Cluster, payload: int) -> float:
    """Time of packets with this total payload on a link."""
    link = next(link for link in cluster.links.values() if isinstance(link, leaves.Ethernet))
    board = next(table for table in cluster.nodes.values() if isinstance(table, Board))
    whole, rest = divmod(payload, board.packet_bytes)
    if board.transport == "tcp":
        stream = payload + (whole + bool(rest or not whole)) * PACKET_HEADER
        whole, rest = divmod(stream, board.segment_bytes)
        bytes_ = whole * wire_bytes(SEGMENT_HEADERS + board.segment_bytes) + (
            wire_bytes(SEGMENT_HEADERS + rest) if rest else 0
        )
        return bytes_ * 8e-3 / link.gbit_s
    bytes_ = whole * wire_bytes(HEADERS + board.packet_bytes) + (wire_bytes(HEADERS + rest) if rest or not whole else 0)
    return bytes_ * 8e-3 / link.gbit_s


def window_us(cluster: Cluster, payload: int, peers: int) -> float:
    """Minimum time by the windows of TCP connections with this number of boards: at most a window per round trip."""
    board = next(table for table in cluster.nodes.values() if isinstance(table, Board))
    if board.transport != "tcp":
        return 0.0
    round_trip_us = 2 * way_us(cluster) + 4 * board.port_ns / 1e3
    return max(0.0, payload / (peers * board.window_bytes) - 1) * round_trip_us


@dataclass(frozen=True)
class TcpDelays:
    """What TCP adds to the time of a first message between kernels of two boards; times in us."""

    segment: int  #: bytes of the first segment
    first_us: float  #: store-and-forward of the first segment, as its checksum precedes its data
    round_trip_us: (
        float  #: round trip of the first two segments, which one acknowledgement covers (RFC 5681, section 4.2)
    )
    segment_us: float  #: time of a full segment on the link
    segments: int  #: segments of the message
    window: int  #: receiver's window in segments

    @classmethod
    def of(cls, cluster: Cluster, payload: int) -> TcpDelays | None:
        """Returns the delays; None without TCP."""
        board = cluster.board(0)
        if board.transport != "tcp":
            return None
        stream = payload + max(1, -(-payload // board.packet_bytes)) * PACKET_HEADER
        engine, line = (_WORD * cluster.clocks[name].frequency_mhz for name in (board.engine_clock, board.line_clock))
        gb = next(link.gbit_s for link in cluster.links.values() if isinstance(link, leaves.Ethernet)) / 8
        first = min(board.segment_bytes, board.packet_bytes + PACKET_HEADER, stream)
        segment_us = wire_bytes(SEGMENT_HEADERS + board.segment_bytes) / gb / 1e3
        return cls(
            segment=first,
            first_us=first / engine + first / line,
            round_trip_us=2 * way_us(cluster) + 4 * board.port_ns / 1e3 + 2 * (segment_us + board.segment_bytes / line),
            segment_us=segment_us,
            segments=-(-stream // board.segment_bytes),
            window=max(1, board.window_bytes // board.segment_bytes),
        )

    @property
    def waits_us(self) -> float:
        """Time that the sender waits for acknowledgements.

        Slow start begins with 10 segments (RFC 6928). The window grows by half in each round trip, as every second
        segment is acknowledged, up to the receiver's window.
        """
        under_way, sent, waited = 10, 0, 0.0
        while sent + (now := min(under_way, self.window)) < self.segments:
            if (
                now == self.window or now * self.segment_us >= self.round_trip_us
            ):  # all further rounds take the same time
                rounds = -(-(self.segments - sent) // now) - 1
                return waited + rounds * max(0.0, self.round_trip_us - now * self.segment_us)
            waited += self.round_trip_us - now * self.segment_us
            sent += now
            under_way += under_way // 2
        return waited


def way_us(cluster: Cluster) -> float:
    """Latency of the links and switches between the two nearest boards."""
    link = next(link for link in cluster.links.values() if isinstance(link, leaves.Ethernet))
    passed = [
        0.0 if isinstance(table, leaves.OpticalSwitch) else table.latency_ns
        for table in cluster.nodes.values()
        if isinstance(table, leaves.EthernetSwitch | leaves.OpticalSwitch)
    ]
    return (2 * link.latency_ns + min(passed)) / 1e3 if passed else link.latency_ns / 1e3


def _plan(
    cluster: Cluster,
    name: str,
    *,
    ranks: int = 0,
    by: str = "kernel",
    root: int = 0,
    sizes: Sizes = "64:16M",
    seed: int = 1,
    pcap: str = "",
    in_switch: str | Path | None = None,
) -> Plan:
    """Plans an operation.

    `ranks` is 0 for the maximum; `by` is who calls the engine, "kernel" or "host"; `root` is for operations that have
    one; `sizes` are bytes of each rank's block; `pcap` is a file for all frames of a single size; `in_switch` is a
    cluster of MPI-FPGA whose switches compute the collectives.
    """
    kind = _KINDS[name]
    boards = len(cluster.boards)
    servers = isinstance(cluster.board(0), Server)
    if servers and name != "sendrecv":
        raise InputError(
            f"{name} needs boards with an engine; on {cluster.name} hosts exchange messages by MPI: use bench b_eff"
        )
    ranks = ranks or kind.most or boards
    if not kind.least <= ranks <= min(kind.most or boards, boards):
        raise InputError(
            f"ranks is {ranks}; must be {kind.least} to {min(kind.most or boards, boards)} for {name} on {cluster.name}"
        )
    if not 0 <= root < ranks:
        raise InputError(f"root is {root}; must be 0 to {ranks - 1}")
    one_of("by", by, BY)
    at_least("seed", seed, 0)
    requested = [0] if name == "barrier" else requested_sizes(sizes)
    if pcap and len(requested) > 1:
        raise InputError(f"pcap needs a single size; sizes has {len(requested)}")
    switches = None
    if in_switch is not None:
        from thalweg import in_switch as switched

        switches = switched.load(in_switch, cluster, ranks)
    of = _Run(cluster, name, ranks, root, by, seed, pcap, switches)

    for size in requested:
        of.check(size)
    work = [size + _EACH for size in requested]

    def measure(progress: Progress, _: int) -> Iterator[Measured]:
        share = 0.5  # estimated ratio of bound to time
        for index, size in enumerate(requested):
            done = sum(work[:index])

            def part(fraction: float, done: int = done, own: int = work[index]) -> None:
                progress((done + own * fraction) / sum(work))

            try:
                measured = of.measured(size, part, of.bound_us(size // ELEMENT) / share)
            except MemoryError:
                raise InputError(
                    f"a size of {size} bytes on {ranks} ranks needs more memory than this computer has"
                ) from None
            share = (measured.bound_us or 0) / measured.time_us or share
            yield measured
            part(1)

    where = (
        f" in both directions at once on {cluster.name}" if kind.most == 2 else f" of {ranks} ranks on {cluster.name}"
    )
    where += f", in the switches of {switches.name}" if switches else ""
    title = f"{name}{where}, " + ("by host MPI" if servers else f"called by {by}s")
    until = "the last word is at the kernel" if name == "put" else "the last rank's call has ended"

    def record(rows: Sequence[Row]) -> Recorded:
        return in_turn(title, [of.recorded(row["bytes"]) for row in rows])

    return Plan(cluster, name, title, until, measure, seeds={"data": seed}, record=record)


def receive_buffer_bytes(board: Board | Server, most: int) -> int:
    """Returns the size of each of `BUFFERS` receive buffers that hold `most` bytes of messages in total. A buffer holds
    whole words of elements."""
    whole = _WORD * ELEMENT
    return max(board.packet_bytes, whole * math.ceil(most / (BUFFERS - 20) / whole))


def requested_sizes(sizes: Sizes) -> list[int]:
    """Returns the sizes in bytes. Raises InputError."""
    requested = parse_sizes(sizes)
    for size in requested:
        if size % ELEMENT or not size:
            raise InputError(
                f"a size of {size} bytes; must be a positive multiple of {ELEMENT}, the bytes of an element"
            )
    return requested


def _operation(name: str) -> Operation:
    """Returns the operation with its options."""
    without = {"barrier": ("sizes", "root"), "copy": ("ranks", "root"), "combine": ("ranks", "root")}.get(name, ())
    if not _KINDS[name].rooted:
        without = (*without, "root")
    if _KINDS[name].most == 2:
        without = (*without, "ranks")
    if _KINDS[name].most:
        without = (*without, "in_switch")
    return Operation(partial(_plan, name=name), without=(*without, "name"))


OPERATIONS = {name: _operation(name) for name in _KINDS}
ROOTED = frozenset(name for name, kind in _KINDS.items() if kind.rooted)
OF_RANKS = frozenset(name for name, kind in _KINDS.items() if not kind.most)
