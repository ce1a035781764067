# SPDX-License-Identifier: Apache-2.0
"""Clusters assembled from node and link types: a file defines clocks, nodes and links; `kind` selects a table of a system.

    [clock.net]                [node.hub]              [link.ring]             [topology]
    frequency_mhz = 250        kind = "..."            kind = "..."            shape = "ring"
                               (values of the kind)    (values of the kind)    size = [4]
                                                                               node = "hub"
                                                                               link = "ring"
                                                                               nodes = { "3" = "other", "4-5" = "host" }
                               join = [{ link = "cable", ends = ["0.S", "4.pcie"] }]

All nodes of the shape are of type `node` (its switches: `switch`), except those in `nodes`, whose numbers beyond the
shape add nodes. `join` adds links between two ports. The simulator builds the cluster from one plain description
(`Assembled.assembly`).
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import count, groupby
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, TypeVar, cast

import numpy as np
from pydantic import Field

from thalweg.cluster import Shown
from thalweg.cluster.file import (
    ClusterFile,
    Location,
    Table,
    TopologyTable,
    changes,
    kind_of,
    layers,
    named_after,
    over,
    parse,
    path_of,
    system_of_file,
    topology_of,
    validated,
    wanted,
)
from thalweg.cluster.toml_lines import KeyPath
from thalweg.cluster.topology import MAX_NODES, Topology
from thalweg.errors import InputError

Name = Annotated[str, Field(min_length=1)]
MAX_TICKS = 2**63 // 3600  #: ticks per second, so that 64 bits hold an hour
PLACES = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")
LARGEST_DENOMINATOR = 10**6  #: of the fraction that represents a frequency in MHz


class ClockTable(Table):
    frequency_mhz: float = Field(ge=0.001, le=100_000, description="edges a microsecond")
    phase_ns: float = Field(0, ge=0, le=1e6, description="time of the first edge in ns, rounded to the next tick")

    @property
    def hertz(self) -> Fraction:
        """Frequency as an exact fraction, for decimals of up to 6 locations, 161.1328125 = 20625/128, and 333.3333333333333 =
        1000/3."""
        return Fraction(self.frequency_mhz).limit_denominator(LARGEST_DENOMINATOR) * 1_000_000


class KindTable(Table):
    """The table of a node or link type. A key that ends in `clock` names a clock."""

    kind: Name


class NodeTable(KindTable):
    PORTS: ClassVar[Mapping[str, str]] = {}
    """Type of each link port by name, e.g. "PCIe root"."""

    @property
    def port_types(self) -> Mapping[str, str]:
        """Type of each port, by name. A shape uses the first ports."""
        return self.PORTS


class LinkTable(KindTable):
    def refuses(self, one: str, other: str) -> bool:
        """True if this link cannot connect these two port types; by default the types must match."""
        return one != other


class JoinTable(Table):
    link: Name = Field(description="link type, as named in [link.*]")
    ends: list[Annotated[str, Field(pattern=r"^[0-9]{1,6}\.\w+$")]] = Field(
        min_length=2, max_length=2, description='two of "NODE.PORT"'
    )


class KindsTopology(TopologyTable):
    node: Name = Field(description="node type of the shape's nodes, as named in [node.*]")
    switch: Name | None = Field(None, description="node type of the shape's switches")
    nodes: dict[str, Name] = Field(
        {},
        description='node types of other nodes, by "NUMBER" or "FIRST-LAST"; numbers beyond the shape add nodes',
    )
    link: Name = Field(description="link type of the shape's links, as named in [link.*]")
    join: list[JoinTable] = Field([], description="additional links, each with two ends")


class KindsTable(Table):
    """A cluster file of a system with node and link types."""

    description: str = Field("", pattern=r"^\P{C}*$", description="one line of description")
    base: str | None = Field(None, description="file that defines all values missing in this one; a relative path")
    clock: dict[str, ClockTable] = Field(min_length=1, description="clocks by name")
    node: dict[str, dict[str, Any]] = Field(min_length=1, description="node types by name")
    link: dict[str, dict[str, Any]] = Field(min_length=1, description="link types by name")
    topology: KindsTopology


KindTables = tuple[Mapping[str, type[NodeTable]], Mapping[str, type[LinkTable]]]
KindOf = TypeVar("KindOf", bound=KindTable)
AnyAssembled = TypeVar("AnyAssembled", bound="Assembled")


@dataclass(frozen=True, eq=False)
class Assembled:
    """A cluster of node and link types (`Cluster` of thalweg.cluster).

    A system's subclass defines the types, its checks and its proofs.
    """

    name: str
    file: ClusterFile[KindsTable]
    nodes: Mapping[str, NodeTable]
    links: Mapping[str, LinkTable]
    topology: Topology
    node_names: Sequence[str]  #: node type of each node, as named in the file
    link_names: Sequence[str]  #: link type of each link, as named in the file

    system: ClassVar[str]
    NODES: ClassVar[Mapping[str, type[NodeTable]]]
    LINKS: ClassVar[Mapping[str, type[LinkTable]]]

    @classmethod
    def load(cls: type[AnyAssembled], name: str | Path, faults: str | None = None) -> AnyAssembled:
        """Loads a preset or file of this system. Raises InputError."""
        if faults is not None:
            raise InputError(f"--faults {faults}: links of {name} do not model faults; leave the option out")
        if not (file := path_of(str(name))):
            raise InputError(f"{str(name)!r} is neither a preset nor a file; {wanted(cls.system)}")
        if (of := system_of_file(file)).name != cls.system:
            cls._read(file)  # reports a file that cannot be read
            raise InputError(f"{name} is a cluster of {of.name}; {wanted(cls.system)}")
        return cls.load_file(file, str(name))

    @classmethod
    def load_file(cls: type[AnyAssembled], file: Path, name: str | None = None) -> AnyAssembled:
        """Loads a file of this system. Raises InputError."""
        values, locations = cls._read(file)
        read = parse(KindsTable, values, locations, str(file), file)
        made = cls._made(read, name or str(file))._loaded(file)
        made.check()
        return made

    @classmethod
    def _made(cls: type[AnyAssembled], read: ClusterFile[KindsTable], name: str) -> AnyAssembled:
        node_kinds, link_kinds = cls._kinds(read)
        nodes = dict(_of_kinds(node_kinds, "node", read.values.node, read))
        links = dict(_of_kinds(link_kinds, "link", read.values.link, read))
        for what, tables in (("node", nodes), ("link", links)):
            for key in ("node", "switch") if what == "node" else ("link",):
                _one_of(tables, getattr(read.values.topology, key), f"topology.{key}", f"{what}s", read)
        for index, join in enumerate(read.values.topology.join):
            _one_of(links, join.link, f"topology.join.{index}", "links", read)
        if (ticks := _ticks_per_second(read.values.clock)) > MAX_TICKS:
            raise read.wrong(
                f"the common tick of the clocks has {ticks / 1e12:g} THz, of which 64 bits do not hold an hour: give frequencies "
                f"with common factors, for ticks of {MAX_TICKS / 1e12:.0f} THz at most",
                "clock",
            )
        return cls(name, read, nodes, links, *_joined(read, nodes, links))

    @classmethod
    def part_of(cls: type[AnyAssembled], whole: Assembled) -> AnyAssembled:
        """Returns the nodes of this class's types in a larger cluster, renumbered in order, and the links between them."""
        kinds = tuple(cls.NODES.values())
        own = [node for node, name in enumerate(whole.node_names) if isinstance(whole.nodes[name], kinds)]
        topology, kept = whole.topology.part(own)
        names = [whole.node_names[node] for node in own]
        joined = [name for name, each in zip(whole.link_names, kept, strict=True) if each]
        nodes = {name: table for name, table in whole.nodes.items() if name in names}
        links = {name: table for name, table in whole.links.items() if name in joined}
        return cls(f"{cls.system} in {whole.name}", whole.file, nodes, links, topology, names, joined)

    @classmethod
    def kind_tables(cls) -> KindTables:
        """Returns the system's node types and link types."""
        return cls.NODES, cls.LINKS

    @classmethod
    def _kinds(cls, read: ClusterFile[KindsTable]) -> KindTables:
        """Returns the node and link types that a file may use. Raises InputError."""
        return cls.kind_tables()

    @classmethod
    def _read(cls, file: Path) -> tuple[dict[str, Any], dict[KeyPath, Location]]:
        """Returns the values of a file and the place of each. Raises InputError."""
        return layers(file, None)

    def _loaded(self: AnyAssembled, file: Path) -> AnyAssembled:
        """Returns this cluster completed by files that its file refers to. Raises InputError."""
        return self

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """Returns the JSON schema of the files of this class."""

        def one_of(kinds: Mapping[str, type[KindTable]]) -> dict[str, Any]:
            return {
                "type": "object",
                "additionalProperties": {"anyOf": [k.model_json_schema() for k in kinds.values()]},
            }

        whole = KindsTable.model_json_schema()
        whole["properties"] |= {"node": one_of(cls.NODES), "link": one_of(cls.LINKS)}
        return whole

    @property
    def about(self) -> str:
        return self.file.values.description

    @property
    def clocks(self) -> Mapping[str, ClockTable]:
        return self.file.values.clock

    @property
    def seeds(self) -> Mapping[str, int]:
        return {}

    @property
    def description(self) -> Mapping[str, Any]:
        tables = {"node": self.nodes, "link": self.links}
        return {
            "name": self.name,
            "values": self.file.values.model_dump(exclude={"base", *tables})
            | {what: {name: table.model_dump() for name, table in of.items()} for what, of in tables.items()},
            "nodes": self.topology.nodes,
            "links": len(self.topology.links),
        }

    @property
    def kinds(self) -> Sequence[str]:
        return self.node_names

    @property
    def link_kinds(self) -> Sequence[str]:
        return self.link_names

    def shown(self) -> Sequence[Shown]:
        rows: list[Shown] = [
            (f"clock {name}", f"{clock.frequency_mhz:.10g} MHz", f"a cycle is {1e3 / clock.frequency_mhz:.6g} ns")
            for name, clock in self.clocks.items()
        ]
        for what, tables in (("node", self.nodes), ("link", self.links)):
            for name, table in tables.items():
                rows.append((f"{what} {name}", table.kind, ""))
                rows += _values(table)
        return rows

    def legend(self) -> Sequence[str]:
        return [f"node {name}: {table.kind}, ports {_ports(table)}" for name, table in self.nodes.items()]

    def checked(self) -> tuple[str, Mapping[str, Any]]:
        return (
            f"{len(self.clocks)} clock{'s' * (len(self.clocks) > 1)} in ticks of {self.ticks_per_second / 1e9:g} GHz",
            {},
        )

    @property
    def ticks_per_second(self) -> int:
        """Ticks of simulated time per second; each clock's period is a whole number of ticks."""
        return _ticks_per_second(self.clocks)

    def ticks_of(self, clock: str) -> int:
        """Returns the period of a clock in ticks."""
        return int(self.ticks_per_second / self.clocks[clock].hertz)

    def replace(self: AnyAssembled, **values: Mapping[str, Any]) -> AnyAssembled:
        """Returns a copy with other values: `link={"ring": {"latency_ns": 300}}`, or `link={"latency_ns": 300}` if there
        is only one link type.

        The copy's name lists the changes. Raises InputError for invalid values, and for an unused clock, node or link
        type.
        """
        values = changes(values)
        changed = self._with(values, named_after(self.name, values))
        for what, used in changed._used_tables().items():
            for name in values.get(what, ()):
                if name in getattr(changed.file.values, what) and name not in used:
                    raise InputError(f"{what}.{name} is not used in {self.name}; it has {', '.join(sorted(used))}")
        changed.check()
        return changed

    def _used_tables(self) -> Mapping[str, set[str]]:
        """Returns the names of the clocks, node types and link types in use."""
        tables = [*(self.nodes[name] for name in self.node_names), *(self.links[name] for name in self.link_names)]
        clocks = {value for table in tables for key, value in table if key.endswith("clock")}
        return {"clock": clocks, "node": set(self.node_names), "link": set(self.link_names)}

    def _with(self: AnyAssembled, values: Mapping[str, Any], name: str) -> AnyAssembled:
        now = self.file.values.model_dump(exclude_none=True) | {
            what: {key: table.model_dump(exclude_none=True) for key, table in tables.items()}
            for what, tables in (("clock", self.clocks), ("node", self.nodes), ("link", self.links))
        }
        for what, table in values.items():
            if isinstance(table, Mapping) and len(now.get(what, ())) == 1 and not table.keys() & now[what].keys():
                table = {next(iter(now[what])): table}
            now = over(now, {what: table})
        locations = self.file.locations_without(values)
        made = type(self)._made(parse(KindsTable, now, locations, name, self.file.plain), name)
        if "topology" in values:
            return made
        return dataclasses.replace(self, name=name, file=made.file, nodes=made.nodes, links=made.links)

    def check(self) -> None:
        """Checks the system's requirements beyond the tables. Raises InputError."""

    def with_clock(self: AnyAssembled, name: str, clock: ClockTable) -> AnyAssembled:
        """Returns a copy with a clock added or replaced."""
        clocks = {**self.clocks, name: clock}
        values = self.file.values.model_copy(update={"clock": clocks})
        return dataclasses.replace(self, file=dataclasses.replace(self.file, values=values))

    def of_node(self, node: int) -> Mapping[str, Any]:
        """Returns values of a node that depend on its position, for the simulator."""
        return {}

    @cached_property
    def assembly(self) -> dict[str, Any]:
        """The description from which the simulator builds the cluster: clocks, and kind and values of each node and link."""

        def part(what: str, name: str, number: int, table: KindTable) -> dict[str, Any]:
            values = table.model_dump(exclude={"kind"}, exclude_none=True)
            return {"kind": table.kind, "of": f"{what} {number} ({name})", "values": values}

        nodes = [part("node", name, i, self.nodes[name]) for i, name in enumerate(self.node_names)]
        for i, node in enumerate(nodes):
            node["values"] |= self.of_node(i)
        links = [
            part("link", name, i, self.links[name]) | {"ends": ends}
            for i, (name, ends) in enumerate(zip(self.link_names, self.topology.links.tolist(), strict=True))
        ]
        ticks = self.ticks_per_second
        clocks = [
            {"name": name, "period": self.ticks_of(name), "phase": round(clock.phase_ns * ticks / 1e9)}
            for name, clock in self.clocks.items()
        ]
        return {"ticks_per_second": ticks, "clocks": clocks, "nodes": nodes, "links": links}


