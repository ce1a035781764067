# SPDX-License-Identifier: Apache-2.0
"""The RTL engine: a cluster with Verilated routers, loaded into the simulator. A Verilated collective unit runs beside each of
the simulator's units with the same inputs, and all outputs are compared.

Hosts and links are the simulator's.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.errors import InputError
from thalweg.launch import scratch
from thalweg.spec import SIZE, Operator
from thalweg.systems.mpi_fpga.limits import MAX_BUFFERED_FLITS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from thalweg._core import Recording
    from thalweg.rtl.project import Project
    from thalweg.spec import Datatype
    from thalweg.systems.mpi_fpga._sim import FabricConfig
    from thalweg.systems.mpi_fpga.cluster import Cluster

    Pairs = Mapping[Datatype, Collection[Operator]]


MAX_EDGES = 32  #: of a row of the communicator table


def shared_libraries(root: Path | None = None, original: Project | None = None) -> Project:
    """The project whose libraries a running process can load; a copy shares the compiled Verilator runtime of its `original`."""
    from thalweg.rtl.project import Project

    scratch.folder()  # for temporary files of the tools
    project = Project(root, original=original)
    project.build /= "engine"
    return project


def router_parameters(config: FabricConfig) -> dict[str, int | str]:
    """The parameters of tw_vc_router for a cluster's nodes. Raises InputError if the hardware does not support the cluster."""
    router = config.router
    rates = {(link.rate_flits, link.rate_cycles) for link in config.links}
    if len(rates) > 1:
        raise InputError("the hardware's router needs equal rates of all its links")
    if len({len(of_class) for of_class in router.vc_mask}) > 1:
        raise InputError("the hardware's router needs equally many route classes for every message class")
    longest = max((link.latency for link in config.links), default=0)
    if router.link_ports * (longest + 2) + 2 * router.local_ports > MAX_BUFFERED_FLITS:
        raise InputError(
            f"links of {longest} cycles; links of the hardware's router hold {MAX_BUFFERED_FLITS} flits in total, so "
            f"{router.link_ports} of them must be shorter than {MAX_BUFFERED_FLITS // router.link_ports} cycles"
        )
    masks = [mask for of_message_class in router.vc_mask for mask in of_message_class]
    bits = sum(mask << i * router.virtual_channels for i, mask in enumerate(masks))
    parameters: dict[str, int | str] = {
        "LinkPorts": router.link_ports,
        "LocalPorts": router.local_ports,
        "Vcs": router.virtual_channels,
        "BufferFlits": router.buffer_flits,
        "LocalBufferFlits": router.local_buffer_flits,
        "Nodes": config.nodes,
        "MessageClasses": len(router.vc_mask),
        "RouteClasses": len(router.vc_mask[0]),
        "VcMask": f"{len(masks) * router.virtual_channels}'h{bits:x}",
        "DestinationLsb": router.header.destination_lsb,
        "UnitMask": f"64'h{router.header.unit_mask:x}",
    }
    flits, cycles = rates.pop() if rates else (1, 1)
    if flits < cycles:
        parameters |= {"RateFlits": flits, "RateCycles": cycles}
    if router.flow.name == "credits":
        parameters |= {"PeerFlits": router.buffer_flits, "LocalPeerFlits": router.local_buffer_flits}
    else:
        parameters |= {"Credits": 0, "MarginFlits": router.margin_flits}
    return parameters


