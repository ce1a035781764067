# SPDX-License-Identifier: Apache-2.0
"""HPCC FPGA's effective bandwidth, b_eff: boards in a ring exchange messages with both neighbours, one after the other, in
both directions at once.

Measured by M. Meyer et al. ("Optimizing Communication for Latency Sensitive HPC Applications on up to 48 FPGAs Using
ACCL", 2024, section 3.4), with a model (Equation 1). HPCC FPGA divides the time of many exchanges. The simulation
measures one, as each takes the same time and starts when the previous one has ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from thalweg.bench.operation import Measured, Operation, Plan, Progress, Row, Sizes, at_least, one_of
from thalweg.cluster import leaves
from thalweg.errors import InputError
from thalweg.systems.accl.cluster import Board, Cluster, Server
from thalweg.systems.accl.kernels import KernelPort, Kernels
from thalweg.systems.accl.launch import prepared, run_on
from thalweg.systems.accl.library import Rank
from thalweg.systems.accl.operations import (
    BUFFERS,
    ELEMENT,
    TcpDelays,
    line_us,
    put_of,
    receive_buffer_bytes,
    requested_sizes,
    turn,
    way_us,
)
from thalweg.systems.accl.plots import latency_over_size
from thalweg.systems.accl.running import Result, Run
from thalweg.systems.accl.timelines import EndedCall, recorded
from thalweg.systems.accl.values import Array, Stream
from thalweg.trace.recorded import Recorded, in_turn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WAYS = ("streaming", "buffered")
CALLERS = ("kernel", "host")
BOTH = "both"
MPI = "MPI"  #: caller on a cluster of servers
ROUNDS = 10  #: exchanges measured with HPCC FPGA's kernels
EAGER = 12_288  #: maximum bytes of an eager message of MPI (Open MPI, opal/mca/btl/openib/btl_openib_mca.c: btl_eager_limit)
_MESSAGE, _MARK = 0, 1  #: tags
_LARGE = 1 << 20  #: bytes of a message, more than a segment
_WORD = 16  #: elements per word of a kernel stream


class _Timing(NamedTuple):
    """A rank's exchange: virtual times of its begin and end, and the data received."""

    begin_us: float
    end_us: float
    data: Array


def _streamed(rank: Rank, caller: Rank, neighbour: int, data: Array) -> _Timing:
    """Exchanges data between streams of kernels of two boards."""
    rank.push(data)
    sent = caller.stream_put(Stream(), data.size, neighbour, stream_id=0)
    mark, received = rank.create_buffer(1), rank.create_buffer(1)
    after = [rank.kernel().send(mark, 1, neighbour, _MARK, run_async=True)]
    after += [rank.kernel().recv(received, 1, neighbour, _MARK, run_async=True)]
    for request in after:
        request.wait()
    packet = put_of(rank)
    return _Timing(sent.begun_us, max(sent.ended_us, packet.at_us), packet.data[: data.size])


def _buffered(rank: Rank, caller: Rank, neighbour: int, data: Array) -> _Timing:
    """Exchanges data between memories: sends, then receives."""
    send, recv = rank.create_buffer(data), rank.create_buffer(data.size)
    begin = caller.send(send, data.size, neighbour, _MESSAGE).begun_us
    end = caller.recv(recv, data.size, neighbour, _MESSAGE).ended_us
    return _Timing(begin, end, recv.array)


