# SPDX-License-Identifier: Apache-2.0
"""What a cluster file says of PEACH2: nodes of kind `peach2`, links of kind `pcie`, in a ring or in two that are a prism."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic import Field

from thalweg.cluster import dram
from thalweg.cluster.kinds import LinkTable, Uniform
from thalweg.errors import InputError
from thalweg.route.paths import Paths
from thalweg.route.proof import Proof
from thalweg.route.routes import Routes
from thalweg.spec import Datatype, Operator
from thalweg.systems.peach2 import routes
from thalweg.systems.peach2.routes import Tables

LANES_X8, LANES_X16 = 16, 32
"""Bytes a cycle of the packets' clock that a link's lanes carry: 5 GT/s of 8b/10b are 0.5 GB/s, and the clock has 250 MHz."""


def pair_of(text: str) -> tuple[Operator, Datatype]:
    """Raises ValueError where a text such as `sum float32` names none."""
    op, _, datatype = text.partition(" ")
    if op.upper() not in Operator.__members__ or datatype.upper() not in Datatype.__members__:
        raise ValueError(f"{text!r} is no operator and type, such as 'sum float32' or 'max int64'")
    return Operator[op.upper()], Datatype[datatype.upper()]


class Node(dram.Ddr3):
    kind: Literal["peach2"]
    clock: str = Field(description="of packets, links and hosts")
    bus_clock: str = Field(description="of the bus: memory, calculator, registers")
    windows: int = Field(16, ge=6, le=64, description="of addresses, that each port compares with")
    packets: int = Field(32, ge=1, le=128, description="that a link's end keeps")
    units: int = Field(256, ge=16, le=1024, description="of 16 bytes of data that a link's end keeps")
    reads: int = Field(16, ge=1, le=32, description="of the DMA controller under way at once, 256 bytes each")
    bus_reads: int = Field(4, ge=1, le=16, description="of the bus under way at once")
    ram_bits: int = Field(11, ge=9, le=16, description="log2 of the working RAM's lines of 16 bytes")
    contexts: int = Field(4, description="of the calculator: reductions side by side; a power of two")
    sums: int = Field(16, description="beats of partial sums of a context; a power of two")
    records: int = Field(8, description="beats of a record at most; a power of two")
    latency: int = Field(8, ge=1, le=16, description="cycles of the calculator's adders")
    pairs: list[str] = Field(
        ["sum float32"], min_length=1, description='what the calculator can: operators and types, such as "sum float32"'
    )
    starts: int = Field(8, ge=1, le=16, description="of chains of descriptors, that wait")
    host_link_ns: float = Field(ge=1, le=1e6, description="of the link to the host, one way")
    memory_ns: float = Field(ge=1, le=1e6, description="of the hub's memory, from a read to its data")
    memory_gb: float = Field(gt=0, le=1e3, description="GB/s of the data bus of the hub's memory")
    memory_commands: int = Field(ge=1, le=64, description="that the controller of the hub's memory keeps")
    processor_read_ns: float = Field(
        ge=0, le=1e6, description="from a read at the root complex to the processor's memory's first byte there"
    )
    processor_read_gb: float = Field(gt=0, le=1e3, description="GB/s at which the processor's memory is read")
    gpu_read_ns: float = Field(ge=0, le=1e6, description="the same of a GPU's memory")
    gpu_read_gb: float = Field(gt=0, le=1e3, description="the same of a GPU's memory")
    store_ns: float = Field(ge=1, le=1e6, description="of a processor's store to its packet at the root complex")
    landing_ns: float = Field(ge=1, le=1e6, description="of a packet at the root complex to what the processor sees")
    poll_ns: float = Field(ge=1, le=1e6, description="of the processor's look at its memory")
    copy_start_ns: float = Field(ge=1, le=1e9, description="of a copy between the processor's memory and a GPU's")
    copy_gb: float = Field(gt=0, le=1e3, description="GB/s of such a copy")
    sum_gb: float = Field(gt=0, le=1e3, description="GB/s at which the processor sums records in its memory")

    PORTS: ClassVar[Mapping[str, str]] = {"E": "end point", "W": "root complex", "S": "south", "N": "PCIe"}


class Pcie(LinkTable):
    kind: Literal["pcie"]
    latency_ns: float = Field(ge=4, le=1e6, description="from one end's hub to the other's, one way")

    def refuses(self, one: str, other: str) -> bool:
        return sorted((one, other)) not in (["end point", "root complex"], ["south", "south"])


class Cluster(Uniform[Node, Pcie]):
    system = "peach2"
    NODES = {"peach2": Node}
    LINKS = {"pcie": Pcie}

    def check(self) -> None:
        def wrong(what: str) -> InputError:
            return self.file.wrong(what, "topology.shape")

        shape, nodes = self.topology.shape, self.topology.nodes
        if shape not in ("ring", "prism") or self.topology.joined or self.topology.planes > 1:
            raise wrong("PEACH2's hubs are in a ring, or in two that are a prism, and have no other links")
        if nodes > 16:
            raise wrong(f"{nodes} nodes; the addresses are for 16")
        self.check_uniform()
        for name in ("contexts", "sums", "records"):
            value = getattr(self.node, name)
            least = 2
            if value < least or value > 64 or value & (value - 1):
                raise self.file.wrong(
                    f"{name} is {value}; it is a power of two from {least} to 64", f"node.{self.node_name}.{name}"
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
                f"records are {self.node.records} beats, and there are {self.node.sums} of sums",
                f"node.{self.node_name}.records",
            )

    @property
    def ring(self) -> int:
        """Nodes of a ring."""
        return self.topology.nodes // (2 if self.topology.shape == "prism" else 1)

    @property
    def net_mhz(self) -> float:
        return self.clocks[self.node.clock].frequency_mhz

    @property
    def bus_gb(self) -> float:
        """GB/s of the bus, 16 bytes a cycle."""
        return 16 * self.clocks[self.node.bus_clock].frequency_mhz / 1e3

    def link_gb(self, lanes: int = LANES_X8) -> float:
        """GB/s of a link's lanes, all that they carry."""
        return lanes * self.net_mhz / 1e3

    def payload_gb(self, lanes: int = LANES_X8) -> float:
        """Of data: 256 bytes of each packet of 280, with a header of 16 bytes, its start and number, check sum and end."""
        return self.link_gb(lanes) * 256 / 280

    @cached_property
    def routes(self) -> Routes:
        """Tables of link ports, which the hubs' windows make."""
        return routes.routes(self.topology)

    @cached_property
    def windows(self) -> Tables:
        """The windows that hosts store into their hubs, proved. Raises BadRoutes."""
        routes.check_windows(self.topology, windows := routes.windows(self.topology))
        return windows

    @cached_property
    def proof(self) -> Proof:
        """The proof of its routes. Raises BadRoutes."""
        return routes.prove(self.topology)

    def checked(self) -> tuple[str, Mapping[str, Any]]:
        return f"{super().checked()[0]}, routes proved", self.proof.as_dict()

    def hops(self, one: int, other: int) -> int:
        """Cables between two nodes on the way that the windows make."""
        return int(self._paths.steps[one, other])

    @cached_property
    def _paths(self) -> Paths:
        return Paths.by_ports(self.routes.port, self.topology.peer)
