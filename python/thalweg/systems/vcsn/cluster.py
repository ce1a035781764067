# SPDX-License-Identifier: Apache-2.0
"""VCSN and DCN clusters: FPGAs of kind `vcsn` around Ethernet switches, or `dcn` with serial links, and the servers that
hold them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from thalweg.bench.operation import one_of
from thalweg.cluster import dram, leaves
from thalweg.cluster.attached import check_times, leading_out
from thalweg.cluster.file import parse
from thalweg.cluster.kinds import Assembled, KindsTable, LinkTable, NodeTable
from thalweg.cluster.overlay import Overlay
from thalweg.errors import InputError
from thalweg.systems.ethernet._sim import GAP, wire_bytes
from thalweg.systems.ethernet.forwarding import flood_ports, routes
from thalweg.systems.vcsn import _sim
from thalweg.systems.vcsn.network import Network
from thalweg.systems.vcsn.spec import VcsnHeader, VcsnSequence

WORD = 64  #: bytes per word of a stream

FrameWords = Annotated[int, Field(ge=1, le=143, description="maximum number of 64-byte data words per frame or packet")]


class Fpga(dram.Ddr4):
    """An FPGA with its shell, independent of the network type."""

    shell_clock: str = Field(description="clock of crossbar, DMA engines and memory users")
    line_clock: str = Field(description="clock of external ports")
    ports: int = Field(ge=1, le=16, description="external ones")
    dmas: int = Field(ge=1, le=16, description="pairs of read and write DMA engines")
    kernels: int = Field(1, ge=0, le=16, description="user kernels at the crossbar, each with a stream per direction")
    banks: int = Field(ge=1, le=64, description="memory banks")
    bank_bytes: int = Field(ge=4096, le=2**40, description="bytes per bank")
    bank_gb: float = Field(gt=0, le=1e4, description="GB/s of the data bus of a bank")
    bank_ns: float = Field(ge=0, le=1e6, description="unloaded read latency")
    send_words: int = Field(
        512, ge=16, le=65536, description="64-byte words in the send buffer of a virtual port; a power of two"
    )
    send_frames: int = Field(
        32, ge=2, le=1024, description="packets in the send buffer of a virtual port; a power of two"
    )
    receive_words: int = Field(ge=16, le=2**20, description="64-byte words in the receive buffer of a virtual port")
    line_ns: float = Field(
        ge=0, le=1e6, description="total latency of both ends of a line: MACs or framing, line codes, transceivers"
    )
    frame_words: FrameWords

    EXTERNAL: ClassVar[tuple[str, str]]
    """Prefix of the names of external ports, and their type."""

    @property
    def virtual_of_port(self) -> int:
        """Virtual ports per external port; a serial link has one."""
        return 1

    @property
    def port_types(self) -> Mapping[str, str]:
        name, carries = self.EXTERNAL
        return {f"{name}{port}": carries for port in range(self.ports)} | {"pcie": "PCIe"}


class Node(Fpga):
    """An FPGA with virtual circuits over Ethernet (VCSN)."""

    EXTERNAL = ("eth", "Ethernet")
    kind: Literal["vcsn"]
    frame_words: FrameWords = 143
    virtual_ports: int = Field(ge=1, le=64, description="virtual ports per external port")
    sequencers: int = Field(0, ge=0, le=16, description="sequencers, which run programs of transfers without a host")
    resend_us: float = Field(
        20, gt=0, le=1e9, description="time without acknowledgement after which a session retransmits"
    )
    reorder_frames: int = Field(
        3, ge=0, le=64, description="number of later frames received before a session regards a frame as lost"
    )
    tries: int = Field(16, ge=1, le=2**20, description="time without acknowledgement after which a session ends")

    @property
    def virtual_of_port(self) -> int:
        return self.virtual_ports


class Direct(Fpga):
    """An FPGA with serial links to its neighbors (DCN)."""

    EXTERNAL = ("port", "serial")
    kind: Literal["dcn"]
    frame_words: FrameWords = 62


class Serial(LinkTable):
    """A serial link, which moves a word of 64 bytes per cycle of the ends' clock."""

    kind: Literal["dcn"]
    latency_ns: float = Field(ge=0, le=1e6, description="from end to end, one way")

    def refuses(self, one: str, other: str) -> bool:
        return (one, other) != ("serial", "serial")


