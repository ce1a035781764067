# SPDX-License-Identifier: Apache-2.0
"""`thalweg rtl export`: a hub of a cluster as a self-contained folder of hardware (docs/export.md)."""

from __future__ import annotations

import shutil
import string
from pathlib import Path

from thalweg.resources import find_root
from thalweg.rtl.export import (
    Port,
    Stream,
    cluster_package,
    compiled,
    core_name,
    flat_top,
    into,
    needed,
    write_project,
    write_table,
)
from thalweg.spec import PcieMemoryWrite
from thalweg.systems.peach2 import _sim
from thalweg.systems.peach2.cluster import Cluster, pair_of
from thalweg.systems.peach2.routes import LINKS, register_of
from thalweg.systems.peach2.rtl_engine import parameters

WHAT = "hub"
TOP = f"thalweg_{WHAT}"
WORD_BYTES = 32
NET, BUS = "net_aclk", "bus_aclk"


def export(cluster: Cluster, output: Path) -> None:
    """Writes the folder `output` atomically; it must be new or empty. Raises InputError."""
    root = find_root(alone=True)
    into(output, lambda folder: _write(root, cluster, folder))


def link(name: str) -> list[Port]:
    """Returns the top's ports for a link."""
    streams = (
        Stream(f"s_axis_{name}", "net_in", 8 * WORD_BYTES, ready=False, clock=NET),
        Stream(f"m_axis_{name}_credit", "net_freed", 8, ready=False, last=False, clock=NET),
        Stream(f"m_axis_{name}", "net_out", 8 * WORD_BYTES, ready=False, clock=NET),
        Stream(f"s_axis_{name}_credit", "net_credit", 8, ready=False, last=False, clock=NET),
    )
    return [port for stream in streams for port in stream.ports()]


CONSTANT = [Port("requester_id", "own", 16, False, "constant"), Port("base_gbyte", "base", 9, False, "constant")]
MEMORY = [
    Port("mem_valid", "memory_valid", 1, True, BUS),
    Port("mem_ready", "memory_ready", 1, False, BUS),
    Port("mem_write", "memory_write", 1, True, BUS),
    Port("mem_address", "memory_address", 25, True, BUS),
    Port("mem_wdata", "memory_data", 128, True, BUS),
    Port("mem_wstrb", "memory_enable", 16, True, BUS),
    Port("mem_rvalid", "memory_reply_valid", 1, False, BUS),
    Port("mem_rdata", "memory_reply_data", 128, False, BUS),
]


def top_level() -> str:
    to = {"north": "the host", **{name: f"the {name}" for name in LINKS[1:]}}
    return flat_top(
        TOP,
        "tw_top",
        "A hub of the cluster, by `thalweg rtl export`: see README.md for its connections.",
        {NET: f".net_clk_i({NET})", BUS: f".bus_clk_i({BUS})", "aresetn": ".rst_i(!aresetn)"},
        {
            "Constant": CONSTANT,
            **{
                f"PLACE FOR THE VENDOR'S PCIe BLOCK to {to[name]}: packets and credits; {NET}": link(name)
                for name in LINKS
            },
            f"PLACE FOR THE VENDOR'S MEMORY CONTROLLER; {BUS}": MEMORY,
        },
    )


def _write(root: Path, cluster: Cluster, folder: Path) -> None:
    rtl = folder / "rtl"
    rtl.mkdir(parents=True)
    copied = needed(root, "peach2", "tw_top")
    for path in copied:
        shutil.copy(path, rtl)
    package, top = rtl / "tw_cluster_pkg.sv", rtl / f"{TOP}.sv"
    kinds = {"Pairs": "tw_reduce_pkg::pairs_t"}
    package.write_text(
        cluster_package(
            [f"The numbers of the hubs of {Path(cluster.name).stem}, by `thalweg rtl export`. They are tw_hub's."],
            ((kinds.get(name, "int unsigned"), name, value) for name, value in parameters(cluster).items()),
        )
    )
    top.write_text(top_level())
    files = compiled(copied, [package.name], TOP)
    clocks = {NET: cluster.net_mhz, BUS: cluster.clocks[cluster.node.bus_clock].frequency_mhz}
    write_project(root, folder, cluster.name, "peach2", WHAT, files, clocks, ["aresetn"])

    tables = folder / "tables"
    tables.mkdir()
    windows = [[register_of(window) for window in of_hub] for of_hub in cluster.windows]
    write_table(
        tables / "windows.csv",
        ("node", "register", "address", "value"),
        (
            (
                node,
                f"window[{index}]",
                f"0x{_sim.register_address(node, index):010x}",
                f"0x{upper:016x}{lower:016x}",
            )
            for node, of_hub in enumerate(windows)
            for index, (lower, upper) in enumerate(of_hub)
        ),
    )
    write_table(
        tables / "links.csv",
        ("node_a", "port_a", "node_b", "port_b"),
        ((a, LINKS[1 + port_a], b, LINKS[1 + port_b]) for a, port_a, b, port_b in cluster.topology.links.tolist()),
    )
    first = b"".join(half.to_bytes(8, "little") for half in windows[0][0])
    (folder / "README.md").write_text(_readme(root, cluster, _sim.register_address(0, 0), first))


def _readme(root: Path, cluster: Cluster, address: int, first: bytes) -> str:
    """Fills rtl/peach2/top/README.template.md. `address` and `first` are address and content of node 0's first window."""
    node = cluster.node
    header = PcieMemoryWrite(length=len(first) // 4, first_enable=15, last_enable=15, address=address // 4)
    line = bytes(address % WORD_BYTES) + first
    ports = [
        f"| `{port.name}` | {'out' if port.is_output else 'in'} | {port.bits} |"
        for port in (*CONSTANT, *link("LINK"), *MEMORY)
    ]
    pairs = (f"{pair} (operator {op:d}, type {datatype:d})" for pair in node.pairs for op, datatype in [pair_of(pair)])
    return string.Template((root / "rtl/peach2/top/README.template.md").read_text()).substitute(
        {name: str(value) for name, value in parameters(cluster).items()},
        cluster=Path(cluster.name).stem,
        core=core_name(cluster.name),
        nodes=cluster.topology.nodes,
        net_mhz=f"{cluster.net_mhz:g}",
        bus_mhz=f"{cluster.clocks[node.bus_clock].frequency_mhz:g}",
        pairs=", ".join(pairs),
        words=(5 * node.packets + node.units) // 2,
        ram_bytes=16 << node.ram_bits,
        context_bytes=f"0x{(1 << 28) // node.contexts:x}",
        record_bytes=16 * node.records,
        ports="\n".join(ports),
        packets="".join(f"    {word.ljust(WORD_BYTES, bytes(1)).hex(' ', 8)}\n" for word in (header.pack(), line)),
    )
