# SPDX-License-Identifier: Apache-2.0
"""MPI-FPGA clusters: topology, routes, and parameters in units of the hardware.

cluster = Cluster.load("mpi-fpga-torus-4x4x4")     # a preset, a file or a shape
fabric = cluster.fabric_config()                   # the simulator's configuration
"""

from __future__ import annotations

import difflib
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from thalweg.bench.operation import cores
from thalweg.cluster import Shown, topology
from thalweg.cluster.file import changes, layers, named_after, path_of, presets, topology_of
from thalweg.cluster.topology import MAX_GRID_NODES, MAX_NODES, Topology
from thalweg.errors import InputError
from thalweg.route import routing
from thalweg.route.grid import GridRoutes
from thalweg.route.routes import NoRoutes, Routes
from thalweg.systems.mpi_fpga import check, show, slots, tables
from thalweg.systems.mpi_fpga.faults import Wire, of_links
from thalweg.systems.mpi_fpga.limits import (
    FLIT_BYTES,
    LOCAL_BUFFER_FLITS,
    MAX_BUFFERED_FLITS,
    MAX_DESTINATIONS,
    ROUTER_CHANNELS,
    ROUTER_PORTS,
    UNIT_PORTS,
)
from thalweg.systems.mpi_fpga.slots import Proof
from thalweg.systems.mpi_fpga.tables import ClusterFile, ClusterTable

if TYPE_CHECKING:
    from thalweg._core import RouterLibrary, WireFaults
    from thalweg.cluster.kinds import Assembled, KindTables
    from thalweg.systems.mpi_fpga._sim import FabricConfig, UnitLibrary
    from thalweg.systems.mpi_fpga.kinds import Kinds

THREADED_NODES = 1024
"""From here on a tick has enough work for several threads, also if links have the least latency."""
MAX_THREADS = 64

_IN_PLACE = re.compile(r"(dual-)?([a-z]+):([0-9]{1,6}(?:x[0-9]{1,6})*)")


