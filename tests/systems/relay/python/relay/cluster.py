# SPDX-License-Identifier: Apache-2.0
"""Relays in a cluster file, and their simulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field
from thalweg.cluster.kinds import Assembled, LinkTable, NodeTable
from thalweg.errors import FabricStopped

from relay._relay import Relays


class Relay(NodeTable):
    kind: Literal["relay"]
    clock: str = Field(description="of its links' side")
    core_clock: str = Field(description="of what adds")
    depth: int = Field(8, ge=2, le=64, multiple_of=2, description="words of each crossing")
    PORTS: ClassVar[Mapping[str, str]] = {"E": "relay out", "W": "relay in"}


class Cable(LinkTable):
    kind: Literal["cable"]
    latency: int = Field(3, ge=1, le=100, description="cycles, each way")
    interval: int = Field(2, ge=1, le=100, description="cycles from a word to the next one")
    depth: int = Field(4, ge=1, le=64, description="words at the reader's end")

    def refuses(self, one: str, other: str) -> bool:
        return {one, other} != {"relay out", "relay in"}


class Cluster(Assembled):
    system = "relay"
    NODES = {"relay": Relay}
    LINKS = {"cable": Cable}

    def relays(self, library: str = "") -> Relays:
        return Relays(self.assembly, library)


def run(relays: Relays) -> list[tuple[int, int, int]]:
    """Runs until all words are done; returns tick, node and sum of each. Raises FabricStopped if some are blocked."""
    done = relays.run()
    if relays.unfinished:
        raise FabricStopped(f"{relays.unfinished} words get on no more", relays.blocked)
    return done
