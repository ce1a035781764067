# SPDX-License-Identifier: Apache-2.0
"""Kinds of nodes and links that belong to no system: any cluster may have them beside the kinds of systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from thalweg.cluster.kinds import LinkTable, NodeTable


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


NODES: Mapping[str, type[NodeTable]] = {"host": Host}
LINKS: Mapping[str, type[LinkTable]] = {"wire": Wire}