NodeOf = TypeVar("NodeOf", bound=NodeTable)
LinkOf = TypeVar("LinkOf", bound=LinkTable)
OneType = TypeVar("OneType", bound="Uniform[Any, Any]")


@dataclass(frozen=True, eq=False)
class Uniform(Assembled, Generic[NodeOf, LinkOf]):
    """A cluster whose nodes are of one type, and whose links are of one type."""

    def check_uniform(self) -> None:
        """Raises InputError if the file defines several node or link types."""
        if len(self.nodes) > 1 or len(self.links) > 1:
            what = "this system takes one node type and one link type: give one [node.*] and one [link.*]"
            raise self.file.wrong(what, "topology.shape")

    @property
    def node_name(self) -> str:
        return next(iter(self.nodes))

    @property
    def node(self) -> NodeOf:
        """The table of the nodes."""
        return cast(NodeOf, self.nodes[self.node_name])

    @property
    def link(self) -> LinkOf:
        return cast(LinkOf, next(iter(self.links.values())))

    def with_node(self: OneType, **values: Any) -> OneType:
        """Returns a copy with other values of the nodes."""
        return self._with({"node": {self.node_name: values}}, self.name)

    def with_topology(self: OneType, topology: Topology) -> OneType:
        """Returns a copy with other nodes and links, of the same types."""
        link_names = [next(iter(self.links))] * len(topology.links)
        node_names = [self.node_name] * topology.nodes
        return dataclasses.replace(self, topology=topology, node_names=node_names, link_names=link_names)