def _by_mpi(server: Server, rank: Rank, neighbour: int, data: Array) -> _Timing:
    """Exchanges data by host MPI: kernel run, copy from the board, MPI_Sendrecv, copy to the board, kernel run.

    In a `Server`, the board is across PCIe and takes the place of the host's memory.
    """
    n = data.size
    board = [rank.create_buffer(data, host=True), rank.create_buffer(n, host=True)]
    memory = [rank.create_buffer(n), rank.create_buffer(n)]
    adapter = rank.kernel()
    begin = rank.now_us
    rank.pause(server.invocation_us)
    rank.pause(server.sync_us)
    adapter.copy(board[0], memory[0], n)
    both = [adapter.send(memory[0], n, neighbour, _MESSAGE, from_fpga=True, run_async=True)]
    both += [adapter.recv(memory[1], n, neighbour, _MESSAGE, to_fpga=True, run_async=True)]
    for request in both:
        request.wait()
    rank.pause(server.sync_us)
    adapter.copy(memory[1], board[1], n, from_fpga=True)
    rank.pause(server.invocation_us)
    return _Timing(begin, rank.now_us, board[1].array)


def _of_streaming_kernels(kernels: Kernels, rank: Rank, neighbour: int, data: Array) -> _Timing:
    """Runs HPCC FPGA's three streaming kernels, which move whole words of 64 bytes.

    One sends data to the engine, one receives data from it, and one calls it each time the receiver has a message.
    """
    port, noted = rank.kernel_port(), rank.kernel_stream("notify")
    whole = np.pad(data, (0, -data.size % _WORD))
    send, recv = rank.create_buffer(whole), rank.create_buffer(whole.size)
    common = {"size": data.size, "num_iterations": ROUNDS}
    timing = {"write_buffer": recv, "notify_enabled": 1, "data_in": port.data_out, "notify": noted}
    calls = _calls(rank, port, neighbour) | {"notify": noted}
    started = [
        rank.start(kernels, "recv_stream", {**common, **timing}),
        rank.start(kernels, "send_stream", {**common, "read_buffer": send, "data_out": port.data_in}),
        rank.start(kernels, "schedule_stream", {**common, **calls}),
    ]
    for each in started:
        each.wait()
    return _Timing(0, started[-1].cycles / ROUNDS / rank.clock_hz * 1e6, recv.array[: data.size])


def _of_buffered_kernel(kernels: Kernels, rank: Rank, neighbour: int, data: Array) -> _Timing:
    """Runs HPCC FPGA's buffered kernel, which calls the engine to send and then to receive. It uses addresses, not
    buffers."""
    send, recv = rank.create_buffer(data), rank.create_buffer(data.size)
    send.sync_to_device()
    given = {"read_buffer": send.address, "write_buffer": recv.address, "size": data.size, "num_iterations": ROUNDS}
    started = rank.start(kernels, "send_recv", given | _calls(rank, rank.kernel_port(), neighbour))
    started.wait()
    recv.sync_from_device()
    return _Timing(0, started.cycles / ROUNDS / rank.clock_hz * 1e6, recv.array)


def _calls(rank: Rank, port: KernelPort, neighbour: int) -> dict[str, Any]:
    engine = {"communicator_addr": rank.world.address, "datapath_cfg": rank.arithmetic(np.float32)}
    return {**engine, "neighbor_rank": neighbour, "cmd": port.commands, "sts": port.status}


_KERNELS = {
    "streaming": ({"recv_stream", "send_stream", "schedule_stream"}, _of_streaming_kernels),
    "buffered": ({"send_recv"}, _of_buffered_kernel),
}


def _way_of(kernels: Kernels) -> str:
    """Returns "streaming" or "buffered", by the kernels of the source. Raises InputError."""
    for way, (names, _) in _KERNELS.items():
        if names <= set(kernels.names):
            return way
    required = " or ".join(", ".join(sorted(names)) for names, _ in _KERNELS.values())
    raise InputError(f"{kernels.source} does not have the kernels of HPCC FPGA's b_eff: {required}")


def neighbour(rank: int, ranks: int, phase: int) -> int:
    """Returns a rank's partner: in phase 0 the pairs are (0, 1), (2, 3), ...; in phase 1 they are (1, 2), (3, 4), ...,
    (last, 0)."""
    return (rank + (1 if (rank + phase) % 2 == 0 else -1)) % ranks


