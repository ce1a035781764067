# SPDX-License-Identifier: Apache-2.0
"""The top level of an exported node: rtl/mpi_fpga/top/tw_top.sv with a name for each port, as tools expect those of AXI; its core file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.configuration import Numbers
from thalweg.systems.mpi_fpga.limits import FLIT_BYTES

TOP = "thalweg_node"
RESULT_BITS = 115  # of tw_node_pkg::result_t


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


def top_level(built: Numbers) -> str:
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
            "// SPDX-License-Identifier: Apache-2.0",
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


def core_name(cluster: Cluster) -> str:
    return re.sub(r"[^a-z0-9]+", "-", Path(cluster.name).stem.lower()).strip("-")


def core(cluster: Cluster, files: list[str]) -> str:
    """For FuseSoC: CAPI2."""
    return "\n".join(
        [
            "CAPI=2:",
            f"name: thalweg:node:{core_name(cluster)}:{metadata.version('thalweg')}",
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
