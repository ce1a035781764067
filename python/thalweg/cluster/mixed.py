# SPDX-License-Identifier: Apache-2.0
"""Clusters whose nodes belong to several systems or to none, such as external hosts (thalweg.cluster.leaves).

They can be shown, drawn and checked; each system checks its own part. Operations need a cluster of one system.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NoReturn, Protocol, cast

from thalweg import cluster
from thalweg.cluster import leaves
from thalweg.cluster.file import ClusterFile
from thalweg.cluster.kinds import Assembled, KindsTable, KindTables
from thalweg.errors import InputError
from thalweg.systems import Loaded, System, systems


class Mixed(System):
    """The system of a mixed cluster; it has no operations and no commands."""

    def __init__(self, of: Sequence[System] = ()) -> None:
        names = " and ".join([*(system.name for system in of), *(["no system"] if len(of) < 2 else [])])
        super().__init__(NAME, f"nodes of {names}", "thalweg.cluster", frozenset(), cluster="mixed:Cluster")

    def _entry(self, table: Mapping[str, Loaded], name: str) -> NoReturn:
        raise self.refusal(name)

    def refusal(self, name: str) -> InputError:
        """Returns the error of an operation that needs a cluster of one system."""
        return InputError(
            f"{name} needs a cluster of one system; this one has {self.about}, and can only be shown, drawn and checked"
        )


NAME = "several systems"


class Part(cluster.Cluster, Protocol):
    def check(self) -> None: ...


class Parts(Protocol):
    """Interface of a system's cluster class that allows its nodes in a mixed cluster."""

    @staticmethod
    def kind_tables() -> KindTables:
        """Returns its node types and link types."""

    @staticmethod
    def part_of(whole: Assembled) -> Part:
        """Returns the nodes of its types, renumbered in order, and the links between them."""


class Cluster(Assembled):
    system = NAME

    @classmethod
    def _kinds(cls, read: ClusterFile[KindsTable]) -> KindTables:
        of = _classes({table.get("kind") for table in read.values.node.values()})
        nodes, links = zip((leaves.NODES, leaves.LINKS), *(known.kind_tables() for _, known in of), strict=True)
        return _all(*nodes), _all(*links)

    @property
    def of(self) -> Mixed:
        return Mixed([system for system, _ in _classes(self._used)])

    @property
    def _used(self) -> set[str]:
        """The types of its nodes."""
        return {self.nodes[name].kind for name in self.node_names}

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """The part of each system that forms a cluster: two or more connected nodes."""
        parts = {system.name: known.part_of(self) for system, known in _classes(self._used)}
        return {name: part for name, part in parts.items() if part.topology.nodes > 1 and not part.topology.unreachable}

    def check(self) -> None:
        for part in self.parts.values():
            part.check()

    def checked(self) -> tuple[str, Mapping[str, Any]]:
        descriptions, proofs = [super().checked()[0]], {}
        for name, part in self.parts.items():
            what, proofs[name] = part.checked()
            own = what.removeprefix(descriptions[0]).removeprefix(", ")  # the clocks are the same for all
            descriptions.append(", ".join(filter(None, (f"{part.topology.nodes} nodes of {name}", own))))
        return "; ".join(descriptions), proofs


def _classes(kinds: set[Any]) -> Iterator[tuple[System, type[Parts]]]:
    """Yields the systems that define some of these node types, with their cluster classes."""
    for system in systems().values():
        if kinds & system.node_kinds - leaves.NODES.keys():
            yield system, cast(type[Parts], system.clusters())


def _all(*tables: Mapping[str, Any]) -> dict[str, Any]:
    """Merges tables of types. Raises InputError if two systems define the same name."""
    merged: dict[str, Any] = {}
    for table in tables:
        for kind, model in table.items():
            if merged.setdefault(kind, model) is not model:
                raise InputError(f"two systems define the kind {kind!r}; they cannot be combined in one cluster")
    return merged
