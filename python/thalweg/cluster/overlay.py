# SPDX-License-Identifier: Apache-2.0
"""Overlays for drawings of clusters: groups of nodes and connections between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True)
class Connection:
    """A connection between two nodes of a group."""

    group: str
    one: int
    other: int
    about: str
    plane: int  #: connections of one plane are drawn alike


@dataclass(frozen=True)
class Overlay:
    """Groups, such as partitions, and connections between their nodes, such as circuits."""

    what: str  #: what a group is, e.g. "partition"
    groups: Mapping[str, Sequence[int]]
    joins: str  #: what a connection is, e.g. "circuit"
    joined: Sequence[Connection]


@runtime_checkable
class Overlaid(Protocol):
    """A cluster with circuits."""

    def overlay(self, file: Path) -> Overlay:
        """Returns the overlay of a circuit file. Raises InputError."""

    @staticmethod
    def overlay_schema() -> dict[str, Any]:
        """Returns the JSON schema of circuit files."""
