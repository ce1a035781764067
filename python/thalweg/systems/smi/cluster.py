# SPDX-License-Identifier: Apache-2.0
"""What a cluster file says of SMI: nodes of kind `smi`, of four links each, and links of kind `serial`, in any shape."""

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

MOST_RANKS = 256  #: a header's byte
HEADER_BYTES = 4
MOST_ELEMENTS = 31  #: of a packet: its header's count has five bits


Protocol = Literal["eager", "degree", "synchronous"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)


class Node(dram.Ddr4):
    kind: Literal["smi"]
    clock: str = Field(description="of kernels and transport")
    links: int = Field(
        4, ge=1, le=4, description="of a rank, whether connected or not, and as many pairs of send and receive kernels"
    )
    packet_bytes: int = Field(32, ge=16, le=64, description="of a packet, 4 of them its header; a multiple of 8")
    reads: int = Field(
        8, ge=1, le=metadata.MOST_READS, description="of a send or receive kernel from one input on end, R in the paper"
    )
    depth: int = Field(
        16, ge=2, le=1024, description="packets of a FIFO between send and receive kernels, and endpoints"
    )
    link_buffer: int = Field(ge=2, le=4096, description="packets at a link's end; as many credits hold its sender back")
    latency: int = Field(8, ge=1, le=16, description="cycles of a reduction's adders")
    tile: int = Field(32, ge=1, le=1024, description="elements that a reduction grants at once")
    children: int = Field(15, ge=1, le=255, description="ranks that one collects from in a reduction, at most")
    protocol: Protocol = Field(
        "eager",
        description="of point-to-point channels: always eager; with credits where a message exceeds its asynchronicity degree; or a "
        "push returns when its element has been popped",
    )
    switching: Literal["packet", "circuit"] = Field(
        "packet",
        description="of eager messages: packets with headers, or, of more than a packet, one with a header and then elements alone",
    )
    circuit_packets: int = Field(
        0,
        ge=0,
        le=1023,
        description="that follow in a circuit at most, where it is a part of its message; 0: a circuit is a whole message",
    )
    arity: int = Field(
        0,
        ge=0,
        le=255,
        description="children of a place in a broadcast's and a reduction's tree; 0: all are the root's",
    )
    any_order: bool = Field(False, description="whether a reduction combines contributions as they come")
    banks: int = Field(4, ge=1, le=64, description="of memory")
    bank_gb: float = Field(gt=0, le=1e4, description="GB/s of a bank")
    bank_ns: float = Field(ge=0, le=1e6, description="from a read to its data")

    def elements_per_packet(self, size: int) -> int:
        """Of `size` bytes, at most, behind a header."""
        return min((self.packet_bytes - HEADER_BYTES) // size, MOST_ELEMENTS)

    @property
    def circuits(self) -> int:
        """The hardware's parameter: packets that follow in a circuit at most; 0 where there are none."""
        return self.circuit_packets or 1 << 31 if self.switching == "circuit" else 0

    @property
    def payload_bytes(self) -> float:
        """Bytes of elements of a packet in long eager messages, at most: those with headers, or those of circuits on average."""
        if not self.circuits:
            return self.packet_bytes - HEADER_BYTES
        return self.packet_bytes * self.circuits / (self.circuits + 1)

    PORTS: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("L0", "L1", "L2", "L3"), "serial"),  #: as many as `links` at most
        "host": "PCIe",
    }


class Serial(LinkTable):
    kind: Literal["serial"]
    latency_ns: float = Field(ge=1, le=1e6, description="from end to end, one way")
    gbit_s: float = Field(gt=0, le=1e4, description="Gb/s of packets, each way")


@dataclass(frozen=True, eq=False)
class Cluster(Uniform[Node, Serial]):
    fpgas: topology.Fpgas | None = None  #: where a topology file of SMI's own says how ranks are connected

    system = "smi"
    NODES = {"smi": Node}
    LINKS = {"serial": Serial}

    @classmethod
    def _read(cls, file: Path) -> tuple[dict[str, Any], dict[KeyPath, Location]]:
        """Of a cluster file, whose [topology] may name a topology file as its `connections`; or of a topology file, with the boards of
        smi-noctua."""
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
        def wrong(what: str, key: str = "topology.shape") -> InputError:
            return self.file.wrong(what, key)

        if self.topology.level:
            raise wrong("ranks of SMI are joined without switches, so there is no fat tree of them")
        if self.topology.nodes > MOST_RANKS:
            raise wrong(f"{self.topology.nodes} nodes; a rank is a byte, so there may be {MOST_RANKS}")
        self.check_uniform()
        if self.topology.link_ports > self.node.links:
            raise wrong(
                f"the ports of a node that are joined go up to L{self.topology.link_ports - 1}, and a node has {self.node.links} links",
                f"node.{self.node_name}.links",
            )
        for name, what in dram.faults(self.node):
            raise wrong(what, f"node.{self.node_name}.{name}")
        if self.node.packet_bytes % 8:
            raise wrong(
                f"packet_bytes is {self.node.packet_bytes}; it is a multiple of 8",
                f"node.{self.node_name}.packet_bytes",
            )

    @property
    def mhz(self) -> float:
        return self.clocks[self.node.clock].frequency_mhz

    @property
    def payload_gbit(self) -> float:
        """Gb/s of elements that a link carries at most, in long messages."""
        return self.link.gbit_s * self.node.payload_bytes / self.node.packet_bytes

    @property
    def round_trip_packets(self) -> float:
        """What a link carries while a packet, and then the credit for it, are under way."""
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
        covers = self.node.link_buffer / self.round_trip_packets
        return [
            *super().shown(),
            ("elements", f"{self.payload_gbit:.6g} Gb/s", "of a link, without headers"),
            (
                "credits",
                f"{covers:.3g} times",
                "what is under way on a link and back; from 1 on it is never idle for them",
            ),
        ]

    def checked(self) -> tuple[str, Mapping[str, Any]]:
        return "routes proved", self.proof.as_dict()


def _connections(file: Path) -> Path | None:
    """The topology file that says how ranks are connected: the file itself, or what its [topology], or its base's, names."""
    if file.suffix == ".json":
        return file
    values, places = layers(file, None)
    table = values.get("topology")
    named = table.get("connections") if isinstance(table, dict) else None
    if named is None:
        return None
    place = places["topology", "connections"]
    if not isinstance(named, str) or not (found := place.file.parent / named).is_file():
        raise InputError(f"connections is {named!r}, and there is no such file beside this one", place.file, place.line)
    return found
