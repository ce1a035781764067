"""A node of a cluster as a folder of hardware that stands by itself: `thalweg rtl export` (docs/export.md).

What is generated is the package of the cluster's parameters, the register block, a top whose ports have flat names, and what software
writes into the registers; all else is copied.
"""

from __future__ import annotations

import csv
import re
import shutil
import string
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thalweg.cluster import FLIT_BYTES, MOST_FAULTY_LATENCY, Cluster
from thalweg.errors import InputError
from thalweg.routing import KEEP_CLASS, NO_ROUTE
from thalweg.rtl import RTL_FOLDERS, find_root
from thalweg.rtl_engine import router_parameters, unit_parameters
from thalweg.spec import SIZE, Algorithm, Collective, Datatype, Descriptor, Kind, NetworkHeader, Operator

if TYPE_CHECKING:
    from systemrdl.node import AddrmapNode

    from thalweg._sim import FabricConfig, Row
    from thalweg.rtl_engine import Pairs

TOP = "thalweg_node"
RESULT_BITS = 115  # of tw_node_pkg::result_t

# Fields of an entry of the routing table, by the bit where they start: rtl/top/tw_registers.rdl.
LAST_LINK, KEEP, ROUTE_CLASS, FIRST_CHANNEL, REACHABLE = 6, 7, 8, 12, 31


@dataclass(frozen=True)
class Numbers:
    """What the hardware of a cluster's nodes is built with, by the names of tw_cluster_pkg."""

    values: dict[str, int | str]

    def __getitem__(self, name: str) -> int:
        return int(self.values[name])

    def with_address_bits(self, bits: int) -> Numbers:
        """With the width of the registers' addresses, which is known when they are generated."""
        return Numbers({**self.values, "AddressBits": bits})


#: What tw_collective_unit has beside the parameters that it shares with the router and the node's ports.
OF_UNIT = (
    "Units",
    "Rows",
    "Places",
    "Edges",
    "Roots",
    "Stages",
    "StagePlaces",
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
    """Those of the cluster's nodes, every link with a replay; `pairs`: the operators of its lanes (None: all).

    Raises InputError where there is no such hardware.
    """
    from thalweg import _sim

    if cluster.link_latency > MOST_FAULTY_LATENCY:
        raise InputError(
            f"a link of {cluster.link_latency} cycles; a replay covers {MOST_FAULTY_LATENCY} at most: link.latency_ns of {cluster.name}"
        )
    config = cluster.fabric_config()
    router = config.router
    window = _sim.replay_window(cluster.link_latency)
    credits = router.flow.name == "credits"
    margin = max(router.margin_flits, window - 1)
    if not credits and margin >= router.buffer_flits:
        raise InputError(
            f"a virtual channel has {router.buffer_flits} flits, and with a replay of {window} on its link is stopped at {margin} "
            f"free ones: router.port_buffer_bytes of {cluster.name} should be at least "
            f"{(margin + 1) * FLIT_BYTES * router.virtual_channels}"
        )
    of_router = router_parameters(config)
    frame_bits = _sim.frame_bits(config)
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
        "Window": window,
        "DownCycles": config.faults.silence,
        "CountBits": router.buffer_flits.bit_length(),
        "FrameBits": frame_bits,
        "FrameBytes": -(-frame_bits // 8),
    }
    of_unit = unit_parameters(config, pairs)
    values |= {name: of_unit[name] for name in OF_UNIT}
    values["Pairs"] = of_unit.get("Pairs", "tw_reduce_pkg::all_pairs()")
    values["HostFlits"] = _sim.UnitSizes(config.collective, router.link_ports).host_queue
    values["StorePlaces"] = 2 * config.collective.contexts * config.collective.operations_in_flight
    values["StoreFlits"] = config.collective.long_packet_flits
    return Numbers(values)


def table(cluster: Cluster) -> NDArray[np.uint32]:
    """(nodes, nodes), row node, column destination: what is written into the node's routing table."""
    routes = cluster.routes
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
    """What software writes into a register, by its name in tw_registers.rdl; fields that are not named get 0."""

    register: str
    fields: dict[str, int]


def unit_writes(cluster: Cluster, built: Numbers) -> Iterator[tuple[int, Write]]:
    """What software tells each node's collective unit before the first operation, node by node: its peers, the relay's ways, and the
    communicator of all hosts as row 0. Raises InputError where that has more edges than the hardware."""
    from thalweg import _sim

    config, routes = cluster.fabric_config(), cluster.routes
    peer, peer_port = cluster.topology.peer, cluster.topology.peer_port
    rows = dict(_sim.Group(config, list(range(cluster.topology.hosts))).rows)

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
                f"the communicator of all hosts has an edge {used.bit_length() - 1} at node {node} of {cluster.name}, and a row {built['Edges']} edges"
            )
        yield from _row_writes(config, node, rows[node], 0)

    for node in range(cluster.topology.nodes):
        yield from ((node, write) for write in of_node(node))


