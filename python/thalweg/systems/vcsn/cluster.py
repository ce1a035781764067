# SPDX-License-Identifier: Apache-2.0
"""What a cluster file says of virtual circuits: FPGAs of kind `vcsn` around Ethernet switches, and the servers that they are cards of."""

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

WORD = 64  #: bytes of a word of a stream

FrameWords = Annotated[int, Field(ge=1, le=143, description="of 64 bytes of data in a frame or packet at most")]


class Fpga(dram.Ddr4):
    """An FPGA with its shell, whatever network its external ports are of."""

    shell_clock: str = Field(description="of the crossbar, the DMA engines and the memory's users")
    line_clock: str = Field(description="of the words at external ports")
    ports: int = Field(ge=1, le=16, description="external ones")
    dmas: int = Field(ge=1, le=16, description="pairs of a DMA engine that reads and one that writes the memory")
    kernels: int = Field(1, ge=0, le=16, description="streams of user logic, each way, at the crossbar")
    banks: int = Field(ge=1, le=64, description="of the memory")
    bank_bytes: int = Field(ge=4096, le=2**40, description="of each bank")
    bank_gb: float = Field(gt=0, le=1e4, description="GB/s of a bank's data bus")
    bank_ns: float = Field(ge=0, le=1e6, description="from a read to its data, where nothing waits")
    send_words: int = Field(
        512, ge=16, le=65536, description="of 64 bytes that a virtual port keeps to send; a power of two"
    )
    send_frames: int = Field(32, ge=2, le=1024, description="that a virtual port keeps to send; a power of two")
    receive_words: int = Field(
        ge=16, le=2**20, description="of 64 bytes that a virtual port keeps of what it has received"
    )
    line_ns: float = Field(ge=0, le=1e6, description="of a line's two ends: MACs or packets, line codes, transceivers")
    frame_words: FrameWords

    EXTERNAL: ClassVar[tuple[str, str]]
    """What the names of its external ports begin with, and their type."""

    @property
    def virtual_of_port(self) -> int:
        """Virtual ports of each external one; a serial link has one."""
        return 1

    @property
    def port_types(self) -> Mapping[str, str]:
        name, carries = self.EXTERNAL
        return {f"{name}{port}": carries for port in range(self.ports)} | {"pcie": "PCIe"}


class Node(Fpga):
    """Virtual circuits over Ethernet."""

    EXTERNAL = ("eth", "Ethernet")
    kind: Literal["vcsn"]
    frame_words: FrameWords = 143
    virtual_ports: int = Field(ge=1, le=64, description="of each external port")
    sequencers: int = Field(0, ge=0, le=16, description="that run programs of transfers without a host")
    resend_us: float = Field(20, gt=0, le=1e9, description="without an answer, after which a session sends again")
    reorder_frames: int = Field(
        3, ge=0, le=64, description="sent later that come before a session takes a frame for lost"
    )
    tries: int = Field(16, ge=1, le=2**20, description="without an answer, after which a session ends")

    @property
    def virtual_of_port(self) -> int:
        return self.virtual_ports


class Direct(Fpga):
    """Serial links to neighbours (DCN)."""

    EXTERNAL = ("port", "serial")
    kind: Literal["dcn"]
    frame_words: FrameWords = 62


class Serial(LinkTable):
    """Moves a word of 64 bytes in each cycle of its ends' clock."""

    kind: Literal["dcn"]
    latency_ns: float = Field(ge=0, le=1e6, description="from end to end, one way")

    def refuses(self, one: str, other: str) -> bool:
        return (one, other) != ("serial", "serial")