def _ticks_per_second(clocks: Mapping[str, ClockTable]) -> int:
    """Returns the smallest number of ticks per second for which every clock period is a whole number of ticks."""
    return math.lcm(*(clock.hertz.numerator for clock in clocks.values()))


def _of_kinds(
    kinds: Mapping[str, type[KindOf]], what: str, tables: Mapping[str, Mapping[str, Any]], file: ClusterFile[KindsTable]
) -> Iterator[tuple[str, KindOf]]:
    """Yields the tables of [node.*] or [link.*], validated by the models of their kinds. Raises InputError."""
    for name, table in tables.items():
        at = f"{what}.{name}"
        kind = kind_of(table, kinds, file.locations, (what, name), file.name)
        made = validated(kinds[kind], table, file.locations, file.name, (what, name))
        for key, value in made:
            if key.endswith("clock"):
                _one_of(file.values.clock, value, f"{at}.{key}", "clocks", file)
        yield name, made


def _one_of(known: Mapping[str, Any], name: str | None, path: str, what: str, file: ClusterFile[KindsTable]) -> None:
    if name is not None and name not in known:
        raise file.wrong(f"{path} is {name!r}, which is not defined; the {what} are {', '.join(known)}", path)


def _values(table: Table, at: str = "  ") -> Iterator[Shown]:
    for key, field in type(table).model_fields.items():
        value = getattr(table, key)
        if isinstance(value, Table):
            yield from _values(value, f"{at}{key}.")
        elif key != "kind":
            parts = {name: str(of).strip("[]") for name, of in value.items()} if isinstance(value, dict) else {}
            shown = ", ".join(" ".join(part) for part in parts.items()) if isinstance(value, dict) else f"{value}"
            alone = len(shown) > 60
            yield f"{at}{key}", "as follows" if parts and alone else shown or "none", field.description or ""
            if alone:
                yield from ((f"{at}  {name}", of, "") for name, of in parts.items())


