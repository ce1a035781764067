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
"""A name, a value, and a note."""


class Cluster(Protocol):
    """The interface of every system's clusters."""

    @property
    def name(self) -> str: ...
    @property
    def system(self) -> str:
        """Name of the cluster's system (`thalweg.systems`)."""

    @property
    def about(self) -> str:
        """One line of description; may be empty."""

    @property
    def topology(self) -> Topology: ...
    @property
    def kinds(self) -> Sequence[str]:
        """Node type of each node, as named in the file; empty if all nodes are identical."""

    @property
    def link_kinds(self) -> Sequence[str]:
        """Link type of each link, as named in the file; empty if all links are identical."""

    @property
    def description(self) -> Mapping[str, Any]:
        """All given and derived values, as plain data."""

    @property
    def seeds(self) -> Mapping[str, int]:
        """Seeds of random properties of the cluster itself, by name."""

    @classmethod
    def load(cls, name: str | Path, faults: str | None = None) -> Cluster:
        """Loads a cluster of this system; otherwise as `thalweg.load`. Raises InputError."""

    def replace(self, **values: Mapping[str, Any]) -> Cluster:
        """Returns a copy with other values, e.g. `link={"latency_ns": 300}`; its name lists them. Raises InputError."""

    def shown(self) -> Sequence[Shown]:
        """The parameters, in the units of the file and of the hardware."""

    def legend(self) -> Sequence[str]:
        """Lines for the legend of its drawing: ports and rates."""

    def checked(self) -> tuple[str, Mapping[str, Any]]:
        """Proves the system's properties of the cluster; returns a summary, and the figures as plain data.

        Raises CheckFailed or InputError.
        """


def load(name: str | Path, faults: str | None = None) -> Cluster:
    """Loads a cluster.

    Parameters
    ----------
    name : str or Path
        Name of a preset, path of a cluster file, or a shape such as `torus:8x8`.
    faults : str, optional
        Fault rates of links, in the format of `thalweg bench --faults`.

    Returns
    -------
    Cluster

    Raises
    ------
    InputError
        There is no such cluster, or its file is invalid; the message names file, line and key.

    Examples
    --------
    >>> import thalweg
    >>> ring = thalweg.load("ring:4")
    >>> ring.topology.nodes, ring.topology.diameter
    (4, 2)
    """
    from thalweg.cluster.file import system_of

    return system_of(str(name)).clusters().load(name, faults)


Of = TypeVar("Of", bound="Cluster")


def of_system(system: type[Of], cluster: object) -> Of:
    """Returns a cluster of class `system`, given the cluster or what `load` accepts.

    Raises InputError for anything else, e.g. a cluster of another system.
    """
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
    """Loads a cluster from a file, even if the file has the name of a preset. Raises InputError."""
    from thalweg.cluster.file import system_of_file

    return system_of_file(file).clusters().load_file(file)
