# SPDX-License-Identifier: Apache-2.0
"""Circuit files: the partitions of a cluster and the circuits that a run opens in each, as TOML.

[partition.left]            [partition.right]                [partition.middle]
nodes = ["0-7"]             nodes = ["8-11", 15]             nodes = [12, 13]
shape = "torus"             edges = [[8, 9], [8, 15]]        circuits = [["12.0.0", "13.0.1"]]
size = [2, 4]
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from thalweg.cluster import toml_lines
from thalweg.cluster.file import Location as Line
from thalweg.cluster.file import Table, validated, wrong_at
from thalweg.cluster.overlay import Connection, Overlay
from thalweg.cluster.toml_lines import KeyPath
from thalweg.errors import InputError
from thalweg.systems.vcsn._sim import VirtualPort
from thalweg.systems.vcsn.cluster import Cluster
from thalweg.systems.vcsn.network import Network
from thalweg.systems.vcsn.topologies import Circuit, Topology

_RANGE = re.compile(r"([0-9]{1,6})-([0-9]{1,6})")
WAYS = ("shape", "edges", "circuits")

Number = Annotated[int, Field(ge=0)]
Pair = Annotated[list[Number], Field(min_length=2, max_length=2)]
Ends = Annotated[
    list[Annotated[str, Field(pattern=r"^[0-9]{1,6}\.[0-9]{1,3}\.[0-9]{1,3}$")]], Field(min_length=2, max_length=2)
]


class PartitionTable(Table):
    """The FPGAs of a user, and one of `shape`, `edges` and `circuits`."""

    nodes: list[Number | str] = Field(min_length=1, description='FPGAs by number or range "FIRST-LAST"')
    shape: Literal["line", "ring", "mesh", "torus", "star", "tree"] | None = Field(
        None, description="circuit topology of the FPGAs, in the order of `nodes`"
    )
    size: list[Annotated[int, Field(ge=1)]] | None = Field(
        None, min_length=1, description="nodes per dimension of a mesh or torus; branches per node of a tree"
    )
    edges: list[Pair] | None = Field(None, description="pairs of FPGAs with a circuit")
    circuits: list[Ends] | None = Field(None, description='circuits as pairs of virtual ports "NODE.EXTERNAL.VIRTUAL"')


class CircuitsTable(Table):
    """A circuit file."""

    description: str = Field("", pattern=r"^\P{C}*$", description="one line of description")
    partition: dict[Annotated[str, Field(min_length=1, pattern=r"^\P{C}*$")], PartitionTable] = Field(
        min_length=1, description="partitions by name"
    )


def schema() -> dict[str, Any]:
    """Returns the JSON schema of circuit files."""
    return CircuitsTable.model_json_schema()


@dataclass(frozen=True)
class Circuits:
    r"""Partitions of a cluster, and their circuits.

    Examples
    --------
    >>> import tempfile
    >>> from thalweg.systems.vcsn.cluster import Cluster
    >>> cluster = Cluster.load("vcsn-d5005")
    >>> with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
    ...     _ = file.write('[partition.left]\nnodes = ["0-3"]\nshape = "ring"\n')
    ...     file.flush()
    ...     len(Circuits.load(file.name, cluster).all)
    4
    """

    name: str
    description: str
    nodes: Mapping[str, list[int]]  #: by partition
    circuits: Mapping[str, list[Circuit]]

    @classmethod
    def load(cls, file: str | Path, cluster: Cluster) -> Circuits:
        """Loads a circuit file for a cluster.

        Raises
        ------
        InputError
            The file is invalid; the message has the line.
        """
        path = Path(file)
        values, lines = toml_lines.read(path)
        places = {key: Line(path, line) for key, line in lines.items()}
        table = validated(CircuitsTable, values, places, str(path))
        if cluster.is_direct:
            raise InputError(f"{cluster.name} has serial links and supports no circuits", path)
        reader = _Reader(cluster, places, str(path))
        circuits = {name: reader.circuits(name, part) for name, part in table.partition.items()}
        return cls(str(path), table.description, reader.nodes, circuits)

    @property
    def all(self) -> list[Circuit]:
        """Circuits of all partitions."""
        return [circuit for circuits in self.circuits.values() for circuit in circuits]

    def divide(self, network: Network) -> None:
        """Creates the partitions in a network."""
        for name, nodes in self.nodes.items():
            network.partition(name, nodes)

    def open(self, network: Network) -> None:
        """Creates the partitions and opens all circuits at once; all other circuits are closed.

        Raises
        ------
        InputError
            An open circuit connects FPGAs of different partitions; close it first and let time pass.
        """
        network.rewire({})
        self.divide(network)
        network.rewire(self.all)

    def between(self, source: int, destination: int) -> Circuit:
        """Returns the first circuit from one FPGA to another. Raises InputError if there is none."""
        for one, other in self.all:
            if {one.node, other.node} == {source, destination}:
                return (one, other) if one.node == source else (other, one)
        at = {node: name for name, nodes in self.nodes.items() for node in nodes}
        where = ", ".join(f"node {n} is in {at.get(n, 'no partition')}" for n in (source, destination))
        raise InputError(f"no circuit connects node {source} and node {destination}; {where}", self.name)

    def overlay(self) -> Overlay:
        joined = [
            Connection(name, one.node, other.node, f"{one} - {other}", one.port)
            for name, circuits in self.circuits.items()
            for one, other in circuits
        ]
        return Overlay("partition", self.nodes, "circuit", joined)


class _Reader:
    def __init__(self, cluster: Cluster, places: dict[KeyPath, Line], name: str) -> None:
        self.cluster, self.places, self.name = cluster, places, name
        self.network = cluster.network()
        self.nodes: dict[str, list[int]] = {}

    def circuits(self, name: str, table: PartitionTable) -> list[Circuit]:
        """Returns the circuits of a partition, and adds the partition to the network."""
        self.nodes[name] = self._nodes(name, table)
        self.network.partition(name, self.nodes[name])
        given = [way for way in WAYS if getattr(table, way) is not None]
        if len(given) != 1:
            what = f"has {' and '.join(given)}" if given else "has no circuits"
            raise self._wrong(f"partition {name} {what}; give one of {', '.join(WAYS)}", name)
        if table.size is not None and table.shape is None:
            raise self._wrong(f"size is for a shape only; partition {name} has {given[0]}", name, "size")
        if table.circuits is None:
            try:
                made = (
                    Topology.of(table.shape, self.nodes[name], table.size or [])
                    if table.shape
                    else Topology.graph([(a, b) for a, b in table.edges or []], "edges")
                ).circuits(self.cluster)
            except InputError as error:
                raise self._wrong(str(error), name, given[0]) from None
            self._check(name, made, given[0])
            return made
        ends = [[VirtualPort(*map(int, end.split("."))) for end in pair] for pair in table.circuits]
        made = [(one, other) for one, other in ends]
        for index in range(len(made)):
            self._check(name, made[: index + 1], "circuits", index)
        return made

    def _nodes(self, name: str, table: PartitionTable) -> list[int]:
        taken = {node: other for other, nodes in self.nodes.items() for node in nodes}
        nodes: list[int] = []
        for index, entry in enumerate(table.nodes):
            found = _RANGE.fullmatch(entry) if isinstance(entry, str) else None
            if isinstance(entry, str) and (not found or int(found[1]) > int(found[2])):
                raise self._wrong(
                    f'nodes has {entry!r}; an entry must be a number or "FIRST-LAST"', name, "nodes", index
                )
            first, last = (int(found[1]), int(found[2])) if found else (int(entry), int(entry))
            for node in range(first, last + 1):
                if node not in self.cluster.fpgas:
                    fpgas = self.cluster.fpgas
                    what = f"node {node} is not an FPGA; the FPGAs of {self.cluster.name} are {fpgas[0]} to {fpgas[-1]}"
                    raise self._wrong(what, name, "nodes", index)
                if node in taken or node in nodes:
                    raise self._wrong(
                        f"node {node} is already in partition {taken.get(node, name)}", name, "nodes", index
                    )
                nodes.append(node)
        return nodes

    def _check(self, name: str, circuits: list[Circuit], *keys: str | int) -> None:
        try:
            self.network.rows(circuits, self.nodes[name])
        except InputError as error:
            raise self._wrong(str(error), name, *keys) from None

    def _wrong(self, what: str, name: str, *keys: str | int) -> InputError:
        return wrong_at(self.places, ("partition", name, *keys), what, self.name)
