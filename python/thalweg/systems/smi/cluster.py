# SPDX-License-Identifier: Apache-2.0
"""What a cluster file says of SMI: nodes of kind `smi`, of four links each, and links of kind `serial`, in any shape."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from thalweg.cluster.kinds import Assembled, LinkTable, Made, NodeTable
from thalweg.errors import InputError

MOST_RANKS = 256  #: a header's byte


class Node(NodeTable):
    kind: Literal["smi"]
    clock: str = Field(description="of kernels and transport")
    packet_bytes: int = Field(32, ge=16, le=64, description="of a packet, 4 of them its header; a multiple of 8")
    reads: int = Field(8, ge=1, le=256, description="of a send or receive kernel from one input on end, R in the paper")
    depth: int = Field(
        16, ge=2, le=1024, description="packets of a FIFO between send and receive kernels, and endpoints"
    )
    link_buffer: int = Field(ge=2, le=4096, description="packets at a link's end; as many credits hold its sender back")
    latency: int = Field(8, ge=1, le=16, description="cycles of a reduction's adders")
    tile: int = Field(32, ge=1, le=1024, description="elements that a reduction grants at once")
    children: int = Field(15, ge=1, le=255, description="ranks that one collects from in a reduction, at most")
    protocol: Literal["eager", "degree"] = Field(
        "eager",
        description="of point-to-point channels: always eager, or with credits where a message exceeds its asynchronicity degree",
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

    ports: ClassVar[Mapping[str, str]] = dict.fromkeys(("L0", "L1", "L2", "L3"), "serial")


class Serial(LinkTable):
    kind: Literal["serial"]
    latency_ns: float = Field(ge=1, le=1e6, description="from end to end, one way")
    gbit_s: float = Field(gt=0, le=1e4, description="Gb/s of packets, each way")


class Cluster(Assembled):
    NODES = {"smi": Node}
    LINKS = {"serial": Serial}

    @classmethod
    def load_file(cls: type[Made], file: Path, name: str | None = None) -> Made:
        made = super().load_file(file, name)
        if isinstance(made, Cluster):
            made._check()
        return made

    def _check(self) -> None:
        def wrong(what: str, key: str = "topology.shape") -> InputError:
            return self.file.wrong(what, key)

        if len(self.topology.level):
            raise wrong("ranks of SMI are joined without switches, so there is no fat tree of them")
        if self.topology.nodes > MOST_RANKS:
            raise wrong(f"{self.topology.nodes} nodes; a rank is a byte, so there may be {MOST_RANKS}")
        if len(self.nodes) > 1 or len(self.links) > 1:
            raise wrong("all nodes are of one sort here, and all links: give one [node.*] and one [link.*]")
        if self.node.packet_bytes % 8:
            raise wrong(
                f"packet_bytes is {self.node.packet_bytes}; it is a multiple of 8",
                f"node.{self.node_name}.packet_bytes",
            )

    @property
    def node_name(self) -> str:
        return next(iter(self.nodes))

    @cached_property
    def node(self) -> Node:
        """What every node has."""
        node = self.nodes[self.node_name]
        assert isinstance(node, Node)
        return node

    @cached_property
    def link(self) -> Serial:
        link = next(iter(self.links.values()))
        assert isinstance(link, Serial)
        return link

    @property
    def mhz(self) -> float:
        return self.clocks[self.node.clock].frequency_mhz
