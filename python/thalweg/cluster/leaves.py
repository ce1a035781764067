# SPDX-License-Identifier: Apache-2.0
"""Node and link types that belong to no system and may be used in any cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from thalweg.cluster.kinds import Assembled, LinkTable, Name, NodeTable

Share = Annotated[float, Field(ge=0, lt=1)]


class Host(NodeTable):
    """A computer outside the FPGAs, with ports defined in the file."""

    kind: Literal["host"]
    ports: dict[str, Annotated[str, Field(min_length=1)]] = Field(
        min_length=1, description='port types by name, e.g. { slot = "PCIe", nic = "Ethernet" }'
    )

    @property
    def port_types(self) -> Mapping[str, str]:
        return self.ports


class Wire(LinkTable):
    """Connects two ports of equal type."""

    kind: Literal["wire"]
    latency_ns: float = Field(ge=0, le=1e9, description="from end to end, one way")
    gbit_s: float = Field(gt=0, le=1e5, description="Gb/s of payload, per direction")


class Nic(NodeTable):
    """A computer's Ethernet port."""

    kind: Literal["nic"]
    clock: Name = Field(description="clock of the MAC")
    PORTS: ClassVar[Mapping[str, str]] = {"eth": "Ethernet"}


class EthernetSwitch(NodeTable):
    kind: Literal["ethernet-switch"]
    clock: Name = Field(description="clock of the MACs")
    ports: int = Field(ge=2, le=128, description="Ethernet ports")
    latency_ns: float = Field(
        ge=0,
        le=1e6,
        description="latency from the first 64 bytes (cut-through) or the end (store-and-forward) of a frame to the output",
    )
    forwarding: Literal["cut-through", "store-and-forward"] = Field(
        description="forward a frame before it is received completely (cut-through)"
    )
    buffer_bytes: int = Field(ge=2_048, le=2**40, description="buffer size in bytes, including frames being sent")
    buffer: Literal["shared", "per-port"] = Field(description="one buffer shared by all outputs, or one per output")
    addresses: Literal["learned", "given"] = Field(
        "learned",
        description="source of the address table: learned from frames, or the cluster's routes",
    )

    @property
    def port_types(self) -> Mapping[str, str]:
        return {str(port): "Ethernet" for port in range(self.ports)}


def check_buffers(cluster: Assembled, longest: int) -> None:
    """Checks that Ethernet switches can hold a frame of `longest` bytes, without frame check sequence. Raises InputError."""
    for name, table in cluster.nodes.items():
        if isinstance(table, EthernetSwitch) and table.buffer_bytes < longest:
            raise cluster.file.wrong(
                f"buffer_bytes is {table.buffer_bytes}; must hold the longest frame, {longest} bytes", "node", name
            )


class OpticalSwitch(NodeTable):
    """An optical circuit switch, which connects its ports in pairs."""

    kind: Literal["optical-switch"]
    clock: Name = Field(description="clock of the MACs at its ports")
    ports: int = Field(ge=2, le=1024, description="Ethernet ports")
    turning_ms: float = Field(
        ge=0, le=1e6, description="time from reconfiguration until the new connection carries light"
    )
    connect: list[int] | None = Field(
        None,
        description="initially connected ports, in pairs [default: neighbors, 0, 1, 2, 3, ...]",
    )

    @property
    def port_types(self) -> Mapping[str, str]:
        return {str(port): "Ethernet" for port in range(self.ports)}

    @property
    def connected(self) -> list[int]:
        """Connected ports, as a flat list of pairs."""
        return list(range(self.ports // 2 * 2)) if self.connect is None else self.connect

    @field_validator("connect")
    @classmethod
    def _pairs(cls, connect: list[int] | None) -> list[int] | None:
        if connect is not None and (
            len(connect) % 2 or len(set(connect)) < len(connect) or min(connect, default=0) < 0
        ):
            raise ValueError("list ports in pairs, each port once")
        return connect


class Ethernet(LinkTable):
    kind: Literal["ethernet"]
    gbit_s: float = Field(ge=0.001, le=1_000, description="Gb/s including preambles and gaps, per direction")
    latency_ns: float = Field(ge=0, le=1e6, description="from end to end, one way")
    bit_error_rate: Share = Field(0, description="probability of a bit error; it invalidates the frame's checksum")
    frames_lost: Share = Field(0, description="probability that a frame is lost")
    frames_duplicated: Share = Field(0, description="probability that a frame is duplicated")
    frames_reordered: Share = Field(0, description="probability that a frame arrives after its successor")
    seed: int = Field(1, ge=0, lt=2**31, description="seed of the random faults")

    def refuses(self, one: str, other: str) -> bool:
        return (one, other) != ("Ethernet", "Ethernet")


NODES: Mapping[str, type[NodeTable]] = {
    "host": Host,
    "nic": Nic,
    "ethernet-switch": EthernetSwitch,
    "optical-switch": OpticalSwitch,
}
LINKS: Mapping[str, type[LinkTable]] = {"wire": Wire, "ethernet": Ethernet}
