# SPDX-License-Identifier: Apache-2.0
"""Clusters of every system: `load` takes the name of a preset, a file, or a shape such as `torus:8x8`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from thalweg.arguments import shown
from thalweg.errors import InputError

if TYPE_CHECKING:
    from thalweg.cluster.topology import Topology

Shown = tuple[str, str, str]
"""The meaning of a value, the value, and a note."""


class Cluster(Protocol):
    """The interface of every system's clusters."""

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
        """The name in the file of each node's kind; empty if all nodes are alike."""

    @property
    def link_kinds(self) -> Sequence[str]:
        """The name in the file of each link's kind; empty if all links are alike."""

    @property
    def description(self) -> Mapping[str, Any]:
        """Every value and every derived value, as plain data."""

    @property
    def seeds(self) -> Mapping[str, int]:
        """Seeds of random properties of the cluster itself, by name."""

    @classmethod
    def load(cls, name: str | Path, faults: str | None = None) -> Cluster:
        """As of this module, of a cluster of this system. Raises InputError."""

    def replace(self, **values: Mapping[str, Any]) -> Cluster:
        """A copy with other values, such as `link={"latency_ns": 300}`; its name lists them. Raises InputError."""

    def shown(self) -> Sequence[Shown]:
        """Its values, in the units of files and of the hardware."""

    def legend(self) -> Sequence[str]:
        """Lines for its drawing: ports and rates."""

    def checked(self) -> tuple[str, Mapping[str, Any]]:
        """Proves the system's properties of the cluster; a summary, and the figures as plain data. Raises CheckFailed or InputError."""


def load(name: str | Path, faults: str | None = None) -> Cluster:
    """The cluster of a preset's name, of a file, or of a shape in place such as `torus:8x8`; with the given faults of links, as
    `thalweg bench --faults` has them. Raises InputError."""
    from thalweg.cluster.file import system_of

    return system_of(str(name)).clusters().load(name, faults)


Of = TypeVar("Of", bound="Cluster")


def of_system(system: type[Of], cluster: object) -> Of:
    """A cluster of one system, whose class of clusters is `system`: loaded already, or by what `load` takes. Raises InputError for anything
    else, such as a cluster of another system."""
    from thalweg.cluster.file import path_of, wanted

    found = cluster
    if isinstance(cluster, str | Path):
        found = load(cluster) if path_of(str(cluster)) else system.load(cluster)
    if isinstance(found, system):
        return found
    name, of = getattr(found, "name", ""), getattr(found, "system", "")
    what = f"{name} is a cluster of {of}" if of else f"cluster is {shown(cluster)}"
    raise InputError(f"{what}; {wanted(str(system.system))}")


def load_file(file: Path) -> Cluster:
    """The cluster of a file, even if the file has the name of a preset. Raises InputError."""
    from thalweg.cluster.file import system_of_file

    return system_of_file(file).clusters().load_file(file)