def unit_parameters(config: FabricConfig, pairs: Pairs | None = None) -> dict[str, int | str]:
    """The parameters of tw_collective_unit for a cluster's nodes. `pairs`: the operators of its lanes; None: all operators.

    A row has the edges that the communicator of all hosts needs, and a few more for trees that avoid a failed link.
    Loading a row that needs more fails.
    """
    from thalweg.systems.mpi_fpga import _sim

    router, collective = config.router, config.collective
    sizes = _sim.UnitSizes(collective, router.link_ports)
    hosts = config.nodes - config.switches
    doublings = max(1, (hosts - 1).bit_length())
    by_rank = collective.trees.name == "by_rank"
    ports = router.local_ports - 1
    fillers = 3 * doublings - 2  # processes that fill stages of a scan, the maximum of all collectives
    if by_rank:
        edges = min(MAX_EDGES, max(2 * doublings, ports))
    else:
        edges = max(_edges(config), min(MAX_EDGES, router.link_ports + 2 * doublings))
    parameters: dict[str, int | str] = {
        "Links": router.link_ports,
        "Ports": ports,
        "Units": collective.aggregation_units,
        "Rows": collective.contexts,
        "Entries": collective.operations_in_flight,
        "Edges": edges,
        "Roots": hosts,
        "Stages": min(64, 4 * (doublings + 1)),
        "StageEntries": 2 * -(-fillers // collective.aggregation_units),
        "Vcs": router.virtual_channels,
        "SlotFlits": sizes.slot,
        "BankFlits": collective.contexts * edges * sizes.slot,
        "SlotPackets": collective.slot_packets,
        "Batch": sizes.credit_batch,
        "ShortestSize": sizes.shortest_packet.bit_length() - 1,
        "PacketSize": collective.packet_flits.bit_length() - 1,
        "LongestSize": collective.long_packet_flits.bit_length() - 1,
        "Words": sizes.queue,
        "HostPackets": collective.slot_packets,
        "Latency": collective.lane_latency,
        "Classes": len(router.vc_mask[-1]),
        "Nodes": config.nodes,
        "RelayFlits": collective.relay_flits,
        "RoomBits": sizes.host_queue.bit_length(),
    }
    if router.flow.name == "credits":
        parameters["PeerFlits"] = router.local_buffer_flits
    else:
        parameters["Credits"] = 0
    if pairs is not None:
        bits = sum(1 << (16 * kind + op) for kind, operators in pairs.items() for op in operators)
        parameters["Pairs"] = f"512'h{bits:x}"
        own = own_bytes(pairs)
        if own:
            elements = [own.get(op, 8) for op in (Operator.USER0, Operator.USER1, Operator.USER2)]
            parameters["UserBytes"] = f"96'h{sum(size << 32 * i for i, size in enumerate(elements)):x}"
    return parameters


def _edges(config: FabricConfig) -> int:
    """The number of edges of the communicator of all hosts."""
    from thalweg.systems.mpi_fpga import _sim

    try:
        rows = _sim.Group(config, list(range(config.nodes - config.switches))).rows
    except ValueError:  # a node would need more edges than a row can have
        return MAX_EDGES
    return max(row.used.bit_length() for _, row in rows)


def own_bytes(pairs: Pairs) -> dict[Operator, int]:
    """The user's own operators in `pairs`, with the bytes of their elements. Raises InputError if an operator has several sizes."""
    own: dict[Operator, int] = {}
    for kind, operators in pairs.items():
        for op in operators:
            if op >= Operator.USER0 and own.setdefault(op, SIZE[kind]) != SIZE[kind]:
                raise InputError(
                    f"{op.name.lower()} combines elements of one size, of {own[op]} bytes, and {kind.name.lower()} has {SIZE[kind]}"
                )
    return own


def unit_library(project: Project, parameters: dict[str, int | str], waves: bool = False) -> Path:
    """The library of the collective unit with these parameters. Raises BuildError if a tool fails."""
    glue = project.root / "rtl/mpi_fpga/collective_unit.cpp"
    # A node has dozens of lanes, which are most of the unit: as a part they are compiled once. Waves leave out parts, so with waves there are fewer.
    parts = ["tw_lane"] if waves else ["tw_aggregation_unit", "tw_lane"]
    return project.build_library("tw_collective_unit", glue, parameters, waves=waves, parts=parts)


ENGINES = ("sim", "rtl", "rtl-routers")


def with_engine(cluster: Cluster, engine: str) -> Cluster:
    """The cluster with the hardware of one of the ENGINES; unchanged for an engine without RTL. Raises as in_rtl does, and InputError if
    an end of a link is reset alone, because times after such a recovery differ by cycles from the simulator's."""
    if not engine.startswith("rtl"):
        return cluster
    if any(wire.reset_at_us is not None for link in cluster.faults for wire in link):
        raise InputError(
            f"the engine {engine} does not support the reset of one end of a link: remove reset from the faults, or use the engine sim"
        )
    cluster.check_threads("RTL")
    return in_rtl(cluster, units=engine == "rtl")


def in_rtl(
    cluster: Cluster,
    compares: bool = False,
    project: Project | None = None,
    recording: Recording | None = None,
    units: bool = False,
    pairs: Pairs | None = None,
) -> Cluster:
    """A copy of the cluster with RTL routers, which are built if necessary.

    With `compares` the simulator's router runs beside each RTL router; the first difference ends the simulation with RtlDifference.
    With `units` the RTL collective unit runs beside each of the simulator's units and is compared in the same way. Its lanes have the
    operators of `pairs` (None: all, which takes minutes to compile). `project` has the sources. `recording` records the waves of one
    router, or with `units` of one unit. Raises InputError if the hardware does not support the cluster, and BuildError if a tool fails.
    """
    from thalweg import _core
    from thalweg.systems.mpi_fpga import _sim

    parameters = router_parameters(cluster.fabric_config())
    project = project or shared_libraries()
    glue = project.root / "rtl/switch/vc_router.cpp"
    of_router = None if units else recording
    library = project.build_library("tw_vc_router", glue, parameters, waves=of_router is not None)
    cluster = replace(cluster, routers=_core.RouterLibrary(str(library), compares, of_router))
    if not units:
        return cluster
    parameters = unit_parameters(cluster.fabric_config(), pairs)
    library = unit_library(project, parameters, waves=recording is not None)
    return replace(cluster, units=_sim.UnitLibrary(str(library), recording))
