# SPDX-License-Identifier: Apache-2.0
"""Parameters of a cluster's nodes in hardware, and the register contents written by software (docs/export.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thalweg.errors import InputError
from thalweg.route.routes import KEEP_CLASS, NO_ROUTE
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.limits import FLIT_BYTES, MAX_FAULTY_LATENCY
from thalweg.systems.mpi_fpga.rtl_engine import router_parameters, unit_parameters

if TYPE_CHECKING:
    from systemrdl.node import AddrmapNode

    from thalweg.systems.mpi_fpga._sim import FabricConfig, Row
    from thalweg.systems.mpi_fpga.rtl_engine import Pairs

# bit offsets of the fields in an entry of the routing table: rtl/mpi_fpga/top/tw_registers.rdl
LAST_LINK, KEEP, ROUTE_CLASS, FIRST_CHANNEL, REACHABLE = 6, 7, 8, 12, 31


@dataclass(frozen=True)
class Numbers:
    """Parameters of the nodes' hardware, named as in tw_cluster_pkg."""

    values: dict[str, int | str]

    def __getitem__(self, name: str) -> int:
        return int(self.values[name])

    def with_address_bits(self, bits: int) -> Numbers:
        """Returns a copy with the width of register addresses, which is known when registers are generated."""
        return Numbers({**self.values, "AddressBits": bits})


#: parameters of tw_collective_unit other than those shared with the router and the node's ports
OF_UNIT = (
    "Units",
    "Rows",
    "Entries",
    "Edges",
    "Roots",
    "Stages",
    "StageEntries",
    "SlotFlits",
    "BankFlits",
    "SlotPackets",
    "Batch",
    "ShortestSize",
    "PacketSize",
    "LongestSize",
    "Words",
    "HostPackets",
    "Latency",
    "RelayFlits",
    "RoomBits",
)