class Server(NodeTable):
    """A server with FPGA cards; its values are the durations of its actions."""

    kind: Literal["vcsn-server"]
    cards: int = Field(ge=1, le=16, description="of FPGAs")
    circuit_us: float = Field(ge=0, le=1e6, description="time to write a row of the circuit table")
    crossbar_us: float = Field(ge=0, le=1e6, description="time to set the crossbars of its FPGAs")
    start_us: float = Field(ge=0, le=1e6, description="time to start a DMA engine")
    interrupt_us: float = Field(
        ge=0, le=1e6, description="time from an FPGA's interrupt until the waiting program continues"
    )
    barrier_us: float = Field(ge=0, le=1e6, description="fixed time of a barrier of all servers")
    barrier_round_us: float = Field(
        ge=0,
        le=1e6,
        description="time per round of a barrier, which has ceil(log2 N) rounds on N servers",
    )
    late_us: float = Field(
        ge=0, le=1e6, description="average additional time of a barrier after a step shorter than `long_us`"
    )
    very_late_us: float = Field(ge=0, le=1e6, description="average additional time of a barrier after a longer step")
    long_us: float = Field(gt=0, le=1e9, description="minimum duration of a long step between two barriers")
    network_gbit_s: float = Field(
        gt=0, le=1e5, description="Gb/s of payload on the servers' own network, per direction"
    )

    @property
    def port_types(self) -> Mapping[str, str]:
        return {f"slot{card}": "PCIe" for card in range(self.cards)}