def _ports(table: NodeTable) -> str:
    """Returns the ports with their types; a run of equal types as first and last port."""
    rows = [
        (what, [port for port, _ in each]) for what, each in groupby(table.port_types.items(), lambda port: port[1])
    ]
    return ", ".join(
        f"{ports[0]} to {ports[-1]} ({what})" if len(ports) > 8 else ", ".join(f"{port} ({what})" for port in ports)
        for what, ports in rows
    )


def _placed(file: ClusterFile[KindsTable], nodes: Mapping[str, NodeTable], built: Topology) -> dict[int, str]:
    """Returns the node types in [topology] `nodes`, by node number. Raises InputError."""
    placed: dict[int, str] = {}
    for text, name in file.values.topology.nodes.items():
        path = f"topology.nodes.{text}"
        _one_of(nodes, name, path, "nodes", file)
        found = PLACES.fullmatch(text)
        if not found or int(found[1]) > int(found[2] or found[1]):
            raise file.wrong(f"topology.nodes has {text!r}; a key is a node number or a range such as '4-7'", path)
        for number in range(int(found[1]), int(found[2] or found[1]) + 1):
            if number in placed:
                raise file.wrong(f"topology.nodes has node {number} twice, as {placed[number]} and {name}", path)
            if number >= MAX_NODES:
                raise file.wrong(f"topology.nodes has node {number}; the maximum number of nodes is {MAX_NODES}", path)
            placed[number] = name
    for number, expected in zip(sorted(n for n in placed if n >= built.nodes), count(built.nodes)):
        if number != expected:
            what = f"topology.nodes has node {number} but no node {expected}; added nodes are numbered from {built.nodes} without gaps"
            raise file.wrong(what, "topology.nodes")
    return placed


