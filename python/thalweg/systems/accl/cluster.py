# SPDX-License-Identifier: Apache-2.0
"""Cluster files of kind `accl`: boards with ACCL's offload engine around Ethernet switches."""

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

_HEADER = AcclPacket.BITS // 8  #: bytes of a packet's header
_UNSCALED = 65_535  #: maximum bytes of a TCP window without scaling


_RETRANSMITTING = ("reliable-udp", "rdma", "tcp")
_TRANSPORTS = {
    "resend_us": _RETRANSMITTING,
    "tries": _RETRANSMITTING,
    "reorder_packets": ("reliable-udp", "rdma"),
    "segment_bytes": ("tcp",),
    "window_bytes": ("tcp",),
    "window_scaling": ("tcp",),
}  #: transports that use a parameter; all use the others


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
    """An FPGA with ACCL's engine, memory, and a UDP or TCP stack."""

    kind: Literal["accl"]
    engine_clock: str = Field(description="name of the clock of the engine and the memory ports")
    line_clock: str = Field(description="name of the clock of the UDP or TCP stack and the MAC")
    transport: Literal["udp", "reliable-udp", "rdma", "tcp"] = Field(
        "udp",
        description="`udp`: lost packets are not retransmitted; `reliable-udp`: they are; `rdma`: reliable, and messages above the eager limit are written directly to their destination (rendezvous); `tcp`: one TCP connection per pair of boards",
    )
    resend_us: float = Field(
        20,
        gt=0,
        le=1e9,
        description="retransmission time-out in us; with tcp its minimum",
    )
    segment_bytes: int = Field(1460, ge=64, le=9158, description="maximum segment size of TCP (MSS) in bytes")
    window_bytes: int = Field(
        65_535,
        ge=2048,
        le=2**30,
        description="receive buffer of a TCP connection in bytes, which is the advertised window; the send buffer has two packets more; above 65,535 needs window_scaling",
    )
    window_scaling: bool = Field(False, description="window scaling of TCP (RFC 7323)")
    reorder_packets: int = Field(
        3,
        ge=0,
        le=1024,
        description="later packets that may arrive before a missing packet counts as lost",
    )
    tries: int = Field(
        16, ge=1, le=2**20, description="unanswered transmissions after which a session or TCP connection ends"
    )
    calls: int = Field(64, ge=1, le=256, description="maximum number of concurrent calls of the engine")
    memory_bytes: int = Field(
        2**33, ge=4096, le=2**40, description="bytes that can be allocated in the board's memory, and in the host's"
    )
    memory_gb: float = Field(
        ge=1e-3, le=1e4, description="rate of each of the engine's ports to the board's memory in GB/s"
    )
    memory_ns: float = Field(ge=0, le=1e6, description="latency of the board's memory in ns, of reads and writes")
    host_gb: float = Field(
        ge=1e-3, le=1e4, description="rate of the engine's access to the host's memory in GB/s per direction"
    )
    host_ns: float = Field(ge=0, le=1e6, description="latency of the host's memory in ns, of reads and writes")
    invocation_us: float = Field(ge=0, le=1e6, description="time from a host's call to the engine's command in us")
    processor: dict[Operation, Cycles] = Field(
        {},
        description="cycles per operation, as a pair: before its first move, and from the end of its last move to its result; minimum for all operations is the hardware sequencer's, 40 and 6 if the program begins with a move",
    )
    arithmetic: bool = Field(True, description="the engine reduces elements")
    compression: bool = Field(True, description="the engine can send float32 as float16")
    udp_port: int = Field(
        5500, ge=1, le=65535, description="UDP port of the engines' datagrams, or TCP port of their connections"
    )
    packet_bytes: int = Field(4096, ge=64, le=9088, multiple_of=64, description="maximum payload of a packet in bytes")
    port_ns: float = Field(ge=0, le=1e6, description="latency of the UDP or TCP stack and the MAC in ns per direction")
    fifo_bytes: int = Field(
        65_536,
        ge=9216,
        le=2**24,
        description="FIFO of packets that wait for a receive buffer in bytes; packets beyond are dropped and counted",
    )
    send_bytes: int = Field(16_384, ge=9216, le=2**24, description="send FIFO between engine and link in bytes")

    @property
    def port_types(self) -> Mapping[str, str]:
        return {"eth0": "Ethernet"}

    @property
    def longest(self) -> int:
        """Bytes of the longest frame, without the frame check sequence."""
        if self.transport == "tcp":
            return 14 + 20 + 20 + self.segment_bytes
        return 14 + 20 + 8 + _HEADER + self.packet_bytes