class Cluster(Assembled):
    system = "vcsn"
    NODES: ClassVar[Mapping[str, type[NodeTable]]] = {
        "vcsn": Node,
        "dcn": Direct,
        "vcsn-server": Server,
        "ethernet-switch": leaves.EthernetSwitch,
    }
    LINKS: ClassVar[Mapping[str, type[LinkTable]]] = {
        "dcn": Serial,
        "ethernet": leaves.LINKS["ethernet"],
        "wire": leaves.LINKS["wire"],
    }

    def check(self) -> None:
        """Raises InputError if the cluster file is invalid."""
        if len({self.fpga(node).model_dump_json() for node in self.fpgas}) > 1:
            raise self.file.wrong("all FPGAs of a cluster must be of one kind, with equal values", "topology.nodes")
        if len(self.fpgas) < 2:
            raise self.file.wrong(f"{len(self.fpgas)} FPGAs; a cluster needs at least two", "topology")
        leaves.check_buffers(self, self.longest)
        if self.servers and self.servers != list(range(self.hardware, self.topology.nodes)):
            raise self.file.wrong("servers must have the last node numbers, after FPGAs and switches", "topology.nodes")
        for name, table in self.nodes.items():
            if not isinstance(table, Fpga):
                continue
            for key in ("send_words", "send_frames"):
                value: int = getattr(table, key)
                if value & (value - 1):
                    raise self.file.wrong(f"{key} is {value}; it must be a power of two", f"node.{name}.{key}")
            for key in ("send_words", "receive_words"):
                if (value := getattr(table, key)) < table.frame_words:
                    raise self.file.wrong(
                        f"{key} is {value}; it must be at least frame_words, {table.frame_words}",
                        f"node.{name}.{key}",
                    )
            for key, what in dram.faults(table):
                raise self.file.wrong(what, f"node.{name}.{key}")
        for node in self.fpgas:
            if not self.joined(node):
                raise self.file.wrong(
                    f"node {node} ({self.node_names[node]}) has no link at an external port", "topology"
                )

    def _of(self, kind: type[Fpga | Server]) -> list[int]:
        return [node for node, name in enumerate(self.node_names) if isinstance(self.nodes[name], kind)]

    @cached_property
    def fpgas(self) -> list[int]:
        return self._of(Fpga)

    @cached_property
    def servers(self) -> list[int]:
        return self._of(Server)

    @property
    def hardware(self) -> int:
        """Number of FPGAs and switches, which have the first node numbers."""
        return self.topology.nodes - len(self.servers)

    def fpga(self, node: int) -> Fpga:
        """Returns the table of an FPGA. Raises TypeError for another node."""
        table = self.nodes[self.node_names[node]]
        if not isinstance(table, Fpga):
            raise TypeError(f"node {node} is not an FPGA")
        return table

    def server_of(self, node: int) -> int | None:
        """Returns the server that holds an FPGA, or None."""
        return next((int(peer) for peer in self.topology.peer[node] if peer in self.servers), None)

    def slot_of(self, node: int) -> leaves.Wire:
        """Returns the link between an FPGA and its server. Raises InputError."""
        for name, (a, _, b, _) in zip(self.link_names, self.topology.links.tolist(), strict=True):
            link = self.links[name]
            if node in (a, b) and {a, b} & set(self.servers) and isinstance(link, leaves.Wire):
                return link
        raise InputError(f"FPGA {node} is in no server (kind vcsn-server)")

    @cached_property
    def server_tables(self) -> Mapping[int, Server]:
        """The tables of the servers, by node."""
        tables = {server: self.nodes[self.node_names[server]] for server in self.servers}
        return {server: table for server, table in tables.items() if isinstance(table, Server)}

    def joined(self, node: int) -> list[int]:
        """Returns the external ports that have a link."""
        return [port for port in range(self.fpga(node).ports) if self.topology.peer[node, port] >= 0]

    @cached_property
    def _stations(self) -> list[tuple[int, int]]:
        return [(node, port) for node in self.fpgas for port in self.joined(node)]

    @cached_property
    def _routes(self) -> Mapping[tuple[int, int], Mapping[int, int]]:
        """For each linked (node, external port), the port of each switch towards it."""
        return {station: routes(self.topology, station, self.fpgas) for station in self._stations}

    @property
    def is_direct(self) -> bool:
        """True if its FPGAs have serial links to neighbors, and no circuits."""
        return isinstance(self.fpga(self.fpgas[0]), Direct)

    def ring_of(self, nodes: int) -> Cluster:
        """Returns a ring of `nodes` FPGAs, in servers like the first one."""
        server = self.node_names[self.servers[0]]
        cards = next(iter(self.server_tables.values())).cards
        slot = self.link_names[-1]
        table = {
            "shape": "ring",
            "size": [nodes],
            "node": self.node_names[self.fpgas[0]],
            "link": self.link_names[0],
            "nodes": {f"{nodes}-{nodes - 1 + -(-nodes // cards)}": server},
            "join": [
                {"link": slot, "ends": [f"{nodes + node // cards}.slot{node % cards}", f"{node}.pcie"]}
                for node in range(nodes)
            ],
        }
        name = f"{self.name} with {nodes} nodes"
        values = self.file.values.model_dump(exclude_none=True) | {"topology": table}
        return type(self)._made(parse(KindsTable, values, {}, name, self.file.plain), name)

    def way(self, source: int, destination: int, first: int | None = None) -> list[tuple[int, int, int]]:
        """Returns the shortest path between two FPGAs of a direct network as tuples (node, input port, output port).

        -1 stands for the memory at both ends. `first` fixes the first output port. Raises InputError if there is no
        path.
        """
        return self.front.way(source, destination, first)

    @cached_property
    def front(self) -> _sim.Cluster:
        """Description of the cluster for programs."""
        return _sim.Cluster(self.name, self.assembly)

    def reaches(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        """True if frames can go from one external port (node, port) to another."""
        return self.front.reaches(one, other)

    def group_ports(self, source: tuple[int, int], members: Iterable[tuple[int, int]]) -> Mapping[int, Sequence[int]]:
        """Returns, for each switch on the multicast tree, the output ports from the port `source` to `members`.

        Raises InputError if the tree does not reach a member.
        """
        return self.front.group_ports(source, list(members))

    def of_node(self, node: int) -> Mapping[str, Any]:
        """Returns, for a switch, the ports for broadcast frames and, with static addresses, the port to each FPGA's port."""
        table = self.nodes[self.node_names[node]]
        if not isinstance(table, leaves.EthernetSwitch):
            return {}
        values: dict[str, Any] = {"flood_ports": sorted(flood_ports(self.topology, node, self.fpgas))}
        if table.addresses == "given":
            values["routes"] = [
                value
                for (fpga, port), to in self._routes.items()
                if node in to
                for value in (port << 16 | fpga, to[node])
            ]
        return values

    def network(self, pcap: str = "") -> Network:
        """Returns a simulator of the cluster.

        Parameters
        ----------
        pcap : str
            File for all frames, if not empty.

        Raises
        ------
        InputError
            Line rates and clocks do not match.

        Examples
        --------
        >>> Cluster.load("vcsn-d5005").network().nodes  # FPGAs and switches
        18
        """
        return self._simulator(pcap)

    def attached(
        self,
        node: int,
        interfaces: Mapping[int, str],
        *,
        ratio: float = 0.01,
        limit_s: float = 0.0,
        pcap: str = "",
        engine: str = "sim",
    ) -> Network:
        """Returns a simulator of one FPGA whose external ports are connected to network interfaces of this computer.

        Parameters
        ----------
        node : int
            The simulated FPGA.
        interfaces : mapping of int to str
            Interface name for each external port.
        ratio : float
            Maximum ratio of virtual time to wall-clock time. Runs are not deterministic.
        limit_s : float
            Time limit in wall-clock seconds; 0 means none.
        pcap : str
            File for all frames, if not empty.
        engine : str
            "sim", or "rtl" for a Verilated node in lockstep with the simulator's.

        Raises
        ------
        InputError
            An argument is invalid.
        """
        one_of("engine", engine, ("sim", "rtl"))
        if node not in self.fpgas:
            raise InputError(f"node {node} is not an FPGA; the FPGAs are {self.fpgas[0]} to {self.fpgas[-1]}")
        check_times(ratio, limit_s)
        nodes = self.assembly["nodes"][: self.hardware]  # the actions of servers are in the programs that run on them
        links = [link for link in self.assembly["links"] if max(link["ends"][::2]) < self.hardware]
        hardware = self.assembly | {"nodes": nodes, "links": links}
        part, outside = leading_out(hardware, node, self.fpga(node).line_clock, interfaces)
        network = self._simulator(pcap, part, [node] if engine == "rtl" else [])
        try:
            network.attach(
                lines=[(outside[port], node, name) for port, name in interfaces.items()],
                longest=self.longest,
                ratio=ratio,
                limit_s=limit_s,
            )
        except RuntimeError as error:
            raise InputError(str(error)) from None
        return network

    def _simulator(self, pcap: str, part: Mapping[str, Any] | None = None, verilated: Sequence[int] = ()) -> Network:
        """Returns a simulator. Raises InputError."""
        try:
            return Network(self, pcap, part, verilated)
        except ValueError as error:
            raise self.file.wrong(str(error), "link") from None
        except RuntimeError as error:
            raise InputError(f"{pcap}: {error}") from None

    def overlay(self, file: Path) -> Overlay:
        """Returns partitions and circuits of a circuit file. Raises InputError."""
        from thalweg.systems.vcsn.circuit_file import Circuits

        return Circuits.load(file, self).overlay()

    @staticmethod
    def overlay_schema() -> dict[str, Any]:
        """Returns the JSON schema of circuit files."""
        from thalweg.systems.vcsn import circuit_file

        return circuit_file.schema()

    @property
    def longest(self) -> int:
        """Bytes of the longest frame, without the frame check sequence."""
        return 14 + (VcsnHeader.BITS + VcsnSequence.BITS) // 8 + self.frame_words * WORD

    @property
    def frame_words(self) -> int:
        """Maximum number of data words per frame."""
        return self.fpga(self.fpgas[0]).frame_words

    @property
    def gap_bytes(self) -> float:
        """Gap between two frames or packets, in bytes."""
        return WORD / 2 if self.is_direct else GAP

    def wire_bytes(self, words: int) -> float:
        """Returns the length on the line of a frame or packet with `words` data words, including headers and gap."""
        if self.is_direct:
            return WORD + words * WORD + self.gap_bytes
        return wire_bytes(VcsnHeader.BITS // 8 + words * WORD)

    @property
    def payload_gb(self) -> float:
        """Payload rate of an external port in GB/s, with the longest frames: Equations 1 and 2 of the paper."""
        return self.gbit_s(0) / 8 * self.frame_words * WORD / self.wire_bytes(self.frame_words)

    def gbit_s(self, port: int) -> float:
        """Returns the raw rate in Gb/s of the fastest line at an external port of an FPGA."""
        if self.is_direct:
            return float(self.clocks[self.fpga(self.fpgas[0]).line_clock].hertz) * WORD * 8 / 1e9
        ends = [((a, pa), (b, pb)) for a, pa, b, pb in self.topology.links.tolist()]
        here = {(node, port) for node in self.fpgas}
        links = [self.links[name] for name, both in zip(self.link_names, ends, strict=True) if here & set(both)]
        return max(link.gbit_s for link in links if isinstance(link, leaves.Ethernet))

    def checked(self) -> tuple[str, Mapping[str, Any]]:
        """Returns a line about the proved routes, and its figures."""
        self.network()
        return super().checked()
