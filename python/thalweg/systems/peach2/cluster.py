# SPDX-License-Identifier: Apache-2.0
"""PEACH2 clusters: nodes of kind `peach2`, links of kind `pcie`, as a ring or a prism of two rings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic import Field

from thalweg.cluster import dram
from thalweg.cluster.kinds import LinkTable, Uniform
from thalweg.route.paths import Paths
from thalweg.route.proof import Proof
from thalweg.route.routes import Routes
from thalweg.spec import Datatype, Operator
from thalweg.systems.peach2 import _sim, routes
from thalweg.systems.peach2.routes import Tables

LANE_GB = {1: Fraction(1, 4), 2: Fraction(1, 2), 3: Fraction(64, 65), 4: Fraction(128, 65)}
"""GB/s of a lane by generation: 2.5 and 5 GT/s with 8b/10b coding, 8 and 16 GT/s with 128b/130b."""
MOST_RATE_CYCLES = 4096
ENGINE_CYCLES = 12
"""Of a packet of 256 bytes at the port of a DMA channel: its read, its header, eight words of data, and a choice by the port's
switch before each of the two packets."""
PACKET, HEADER, FRAME, NOTICE = 256, 16, 8, 8
"""Bytes of a packet's data, of its header, of its framing with sequence number and checksum, and of the acknowledgement and credits
that the other end returns for it."""


def pair_of(text: str) -> tuple[Operator, Datatype]:
    """Parses an operator and a type such as `sum float32`. Raises ValueError."""
    op, _, datatype = text.partition(" ")
    known = op.upper() in Operator.__members__ and datatype.upper() in Datatype.__members__
    if not known or text != text.lower():
        raise ValueError(f"{text!r} is not an operator and a type such as 'sum float32' or 'max int64'")
    return Operator[op.upper()], Datatype[datatype.upper()]


class Node(dram.Ddr3):
    kind: Literal["peach2"]
    clock: str = Field(description="clock of packets, links and host interface")
    bus_clock: str = Field(description="clock of the internal bus: memory, calculator, registers")
    gen: Literal[1, 2, 3, 4] = Field(2, description="PCI Express generation of all links")
    lanes: Literal[1, 2, 4, 8, 16] = Field(8, description="lanes of the links to the host and along the ring")
    south_lanes: Literal[1, 2, 4, 8, 16] = Field(16, description="lanes of the link between the rings")
    windows: int = Field(16, ge=6, le=64, description="address windows compared by each port")
    packets: int = Field(32, ge=1, le=128, description="packets in a link's receive buffer")
    units: int = Field(256, ge=16, le=1024, description="16-byte words of data in a link's receive buffer")
    reads: int = Field(16, ge=2, le=64, description="maximum number of outstanding DMA reads, 256 bytes each")
    bus_reads: int = Field(4, ge=1, le=16, description="maximum number of outstanding bus reads")
    ram_bits: int = Field(11, ge=9, le=16, description="log2 of the number of 16-byte lines of the working RAM")
    contexts: int = Field(4, description="contexts of the calculator, i.e. concurrent reductions; a power of two")
    sums: int = Field(16, description="16-byte beats of partial sums per context; a power of two")
    records: int = Field(8, description="maximum size of a record in 16-byte beats; a power of two")
    latency: int = Field(8, ge=1, le=16, description="latency of the calculator's adders in cycles")
    pairs: list[str] = Field(
        ["sum float32"], min_length=1, description='operators and types of the calculator, such as "sum float32"'
    )
    starts: int = Field(8, ge=1, le=16, description="maximum number of waiting descriptor chains")
    completion_timeout_us: float = Field(
        50_000,
        ge=0,
        le=268_000,
        description="completion time-out of the DMA controller's reads; 0: none. PCI Express Base Specification 2.1, "
        "section 7.8.16: 50 us to 50 ms by default, up to 64 s",
    )
    host_link_ns: float = Field(ge=1, le=1e6, description="latency of the link to the host, one way")
    memory_ns: float = Field(ge=1, le=1e6, description="latency of the hub's memory, from a read to its data")
    memory_gb: float = Field(gt=0, le=1e3, description="GB/s of the data bus of the hub's memory")
    memory_commands: int = Field(ge=1, le=64, description="commands queued in the hub's memory controller")
    processor_read_ns: float = Field(
        ge=0, le=1e6, description="read latency of the processor's memory at the root complex"
    )
    processor_read_gb: float = Field(gt=0, le=1e3, description="GB/s of reads from the processor's memory")
    gpu_read_ns: float = Field(ge=0, le=1e6, description="the same of a GPU's memory")
    gpu_read_gb: float = Field(gt=0, le=1e3, description="the same of a GPU's memory")
    gpu_landing_ns: float = Field(
        ge=1, le=1e6, description="latency from a packet at the root complex until its data are visible to the GPU"
    )
    store_ns: float = Field(
        ge=1, le=1e6, description="latency from a processor's store to its packet at the root complex"
    )
    landing_ns: float = Field(
        ge=1, le=1e6, description="latency from a packet at the root complex until the processor sees it"
    )
    poll_ns: float = Field(ge=1, le=1e6, description="interval at which the processor polls its memory")
    copy_start_ns: float = Field(ge=1, le=1e9, description="start-up time of a copy between processor and GPU memory")
    copy_gb: float = Field(gt=0, le=1e3, description="GB/s of a copy between processor and GPU memory")
    sum_gb: float = Field(gt=0, le=1e3, description="GB/s at which the processor reduces records in its memory")

    PORTS: ClassVar[Mapping[str, str]] = {"E": "end point", "W": "root complex", "S": "south", "N": "PCIe"}


class Pcie(LinkTable):
    kind: Literal["pcie"]
    latency_ns: float = Field(ge=4, le=1e6, description="latency between the hubs, one way")

    def refuses(self, one: str, other: str) -> bool:
        return sorted((one, other)) not in (["end point", "root complex"], ["south", "south"])


class Cluster(Uniform[Node, Pcie]):
    system = "peach2"
    NODES = {"peach2": Node}
    LINKS = {"pcie": Pcie}

    def check(self) -> None:
        """Raises InputError if the cluster file is invalid."""

        shape, nodes = self.topology.shape, self.topology.nodes
        if shape not in ("ring", "prism") or self.topology.joined or self.topology.planes > 1:
            raise self.file.wrong(
                "PEACH2's hubs form a ring or a prism (two rings) without other links", "topology.shape"
            )
        if nodes > 16:
            raise self.file.wrong(f"{nodes} nodes; the address space supports at most 16", "topology.size")
        self.check_uniform()
        for name, most in (("contexts", _sim.MOST_CONTEXTS), ("sums", _sim.MOST_SUMS), ("records", _sim.MOST_RECORD)):
            value = getattr(self.node, name)
            if value < 2 or value > most or value & (value - 1):
                raise self.file.wrong(
                    f"{name} is {value}; it must be a power of two from 2 to {most}", f"node.{self.node_name}.{name}"
                )
        if self.read_timeout > _sim.MOST_TIMEOUT:
            most_us = _sim.MOST_TIMEOUT * _sim.TIMEOUT_UNIT / self.net_mhz
            raise self.file.wrong(
                f"completion_timeout_us is {self.node.completion_timeout_us:g}; at {self.net_mhz:g} MHz it must be at "
                f"most {most_us:.0f}",
                f"node.{self.node_name}.completion_timeout_us",
            )
        if self.rates["Scale"] > MOST_RATE_CYCLES:
            raise self.file.wrong(
                f"clock {self.node.clock}, {self.net_mhz:g} MHz: a lane of generation {self.node.gen} must carry a whole "
                f"number of bytes in at most {MOST_RATE_CYCLES} cycles",
                f"clock.{self.node.clock}.frequency_mhz",
            )
        for name, what in dram.faults(self.node):
            raise self.file.wrong(what, f"node.{self.node_name}.{name}")
        for pair in self.node.pairs:
            try:
                pair_of(pair)
            except ValueError as error:
                raise self.file.wrong(str(error), f"node.{self.node_name}.pairs") from None
        if self.node.records > self.node.sums:
            raise self.file.wrong(
                f"records is {self.node.records} beats; it must not exceed sums, {self.node.sums}",
                f"node.{self.node_name}.records",
            )

    @property
    def ring(self) -> int:
        """Number of nodes per ring."""
        return self.topology.nodes // (2 if self.topology.shape == "prism" else 1)

    @property
    def net_mhz(self) -> float:
        """Clock of packets and links in MHz."""
        return self.clocks[self.node.clock].frequency_mhz

    @property
    def read_timeout(self) -> int:
        """Time-out of the DMA controller's reads in the unit of its register."""
        return math.ceil(self.node.completion_timeout_us * self.net_mhz / _sim.TIMEOUT_UNIT)

    @property
    def bus_gb(self) -> float:
        """Rate of the bus in GB/s, 16 bytes per cycle."""
        return 16 * self.clocks[self.node.bus_clock].frequency_mhz / 1e3

    def link_gb(self, lanes: int | None = None) -> float:
        """Raw rate in GB/s of a link with `lanes` lanes, by default the ring's."""
        return float(LANE_GB[self.node.gen] * (lanes or self.node.lanes))

    def payload_gb(self, lanes: int | None = None) -> float:
        """Payload rate of a link in GB/s, in packets of 256 bytes."""
        return self.link_gb(lanes) * PACKET / (PACKET + HEADER + FRAME)

    @property
    def engine_gb(self) -> float:
        """Rate of a channel of the DMA controller in GB/s."""
        return PACKET * self.net_mhz / 1e3 / ENGINE_CYCLES

    @property
    def rates(self) -> dict[str, int]:
        """Parameters of tw_hub: bytes that links carry in `Scale` cycles of the packet clock."""
        lane = LANE_GB[self.node.gen] * 10**9 / round(self.clocks[self.node.clock].hertz)
        return {
            "Rate": lane.numerator * self.node.lanes,
            "SouthRate": lane.numerator * self.node.south_lanes,
            "Scale": lane.denominator,
        }

    @cached_property
    def routes(self) -> Routes:
        """Tables of link ports that correspond to the hubs' windows."""
        return routes.routes(self.topology)

    @cached_property
    def windows(self) -> Tables:
        """The address windows of the hubs, proved. Raises BadRoutes."""
        routes.check_windows(self.topology, windows := routes.windows(self.topology))
        return windows

    @cached_property
    def proof(self) -> Proof:
        """The proof of its routes. Raises BadRoutes."""
        return routes.prove(self.topology)

    def checked(self) -> tuple[str, Mapping[str, Any]]:
        """Returns a line about the proved routes, and its figures."""
        return f"{super().checked()[0]}, routes proved", self.proof.as_dict()

    def of_node(self, node: int) -> Mapping[str, Any]:
        """Returns the address windows of a node's hub: port, mask, lower and upper bound of each."""
        return {"window_table": [number for window in self.windows[node] for number in window]}

    def hops(self, one: int, other: int) -> int:
        """Returns the number of cables between two nodes on the route."""
        return int(self._paths.steps[one, other])

    @cached_property
    def _paths(self) -> Paths:
        return Paths.by_ports(self.routes.port, self.topology.peer)