@dataclass(frozen=True)
class Model:
    """The paper's Equation 1: `commands` l_k + l_m + l_c, without l_m for streaming. Latencies are in us."""

    cluster: Cluster
    commands: int
    command_us: float
    memory_us: float
    link_us: float
    exchanges: int = 1  #: sequential exchanges on a connection

    @classmethod
    def of(cls, cluster: Cluster, by: str, way: str, exchanges: int = 1) -> Model:
        board = cluster.board(0)
        cycle_us = 1 / cluster.clocks[board.engine_clock].frequency_mhz
        buffered = way == "buffered"
        handled = [
            sum(board.processor.get(name, (23, 0))) * cycle_us for name in (("send", "recv") if buffered else ("send",))
        ]
        return cls(
            cluster,
            commands=2 if buffered else 1,
            command_us=board.invocation_us if by == "host" else sum(handled) / len(handled),
            memory_us=2e-3 * board.memory_ns if buffered else 0,
            link_us=2e-3 * board.port_ns + way_us(cluster),
            exchanges=exchanges,
        )

    def time_us(self, payload: int) -> float:
        copied = payload / self.cluster.board(0).memory_gb / 1e3 if self.commands == 2 else 0
        on_line = self.link_us + line_us(self.cluster, payload)
        # The second command of a buffered message overlaps TCP's delays.
        if self.commands == 1 and (tcp := TcpDelays.of(self.cluster, payload)):
            on_line += tcp.first_us + tcp.waits_us / self.exchanges
        return self.commands * self.command_us + self.memory_us + copied + on_line

    def __str__(self) -> str:
        board = self.cluster.board(0)
        if self.commands == 1:
            terms = f"l_k + l_c, l_k = {self.command_us:.4g} us"
        else:
            memory = f"l_m = {self.memory_us:.4g} us + bytes / {board.memory_gb:g} GB/s"
            terms = f"2 l_k + l_m + l_c, l_k = {self.command_us:.4g} us, {memory}"
        line = f"{terms}, l_c = {self.link_us:.4g} us + a frame's bytes / {line_gb(self.cluster):g} GB/s"
        if self.commands == 1 and (tcp := TcpDelays.of(self.cluster, _LARGE)):
            line += f" + {tcp.first_us:.4g} us for TCP's first segment of {tcp.segment} bytes"
            line += (
                f" + waits for windows of 10 to {tcp.window} segments, with round trips of {tcp.round_trip_us:.4g} us"
            )
        return line


def line_gb(cluster: Cluster) -> float:
    """Returns the rate of a board's link in GB/s."""
    return next(link for link in cluster.links.values() if isinstance(link, leaves.Ethernet)).gbit_s / 8


