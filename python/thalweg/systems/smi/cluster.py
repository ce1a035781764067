# SPDX-License-Identifier: Apache-2.0
"""SMI clusters: nodes of kind `smi`, with four links each, and links of kind `serial`, in any direct topology."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from pydantic import Field

from thalweg.cluster import Shown, dram
from thalweg.cluster.file import Location, layers
from thalweg.cluster.kinds import LinkTable, Uniform
from thalweg.cluster.toml_lines import KeyPath
from thalweg.errors import InputError
from thalweg.resources import resource
from thalweg.systems.smi import metadata, routes, routes_proof, topology

MAX_RANKS = 256  #: rank numbers are bytes in headers
HEADER_BYTES = 4
MAX_ELEMENTS = 31  #: per packet: the header has five bits


Protocol = Literal["eager", "degree", "synchronous"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)


class Node(dram.Ddr4):
    kind: Literal["smi"]
    clock: str = Field(description="clock of kernels and transport")
    links: int = Field(
        4, ge=1, le=4, description="links per rank, connected or not, each with a send and a receive kernel"
    )
    packet_bytes: int = Field(32, ge=16, le=64, description="bytes per packet, including 4 of header; a multiple of 8")
    reads: int = Field(
        8,
        ge=1,
        le=metadata.MAX_READS,
        description="consecutive reads of one input before the next is polled (R in the paper)",
    )
    depth: int = Field(
        16, ge=2, le=1024, description="packets per FIFO between send and receive kernels, and endpoints"
    )
    link_buffer: int = Field(ge=2, le=4096, description="packets in a link's receive buffer, and number of its credits")
    latency: int = Field(8, ge=1, le=16, description="latency of a reduction's adders in cycles")
    tile: int = Field(32, ge=1, le=1024, description="elements per credit of a reduction")
    children: int = Field(15, ge=1, le=255, description="maximum number of children of a rank in a reduction")
    protocol: Protocol = Field(
        "eager",
        description="protocol of point-to-point channels: eager; degree (credits if a message exceeds its asynchronicity degree); or synchronous ("
        "a push returns when its element has been popped)",
    )
    switching: Literal["packet", "circuit"] = Field(
        "packet",
        description="switching of eager messages: packet (all with headers), or circuit (in long messages, one header, then elements only)",
    )
    circuit_packets: int = Field(
        0,
        ge=0,
        le=1023,
        description="maximum number of packets per circuit; 0 means a whole message",
    )
    arity: int = Field(
        0,
        ge=0,
        le=255,
        description="children per rank in the trees of broadcast and reduction; 0: linear (all are the root's children)",
    )
    any_order: bool = Field(False, description="combine contributions to a reduction in order of arrival")
    banks: int = Field(4, ge=1, le=64, description="of memory")
    bank_gb: float = Field(gt=0, le=1e4, description="GB/s per memory bank")
    bank_ns: float = Field(ge=0, le=1e6, description="read latency")

    def elements_per_packet(self, size: int) -> int:
        """Returns the maximum number of elements of `size` bytes per packet with header."""
        return min((self.packet_bytes - HEADER_BYTES) // size, MAX_ELEMENTS)

    @property
    def circuits(self) -> int:
        """Hardware parameter: maximum number of packets that follow in a circuit; 0 without circuits."""
        return self.circuit_packets or 1 << 31 if self.switching == "circuit" else 0

    @property
    def payload_bytes(self) -> float:
        """Maximum payload of a packet in long eager messages, averaged over circuits."""
        if not self.circuits:
            return self.packet_bytes - HEADER_BYTES
        return self.packet_bytes * self.circuits / (self.circuits + 1)

    PORTS: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("L0", "L1", "L2", "L3"), "serial"),  #: at most `links` of them
        "host": "PCIe",
    }


class Serial(LinkTable):
    kind: Literal["serial"]
    latency_ns: float = Field(ge=1, le=1e6, description="latency, one way")
    gbit_s: float = Field(gt=0, le=1e4, description="Gb/s of packets, per direction")


@dataclass(frozen=True, eq=False)
class Cluster(Uniform[Node, Serial]):
    fpgas: topology.Fpgas | None = None  #: connections of ranks, from a topology file of SMI's reference implementation

    system = "smi"
    NODES = {"smi": Node}
    LINKS = {"serial": Serial}

    @classmethod
    def _read(cls, file: Path) -> tuple[dict[str, Any], dict[KeyPath, Location]]:
        """Reads a cluster file, whose [topology] may refer to a topology file by `connections`, or a topology file, with
        smi-noctua's boards."""
        connections = _connections(file)
        values, places = layers(resource("clusters/smi-noctua.toml") if connections == file else file, None)
        if connections:
            table = values.get("topology", {})
            own = {key: table[key] for key in ("node", "link") if key in table}
            edges = topology.read(connections).topology.links[:, [0, 2]].tolist()
            values = values | {"topology": own | {"shape": "edges", "edges": edges}}
            if connections == file:
                values["description"] = f"{len(topology.read(file).names)} FPGAs, connected as in {file.name}"
        return values, places

    def _loaded(self, file: Path) -> Cluster:
        if not (connections := _connections(file)):
            return self
        fpgas = topology.read(connections)
        return dataclasses.replace(self.with_topology(fpgas.topology), fpgas=fpgas)

    def check(self) -> None:
        """Raises InputError if the cluster file is invalid."""

        def wrong(what: str, key: str = "topology.shape") -> InputError:
            return self.file.wrong(what, key)

        if self.topology.level:
            raise wrong("SMI uses direct links without switches; choose another shape than fattree")
        if self.topology.nodes > MAX_RANKS:
            raise wrong(f"{self.topology.nodes} nodes; the maximum is {MAX_RANKS}, as a rank is a byte")
        self.check_uniform()
        if self.topology.link_ports > self.node.links:
            raise wrong(
                f"the topology uses ports up to L{self.topology.link_ports - 1}, but a node has {self.node.links} links",
                f"node.{self.node_name}.links",
            )
        for name, what in dram.faults(self.node):
            raise wrong(what, f"node.{self.node_name}.{name}")
        if self.node.packet_bytes % 8:
            raise wrong(
                f"packet_bytes is {self.node.packet_bytes}; it must be a multiple of 8",
                f"node.{self.node_name}.packet_bytes",
            )

    @property
    def mhz(self) -> float:
        """Clock of the ranks in MHz."""
        return self.clocks[self.node.clock].frequency_mhz

    @property
    def payload_gbit(self) -> float:
        """Maximum rate of elements on a link in Gb/s, in long messages."""
        return self.link.gbit_s * self.node.payload_bytes / self.node.packet_bytes

    @property
    def round_trip_packets(self) -> float:
        """Number of packets that a link carries during a round trip of a packet and its credit."""
        return 2 * self.link.latency_ns * self.link.gbit_s / (8 * self.node.packet_bytes)

    @cached_property
    def send_tables(self) -> routes.Table:
        """Tables of send kernels: rank, link, destination."""
        return routes.send_tables(routes.leaves_by(self.topology, self.node.links))

    @cached_property
    def proof(self) -> routes_proof.Proof:
        """The proof of its routes. Raises BadRoutes."""
        return routes_proof.prove(self.topology, self.send_tables)

    def shown(self) -> list[Shown]:
        """Returns derived values for `thalweg cluster show`."""
        covers = self.node.link_buffer / self.round_trip_packets
        return [
            *super().shown(),
            ("elements", f"{self.payload_gbit:.6g} Gb/s", "of elements per link"),
            (
                "credits",
                f"{covers:.3g} times",
                "credits over packets in flight per round trip; a link is never idle from 1 on",
            ),
        ]

    def checked(self) -> tuple[str, Mapping[str, Any]]:
        """Returns a line about the proved routes, and its figures."""
        return "routes proved", self.proof.as_dict()


def _connections(file: Path) -> Path | None:
    """Returns the topology file: the file itself, or the one that its [topology], or its base's, refers to."""
    if file.suffix == ".json":
        return file
    values, places = layers(file, None)
    table = values.get("topology")
    named = table.get("connections") if isinstance(table, dict) else None
    if named is None:
        return None
    place = places["topology", "connections"]
    if not isinstance(named, str) or not (found := place.file.parent / named).is_file():
        raise InputError(
            f"connections is {named!r}, but there is no such file relative to this one", place.file, place.line
        )
    return found