def _row_writes(config: FabricConfig, node: int, row: Row, number: int) -> Iterator[Write]:
    from thalweg import _sim

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


def export(cluster: Cluster, output: Path, pairs: Pairs | None = None) -> None:
    """Writes the folder `output`, which is not there yet or empty, whole or not at all. Raises InputError.

    `pairs`: the operators of the collective unit's lanes, by type; None: all.
    """
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InputError(f"{str(output)!r} is there already; give --output a folder that is not, or an empty one")
    if not output.absolute().parent.is_dir():
        raise InputError(f"{str(output)!r} cannot be written: there is no directory {str(output.absolute().parent)!r}")
    root = find_root()
    built = numbers(cluster, pairs)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "export"
        _write(root, cluster, built, folder, pairs)
        try:
            shutil.copytree(folder, output, dirs_exist_ok=True)
        except OSError as error:
            raise InputError(f"{str(output)!r} cannot be written: {error.strerror or error}") from None


def _write(root: Path, cluster: Cluster, built: Numbers, folder: Path, pairs: Pairs | None) -> None:
    rtl = folder / "rtl"
    rtl.mkdir(parents=True)
    copied = needed(root, "tw_top")
    for path in copied:
        shutil.copy(path, rtl)
    package, top = rtl / "tw_cluster_pkg.sv", rtl / f"{TOP}.sv"
    registers = folder / "registers"
    map_ = _write_registers(root, built, registers, rtl)
    built = built.with_address_bits(int((map_.total_size - 1).bit_length()))
    package.write_text(_package(cluster, built))
    top.write_text(_top(built))

    names = [path.name for path in copied]
    packages = [name for name in names if name.endswith("_pkg.sv")]
    modules = [name for name in names if name not in packages]
    files = [*packages, package.name, "tw_registers_pkg.sv", "tw_registers.sv", *modules, top.name]
    (folder / "files.f").write_text("".join(f"rtl/{name}\n" for name in files))
    (folder / "lint.vlt").write_text((root / "rtl/lint.vlt").read_text() + (root / "rtl/top/registers.vlt").read_text())
    (folder / f"{TOP}.core").write_text(_core(cluster, files))

    tables = folder / "tables"
    tables.mkdir()
    with (tables / "routes.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("node", "destination", "entry"))
        for node, entries in enumerate(table(cluster)):
            rows.writerows((node, destination, f"0x{entry:08x}") for destination, entry in enumerate(entries.tolist()))
    with (tables / "unit.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("node", "register", "address", "value"))
        for node, write in unit_writes(cluster, built):
            address, value = _word(map_, write)
            rows.writerow((node, write.register, f"0x{address:05x}", f"0x{value:08x}"))
    with (tables / "links.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("node_a", "port_a", "node_b", "port_b"))
        rows.writerows(cluster.topology.links.tolist())

    (folder / "README.md").write_text(_readme(root, cluster, built, map_, pairs))
    for name in ("LICENSE", "docs/packets.md"):
        shutil.copy(root / name, folder)


def needed(root: Path, top: str) -> list[Path]:
    """The files of `top` and of every module and package of the hardware that it names, packages in front of who uses them."""
    there = {path.stem: path for part in (*RTL_FOLDERS, "rtl/top") for path in (root / part).glob("tw_*.sv")}
    found: dict[str, Path] = {}

    def add(name: str) -> None:
        if name in found or name not in there:
            return
        text = re.sub(r"//[^\n]*", "", there[name].read_text())
        for other in dict.fromkeys(re.findall(r"\btw_\w+", text)):
            if other != name:
                add(other)
        found[name] = there[name]

    add(top)
    return list(found.values())


def _package(cluster: Cluster, built: Numbers) -> str:
    lines = [
        f"// The numbers of the nodes of {Path(cluster.name).stem}, by `thalweg rtl export`. Those of a router are tw_vc_router's, those of a",
        "// link tw_link's, those from Units on tw_collective_unit's and tw_unit's; AddressBits are the registers'.",
        "package tw_cluster_pkg;",
    ]
    for name, value in built.values.items():
        if name == "VcMask":
            kind = "logic [MessageClasses*RouteClasses*Vcs-1:0]"
        elif name == "Pairs":
            kind = "tw_reduce_pkg::pairs_t"
        else:
            kind = "bit" if name == "Credits" else "int unsigned"
        lines.append(f"  localparam {kind} {name} = {value};")
    return "\n".join([*lines, "endpackage", ""])


def _word(map_: AddrmapNode, write: Write) -> tuple[int, int]:
    """Address and value."""
    from systemrdl.node import RegNode

    register = map_.find_by_path(write.register)
    assert isinstance(register, RegNode), write.register
    fields = {each.inst_name: each for each in register.fields()}
    value = 0
    for name, of_field in write.fields.items():
        assert 0 <= int(of_field) < 1 << fields[name].width, f"{write.register}.{name} = {of_field}"
        value |= int(of_field) << fields[name].low
    return register.absolute_address, value


def _write_registers(root: Path, built: Numbers, registers: Path, rtl: Path) -> AddrmapNode:
    """The register map with the cluster's numbers, what PeakRDL makes of it, and its block."""
    try:
        from peakrdl_cheader.exporter import CHeaderExporter
        from peakrdl_html import HTMLExporter
        from peakrdl_regblock import RegblockExporter
        from peakrdl_regblock.cpuif.axi4lite import AXI4Lite_Cpuif_flattened
        from peakrdl_regblock.udps import ALL_UDPS
        from systemrdl.compiler import RDLCompiler
    except ImportError as error:
        raise InputError(
            f"the Python package {(error.name or '').split('.')[0]} is missing: pip install 'thalweg[export]'"
        ) from None

    source = (root / "rtl/top/tw_registers.rdl").read_text()
    chosen = {
        "NODES": built["Nodes"],
        "LINK_PORTS": built["LinkPorts"],
        "UNIT_PORTS": built["UnitPorts"],
        "VIRTUAL_CHANNELS": built["Vcs"],
        "ROWS": built["Rows"],
        "ROW_OPERATIONS": built["Places"],
        "EDGES": built["Edges"],
        "UNITS": built["Units"],
        "PLACES": built["StorePlaces"],
        "PLACE_FLITS": built["StoreFlits"],
    }
    for name, value in chosen.items():
        source, count = re.subn(rf"(longint unsigned {name} = )\d+", rf"\g<1>{value}", source)
        assert count == 1, f"tw_registers.rdl has no parameter {name}"
    registers.mkdir()
    file = registers / "tw_registers.rdl"
    file.write_text(source)

    compiler = RDLCompiler()
    for property_ in ALL_UDPS:
        compiler.register_udp(property_)
    compiler.compile_file(str(file))
    design = compiler.elaborate()
    RegblockExporter().export(design, str(rtl), cpuif_cls=AXI4Lite_Cpuif_flattened, module_name="tw_registers")
    CHeaderExporter().export(design, str(registers / "tw_registers.h"))
    HTMLExporter().export(design, str(registers / "html"))
    return design.top


# --- The top: rtl/top/tw_top.sv with a name for each port, as tools expect those of AXI


@dataclass(frozen=True)
class Stream:
    """An AXI4-Stream of the top, and the wires of tw_top behind it."""

    name: str
    inner: str  #: wires are {inner}_valid and so on
    data: int  #: bits
    ready: bool = True
    last: bool = True
    beside: dict[str, tuple[str, int]] = field(default_factory=dict)  #: further signals: that of tw_top, and bits

    @property
    def sends(self) -> bool:
        return self.name.startswith("m_")

    def ports(self) -> Iterator[Port]:
        yield Port(f"{self.name}_tvalid", f"{self.inner}_valid", 1, self.sends)
        if self.ready:
            yield Port(f"{self.name}_tready", f"{self.inner}_ready", 1, not self.sends)
        yield Port(f"{self.name}_tdata", f"{self.inner}_data", self.data, self.sends)
        if self.last:
            yield Port(f"{self.name}_tlast", f"{self.inner}_last", 1, self.sends)
        for name, (inner, bits) in self.beside.items():
            yield Port(f"{self.name}_{name}", f"{self.inner}_{inner}", bits, self.sends)


@dataclass(frozen=True)
class Port:
    """A port of the top, and that of tw_top, without its ending, which it is or is one of."""

    name: str
    inner: str
    bits: int
    is_output: bool

    def __str__(self) -> str:
        kind = f"{'output' if self.is_output else 'input '} wire"
        return f"{kind} {f'[{self.bits - 1}:0] ' if self.bits > 1 else ''}{self.name}"


def streams(built: Numbers) -> dict[str, list[Stream]]:
    """The streams of the top, under what attaches to them."""
    links, ports, units = (range(built[name]) for name in ("LinkPorts", "UnitPorts", "Units"))
    flit = 8 * FLIT_BYTES
    upload = {"tdest": ("process", 16), "tid": ("place", 16)}
    tag = {"tuser": ("tag", RESULT_BITS)}
    places = {
        "PLACE FOR THE VENDOR'S PCIe BLOCK, with a DMA: packets from and to the host": [
            Stream("s_axis_host", "host_in", flit),
            Stream("m_axis_host", "host_out", flit),
        ],
        "PLACE FOR THE VENDOR'S PCIe BLOCK, with a DMA: collectives": [
            Stream("s_axis_upload", "upload", flit, beside=upload),
            Stream("m_axis_free", "free", 16, last=False),
            *(Stream(f"m_axis_result{i}", "result", flit, beside=tag) for i in units),
            Stream("m_axis_ended", "ended", 16, last=False),
        ],
        "PLACE FOR THE VENDOR'S PCIe BLOCK, with a DMA: packets of all-to-alls": [
            *(Stream(f"s_axis_personal{i}", "personal_in", flit) for i in ports),
            *(Stream(f"m_axis_personal{i}", "personal_out", flit) for i in ports),
            *(Stream(f"m_axis_announced{i}", "announced", 24, last=False) for i in links),
        ],
    }
    for i in links:
        places[f"PLACE FOR THE VENDOR'S TRANSCEIVER of link {i}: frames"] = [
            Stream(f"m_axis_link{i}", "link_out", 8 * built["FrameBytes"], last=False),
            Stream(f"s_axis_link{i}", "link_in", 8 * built["FrameBytes"], ready=False, last=False),
        ]
    return places


def _registers_port(address_bits: int) -> list[Port]:
    """AXI4-Lite."""
    wires = (
        ("awvalid", 1, False),
        ("awready", 1, True),
        ("awaddr", address_bits, False),
        ("awprot", 3, False),
        ("wvalid", 1, False),
        ("wready", 1, True),
        ("wdata", 32, False),
        ("wstrb", 4, False),
        ("bvalid", 1, True),
        ("bready", 1, False),
        ("bresp", 2, True),
        ("arvalid", 1, False),
        ("arready", 1, True),
        ("araddr", address_bits, False),
        ("arprot", 3, False),
        ("rvalid", 1, True),
        ("rready", 1, False),
        ("rdata", 32, True),
        ("rresp", 2, True),
    )
    return [Port(f"s_axil_{name}", f"axil_{name}", bits, is_output) for name, bits, is_output in wires]


def _top(built: Numbers) -> str:
    groups = {"PLACE FOR THE VENDOR'S PCIe BLOCK, or a processor: registers": _registers_port(built["AddressBits"])}
    for what, of_place in streams(built).items():
        groups[what] = [port for stream in of_place for port in stream.ports()]
    inner: dict[tuple[str, bool], list[str]] = {}
    for ports in groups.values():
        for port in ports:
            inner.setdefault((port.inner, port.is_output), []).append(port.name)
    declared = ["    input  wire aclk", "    input  wire aresetn"]
    for what, ports in groups.items():
        first, *others = (f"    {port}" for port in ports)
        declared += [f"\n    // {what}\n{first}", *others]
    joined = [
        f"      .{name}_{'o' if is_output else 'i'}({', '.join(reversed(names)).join('{}' if len(names) > 1 else ('', ''))})"
        for (name, is_output), names in inner.items()
    ]
    return "\n".join(
        [
            "// A node of the cluster, by `thalweg rtl export`: README.md says what attaches where. All ports belong to aclk.",
            f"module {TOP} (",
            ",\n".join(declared),
            ");",
            "  tw_top top (",
            ",\n".join(["      .clk_i(aclk)", "      .rst_i(!aresetn)", *joined]),
            "  );",
            "endmodule",
            "",
        ]
    )


def _core_name(cluster: Cluster) -> str:
    return re.sub(r"[^a-z0-9]+", "-", Path(cluster.name).stem.lower()).strip("-")


def _core(cluster: Cluster, files: list[str]) -> str:
    """For FuseSoC: CAPI2."""
    return "\n".join(
        [
            "CAPI=2:",
            f"name: thalweg:node:{_core_name(cluster)}:{metadata.version('thalweg')}",
            f"description: A node of the cluster {Path(cluster.name).stem}",
            "filesets:",
            "  rtl:",
            "    file_type: systemVerilogSource",
            "    files:",
            *(f"      - rtl/{file}" for file in files),
            "  waivers:",
            "    file_type: vlt",
            "    files:",
            "      - lint.vlt",
            "targets:",
            "  default: &default",
            "    filesets: [rtl]",
            f"    toplevel: {TOP}",
            "  lint:",
            "    <<: *default",
            "    filesets: [rtl, waivers]",
            "    flow: lint",
            "    flow_options:",
            "      tool: verilator",
            "      verilator_options: [-Wall]",
            "",
        ]
    )


def _readme(root: Path, cluster: Cluster, built: Numbers, map_: AddrmapNode, pairs: Pairs | None) -> str:
    from thalweg import _sim

    template = string.Template((root / "rtl/top/README.template.md").read_text())
    links = built["LinkPorts"]
    collectives = (root / "docs/collectives.md").read_text()
    processes = collectives[collectives.index("| collective | processes at a rank |") :].split("\n\n", 1)[0]
    return template.substitute(
        {name: str(value) for name, value in built.values.items()},
        cluster=Path(cluster.name).stem,
        nodes=cluster.topology.nodes,
        last_link=links - 1,
        last_port=built["UnitPorts"] - 1,
        last_unit=built["Units"] - 1,
        mhz=f"{cluster.values.clock.frequency_mhz:g}",
        latency=cluster.link_latency,
        processes=processes,
        gbps=f"{built['FrameBits'] * cluster.cycles_per_second / 1e9:.1f}",
        core=_core_name(cluster),
        reach=_sim.replay_reach(built["Window"]),
        slots_mb=_megabytes(2 * links * built["BankFlits"]),
        stages_mb=_megabytes(
            2 * built["Units"] * built["Rows"] * built["Places"] * built["StagePlaces"] * built["SlotFlits"]
        ),
        combined="all that `packets.md` says" if pairs is None else _combined(pairs),
        **_example(cluster, map_, built, pairs),
    )


def _megabytes(flits: int) -> str:
    return f"{flits * FLIT_BYTES / 1e6:.3g}"


def _combined(pairs: Pairs) -> str:
    return ", ".join(f"{op.name.lower()} of {kind.name.lower()}" for kind, ops in pairs.items() for op in ops)


def _example(cluster: Cluster, map_: AddrmapNode, built: Numbers, pairs: Pairs | None) -> dict[str, str]:
    """An allreduce by exchange: what software writes, and the packets of a rank."""
    kind, operators = next(iter((pairs or {Datatype.FLOAT64: [Operator.SUM]}).items()))
    operator = next(iter(operators))
    collective, algorithm = Collective.ALLREDUCE, Algorithm.EXCHANGE
    words = (
        Write(
            "unit.operation.kind",
            {
                "collective": collective,
                "algorithm": algorithm,
                "operator": operator,
                "datatype": kind,
                "size": SIZE[kind].bit_length() - 1,
                "shortest": built["PacketSize"],
                "longest": built["PacketSize"],
                "asks": 1,
            },
        ),
        Write("unit.operation.root", {}),
        Write("unit.operation.streams", {"together": 1, "burst": 1}),
        Write("unit.operation.start", {"operation": 0}),
    )
    descriptor = Descriptor(
        operation=operator,
        algorithm=algorithm,
        collective=collective,
        type=kind,
        ranks=cluster.topology.hosts,
        count=1,
    )
    data = NetworkHeader(operation=operator, algorithm=algorithm, collective=collective, kind=Kind.DATA, last=True)
    lines = ["| register | address | value |", "|---|---|---|"]
    for write in words:
        address, value = _word(map_, write)
        lines.append(f"| `{write.register}` | 0x{address:05x} | 0x{value:08x} |")
    packets = "".join(
        f"    {packet.hex(' ', 8)}\n" for packet in (descriptor.pack(), data.pack().ljust(FLIT_BYTES, b"\0"))
    )
    return {
        "example": f"an allreduce by exchange, {operator.name.lower()} of {kind.name.lower()}",
        "words": "\n".join(lines),
        "packets": packets,
    }
