# SPDX-License-Identifier: Apache-2.0
"""The top level of an exported node: rtl/mpi_fpga/top/tw_top.sv with flat port names, as tools expect for AXI."""

from __future__ import annotations

from thalweg.rtl.export import Port, Stream, flat_top
from thalweg.systems.mpi_fpga.configuration import Numbers
from thalweg.systems.mpi_fpga.limits import FLIT_BYTES

TOP = "thalweg_node"
RESULT_BITS = 115  # width of tw_node_pkg::result_t


def streams(built: Numbers) -> dict[str, list[Stream]]:
    """Returns the streams of the top, by connection."""
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
    registers = [*_registers_port(built["AddressBits"]), Port("irq", "interrupt", 1, True)]
    groups = {"PLACE FOR THE VENDOR'S PCIe BLOCK, or a processor: registers": registers}
    for what, of_place in streams(built).items():
        groups[what] = [port for stream in of_place for port in stream.ports()]
    return flat_top(
        TOP,
        "tw_top",
        "A node of the cluster, by `thalweg rtl export`: see README.md for its connections. All ports belong to aclk.",
        {"aclk": ".clk_i(aclk)", "aresetn": ".rst_i(!aresetn)"},
        groups,
    )