@dataclass(frozen=True, eq=False, repr=False)
class Cluster:
    """A valid cluster. Times are in cycles of its clock, which are the simulator's ticks."""

    name: str
    values: ClusterTable
    topology: Topology
    file: ClusterFile
    routers: RouterLibrary | None = None  #: RTL routers of its fabrics; None: the simulator's
    units: UnitLibrary | None = None  #: RTL collective units that run beside the simulator's; None: none
    of_kinds: Kinds | None = None  #: if its file has [node.*] and [link.*]
    chosen_threads: int | None = None  #: of a simulation; None: `threads` chooses

    def __repr__(self) -> str:
        return f"<cluster {self.name}: {self.topology.hosts} nodes>"

    @staticmethod
    def load(name: str | Path, faults: str | None = None) -> Cluster:
        """Loads a preset, a file, or a shape such as `torus:8x8`, optionally with `faults` (`tables.with_faults`). Raises
        InputError."""
        return _loaded(_find(str(name)), str(name), faults)

    @staticmethod
    def load_file(file: Path) -> Cluster:
        """Loads a file of any name. Raises InputError."""
        return _loaded(file, str(file))

    @staticmethod
    def part_of(whole: Assembled) -> Cluster:
        """Returns the MPI-FPGA nodes of a larger cluster. Raises InputError if they form no fabric."""
        from thalweg.systems.mpi_fpga.kinds import Kinds

        return _of_kinds(Kinds.part_of(whole))

    @staticmethod
    def kind_tables() -> KindTables:
        """Returns the node and link types; imported only for files that use them."""
        from thalweg.systems.mpi_fpga.kinds import LINKS, NODES

        return NODES, LINKS

    @staticmethod
    def schema() -> dict[str, Any]:
        """Returns the JSON schema of the files."""
        return tables.schema()

    @property
    def engine(self) -> str:
        """The engine that executes operations."""
        return "rtl" if self.units else "rtl-routers" if self.routers else "sim"

    def with_threads(self, threads: int | None) -> Cluster:
        """Returns the cluster with a number of threads of its simulations, on which results do not depend."""
        return replace(self, chosen_threads=threads)

    def check_threads(self, alone: str) -> None:
        """Raises InputError if several threads are chosen, which a simulation with `alone` does not have."""
        if (self.chosen_threads or 1) > 1:
            raise InputError(f"--threads is {self.chosen_threads}; a simulation with {alone} has one thread")

    @property
    def threads(self) -> int:
        """Threads of a simulation: the chosen number, else that of processor cores for a large cluster. Raises InputError."""
        alone = "link faults" if self.has_faults else "RTL" if self.engine != "sim" else ""
        if self.chosen_threads is None:
            return 1 if alone or self.topology.nodes < THREADED_NODES else min(cores(), MAX_THREADS)
        if alone:
            self.check_threads(alone)
        if not 1 <= self.chosen_threads <= min(self.topology.nodes, MAX_THREADS):
            raise InputError(
                f"--threads is {self.chosen_threads}; {self.name} has 1 to {min(self.topology.nodes, MAX_THREADS)}"
            )
        return self.chosen_threads

    @property
    def cycles_per_second(self) -> int:
        return round(self.values.clock.frequency_mhz * 1_000_000)

    def cycles(self, nanoseconds: float) -> int:
        """Converts ns to whole cycles, rounded up, with tolerance for rounding errors."""
        return math.ceil(nanoseconds * self.cycles_per_second / 1e9 - 1e-9)

    @property
    def link_latency(self) -> int:
        """Cycles from a router's output register to the next router's input, at least 1."""
        return max(1, self.cycles(self.values.link.latency_ns))

    @property
    def link_rate(self) -> Fraction:
        """Rate of a link in flits per cycle, at most 1 and at most that of the file."""
        flits = self.values.link.rate_gbps * 1e9 / (8 * FLIT_BYTES * self.cycles_per_second)
        if flits >= 1:
            return Fraction(1)
        near = Fraction(flits).limit_denominator(1000)
        return (
            near
            if 0 < near <= Fraction(flits) * (1 + Fraction(1, 10**9))
            else Fraction(math.floor(flits * 2**16), 2**16)
        )

    @property
    def round_trip(self) -> int:
        """Round trip of a link's frames in cycles: 2 L + 8 frames (docs/links.md) at the link's rate."""
        return math.ceil((2 * self.link_latency + 8) / self.link_rate)

    @property
    def port_gbps(self) -> float:
        """Rate of a router port in Gb/s, one flit per cycle."""
        return 8 * FLIT_BYTES * self.cycles_per_second / 1e9

    @property
    def buffer_flits(self) -> int:
        """Input buffer per virtual channel of a link port, in flits."""
        return self.values.router.port_buffer_bytes // (FLIT_BYTES * self.values.router.virtual_channels)

    @property
    def least_margin(self) -> int:
        """Flits that may arrive after a virtual channel's stop bit is set: 2 x link latency + 1.

        The bit arrives after one link latency; flits sent until then arrive within another one, one per cycle, and the
        sender's switch stage holds one more.
        """
        return 2 * self.link_latency + 1

    @property
    def margin_flits(self) -> int:
        """Free flits of a virtual channel at which upstream is stopped.

        More than in the file if links have a replay, whose sender fills its window while frames are lost.
        """
        from thalweg import _core

        margin = self.values.router.margin_flits
        return max(margin, _core.replay_window(self.link_latency) - 1) if self.has_faults else margin

    @property
    def least_port_buffer(self) -> int:
        """Equation 2 of the MPI-FPGA paper: bytes of a port's input buffer that hide a binomial tree's depth.

        (m + (d + q) L / Tclk) Ph with the margin m, depth d of the tree over all nodes, q = 2, link latency L, flit Ph.
        """
        depth = math.ceil(math.log2(self.topology.hosts))
        return (self.values.router.margin_flits + (depth + 2) * self.link_latency) * FLIT_BYTES

    @property
    def collective_ports(self) -> int:
        """Router ports of the collective unit; by default as many as link ports, if the router has them."""
        return self.values.collective.ports or max(
            1, min(UNIT_PORTS, self.topology.link_ports, self.router_ports - 1 - self.topology.link_ports)
        )

    @property
    def router_ports(self) -> int:
        """Maximum number of router ports, given the virtual channels."""
        return min(ROUTER_PORTS, ROUTER_CHANNELS >> (self.values.router.virtual_channels - 1).bit_length())

    @property
    def max_classes(self) -> int:
        """Maximum number of route classes: plain messages and collectives need a virtual channel for each."""
        return self.values.router.virtual_channels // 2

    @cached_property
    def faults(self) -> list[tuple[Wire, Wire]]:
        """Faults of each link of the topology, from its first node to its second, and back."""
        return of_links(self.topology, self.values.faults)

    @property
    def has_faults(self) -> bool:
        return any(wire != Wire() for link in self.faults for wire in link)

    @property
    def description(self) -> dict[str, Any]:
        """All given and derived values, as plain data."""
        built = self.topology
        return {
            "name": self.name,
            "engine": self.engine,
            "values": self.values.model_dump(exclude={"base"}),
            "nodes": built.nodes,
            "links": len(built.links),
            "link_ports": built.link_ports,
            "local_ports": 1 + self.collective_ports,
            "diameter": built.diameter,
            "average_distance": built.average_distance,
            "link_latency_cycles": self.link_latency,
            "link_flits_per_cycle": float(self.link_rate),
            "buffer_flits": self.buffer_flits,
            "least_port_buffer_bytes": self.least_port_buffer,
        }

    system: ClassVar[str] = "mpi-fpga"

    @property
    def kinds(self) -> Sequence[str]:
        return self.of_kinds.kinds if self.of_kinds else ()

    @property
    def link_kinds(self) -> Sequence[str]:
        return self.of_kinds.link_kinds if self.of_kinds else ()

    @property
    def about(self) -> str:
        return self.values.description

    @property
    def seeds(self) -> dict[str, int]:
        return {"faults": self.values.faults.seed} if self.has_faults else {}

    def check(self) -> None:
        """Checks that its values are consistent. Raises InputError."""
        check.check(self)

    def shown(self) -> list[Shown]:
        return show.shown(self)

    def legend(self) -> list[str]:
        return show.legend(self)

    def checked(self) -> tuple[str, dict[str, Any]]:
        proof = self.proof()
        self._check_router(collectives=True)
        return f"{proof.algorithm} routes proved{self._limit()}", proof.as_dict()

    def _limit(self) -> str:
        if self.topology.nodes <= MAX_DESTINATIONS:
            return ""
        return f"; only traffic is simulated: a collective packet's header can name {MAX_DESTINATIONS} destinations"

    def replace(self, **values: Mapping[str, Any]) -> Cluster:
        """Returns a copy with other values in the tables of its file; its name lists them. Raises InputError."""
        values = changes(values)
        name = named_after(self.name, values)
        if self.of_kinds:
            changed = _of_kinds(self.of_kinds.replace(**values))
            read = _of_kinds(self.of_kinds).values  # faults or a routing algorithm may have been chosen in addition
            chosen = {
                key: value for key, value in self.values if value != getattr(read, key) == getattr(changed.values, key)
            }
            changed = replace(changed, values=changed.values.model_copy(update=chosen))
        else:
            changed = _checked(tables.replaced(self.file, self.values, values, name), name)
        return replace(changed, routers=self.routers, units=self.units)

    def with_routing(self, algorithm: str) -> Cluster:
        """Returns the cluster with routes by another algorithm of thalweg.route.routing."""
        return replace(self, values=self.values.model_copy(update={"routing": algorithm}))

    def by_rank(self) -> Cluster:
        """Returns the cluster with trees of rank numbers, so that the order of operands depends on neither shape nor
        placement."""
        collective = self.values.collective.model_copy(update={"trees": "rank"})
        return replace(self, values=self.values.model_copy(update={"collective": collective}))

    @cached_property
    def routes(self) -> Routes | GridRoutes:
        """Routes, not yet proved (see `prove`). Raises InputError if there are none for this topology."""
        try:
            return routing.route(self.topology, self.values.routing, self.max_classes)
        except NoRoutes as error:
            raise self.file.wrong(str(error), "routing" if self.values.routing else "topology") from None

    @property
    def tables(self) -> Routes:
        """The routes as tables by node and destination. Raises InputError if the cluster has too many nodes."""
        try:
            return self.routes.tables
        except NoRoutes as error:
            raise self.file.wrong(str(error), "topology") from None

    def vc_mask(self, routes: Routes | GridRoutes, collectives: bool) -> list[list[int]]:
        """Returns [message class][route class]: bit masks of virtual channels.

        With collectives each pair of classes has one channel, which keeps packets in order; without, both message
        classes share all.
        """
        if collectives:
            return [[1 << (message * routes.classes + c) for c in range(routes.classes)] for message in range(2)]
        share = self.values.router.virtual_channels // routes.classes
        return [[((1 << share) - 1) << (share * c) for c in range(routes.classes)]] * 2

    def prove(self, routes: Routes | GridRoutes, collectives: bool = True) -> Proof:
        """Proves routes for this cluster (thalweg.route.proof, slots.py). Raises CheckFailed."""
        values = self.values
        return slots.prove(
            self.topology,
            routes,
            self.vc_mask(routes, collectives),
            values.router.virtual_channels,
            values.collective.slot_packets if collectives else None,
            self._waits(routes) if collectives else None,
        )

    def _waits(self, routes: Routes | GridRoutes) -> slots.Slots | None:
        """Returns the slots to be proved: none if the cluster is too large for tables, None for those by rank numbers."""
        if self.topology.nodes > MAX_NODES:
            return {}
        return self._slots(self._config(routes)) if self.values.collective.trees == "topology" else None

    def _slots(self, config: FabricConfig) -> slots.Slots:
        """Returns the slots of the communicator of all hosts; none if no row of the table can hold its edges."""
        from thalweg.systems.mpi_fpga import _sim

        try:
            return slots.group_slots(_sim.Group(config, list(range(self.topology.hosts))))
        except ValueError:
            return {}

    @cached_property
    def _proofs(self) -> dict[bool, Proof]:
        return {}

    def proof(self, collectives: bool = True) -> Proof:
        """Returns the proof of this cluster's own routes, cached."""
        if collectives not in self._proofs:
            self._proofs[collectives] = self.prove(self.routes, collectives)
        return self._proofs[collectives]

    def fabric_config(self, collectives: bool = True) -> FabricConfig:
        """Returns the simulator's configuration, with proved routes.

        Without collectives (plain traffic) there is one local port, and all virtual channels serve one message class.
        """
        if collectives and self.topology.nodes > MAX_DESTINATIONS:
            raise self.file.wrong(
                f"{self.topology.nodes} nodes; a packet's header can name {MAX_DESTINATIONS} destinations", "topology"
            )
        self.proof(collectives)
        self._check_router(collectives)
        return self._config(self.routes, collectives)

    def _local_ports(self, collectives: bool) -> int:
        return 1 + (self.collective_ports if collectives else 0)

    def _check_router(self, collectives: bool) -> None:
        """Raises InputError if a router has too many ports or buffers."""
        local_ports = self._local_ports(collectives)
        if self.topology.link_ports + local_ports > self.router_ports:
            raise self.file.wrong(
                f"{self.topology.link_ports} link ports and {local_ports} local ones; a router of "
                f"{self.values.router.virtual_channels} virtual channels has at most {self.router_ports} ports",
                "topology",
            )
        channels = self.values.router.virtual_channels
        links = int((self.topology.peer >= 0).sum(axis=1).max())
        local = local_ports * channels * min(self.buffer_flits, LOCAL_BUFFER_FLITS)
        if links * channels * self.buffer_flits + local > MAX_BUFFERED_FLITS:
            most = FLIT_BYTES * channels * ((MAX_BUFFERED_FLITS - local) // (links * channels))
            raise self.file.wrong(
                f"port_buffer_bytes is {self.values.router.port_buffer_bytes}; with {links} links a router's input buffers hold "
                f"{MAX_BUFFERED_FLITS} flits in all, and port_buffer_bytes is at most {most}",
                "router.port_buffer_bytes",
            )

    def _config(self, routes: Routes | GridRoutes, collectives: bool = True) -> FabricConfig:
        from thalweg import _core
        from thalweg.systems.mpi_fpga import _sim

        values = self.values
        config = _sim.FabricConfig()
        config.ticks_per_second = self.cycles_per_second
        config.nodes = self.topology.nodes
        config.threads = self.threads
        config.switches = self.topology.nodes - self.topology.hosts
        config.grid = list(self.topology.size) if self.topology.is_whole_grid else []
        links = []
        for ends, wires in zip(self.topology.links.tolist(), self.faults, strict=True):
            link = _core.LinkConfig()
            link.node_a, link.port_a, link.node_b, link.port_b = ends
            link.latency = self.link_latency
            link.rate_flits, link.rate_cycles = self.link_rate.as_integer_ratio()
            link.from_a, link.from_b = map(self._wire_faults, wires)
            links.append(link)
        config.links = links

        router = config.router  # lets it locate the header fields that routers read
        router.link_ports = self.topology.link_ports
        router.local_ports = self._local_ports(collectives)
        router.virtual_channels = values.router.virtual_channels
        router.buffer_flits = self.buffer_flits
        router.local_buffer_flits = min(self.buffer_flits, LOCAL_BUFFER_FLITS)
        router.flow = _core.FlowControl.margin if values.router.flow == "margin" else _core.FlowControl.credits
        router.margin_flits = self.margin_flits
        router.vc_mask = self.vc_mask(routes, collectives)
        if collectives and self.routers:
            router.library = self.routers

        host = _sim.HostConfig()
        host.pcie_latency = self.cycles(values.host.pcie_latency_ns)
        host.pcie_bytes_per_tick = values.host.pcie_rate_gbps * 1e9 / 8 / self.cycles_per_second
        host.dma_flits_per_cycle = values.host.dma_flits_per_cycle
        host.message_overhead = self.cycles(values.host.message_overhead_ns)
        host.memory_overhead = self.cycles(values.host.memory_overhead_ns)
        host.memory_bytes_per_tick = values.host.memory_rate_gbps * 1e9 / 8 / self.cycles_per_second
        config.host = host

        collective = _sim.CollectiveConfig()
        if collectives and self.units:
            collective.library = self.units
        collective.trees = _sim.Trees.by_rank if values.collective.trees == "rank" else _sim.Trees.by_topology
        collective.contexts = values.collective.contexts
        collective.operations_in_flight = values.collective.operations_in_flight
        collective.aggregation_units = values.collective.aggregation_units
        collective.slot_packets = values.collective.slot_packets
        collective.packet_flits = values.collective.packet_flits
        collective.long_packet_flits = values.collective.long_packet_flits or values.collective.packet_flits
        slot_flits = values.collective.slot_packets * values.collective.packet_flits
        collective.relay_flits = max(slot_flits, 2 * collective.long_packet_flits)
        collective.lane_latency = values.collective.lane_latency_cycles
        config.collective = collective

        config.faults.seed = values.faults.seed
        config.faults.silence = max(1, self.cycles(1000 * values.faults.silence_us))
        config.faults.rebuild = self.cycles(1000 * values.faults.rebuild_us)
        stops = any(
            wire.down_at_us is not None or wire.reset_at_us is not None for link in self.faults for wire in link
        )
        if collectives and stops:
            config.faults.set_reroute(self._without)

        if isinstance(routes, GridRoutes):
            port, route_class = (list(map(np.ascontiguousarray, of)) for of in (routes.port, routes.route_class))
            config.set_grid_routes(self.topology.size, port, route_class, routes.tag.astype(np.uint8))
            return config
        config.set_routes(routes.port, routes.route_class)
        if routes.layer.any():
            config.set_layer(routes.layer)
        return config

    def _without(self, ends: list[tuple[int, int]]) -> FabricConfig:
        """Returns the fabric with proved routes that avoid some links, each given as (node, port) of its first end.

        Routers keep at most the previous number of route classes. Existing communicators keep their trees; new ones get
        trees of the remaining links; the proof covers the slots of both. Raises NoRoutes or BadRoutes.
        """
        left = [tuple(link[:2]) not in ends for link in self.topology.links.tolist()]
        rest = replace(
            self.topology, shape="edges", size=(self.topology.nodes,), links=self.topology.links[np.array(left)]
        )
        if rest.unreachable is not None:
            a, b = rest.unreachable
            raise NoRoutes(f"there is no other path from node {a} to node {b}")
        # without levels, as paths in a fat tree may go down and up again
        routes = routing.route(replace(rest, level=()), None, self.routes.classes).tables
        config = self._config(routes)
        config.grid = []
        config.links = list(itertools.compress(config.links, left))
        by_links = self.values.collective.trees == "topology"
        if by_links:
            slots.check_slots(self._slots(self._config(self.tables)))
        slots.prove(
            rest,
            routes,
            self.vc_mask(self.routes, collectives=True),
            self.values.router.virtual_channels,
            self.values.collective.slot_packets,
            self._slots(config) if by_links else None,
        )
        return config

    def _wire_faults(self, wire: Wire) -> WireFaults:
        from thalweg import _core

        def tick(us: float | None) -> int:
            return _core.NEVER if us is None else self.cycles(1000 * us)

        result = _core.WireFaults()
        result.bit_error_rate = wire.bit_error_rate
        result.frames_lost = wire.frames_lost
        result.frames_duplicated = wire.frames_duplicated
        result.down_at, result.up_at = tick(wire.down_at_us), tick(wire.up_at_us)
        result.reset_at = tick(wire.reset_at_us)
        return result


def _find(name: str) -> ClusterFile | Path:
    """Returns a shape, or the path of a file."""
    shape = _IN_PLACE.fullmatch(name)
    if shape and shape[2] in topology.SHAPES and shape[2] != "edges":
        size = [int(length) for length in shape[3].split("x")]
        return tables.in_place(shape[2], size, 2 if shape[1] else 1, name)
    if file := path_of(name):
        return file
    if "/" in name or name.endswith(".toml"):
        raise InputError(f"{name}: {'is not a file' if Path(name).exists() else 'no such file'}")
    known = presets()
    near = difflib.get_close_matches(name, known, n=1)
    right = (
        f"did you mean {near[0]!r}?"
        if near
        else f"the presets are {', '.join(known)}; a shape is, for example, torus:8x8"
    )
    raise InputError(f"{name!r} is neither a preset, a file nor a shape; {right}")


def _loaded(found: ClusterFile | Path, name: str, faults: str | None = None) -> Cluster:
    if isinstance(found, Path):
        values, places = layers(found, None)
        if "node" in values:
            from thalweg.systems.mpi_fpga.kinds import Kinds

            return _of_kinds(Kinds.load_file(found, name), faults)
        found = tables.over_plain(values, places, str(found))
    return _checked(found if faults is None else tables.with_faults(found, faults), name)


def _of_kinds(kinds: Kinds, faults: str | None = None) -> Cluster:
    file, built = kinds.fabric()
    return _checked(file if faults is None else tables.with_faults(file, faults), kinds.name, built, kinds)


def _checked(file: ClusterFile, name: str, built: Topology | None = None, of_kinds: Kinds | None = None) -> Cluster:
    cluster = Cluster(name, file.values, built or topology_of(file, MAX_GRID_NODES), file, of_kinds=of_kinds)
    cluster.check()
    return cluster