def numbers(cluster: Cluster, pairs: Pairs | None = None) -> Numbers:
    """Returns the parameters of the cluster's nodes, with a replay on every link. `pairs` are the operators of the lanes
    (None: all).

    Raises InputError if there is no such hardware.
    """
    from thalweg import _core
    from thalweg.systems.mpi_fpga import _sim

    if cluster.link_latency > MAX_FAULTY_LATENCY:
        raise InputError(
            f"a link of {cluster.link_latency} cycles; the maximum of a replay is {MAX_FAULTY_LATENCY}: reduce link.latency_ns of {cluster.name}"
        )
    config = cluster.fabric_config()
    router = config.router
    window = _core.replay_window(cluster.link_latency)
    credits = router.flow.name == "credits"
    margin = max(router.margin_flits, window - 1)
    if not credits and margin >= router.buffer_flits:
        raise InputError(
            f"a virtual channel has {router.buffer_flits} flits, and with a replay of {window} on its link is stopped at {margin} "
            f"free ones: router.port_buffer_bytes of {cluster.name} should be at least "
            f"{(margin + 1) * FLIT_BYTES * router.virtual_channels}"
        )
    of_router = router_parameters(config)
    frame_bits = _core.frame_bits(config)
    values: dict[str, int | str] = {
        "LinkPorts": router.link_ports,
        "UnitPorts": router.local_ports - 1,
        "Vcs": router.virtual_channels,
        "BufferFlits": router.buffer_flits,
        "LocalBufferFlits": router.local_buffer_flits,
        "Credits": int(credits),
        "MarginFlits": 0 if credits else margin,
        "LocalMarginFlits": 0 if credits else 3,
        "RateFlits": of_router.get("RateFlits", 1),
        "RateCycles": of_router.get("RateCycles", 1),
        "Nodes": config.nodes,
        "MessageClasses": of_router["MessageClasses"],
        "RouteClasses": of_router["RouteClasses"],
        "VcMask": of_router["VcMask"],
        "DestinationLsb": of_router["DestinationLsb"],
        "UnitMask": of_router["UnitMask"],
        "Window": window,
        "DownCycles": config.faults.silence,
        "CountBits": router.buffer_flits.bit_length(),
        "FrameBits": frame_bits,
        "FrameBytes": -(-frame_bits // 8),
    }
    of_unit = unit_parameters(config, pairs)
    values |= {name: of_unit[name] for name in OF_UNIT}
    values["Pairs"] = of_unit.get("Pairs", "tw_reduce_pkg::all_pairs()")
    values["UserBytes"] = of_unit.get("UserBytes", "{3{32'd8}}")
    values["HostFlits"] = _sim.UnitSizes(config.collective, router.link_ports).host_queue
    values["StoreEntries"] = 2 * config.collective.contexts * config.collective.operations_in_flight
    values["StoreFlits"] = config.collective.long_packet_flits
    return Numbers(values)


def table(cluster: Cluster) -> NDArray[np.uint32]:
    """Returns the contents of the nodes' routing tables as an array (nodes, nodes), row node, column destination."""
    routes = cluster.tables
    firsts = [(mask & -mask).bit_length() - 1 for mask in cluster.vc_mask(routes, collectives=True)[0]]
    peer = cluster.topology.peer
    reachable = routes.port != NO_ROUTE
    port = np.where(reachable, routes.port, 0).astype(np.uint32)
    keeps = routes.route_class == KEEP_CLASS
    last = np.take_along_axis(peer, port.astype(np.intp), axis=1) == np.arange(routes.nodes)
    entries = (
        port
        | (last & reachable).astype(np.uint32) << LAST_LINK
        | keeps.astype(np.uint32) << KEEP
        | np.where(keeps, 0, routes.route_class).astype(np.uint32) << ROUTE_CLASS
        | np.array(firsts, np.uint32)[routes.layer] << FIRST_CHANNEL
        | reachable.astype(np.uint32) << REACHABLE
    )
    return np.asarray(entries, np.uint32)


@dataclass(frozen=True)
class Write:
    """A register write by software; registers are named as in tw_registers.rdl, and unnamed fields are 0."""

    register: str
    fields: dict[str, int]


def unit_writes(cluster: Cluster, built: Numbers) -> Iterator[tuple[int, Write]]:
    """Yields the initial register writes of each node's collective unit.

    They define its peers, the relay's routes, and the communicator of all hosts as row 0. Raises InputError if that has
    more edges than the hardware.
    """
    from thalweg.systems.mpi_fpga import _sim

    config, routes = cluster.fabric_config(), cluster.tables
    peer, peer_port = cluster.topology.peer, cluster.topology.peer_port
    try:
        rows = dict(_sim.Group(config, list(range(cluster.topology.hosts))).rows)
    except ValueError as error:
        raise InputError(f"the communicator of all hosts of {cluster.name}: {error}") from None

    def of_node(node: int) -> Iterator[Write]:
        for link, other in enumerate(peer[node].tolist()):
            if other >= 0:
                far = {
                    "node": other,
                    "port": int(peer_port[node, link]),
                    "channel": _sim.unit_channel(config, node, other),
                }
                yield Write("unit.peer.far", far)
                yield Write("unit.peer.write", {"link": link})
        for to, (port, route_class) in enumerate(_sim.relay_ways(config, node)):
            if to == node or port == NO_ROUTE:
                continue
            keeps = route_class == KEEP_CLASS
            entry = {"port": port, "keep_class": keeps, "route_class": 0 if keeps else route_class}
            yield Write(f"relay.entry[{to}]", {**entry, "layer": int(routes.layer[node, to]), "reachable": 1})
        if node not in rows:
            return
        used = rows[node].used
        if used >> built["Edges"]:
            raise InputError(
                f"the communicator of all hosts has an edge {used.bit_length() - 1} at node {node} of {cluster.name}, but rows have {built['Edges']} edges"
            )
        yield from _row_writes(config, node, rows[node], 0)

    for node in range(cluster.topology.nodes):
        yield from ((node, write) for write in of_node(node))


def _row_writes(config: FabricConfig, node: int, row: Row, number: int) -> Iterator[Write]:
    from thalweg.systems.mpi_fpga import _sim

    for index, edge in enumerate(row.edges):
        if not row.used >> index & 1:
            continue
        channel = _sim.unit_channel(config, node, edge.neighbour)
        link = _sim.unit_last_link(config, edge.neighbour, node)
        far = {"neighbour": edge.neighbour, "there": edge.there, "channel": channel}
        yield Write("unit.tree_edge.far", far)
        yield Write("unit.tree_edge.labels", {"first": edge.first, "behind": edge.behind})
        yield Write("unit.tree_edge.write", {"row": number, "index": index, "link": link})
    yield Write("unit.row.shape", {"has_rank": row.has_rank})
    yield Write("unit.row.ranks", {"count": row.ranks, "own": row.rank & 0xFFFF})
    yield Write("unit.row.labels", {"own": row.label, "below": row.below})
    yield Write("unit.row.up", {"edges": row.up})
    yield Write("unit.row.down", {"edges": row.down})
    yield Write("unit.row.exchange", {"stages": len(row.stages), "beyond": row.beyond})
    yield Write("unit.row.fold", {"edges": row.fold})
    for index, stage in enumerate(row.stages):
        yield Write(f"unit.row.peers[{index}]", {"edges": stage.peers})
        yield Write(f"unit.row.place[{index}]", {"index": stage.place})
    for index, edges in enumerate(row.doubling):
        if edges:
            yield Write(f"unit.row.doubling[{index}]", {"edges": edges})
    yield Write("unit.row.write", {"row": number})


def word(map_: AddrmapNode, write: Write) -> tuple[int, int]:
    """Returns address, from the register map, and value of a write."""
    from systemrdl.node import RegNode

    register = map_.find_by_path(write.register)
    assert isinstance(register, RegNode), write.register
    fields = {each.inst_name: each for each in register.fields()}
    value = 0
    for name, of_field in write.fields.items():
        assert 0 <= int(of_field) < 1 << fields[name].width, f"{write.register}.{name} = {of_field}"
        value |= int(of_field) << fields[name].low
    return register.absolute_address, value
