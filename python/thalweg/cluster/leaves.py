# SPDX-License-Identifier: Apache-2.0
"""Kinds of nodes and links that belong to no system: any cluster may have them beside the kinds of systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from thalweg.cluster.kinds import LinkTable, Name, NodeTable

Share = Annotated[float, Field(ge=0, lt=1)]


class Host(NodeTable):
    """A computer outside the FPGAs, with the ports that its file gives it."""

    kind: Literal["host"]
    ports: dict[str, Annotated[str, Field(min_length=1)]] = Field(
        min_length=1, description='types of its ports by their names, such as { slot = "PCIe", nic = "Ethernet" }'
    )

    @property
    def port_types(self) -> Mapping[str, str]:
        return self.ports


class Wire(LinkTable):
    """Joins two ports of one type, whatever it is."""

    kind: Literal["wire"]
    latency_ns: float = Field(ge=0, le=1e9, description="from end to end, one way")
    gbit_s: float = Field(gt=0, le=1e5, description="Gb/s of payload, each way")


class Nic(NodeTable):
    """A computer's Ethernet port."""

    kind: Literal["nic"]
    clock: Name = Field(description="of the MAC's words")
    PORTS: ClassVar[Mapping[str, str]] = {"eth": "Ethernet"}


class EthernetSwitch(NodeTable):
    kind: Literal["ethernet-switch"]
    clock: Name = Field(description="of the MACs' words")
    ports: int = Field(ge=2, le=128, description="Ethernet ports")
    latency_ns: float = Field(
        ge=0,
        le=1e6,
        description="from the first 64 bytes (cut-through) or the end (store-and-forward) of a frame to the output",
    )
    forwarding: Literal["cut-through", "store-and-forward"] = Field(
        description="whether the switch forwards a frame before it has received all of it"
    )
    buffer_bytes: int = Field(ge=2_048, le=2**40, description="bytes of frames that are queued or being sent")
    buffer: Literal["shared", "per-port"] = Field(description="one for all outputs, or one of that size for each")
    addresses: Literal["learned", "given"] = Field(
        "learned",
        description="source of the address table: frames that arrive, or the cluster's routes",
    )

    @property
    def port_types(self) -> Mapping[str, str]:
        return {str(port): "Ethernet" for port in range(self.ports)}


class OpticalSwitch(NodeTable):
    """Mirrors that connect its ports in pairs."""

    kind: Literal["optical-switch"]
    clock: Name = Field(description="of the MACs at its ports")
    ports: int = Field(ge=2, le=1024, description="Ethernet ports")
    turning_ms: float = Field(ge=0, le=1e6, description="from a new connection to its light")
    connect: list[int] | None = Field(
        None,
        description="ports that are connected at the begin, in pairs; without it each with its neighbour: 0, 1, 2, 3, ...",
    )

    @property
    def port_types(self) -> Mapping[str, str]:
        return {str(port): "Ethernet" for port in range(self.ports)}

    @property
    def connected(self) -> list[int]:
        """Ports in pairs, one behind the other."""
        return list(range(self.ports // 2 * 2)) if self.connect is None else self.connect

    @field_validator("connect")
    @classmethod
    def _pairs(cls, connect: list[int] | None) -> list[int] | None:
        if connect is not None and (
            len(connect) % 2 or len(set(connect)) < len(connect) or min(connect, default=0) < 0
        ):
            raise ValueError("ports in pairs, each once")
        return connect


class Ethernet(LinkTable):
    kind: Literal["ethernet"]
    gbit_s: float = Field(ge=0.001, le=1_000, description="Gb/s of frames with preambles and gaps, each way")
    latency_ns: float = Field(ge=0, le=1e6, description="from end to end, one way")
    bit_error_rate: Share = Field(0, description="share of bits that flip; the frame's check sum is then wrong")
    frames_lost: Share = Field(0, description="share of frames that get lost")
    frames_duplicated: Share = Field(0, description="share of frames that come twice")
    frames_reordered: Share = Field(0, description="share of frames that come after the next one")
    seed: int = Field(1, ge=0, lt=2**31, description="of the random losses")

    def refuses(self, one: str, other: str) -> bool:
        return (one, other) != ("Ethernet", "Ethernet")


NODES: Mapping[str, type[NodeTable]] = {
    "host": Host,
    "nic": Nic,
    "ethernet-switch": EthernetSwitch,
    "optical-switch": OpticalSwitch,
}
LINKS: Mapping[str, type[LinkTable]] = {"wire": Wire, "ethernet": Ethernet}