class Server(NodeTable):
    """A computer whose cards FPGAs are: what its actions take."""

    kind: Literal["vcsn-server"]
    cards: int = Field(ge=1, le=16, description="of FPGAs")
    circuit_us: float = Field(ge=0, le=1e6, description="of writing a virtual port's row of the circuit table")
    crossbar_us: float = Field(ge=0, le=1e6, description="of setting its FPGAs' crossbars")
    start_us: float = Field(ge=0, le=1e6, description="of starting a DMA engine")
    interrupt_us: float = Field(ge=0, le=1e6, description="from an FPGA's interrupt to the program that waits for it")
    barrier_us: float = Field(ge=0, le=1e6, description="of a barrier of all servers, without its rounds")
    barrier_round_us: float = Field(
        ge=0,
        le=1e6,
        description="of a barrier's round; N servers take as many as the logarithm of N to base 2, rounded up",
    )
    late_us: float = Field(
        ge=0, le=1e6, description="by which a barrier is later on average after a step of less than `long_us`"
    )
    very_late_us: float = Field(ge=0, le=1e6, description="by which it is later after a longer step")
    long_us: float = Field(gt=0, le=1e9, description="from which on a step between two barriers is long")
    network_gbit_s: float = Field(gt=0, le=1e5, description="Gb/s of payload on the servers' own network, each way")

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
        if len({self.fpga(node).model_dump_json() for node in self.fpgas}) > 1:
            raise self.file.wrong(
                "all FPGAs of a cluster are alike: of one kind, with the same values", "topology.nodes"
            )
        if len(self.fpgas) < 2:
            raise self.file.wrong(
                f"{len(self.fpgas)} FPGAs; there are at least two that send to each other", "topology"
            )
        if self.servers and self.servers != list(range(self.hardware, self.topology.nodes)):
            raise self.file.wrong("servers have the last numbers, behind FPGAs and switches", "topology.nodes")
        for name, table in self.nodes.items():
            if not isinstance(table, Fpga):
                continue
            for key in ("send_words", "send_frames"):
                value: int = getattr(table, key)
                if value & (value - 1):
                    raise self.file.wrong(f"{key} is {value}; it is a power of two", f"node.{name}.{key}")
            for key in ("send_words", "receive_words"):
                if (value := getattr(table, key)) < table.frame_words:
                    raise self.file.wrong(
                        f"{key} is {value}; a frame has {table.frame_words} words at most, which have to fit",
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
        """FPGAs and switches, which have the first numbers."""
        return self.topology.nodes - len(self.servers)

    def fpga(self, node: int) -> Fpga:
        """Raises TypeError of another node."""
        table = self.nodes[self.node_names[node]]
        if not isinstance(table, Fpga):
            raise TypeError(f"node {node} is no FPGA")
        return table

    def server_of(self, node: int) -> int | None:
        """Of an FPGA: the server whose card it is."""
        return next((int(peer) for peer in self.topology.peer[node] if peer in self.servers), None)

    def slot_of(self, node: int) -> leaves.Wire:
        """The link of an FPGA to its server."""
        for name, (a, _, b, _) in zip(self.link_names, self.topology.links.tolist(), strict=True):
            link = self.links[name]
            if node in (a, b) and {a, b} & set(self.servers) and isinstance(link, leaves.Wire):
                return link
        raise InputError(f"FPGA {node} is in no server (kind vcsn-server)")

    @cached_property
    def server_tables(self) -> Mapping[int, Server]:
        """What the actions of each server take."""
        tables = {server: self.nodes[self.node_names[server]] for server in self.servers}
        return {server: table for server, table in tables.items() if isinstance(table, Server)}

    def joined(self, node: int) -> list[int]:
        """The external ports that have a link."""
        return [port for port in range(self.fpga(node).ports) if self.topology.peer[node, port] >= 0]

    @cached_property
    def _stations(self) -> list[tuple[int, int]]:
        return [(node, port) for node in self.fpgas for port in self.joined(node)]

    @cached_property
    def _routes(self) -> Mapping[tuple[int, int], Mapping[int, int]]:
        """Of each (node, external port) that is joined: the port of each switch that leads to it."""
        return {station: routes(self.topology, station, self.fpgas) for station in self._stations}

    @property
    def is_direct(self) -> bool:
        """Whether its FPGAs have serial links to neighbours, and no circuits."""
        return isinstance(self.fpga(self.fpgas[0]), Direct)

    def ring_of(self, nodes: int) -> Cluster:
        """A ring of as many FPGAs as the first one, in servers as the first one."""
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
        """Of a direct network: the shortest way between two FPGAs, as (node, port that it comes in at, port that it leaves by), where -1 stands for
        the memory at both ends. `first`: the port that it leaves `source` by. Raises InputError where there is none."""
        return self.front.way(source, destination, first)

    @cached_property
    def front(self) -> _sim.Cluster:
        """What its programs know of it."""
        return _sim.Cluster(self.name, self.assembly)

    def reaches(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        """Frames go from an FPGA's external port to another one's."""
        return self.front.reaches(one, other)

    def group_ports(self, source: tuple[int, int], members: Iterable[tuple[int, int]]) -> Mapping[int, Sequence[int]]:
        """Of each switch on the tree for frames to all: the ports that lead from an external port, (node, port), to others. Raises InputError where
        the tree does not reach one."""
        return self.front.group_ports(source, list(members))

    def of_node(self, node: int) -> Mapping[str, Any]:
        """Of a switch: the ports that frames to all take, and where addresses are given, the port to each FPGA's."""
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
        """The simulator of it; `pcap`: a file to which all frames are written. Raises InputError where lines and clocks do not go together."""
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
        """The simulator of one FPGA of it, whose external ports end at network interfaces of this computer, by their names; its other nodes are elsewhere.

        Virtual time passes `ratio` times as fast as the wall clock, or slower, so no two runs are the same. `limit_s`: seconds of the wall clock after
        which it fails; 0: none. `engine`: `sim`, or `rtl` for its Verilated node in step with the simulator's. Raises InputError.
        """
        one_of("engine", engine, ("sim", "rtl"))
        if node not in self.fpgas:
            raise InputError(f"node {node} is no FPGA; these are {self.fpgas[0]} to {self.fpgas[-1]}")
        check_times(ratio, limit_s)
        nodes = self.assembly["nodes"][: self.hardware]  # what servers do is in the programs that run on them
        links = [link for link in self.assembly["links"] if max(link["ends"][::2]) < self.hardware]
        hardware = self.assembly | {"nodes": nodes, "links": links}
        part, outside = leading_out(hardware, node, self.fpga(node).line_clock, interfaces)
        network = self._simulator(pcap, part, [node] if engine == "rtl" else [])
        try:
            network.attach(
                lines=[(outside[port], node, name) for port, name in interfaces.items()],
                longest=14 + (VcsnHeader.BITS + VcsnSequence.BITS) // 8 + self.frame_words * WORD,
                ratio=ratio,
                limit_s=limit_s,
            )
        except RuntimeError as error:
            raise InputError(str(error)) from None
        return network

    def _simulator(self, pcap: str, part: Mapping[str, Any] | None = None, verilated: Sequence[int] = ()) -> Network:
        """Raises InputError."""
        try:
            return Network(self, pcap, part, verilated)
        except ValueError as error:
            raise self.file.wrong(str(error), "link") from None
        except RuntimeError as error:
            raise InputError(f"{pcap}: {error}") from None

    def overlay(self, file: Path) -> Overlay:
        """Partitions and circuits of a circuit file. Raises InputError."""
        from thalweg.systems.vcsn.circuit_file import Circuits

        return Circuits.load(file, self).overlay()

    @staticmethod
    def overlay_schema() -> dict[str, Any]:
        from thalweg.systems.vcsn import circuit_file

        return circuit_file.schema()

    @property
    def frame_words(self) -> int:
        """Of data in a frame at most; of the first FPGA."""
        return self.fpga(self.fpgas[0]).frame_words

    @property
    def gap_bytes(self) -> float:
        """Between two frames or packets."""
        return WORD / 2 if self.is_direct else GAP

    def wire_bytes(self, words: int) -> float:
        """Of a frame or packet with so many words of data, with what is before it and the gap behind it."""
        if self.is_direct:
            return WORD + words * WORD + self.gap_bytes
        return wire_bytes(VcsnHeader.BITS // 8 + words * WORD)

    @property
    def payload_gb(self) -> float:
        """GB/s of data that an external port's line carries in the longest frames: Equations 1 and 2 of the paper."""
        return self.gbit_s(0) / 8 * self.frame_words * WORD / self.wire_bytes(self.frame_words)

    def gbit_s(self, port: int) -> float:
        """Of the fastest line at an external port of an FPGA, with all that is before and behind data."""
        if self.is_direct:
            return float(self.clocks[self.fpga(self.fpgas[0]).line_clock].hertz) * WORD * 8 / 1e9
        ends = [((a, pa), (b, pb)) for a, pa, b, pb in self.topology.links.tolist()]
        here = {(node, port) for node in self.fpgas}
        links = [self.links[name] for name, both in zip(self.link_names, ends, strict=True) if here & set(both)]
        return max(link.gbit_s for link in links if isinstance(link, leaves.Ethernet))

    def checked(self) -> tuple[str, Mapping[str, Any]]:
        self.network()
        return super().checked()