def _joined(
    file: ClusterFile[KindsTable], nodes: Mapping[str, NodeTable], links: Mapping[str, LinkTable]
) -> tuple[Topology, list[str], list[str]]:
    """Returns the topology with its additional nodes and links, and the type of each node and link.

    Raises InputError if a port is missing or used twice, if a link cannot connect two ports, or if a node is not
    connected.
    """
    table = file.values.topology
    built = topology_of(file)
    placed = _placed(file, nodes, built)
    names = [table.node] * built.hosts + [table.switch or table.node] * (built.nodes - built.hosts)
    added = sum(number >= len(names) for number in placed)
    names = [placed.get(number, own) for number, own in enumerate([*names, *[""] * added])]
    used: dict[tuple[int, int], str] = {}

    def end(link: str, node: int, port: int, path: str) -> str:
        """Returns the type of the port at a link's end."""
        ports = list(nodes[names[node]].port_types.items())
        if (node, port) in used:
            raise file.wrong(f"port {ports[port][0]} of node {node} has two links, {used[node, port]} and {link}", path)
        used[node, port] = link
        return ports[port][1]

    def join(link: str, ends: Sequence[tuple[int, int]], path: str) -> list[int]:
        one, other = (end(link, node, port, path) for node, port in ends)
        if links[link].refuses(one, other):
            raise file.wrong(
                f"link {link} ({links[link].kind}) cannot connect {one} of node {ends[0][0]} to {other} of node {ends[1][0]}",
                path,
            )
        return [ends[0][0], ends[0][1], ends[1][0], ends[1][1]]

    for node, number in built.links.reshape(-1, 2).tolist():
        types = nodes[names[node]].port_types
        if number >= len(types):
            has = f"{len(types)} ({', '.join(types)})" if types else "none"
            what = f"a {table.shape} takes {built.link_ports} ports of each node; {names[node]} has {has}"
            raise file.wrong(what, "topology.nodes" if node in placed else "topology.node")
    for a, port_a, b, port_b in built.links.tolist():
        join(table.link, [(a, port_a), (b, port_b)], "topology.nodes" if {a, b} & placed.keys() else "topology.node")
    more = []
    for index, joined in enumerate(table.join):
        path = f"topology.join.{index}"
        ends = []
        for text in joined.ends:
            node, port = int(text.partition(".")[0]), text.partition(".")[2]
            if node >= len(names):
                raise file.wrong(f"{path} names node {node}; the last one is {len(names) - 1}", path)
            ports = list(nodes[names[node]].port_types)
            if port not in ports:
                raise file.wrong(f"node {node} ({names[node]}) has no port {port!r}; it has {', '.join(ports)}", path)
            ends.append((node, ports.index(port)))
        more.append(join(joined.link, ends, path))
    if more:
        together = np.concatenate([built.links, np.array(more, np.int32)])
        link_ports = int(together[:, [1, 3]].max()) + 1
        built = dataclasses.replace(built, links=together, link_ports=link_ports, joined=len(more))
    if added:
        level = (*built.level, *[-1] * added) if built.level else ()
        built = dataclasses.replace(built, nodes=len(names), level=level, added=added)
        if built.unreachable is not None:
            raise file.wrong(
                f"no link leads to node {built.unreachable[1]} ({names[built.unreachable[1]]})", "topology.nodes"
            )
    return built, names, [table.link] * (len(built.links) - len(more)) + [each.link for each in table.join]
