# SPDX-License-Identifier: Apache-2.0
"""What a cluster file says of boards with ACCL's offload engine, kind `accl`, around Ethernet switches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from thalweg.cluster import leaves
from thalweg.cluster.attached import check_times, leading_out
from thalweg.cluster.kinds import Assembled, LinkTable, NodeTable
from thalweg.errors import InputError
from thalweg.systems.accl import rtl_engine
from thalweg.systems.accl._sim import Network
from thalweg.systems.accl.names import SCENARIOS
from thalweg.systems.accl.spec import AcclPacket
from thalweg.systems.ethernet.forwarding import flood_ports, routes

if TYPE_CHECKING:
    from thalweg.systems.mpi_fpga.cluster import Cluster as Switches

_HEADER = AcclPacket.BITS // 8  #: bytes of a packet's
_UNSCALED = 65_535  #: bytes of a TCP window at most where it is not scaled


Operation = Literal[
    "config",
    "copy",
    "combine",
    "send",
    "recv",
    "bcast",
    "scatter",
    "gather",
    "reduce",
    "allgather",
    "allreduce",
    "reduce_scatter",
    "barrier",
    "alltoall",
    "nop",
]
Cycles = Annotated[list[Annotated[int, Field(ge=0, le=10**6)]], Field(min_length=2, max_length=2)]


class Board(NodeTable):
    """An FPGA with the engine, its memory and a UDP or TCP stack."""

    kind: Literal["accl"]
    engine_clock: str = Field(description="of the engine and the memory's users")
    line_clock: str = Field(description="of the UDP or TCP stack and the MAC")
    transport: Literal["udp", "reliable-udp", "rdma", "tcp"] = Field(
        "udp",
        description="`udp`: what the network loses is missing; `reliable-udp`: it is sent again; `rdma`: so, and messages above the eager limit go straight to their places; `tcp`: all packets of two boards are in the streams of a TCP connection",
    )
    resend_us: float = Field(
        20,
        gt=0,
        le=1e9,
        description="without an answer, after which a board sends again; of TCP: the least retransmission time-out",
    )
    segment_bytes: int = Field(
        1460, ge=64, le=9158, description="of TCP: of a segment's data at most, which the board tells others (MSS)"
    )
    window_bytes: int = Field(
        65_535,
        ge=2048,
        le=2**30,
        description="of TCP: of memory for what a connection receives, which is advertised, and with two packets more for what it sends; above 65,535 with window_scaling",
    )
    window_scaling: bool = Field(False, description="of TCP: whether windows are scaled (RFC 7323)")
    reorder_packets: int = Field(
        3,
        ge=0,
        le=1024,
        description="a packet is taken for lost when more than so many that were sent after it have come",
    )
    tries: int = Field(
        16, ge=1, le=2**20, description="without an answer, after which a session or TCP connection ends"
    )
    calls: int = Field(64, ge=1, le=256, description="that the engine has under way at once")
    memory_bytes: int = Field(
        2**33, ge=4096, le=2**40, description="that can be allocated, of the board's memory and of the host's"
    )
    memory_gb: float = Field(ge=1e-3, le=1e4, description="GB/s of each of the engine's ports to the board's memory")
    memory_ns: float = Field(ge=0, le=1e6, description="from a read to its data, and from a write to its end")
    host_gb: float = Field(ge=1e-3, le=1e4, description="GB/s of the engine's access to the host's memory, each way")
    host_ns: float = Field(ge=0, le=1e6, description="of that: from a read to its data, and from a write to its end")
    invocation_us: float = Field(ge=0, le=1e6, description="from a host's call to the engine's command")
    processor: dict[Operation, Cycles] = Field(
        {},
        description="two numbers of cycles that it takes for an operation: until its first move, and from its last move's end to its result; a sequencer in hardware takes 40 and 6 where the program begins with a move, and all operations take at least as long as it does",
    )
    arithmetic: bool = Field(True, description="whether the engine combines elements")
    compression: bool = Field(True, description="whether it sends float32 as float16")
    udp_port: int = Field(
        5500, ge=1, le=65535, description="of the engines' datagrams, or at which they take TCP connections"
    )
    packet_bytes: int = Field(4096, ge=64, le=9088, multiple_of=64, description="of a packet's payload at most")
    port_ns: float = Field(ge=0, le=1e6, description="of the UDP or TCP stack and the MAC, each way")
    fifo_bytes: int = Field(
        65_536,
        ge=9216,
        le=2**24,
        description="of packets that wait for a receive buffer; more are dropped, and counted",
    )
    send_bytes: int = Field(16_384, ge=9216, le=2**24, description="that the engine is ahead of the line at most")

    @property
    def port_types(self) -> Mapping[str, str]:
        return {"eth0": "Ethernet"}

    @property
    def longest(self) -> int:
        """Bytes of its longest frame, without the frame check sequence."""
        if self.transport == "tcp":
            return 14 + 20 + 20 + self.segment_bytes
        return 14 + 20 + 8 + _HEADER + self.packet_bytes


class Server(Board):
    """A server with an InfiniBand adapter and a board behind PCIe, whose kernels' messages its MPI moves.

    The engine is the adapter with its MPI. What the tables of boards call the board's memory is the server's here, and what they call the host's is the
    board's, across PCIe."""

    kind: Literal["mpi-server"]  # type: ignore[assignment]
    memory_gb: float = Field(ge=1e-3, le=1e4, description="GB/s of the adapter's access to the server's memory")
    host_gb: float = Field(
        ge=1e-3, le=1e4, description="GB/s of copies between the server's memory and the board's, each way"
    )
    invocation_us: float = Field(ge=0, le=1e6, description="from a host's call to its kernel")
    port_ns: float = Field(ge=0, le=1e6, description="of MPI and the adapter, each way")
    sync_us: float = Field(ge=0, le=1e6, description="of a buffer's copy between server and board, beside its bytes")


