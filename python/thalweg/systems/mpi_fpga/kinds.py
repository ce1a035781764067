# SPDX-License-Identifier: Apache-2.0
"""MPI-FPGA's nodes, switches and links as types, for files with [node.*] and [link.*] (thalweg.cluster.kinds).

Files with MPI-FPGA alone may have a single [router], [host], [collective] and [link] instead (tables.py). In both
forms, missing values come from clusters/base/plain.toml, and one is converted to the other: all routers of a fabric are
equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import Field, model_validator

from thalweg.cluster import toml_lines
from thalweg.cluster.file import over, parse
from thalweg.cluster.kinds import Assembled, KindTable, Name
from thalweg.cluster.kinds import LinkTable as _LinkTable
from thalweg.cluster.kinds import NodeTable as _NodeTable
from thalweg.cluster.toml_lines import KeyPath
from thalweg.cluster.topology import Topology
from thalweg.resources import resource
from thalweg.systems.mpi_fpga.faults import KEYS
from thalweg.systems.mpi_fpga.limits import ROUTER_PORTS
from thalweg.systems.mpi_fpga.tables import (
    PLAIN,
    ClusterFile,
    ClusterTable,
    CollectiveTable,
    HostTable,
    LinkTable,
    OwnFaultsTable,
    RouterTable,
    RoutingAlgorithm,
    SharingTable,
)


class Switch(_NodeTable):
    """A node without a host, for the switches of a shape. Router and collective unit are equal to those of the nodes."""

    kind: Literal["mpi-fpga-switch"]
    clock: Name
    link_ports: Annotated[int, Field(ge=1, lt=ROUTER_PORTS)] = Field(4, description="ports for links")

    @property
    def port_types(self) -> Mapping[str, str]:
        return {str(port): "flits" for port in range(self.link_ports)}


class Node(Switch):
    """A router, a collective unit, and a host behind PCIe."""

    kind: Literal["mpi-fpga"]  # type: ignore[assignment]
    routing: RoutingAlgorithm | None = Field(None, description="routing algorithm [default: by shape]")
    router: RouterTable
    host: HostTable
    collective: CollectiveTable
    sharing: SharingTable

    TABLES: ClassVar[Sequence[str]] = ("router", "host", "collective", "sharing")

    @model_validator(mode="before")
    @classmethod
    def _over_plain(cls, given: Any) -> Any:
        plain = {table: _plain()[table] for table in cls.TABLES}
        return over(plain, given) if isinstance(given, dict) else given


class KindFaultsTable(OwnFaultsTable):
    """Faults of each link of a type, in both directions."""

    seed: int | None = Field(None, ge=0, lt=2**63, description="seed of random faults")
    silence_us: float | None = Field(
        None, gt=0, le=1e6, description="time without a good frame after which a link is given up, in us"
    )
    rebuild_us: float | None = Field(
        None, ge=0, le=1e9, description="time from giving up a link until the fabric resumes with new routes, in us"
    )


class Link(_LinkTable, LinkTable):
    kind: Literal["mpi-fpga"]
    faults: KindFaultsTable | None = Field(None, description="faults of each link of this type")

    @model_validator(mode="before")
    @classmethod
    def _over_plain(cls, given: Any) -> Any:
        return over(_plain()["link"], given) if isinstance(given, dict) else given


NODES: Mapping[str, type[_NodeTable]] = {"mpi-fpga": Node, "mpi-fpga-switch": Switch}
LINKS: Mapping[str, type[_LinkTable]] = {"mpi-fpga": Link}


@cache
def _plain() -> dict[str, Any]:
    return toml_lines.read(resource(PLAIN))[0]


class Kinds(Assembled):
    """An MPI-FPGA file with [node.*] and [link.*], or that part of a larger one."""

    system = "mpi-fpga"
    NODES = NODES
    LINKS = LINKS

    def fabric(self) -> tuple[ClusterFile, Topology]:
        """The values of all routers and links, and the topology. Raises InputError if they are not equal, or a switch is
        misplaced."""
        node_name, node = self._alike("node", Node, self.nodes, self.node_names, "link_ports")
        for number, name in enumerate(self.node_names):
            is_switch = not isinstance(self.nodes[name], Node)
            if is_switch != (self._level(number) > 0):
                what = "is at a position for a host" if is_switch else "is at the position of a switch"
                raise self.file.wrong(f"node {number} ({name}) is {self.nodes[name].kind}, and {what}", "topology")
        link_name, link = self._alike("link", Link, self.links, self.link_names, "faults")
        values = {
            "description": self.about,
            "routing": node.routing,
            "topology": self._shape(),
            "clock": {"frequency_mhz": self.clocks[node.clock].frequency_mhz},
            "link": link.model_dump(include=set(LinkTable.model_fields)),
            "faults": self._faults(),
        } | {table: getattr(node, table).model_dump(exclude_none=True) for table in Node.TABLES}
        aliases: dict[KeyPath, KeyPath] = {
            ("clock", node.clock): ("clock",),
            ("node", node_name): (),
            ("link", link_name): ("link",),
        }
        locations = dict(self.file.locations)
        for path, place in self.file.locations.items():
            if path[:2] in aliases and (own := (*aliases[path[:2]], *path[2:])):
                locations[own] = place
        file = parse(
            ClusterTable, {k: v for k, v in values.items() if v is not None}, locations, self.file.name, self.file.plain
        )
        return file, self.topology

    def _level(self, node: int) -> int:
        return self.topology.level[node] if self.topology.level else 0

    def _shape(self) -> dict[str, Any]:
        """The table [topology] of an equivalent file without types; with additional links, a list of edges."""
        if self.topology.shape == "edges" or self.topology.joined or self.topology.added:
            return {"shape": "edges", "edges": self.topology.links[:, [0, 2]].tolist()}
        own = {"node", "switch", "nodes", "link", "join"}
        return self.file.values.topology.model_dump(exclude=own, exclude_none=True)

    def _alike(
        self, what: str, model: type[Of], tables: Mapping[str, KindTable], used: Iterable[str], *apart: str
    ) -> tuple[str, Of]:
        """Returns name and table common to all types in use. Raises InputError if they differ in more than the keys
        `apart`."""
        found = {name: table for name in dict.fromkeys(used) if isinstance(table := tables[name], model)}
        if not found:
            raise self.file.wrong(f"no {what} of kind {self.system} is used", "topology")
        first, *others = found
        for other in others:
            for key, value in found[first]:
                if key not in apart and getattr(found[other], key) != value:
                    raise self.file.wrong(
                        f"{what}s {first} and {other} differ in {key}; all {what}s of a fabric must be equal except for {' and '.join(apart)}",
                        f"{what}.{other}.{key}",
                    )
        clocks = {name: table.clock for name in self.node_names if isinstance(table := self.nodes[name], Switch)}
        if len(set(clocks.values())) > 1:
            raise self.file.wrong(
                f"all routers of a fabric must have the same clock; these have {', '.join(set(clocks.values()))}",
                "topology",
            )
        return first, found[first]

    def _faults(self) -> dict[str, Any]:
        """The table [faults]: common values, and an entry for each link with faults."""
        table: dict[str, Any] = dict(_plain()["faults"])
        common: dict[str, tuple[str, Any]] = {}
        links = []
        for name, (a, port, b, _) in zip(self.link_names, self.topology.links.tolist(), strict=True):
            link = self.links[name]
            assert isinstance(link, Link)
            given = link.faults.model_dump(exclude_none=True) if link.faults else {}
            for key in ("seed", "silence_us", "rebuild_us"):
                if key in given and common.setdefault(key, (name, given[key]))[1] != given[key]:
                    raise self.file.wrong(
                        f"links {common[key][0]} and {name} differ in faults.{key}, which must be equal for all links of a fabric",
                        f"link.{name}.faults.{key}",
                    )
            happens = {key: value for key, value in given.items() if key in KEYS}
            if happens:
                links.append({"nodes": [a, b], "port": port, **happens})
        return table | {key: value for key, (_, value) in common.items()} | {"links": links}


Of = TypeVar("Of", bound=KindTable)