@dataclass(frozen=True)
class _Series:
    """Measurements of all message sizes with one method."""

    cluster: Cluster
    ranks: int
    by: str
    way: str
    seed: int
    kernels: Kernels | None = None

    @property
    def names(self) -> Row:
        """The columns that identify the series."""
        return {"cluster": self.cluster.name, "ranks": self.ranks, "way": self.way, "by": self.by}

    @property
    def label(self) -> str:
        if self.by == MPI:
            return "host MPI"
        return f"{self.way}, {'PL' if self.by == 'kernel' else 'host'}"

    @property
    def model(self) -> Model | None:
        """The paper's model; None if the paper has none."""
        return None if self.by == MPI else Model.of(self.cluster, self.by, self.way, ROUNDS if self.kernels else 1)

    @property
    def board(self) -> Board:
        return self.cluster.board(0)

    def rows_of(self, rows: Sequence[Row]) -> list[Row]:
        return [row for row in rows if self.names.items() <= row.items()]

    def measured(self, size: int) -> Measured:
        elements = size // ELEMENT
        ends = [self._phase(phase, elements) for phase in self._phases]
        time_us = sum(timing for timing, _ in ends) / len(ends)
        model_us = self.model.time_us(size) if self.model else None
        own: Row = {**self.names, "model_us": model_us, "gb_per_s": size / time_us / 1e3}
        return Measured(size, time_us, self.bound_us(size), all(right for _, right in ends), own)

    @property
    def _phases(self) -> range:
        return range(1 if self.ranks == 2 else 2)

    def recorded(self, size: int) -> Recorded:
        """Records the exchanges with both neighbours."""
        parts = []
        for phase in self._phases:
            made, found = self._exchange(phase, size // ELEMENT)
            exchanges = [
                EndedCall(rank, self.label, timing.begin_us, timing.end_us) for rank, timing in enumerate(found.values)
            ]
            parts.append(recorded(self.cluster, made.network, exchanges))
        return in_turn("", parts)

    def _phase(self, phase: int, elements: int) -> tuple[float, bool]:
        """Returns the time of the last rank, and whether all data are right."""
        _, found = self._exchange(phase, elements)
        others = [neighbour(rank, self.ranks, phase) for rank in range(self.ranks)]
        right = all(
            np.array_equal(timing.data, self.data(others[rank], elements)) for rank, timing in enumerate(found.values)
        )
        begin = min(timing.begin_us for timing in found.values)
        return max(timing.end_us for timing in found.values) - begin, right

    def _exchange(self, phase: int, elements: int) -> tuple[Run, Result]:
        board = self.board
        size = elements * ELEMENT
        others = [neighbour(rank, self.ranks, phase) for rank in range(self.ranks)]

        def program(rank: Rank) -> _Timing:
            turn(rank, self.cluster, [(one, another) for one, another in enumerate(others) if one < another])
            data = self.data(rank.rank, elements)
            if isinstance(board, Server):
                return _by_mpi(board, rank, others[rank.rank], data)
            if self.kernels:
                return _KERNELS[self.way][1](self.kernels, rank, others[rank.rank], data)
            caller = rank.kernel() if self.by == "kernel" else rank
            return (_streamed if self.way == "streaming" else _buffered)(rank, caller, others[rank.rank], data)

        buffer = receive_buffer_bytes(board, size)
        eager = max(EAGER, buffer) if isinstance(board, Server) else max(size, buffer)
        made = prepared(self.ranks, self.cluster, buffers=BUFFERS, buffer_bytes=buffer, most_eager_bytes=eager)
        return made, run_on(made, program)

    def data(self, rank: int, elements: int) -> Array:
        return np.random.default_rng([self.seed, rank]).integers(-1000, 1000, elements).astype(np.float32)

    def bound_us(self, size: int) -> float:
        """Lower bound of the time: calls, copies and link, without parts that can overlap."""
        board = self.board
        way = line_us(self.cluster, size) + way_us(self.cluster)
        if isinstance(board, Server):
            return 2 * (board.invocation_us + board.sync_us + size / board.host_gb / 1e3) + way
        call = board.invocation_us if self.by == "host" else 0.0
        if self.way == "streaming":
            return call + way
        return max(call + way, 2 * call + size / board.memory_gb / 1e3)


def _plan(
    cluster: Cluster,
    *,
    ranks: int = 2,
    by: str = "",
    way: str = "",
    beside: Sequence[str] = (),
    kernels: str | Path = "",
    includes: Sequence[str | Path] = (),
    sizes: Sizes = "4:1M",
    seed: int = 1,
) -> Plan:
    """Plans b_eff.

    `ranks` is an even number, 0 for all. `by` is who calls the engine: "kernel", "host" or "both"; `way` is
    "streaming", between kernels, "buffered", between memories, or "both". `beside` has further clusters. `kernels` is a
    source of HPCC FPGA's kernels for ACCL, which call the engine instead of the built-in program; `includes` has
    folders of its headers. `sizes` are message sizes in bytes.
    """
    at_least("seed", seed, 0)
    clusters = [cluster, *(Cluster.load(name) for name in beside)]
    names = [each.name for each in clusters]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"beside: {twice} is given twice; the clusters' names must differ")
    engines = [each for each in clusters if not isinstance(each.board(0), Server)]
    if (by or way or kernels) and not engines:
        raise InputError(
            f"by, way and kernels need boards with an engine; on {cluster.name} hosts exchange messages by MPI"
        )
    if kernels and (by or way):
        raise InputError("by and way follow from the kernels; leave them out")
    compiled = Kernels(kernels, includes, ["ACCL_SYNTHESIS"]) if kernels else None
    ways = [_way_of(compiled)] if compiled else _chosen("way", way or WAYS[0], WAYS)
    callers = _chosen("by", by or CALLERS[0], CALLERS)
    series: list[_Series] = []
    for each in clusters:
        number = _ranks_of(each, ranks)
        if each in engines:
            series += [_Series(each, number, caller, one, seed, compiled) for one, caller in product(ways, callers)]
        else:
            series.append(_Series(each, number, MPI, WAYS[1], seed))
    title = f"b_eff of {series[0].ranks} ranks on {', '.join(each.name for each in clusters)}"
    if kernels:
        title += f", by kernels of {Path(kernels).name}"
    elif len(series) == 1:
        title += f", {ways[0]}, called by {callers[0]}s" if engines else ", by host MPI"
    requested = requested_sizes(sizes)

    def measure(progress: Progress, _: int) -> Iterator[Measured]:
        for index, one in enumerate(series):
            rows = []
            for number, size in enumerate(requested):
                try:
                    rows.append(one.measured(size))
                except MemoryError:
                    what = f"a size of {size} bytes on {one.ranks} ranks needs more memory than this computer has"
                    raise InputError(what) from None
                progress((index + (number + 1) / len(requested)) / len(series))
            mean = sum(row.own["gb_per_s"] for row in rows) / len(rows)
            for row in rows:
                yield replace(row, own={**row.own, "b_eff_gb_per_s": one.ranks * mean})

    def draw(axes: Axes, rows: Sequence[Row]) -> None:
        several = len(clusters) > 1
        drawn = [(one.rows_of(rows), f"{one.cluster.name}, " * several + one.label) for one in series]
        latency_over_size(axes, drawn)

    def record(rows: Sequence[Row]) -> Recorded:
        return in_turn(title, [one.recorded(row["bytes"]) for one in series for row in one.rows_of(rows)])

    until = "the last rank has received its neighbour's message"
    return Plan(cluster, "b_eff", title, until, measure, {"data": seed}, record=record, draw=draw)