class Cluster(Assembled):
    system = "accl"
    NODES: ClassVar[Mapping[str, type[NodeTable]]] = {
        "accl": Board,
        "mpi-server": Server,
        "ethernet-switch": leaves.EthernetSwitch,
        "optical-switch": leaves.OpticalSwitch,
    }
    LINKS: ClassVar[Mapping[str, type[LinkTable]]] = {"ethernet": leaves.LINKS["ethernet"]}

    def check(self) -> None:
        for node in self.boards:
            if (self.topology.peer[node] >= 0).sum() != 1:
                raise self.file.wrong(f"node {node} ({self.node_names[node]}) has no link", "topology")
        for node, name in enumerate(self.node_names):
            table = self.nodes[name]
            if isinstance(table, leaves.OpticalSwitch):
                self._check_light(node, table)
            if isinstance(table, Board) and table.transport == "tcp":
                self._check_windows(name, table)
        if self.boards != list(range(len(self.boards))):
            raise self.file.wrong("boards have the first numbers, before switches", "topology.nodes")

    def _check_windows(self, name: str, table: Board) -> None:
        if table.window_bytes > _UNSCALED and not table.window_scaling:
            raise self.file.wrong(
                f"window_bytes is {table.window_bytes}; above {_UNSCALED} it needs window_scaling", "node", name
            )
        least = 4 * (_HEADER + table.packet_bytes)
        if table.window_bytes < least:
            raise self.file.wrong(
                f"window_bytes is {table.window_bytes}; it has room for four packets of packet_bytes, {least} bytes",
                "node",
                name,
            )

    def _check_light(self, node: int, table: leaves.OpticalSwitch) -> None:
        """A frame passes without a delay, so the simulator has to know of it before it is at the other end."""
        cycle_ns = 1e3 / self.file.values.clock[table.clock].frequency_mhz
        for name, ends in zip(self.link_names, self.topology.links.tolist(), strict=True):
            link = self.links[name]
            if isinstance(link, leaves.Ethernet) and node in (ends[0], ends[2]) and link.latency_ns < cycle_ns:
                raise self.file.wrong(
                    f"latency_ns is below the {cycle_ns:.4g} ns of a cycle, at an optical switch", "link", name
                )

    @cached_property
    def boards(self) -> list[int]:
        return [node for node, name in enumerate(self.node_names) if isinstance(self.nodes[name], Board)]

    def board(self, number: int) -> Board:
        found = self.nodes[self.node_names[number]]
        assert isinstance(found, Board)
        return found

    @cached_property
    def unreliable(self) -> frozenset[int]:
        """The boards for which what the network loses is missing."""
        tables = {board: self.nodes[self.node_names[board]] for board in self.boards}
        return frozenset(
            board for board, table in tables.items() if isinstance(table, Board) and table.transport == "udp"
        )

    @cached_property
    def mirrors(self) -> Mapping[int, tuple[int, int]]:
        """Of each board at an optical switch: the switch's node, and its port."""
        at = {board: int(self.topology.peer[board].argmax()) for board in self.boards}
        ends = {
            board: (int(self.topology.peer[board, k]), int(self.topology.peer_port[board, k]))
            for board, k in at.items()
        }
        return {
            board: end
            for board, end in ends.items()
            if isinstance(self.nodes[self.node_names[end[0]]], leaves.OpticalSwitch)
        }

    @cached_property
    def _routes(self) -> Mapping[int, Mapping[int, int]]:
        """Of each board: the port of each switch that leads to it."""
        return {board: routes(self.topology, (board, 0), self.boards) for board in self.boards}

    def of_node(self, node: int) -> Mapping[str, Any]:
        """Of a board: what its processor takes, as (scenario, cycles, cycles). Of a switch: the ports that frames to all take, and where addresses are given, the port to each board's."""
        table = self.nodes[self.node_names[node]]
        if isinstance(table, Board):
            numbers = {name: number for number, name in SCENARIOS.items()}
            return {
                "processor": [value for name, cycles in table.processor.items() for value in (numbers[name], *cycles)]
            }
        if isinstance(table, leaves.OpticalSwitch):
            return {"connected": table.connected}
        if not isinstance(table, leaves.EthernetSwitch):
            return {}
        values: dict[str, Any] = {"flood_ports": sorted(flood_ports(self.topology, node, self.boards))}
        if table.addresses == "given":
            values["routes"] = [
                value for board, to in self._routes.items() if node in to for value in (board, to[node])
            ]
        return values

    def network(
        self,
        pcap: str = "",
        hardware: Iterable[int] = (),
        in_switch: Switches | str | Path | None = None,
        ranks: int = 0,
        calls: bool = False,
    ) -> Network:
        """The simulator of it; `pcap`: a file to which all frames are written. `hardware`: boards whose moves Verilated hardware carries out; `calls`: their calls, too. `in_switch`: a
        cluster of MPI-FPGA, in whose switches the collectives of the first `ranks` boards are computed, rank r at node r. Raises InputError where lines and
        clocks do not go together, where there is no hardware for a board's values, and where the switches don't fit."""
        if in_switch is not None:
            return self._network_beside(in_switch, ranks, pcap, hardware)
        try:
            return self._simulator(self.assembly, pcap, rtl_engine.libraries(self, hardware, calls=calls))
        except ValueError as error:
            raise self.file.wrong(str(error), "link") from None

    @staticmethod
    def _simulator(assembly: Any, pcap: str, *more: Any) -> Network:
        """Raises InputError where the capture cannot be written, and ValueError."""
        try:
            return Network(assembly, pcap, *more)
        except RuntimeError as error:
            if not pcap:
                raise
            raise InputError(f"{pcap}: {error}") from None

    def _network_beside(
        self, in_switch: Switches | str | Path, ranks: int, pcap: str, hardware: Iterable[int]
    ) -> Network:
        from thalweg import in_switch as switched
        from thalweg.systems.mpi_fpga import tuning
        from thalweg.systems.mpi_fpga._sim import Choice

        switches = switched.load(in_switch, self, ranks)
        if set(hardware):
            raise InputError(
                f"hardware has no port to the switches of {switches.name}; in_switch is for the simulator's boards"
            )
        try:
            assembly = switched.beside(self, switches).assembly
            choice = Choice(tuning.default(switches))
            return self._simulator(assembly, pcap, {}, switches.fabric_config(), ranks, choice)
        except ValueError as error:
            raise InputError(str(error)) from None

    def attached(
        self,
        node: int,
        interface: str,
        *,
        ratio: float = 0.01,
        limit_s: float = 0.0,
        pcap: str = "",
        hardware: bool = False,
    ) -> Network:
        """The simulator of one board of it, whose line ends at a network interface of this computer; its other boards are elsewhere. Virtual time
        passes `ratio` times as fast as the wall clock, or slower. `limit_s`: seconds of the wall clock after which it fails; 0: none. `hardware`: as of
        network(). Raises InputError."""
        if node not in self.boards:
            raise InputError(f"node {node} is no board; these are 0 to {len(self.boards) - 1}")
        check_times(ratio, limit_s)
        board = self.board(node)
        part, outside = leading_out(self.assembly, node, board.line_clock, [0])
        try:
            network = self._simulator(part, pcap, rtl_engine.libraries(self, [node] if hardware else ()))
            network.attach(
                lines=[(outside[0], node, interface)],
                longest=board.longest,
                ratio=ratio,
                limit_s=limit_s,
            )
        except ValueError as error:
            raise self.file.wrong(str(error), "link") from None
        except RuntimeError as error:
            raise InputError(str(error)) from None
        return network

    def checked(self) -> tuple[str, Mapping[str, Any]]:
        self.network()
        return super().checked()
