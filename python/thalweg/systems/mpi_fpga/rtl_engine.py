# SPDX-License-Identifier: Apache-2.0
"""The RTL engine: a cluster whose routers are the hardware's, Verilated and loaded into the simulator; and beside its collective
units those of the hardware, with the same inputs, all of whose outputs are compared.

Hosts and links are the simulator's.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.errors import InputError
from thalweg.launch import scratch
from thalweg.spec import SIZE, Operator
from thalweg.systems.mpi_fpga.limits import MOST_BUFFERED_FLITS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from thalweg._sim import FabricConfig, Recording
    from thalweg.rtl.project import Project
    from thalweg.spec import Datatype
    from thalweg.systems.mpi_fpga.cluster import Cluster

    Pairs = Mapping[Datatype, Collection[Operator]]


MOST_EDGES = 32  #: of a row


def shared_libraries(root: Path | None = None) -> Project:
    """The sources, built as code that a running process can load."""
    from thalweg.rtl.project import Project

    scratch.folder()  # has the temporary files of the tools
    project = Project(root)
    project.build /= "engine"
    return project


def router_parameters(config: FabricConfig) -> dict[str, int | str]:
    """Those of the tw_vc_router of a cluster's nodes. Raises InputError where it has none that fit."""
    router = config.router
    rates = {(link.rate_flits, link.rate_cycles) for link in config.links}
    if len(rates) > 1:
        raise InputError("the hardware's router has one rate for all of its links, and these have several")
    if len({len(of_class) for of_class in router.vc_mask}) > 1:
        raise InputError("the hardware's router has as many route classes for every message class")
    longest = max((link.latency for link in config.links), default=0)
    if router.link_ports * (longest + 2) + 2 * router.local_ports > MOST_BUFFERED_FLITS:
        raise InputError(
            f"links of {longest} cycles; those of the hardware's router hold {MOST_BUFFERED_FLITS} flits in all, so that "
            f"{router.link_ports} of them are shorter than {MOST_BUFFERED_FLITS // router.link_ports} cycles"
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
    """Those of the tw_collective_unit of a cluster's nodes. `pairs`: the operators that its lanes have; None: all.

    Rows have as many edges as the communicator of all hosts needs, with some to spare for one whose trees go around a link that
    failed; a row that needs more is refused when it is loaded.
    """
    from thalweg import _sim

    router, collective = config.router, config.collective
    sizes = _sim.UnitSizes(collective, router.link_ports)
    hosts = config.nodes - config.switches
    doublings = max(1, (hosts - 1).bit_length())
    by_rank = collective.trees.name == "by_rank"
    ports = router.local_ports - 1
    fillers = 3 * doublings - 2  # processes of a scan up to the last that fills a stage: none other has as many
    if by_rank:
        edges = min(MOST_EDGES, max(2 * doublings, ports))
    else:
        edges = max(_edges(config), min(MOST_EDGES, router.link_ports + 2 * doublings))
    parameters: dict[str, int | str] = {
        "Links": router.link_ports,
        "Ports": ports,
        "Units": collective.aggregation_units,
        "Rows": collective.contexts,
        "Places": collective.operations_in_flight,
        "Edges": edges,
        "Roots": hosts,
        "Stages": min(64, 4 * (doublings + 1)),
        "StagePlaces": 2 * -(-fillers // collective.aggregation_units),
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
    """Of the communicator of all hosts."""
    from thalweg import _sim

    try:
        rows = _sim.Group(config, list(range(config.nodes - config.switches))).rows
    except ValueError:  # some node would need more than there can be
        return MOST_EDGES
    return max(row.used.bit_length() for _, row in rows)


def own_bytes(pairs: Pairs) -> dict[Operator, int]:
    """The user's own operators among them, with the bytes of an element of each. Raises InputError where one has several sizes."""
    own: dict[Operator, int] = {}
    for kind, operators in pairs.items():
        for op in operators:
            if op >= Operator.USER0 and own.setdefault(op, SIZE[kind]) != SIZE[kind]:
                raise InputError(
                    f"{op.name.lower()} combines elements of one size, of {own[op]} bytes, and {kind.name.lower()} has {SIZE[kind]}"
                )
    return own


def unit_library(project: Project, parameters: dict[str, int | str], waves: bool = False) -> Path:
    """That of the collective unit with these parameters. Raises BuildError where a tool refuses."""
    glue = project.root / "rtl/mpi_fpga/collective_unit.cpp"
    # A node's lanes are dozens, and most of the unit. What rests by itself is not in the waves.
    parts = ["tw_lane"] if waves else ["tw_aggregation_unit", "tw_lane"]
    return project.build_library("tw_collective_unit", glue, parameters, waves=waves, parts=parts)


ENGINES = ("sim", "rtl", "rtl-routers")


def with_engine(cluster: Cluster, engine: str) -> Cluster:
    """The cluster with the hardware of one of the ENGINES; another one leaves it as it is. Raises as in_rtl does, and InputError where
    an end of a link is reset alone: after a recovery times were seen to differ by cycles from the simulator's."""
    if not engine.startswith("rtl"):
        return cluster
    if any(wire.reset_at_us is not None for link in cluster.faults for wire in link):
        raise InputError(
            f"the engine {engine} has no resets of one end of a link: leave reset out of the faults, or use the engine sim"
        )
    return in_rtl(cluster, units=engine == "rtl")


def in_rtl(
    cluster: Cluster,
    compares: bool = False,
    project: Project | None = None,
    recording: Recording | None = None,
    units: bool = False,
    pairs: Pairs | None = None,
) -> Cluster:
    """The same cluster with the hardware's routers, which are built where they have not been built yet.

    With `compares` the simulator's router runs beside each one; the first difference ends what the fabric does, as
    RtlDifference. With `units` the hardware's collective unit runs beside each of the simulator's, its lanes with the
    operators of `pairs` (None: all, whose compilation takes minutes), and is compared likewise. `project`: the sources.
    `recording`: of the waves of one router, or unit where there are units. Raises InputError where there is no such hardware, and BuildError where a tool refuses.
    """
    from thalweg import _sim

    parameters = router_parameters(cluster.fabric_config())
    project = project or shared_libraries()
    glue = project.root / "rtl/switch/vc_router.cpp"
    of_router = None if units else recording
    library = project.build_library("tw_vc_router", glue, parameters, waves=of_router is not None)
    cluster = replace(cluster, routers=_sim.RouterLibrary(str(library), compares, of_router))
    if not units:
        return cluster
    parameters = unit_parameters(cluster.fabric_config(), pairs)
    library = unit_library(project, parameters, waves=recording is not None)
    return replace(cluster, units=_sim.UnitLibrary(str(library), recording))
