# SPDX-License-Identifier: Apache-2.0
"""Clusters of every system: `load` finds one by the name of a preset, a file, or as a shape in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from thalweg.cluster.topology import Topology

Shown = tuple[str, str, str]
"""What a value is, the value, and a note."""


class Cluster(Protocol):
    """What every system's cluster says of itself."""

    @property
    def name(self) -> str: ...
    @property
    def system(self) -> str:
        """The name of its system (`thalweg.systems`)."""

    @property
    def about(self) -> str:
        """One line; may be empty."""

    @property
    def topology(self) -> Topology: ...
    @property
    def kinds(self) -> Sequence[str]:
        """The file's name of what stands at each node; empty where all are alike."""

    @property
    def link_kinds(self) -> Sequence[str]:
        """The file's name of each link of the topology; empty where all are alike."""

    @property
    def description(self) -> Mapping[str, Any]:
        """Every value, as plain data, and what follows from them."""

    @property
    def seeds(self) -> Mapping[str, int]:
        """Of what is random about the cluster itself."""

    def replace(self, **values: Mapping[str, Any]) -> Cluster:
        """The same with other values, `link={"latency_ns": 300}`, under a name that tells them. Raises InputError."""

    def shown(self) -> Sequence[Shown]:
        """Its values, in the units of files and of the hardware."""

    def legend(self) -> Sequence[str]:
        """Lines for its drawing: ports and rates."""

    def checked(self) -> tuple[str, Mapping[str, Any]]:
        """What was proved of it, in a few words and as plain data. Raises CheckFailed, or InputError, with what is wrong."""


def load(name: str | Path, faults: str | None = None) -> Cluster:
    """The cluster of that name, with what goes wrong on links. Raises InputError."""
    from thalweg.cluster.file import system_of

    return system_of(str(name)).clusters().load(name, faults)


def load_file(file: Path) -> Cluster:
    """The cluster of a file, whatever its name. Raises InputError."""
    from thalweg.cluster.file import system_of_file

    return system_of_file(file).clusters().load_file(file)