def _ranks_of(cluster: Cluster, ranks: int) -> int:
    """Returns the number of ranks. Raises InputError."""
    boards = len(cluster.boards)
    ranks = ranks or boards
    if not 2 <= ranks <= boards or ranks % 2:
        raise InputError(f"ranks is {ranks}; must be even, 2 to {boards} on {cluster.name}")
    return ranks


def _chosen(what: str, value: str, known: Sequence[str]) -> Sequence[str]:
    """Returns the chosen values. Raises InputError."""
    return known if value == BOTH else [one_of(what, value, [*known, BOTH])]


def summary(cluster: Cluster, beside: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """Returns the lines below the table: effective bandwidth and model of each series.

    The effective bandwidth, as HPCC FPGA defines it, is the mean over all sizes of the total bandwidth of all ranks.
    """
    clusters = {each.name: each for each in (cluster, *map(Cluster.load, beside))}
    lines: list[str] = []
    for row in rows:
        of = f"{row['cluster']}, " if beside else ""
        line = f"{of}{row['way']}, {row['by']}: b_eff {row['b_eff_gb_per_s']:.4g} GB/s of {row['ranks']} ranks"
        if row["by"] != MPI:
            line += f"; model {Model.of(clusters[row['cluster']], row['by'], row['way'])}"
        if line not in lines:
            lines.append(line)
    return lines


OPERATIONS = {"b_eff": Operation(_plan)}
