# SPDX-License-Identifier: Apache-2.0
"""What a drawing of a cluster shows over its links: groups of nodes, and what joins them beside the links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True)
class Joined:
    """Two nodes of a group that something joins."""

    group: str
    one: int
    other: int
    about: str
    plane: int  #: those of one plane are drawn alike


@dataclass(frozen=True)
class Overlay:
    """Groups, such as partitions, and what joins their nodes, such as circuits."""

    what: str  #: a group is: "partition"
    groups: Mapping[str, Sequence[int]]
    joins: str  #: "circuit"
    joined: Sequence[Joined]


@runtime_checkable
class Overlaid(Protocol):
    """A cluster with circuits."""

    def overlay(self, file: Path) -> Overlay:
        """Of a circuit file. Raises InputError."""

    @staticmethod
    def overlay_schema() -> dict[str, Any]:
        """The JSON schema of circuit files."""