class Server(Board):
    """A server with an InfiniBand adapter and a board behind PCIe, whose kernels' messages the server's MPI sends.

    The engine is the adapter with its MPI. The table's `memory` fields describe the server's memory, and its `host`
    fields the access to the board's memory across PCIe.
    """

    kind: Literal["mpi-server"]  # type: ignore[assignment]
    memory_gb: float = Field(ge=1e-3, le=1e4, description="rate of the adapter's access to the server's memory in GB/s")
    host_gb: float = Field(
        ge=1e-3, le=1e4, description="rate of copies between the server's memory and the board's in GB/s per direction"
    )
    invocation_us: float = Field(ge=0, le=1e6, description="time from a host's call to the start of its kernel in us")
    port_ns: float = Field(ge=0, le=1e6, description="latency of MPI and the adapter in ns per direction")
    sync_us: float = Field(ge=0, le=1e6, description="fixed time of a copy between server and board in us")


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
        """Raises InputError if the cluster file is invalid."""
        for node in self.boards:
            if (self.topology.peer[node] >= 0).sum() != 1:
                raise self.file.wrong(f"node {node} ({self.node_names[node]}) has no link", "topology")
        for node, name in enumerate(self.node_names):
            table = self.nodes[name]
            if isinstance(table, leaves.OpticalSwitch):
                self._check_light(node, table)
            if isinstance(table, Board):
                self._check_transport(name, table)
        leaves.check_buffers(self, max((self.board(node).longest for node in self.boards), default=0))
        if self.boards != list(range(len(self.boards))):
            raise self.file.wrong("boards must be numbered before switches", "topology.nodes")

    def _check_transport(self, name: str, table: Board) -> None:
        for key, transports in _TRANSPORTS.items():
            if table.transport not in transports and getattr(table, key) != type(table).model_fields[key].default:
                raise self.file.wrong(
                    f"{key} has no effect with transport {table.transport}; only with {' and '.join(transports)}",
                    "node",
                    name,
                )
        if table.transport == "tcp":
            self._check_windows(name, table)

    def _check_windows(self, name: str, table: Board) -> None:
        if table.window_bytes > _UNSCALED and not table.window_scaling:
            raise self.file.wrong(
                f"window_bytes is {table.window_bytes}; above {_UNSCALED} it needs window_scaling = true", "node", name
            )
        least = 4 * (_HEADER + table.packet_bytes)
        if table.window_bytes < least:
            raise self.file.wrong(
                f"window_bytes is {table.window_bytes}; must hold four packets of packet_bytes, {least} bytes",
                "node",
                name,
            )

    def _check_light(self, node: int, table: leaves.OpticalSwitch) -> None:
        """Checks that links of an optical switch take at least a cycle.

        Frames pass the switch without a delay, so the simulator must know of a frame before it arrives.
        """
        cycle_ns = 1e3 / self.file.values.clock[table.clock].frequency_mhz
        for name, ends in zip(self.link_names, self.topology.links.tolist(), strict=True):
            link = self.links[name]
            if isinstance(link, leaves.Ethernet) and node in (ends[0], ends[2]) and link.latency_ns < cycle_ns:
                raise self.file.wrong(
                    f"latency_ns of a link at an optical switch must be at least a cycle, {cycle_ns:.4g} ns",
                    "link",
                    name,
                )

    @cached_property
    def boards(self) -> list[int]:
        """Nodes that are boards."""
        return [node for node, name in enumerate(self.node_names) if isinstance(self.nodes[name], Board)]

    def board(self, number: int) -> Board:
        """Returns the table of a board."""
        found = self.nodes[self.node_names[number]]
        assert isinstance(found, Board)
        return found

    @cached_property
    def unreliable(self) -> frozenset[int]:
        """Boards whose transport does not retransmit lost packets."""
        tables = {board: self.nodes[self.node_names[board]] for board in self.boards}
        return frozenset(
            board for board, table in tables.items() if isinstance(table, Board) and table.transport == "udp"
        )

    @cached_property
    def mirrors(self) -> Mapping[int, tuple[int, int]]:
        """The optical switch's node and port of each board that is connected to one."""
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
        """For each board, the port of each switch that leads to it."""
        return {board: routes(self.topology, (board, 0), self.boards) for board in self.boards}

    def of_node(self, node: int) -> Mapping[str, Any]:
        """Returns the simulator's description of a node.

        For a board, the processor's cycles as (scenario, cycles, cycles). For a switch, the ports for broadcast frames
        and, if addresses are assigned, the port to each board.
        """
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
        """Returns the simulator of the cluster.

        Parameters
        ----------
        pcap : str, optional
            File to which all frames are written (pcapng).
        hardware : iterable of int, optional
            Boards whose data path is Verilated RTL.
        in_switch : Cluster, str or Path, optional
            Cluster of MPI-FPGA whose switches compute the collectives of the first `ranks` boards, with rank r at
            node r.
        ranks : int, optional
            Number of ranks.
        calls : bool, optional
            The boards in `hardware` are whole engines, which also execute the calls.

        Raises
        ------
        InputError
            Clocks and link rates do not match, no RTL exists for a board's parameters, or the switches do not match.
        """
        if in_switch is not None:
            return self._network_beside(in_switch, ranks, pcap, hardware)
        try:
            return self._simulator(self.assembly, pcap, rtl_engine.libraries(self, hardware, calls=calls))
        except ValueError as error:
            raise self.file.wrong(str(error), "link") from None

    @staticmethod
    def _simulator(assembly: Any, pcap: str, *more: Any) -> Network:
        """Makes the simulator. Raises InputError if the capture file cannot be written, and ValueError."""
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
                f"in_switch needs boards of the C++ model; the RTL has no port to the switches of {switches.name}"
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
        """Returns the simulator of one board whose link ends at a network interface of this computer.

        Parameters
        ----------
        node : int
            The board; the others are elsewhere.
        interface : str
            Name of the network interface.
        ratio : float, optional
            Maximum virtual seconds per second of the wall clock.
        limit_s : float, optional
            Wall-clock seconds after which the simulation fails; 0 for no limit.
        pcap : str, optional
            File to which all frames are written (pcapng).
        hardware : bool, optional
            The board's data path is Verilated RTL.

        Raises
        ------
        InputError
            Invalid node, or the interface cannot be opened.
        """
        if node not in self.boards:
            raise InputError(f"node {node} is not a board; must be 0 to {len(self.boards) - 1}")
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
        """Returns a line about the boards, and its figures."""
        self.network()
        return super().checked()
