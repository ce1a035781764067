# SPDX-License-Identifier: Apache-2.0
"""A top for a rank of SMI whose ports have flat names: AXI4-Stream for each endpoint's elements and opens and for each link, AXI4-Lite for
the tables. Instantiates rtl/smi/tw_node.sv (docs/smi.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from thalweg.systems.smi.cluster import Node
from thalweg.systems.smi.metadata import BYTES, Operation
from thalweg.systems.smi.routes import KINDS

ADDRESS_BITS = 16
LINK_STRIDE, RECEIVE_OFFSET, ENTRY_STRIDE = 0x1000, 0x800, 4
RANK, STRAYS, LINKS, ENDPOINTS = 0x8000, 0x8004, 0x8008, 0x800C
"""AXI4-Lite, words of 32 bits: entry i of a link's send table at link * LINK_STRIDE + 4 i, of its receive table RECEIVE_OFFSET behind;
and registers."""


@dataclass(frozen=True)
class Stream:
    """An AXI4-Stream port by its name, from outside (`s`) or to it (`m`)."""

    name: str
    bits: str
    last: bool = False
    source: bool = False

    @property
    def inward(self) -> bool:
        return self.name.startswith("s_")

    def ports(self) -> list[str]:
        there, back = ("input ", "output") if self.inward else ("output", "input ")
        width = f"[{self.bits}-1:0] "
        lines = [f"{there} logic {self.name}_tvalid", f"{back} logic {self.name}_tready"]
        lines.append(f"{there} logic {width}{self.name}_tdata")
        if self.last:
            lines.append(f"{there} logic {self.name}_tlast")
        if self.source:
            lines.append(f"{there} logic [7:0] {self.name}_tid")
        return lines


def gives(kind: str) -> bool:
    """Does a kernel give elements to such an endpoint?"""
    return kind != "pop"


def takes(kind: str) -> bool:
    return kind != "push"


def name_of(operation: Operation) -> str:
    return f"{operation.type}_{operation.port}"


def parameters(operations: Sequence[Operation], node: Node) -> dict[str, int | str]:
    """Those of tw_node."""

    def packed(width: int, values: Iterable[int]) -> str:
        whole = sum(value << number * width for number, value in enumerate(values))
        return f"{width * len(operations)}'h{whole:x}"

    return {
        "Links": node.links,
        "Endpoints": len(operations),
        "Kinds": packed(3, (KINDS.index(operation.type) for operation in operations)),
        "Ports": packed(8, (operation.port for operation in operations)),
        "Buffers": packed(16, (operation.buffer_packets for operation in operations)),
        "Sizes": packed(2, (operation.size for operation in operations)),
        "PacketBytes": node.packet_bytes,
        "Reads": node.reads,
        "Depth": node.depth,
        "Latency": node.latency,
        "Children": node.children,
        "Tile": node.tile,
        "Circuits": f"32'd{node.circuits}",
    }


def top_level(module: str, operations: Sequence[Operation], node: Node) -> str:
    """The text of the module."""
    streams: list[Stream] = []
    for link in range(node.links):
        streams += [Stream(f"s_axis_link_{link}", "PacketBits"), Stream(f"m_axis_link_{link}", "PacketBits")]
    for operation in operations:
        name, bits = name_of(operation), str(8 * BYTES[operation.data_type])
        streams.append(Stream(f"s_axis_{name}_open", "OpenBits"))
        if gives(operation.type):
            streams.append(Stream(f"s_axis_{name}", bits, last=True))
        if takes(operation.type):
            streams.append(Stream(f"m_axis_{name}", bits, source=operation.type == "pop"))
    ports = [*_FIXED, *(port for stream in streams for port in stream.ports())]

    values = parameters(operations, node)
    width = max(map(len, values))
    return _TEMPLATE.format(
        module=module,
        ports=",\n".join(f"    {port}" for port in ports),
        links=node.links,
        endpoints=len(operations),
        packet_bytes=node.packet_bytes,
        parameters=",\n".join(f"      .{name:<{width}}({value})" for name, value in values.items()),
        wires="\n".join(_wires(operations, node)),
        address_bits=ADDRESS_BITS,
    )


def _wires(operations: Sequence[Operation], node: Node) -> Iterable[str]:
    for link in range(node.links):
        yield f"  assign link_in_valid[{link}] = s_axis_link_{link}_tvalid;"
        yield f"  assign link_in_data[{link}] = s_axis_link_{link}_tdata;"
        yield f"  assign s_axis_link_{link}_tready = link_in_ready[{link}];"
        yield f"  assign m_axis_link_{link}_tvalid = link_out_valid[{link}];"
        yield f"  assign m_axis_link_{link}_tdata = link_out_data[{link}];"
        yield f"  assign link_out_ready[{link}] = m_axis_link_{link}_tready;"
    for number, operation in enumerate(operations):
        name, bits = name_of(operation), 8 * BYTES[operation.data_type]
        yield f"  assign open_valid[{number}] = s_axis_{name}_open_tvalid;"
        yield f"  assign open[{number}] = s_axis_{name}_open_tdata[$bits(open_t)-1:0];"
        yield f"  assign s_axis_{name}_open_tready = open_ready[{number}];"
        if gives(operation.type):
            yield f"  assign element_in_valid[{number}] = s_axis_{name}_tvalid;"
            yield f"  assign element_in_data[{number}] = 64'(s_axis_{name}_tdata);"
            yield f"  assign element_in_flush[{number}] = s_axis_{name}_tlast;"
            yield f"  assign s_axis_{name}_tready = element_in_ready[{number}];"
        else:
            yield f"  assign element_in_valid[{number}] = 1'b0;"
            yield f"  assign element_in_data[{number}] = '0;"
            yield f"  assign element_in_flush[{number}] = 1'b0;"
        if takes(operation.type):
            yield f"  assign m_axis_{name}_tvalid = element_out_valid[{number}];"
            yield f"  assign m_axis_{name}_tdata = element_out_data[{number}][{bits - 1}:0];"
            yield f"  assign element_out_ready[{number}] = m_axis_{name}_tready;"
            if operation.type == "pop":
                yield f"  assign m_axis_{name}_tid = element_out_source[{number}];"
        else:
            yield f"  assign element_out_ready[{number}] = 1'b0;"


_FIXED = (
    "input  logic clk_i",
    "input  logic rst_i",
    "input  logic s_axil_awvalid",
    "output logic s_axil_awready",
    f"input  logic [{ADDRESS_BITS - 1}:0] s_axil_awaddr",
    "input  logic s_axil_wvalid",
    "output logic s_axil_wready",
    "input  logic [31:0] s_axil_wdata",
    "output logic s_axil_bvalid",
    "input  logic s_axil_bready",
    "output logic [1:0] s_axil_bresp",
    "input  logic s_axil_arvalid",
    "output logic s_axil_arready",
    f"input  logic [{ADDRESS_BITS - 1}:0] s_axil_araddr",
    "output logic s_axil_rvalid",
    "input  logic s_axil_rready",
    "output logic [31:0] s_axil_rdata",
    "output logic [1:0] s_axil_rresp",
)

_TEMPLATE = """\
// SPDX-License-Identifier: Apache-2.0
// Generated by thalweg smi generate. Do not edit.
//
// A rank of SMI: endpoints for a program's operations, send and receive kernels of its links. AXI4-Stream: an endpoint's opens (open_t of
// tw_smi_pkg, zeros above), its elements (tlast: the packet leaves at once; tid: the rank that they come from), the links' packets.
// AXI4-Lite, whole words: entry i of link l's send table at 0x1000 l + 4 i, of its receive table at 0x1000 l + 0x800 + 4 i, written alone;
// the rank's own number at 0x8000; packets for ports that it has not at 0x8004, links at 0x8008, endpoints at 0x800c, read alone.
//
// Order, latency and throughput: tw_node's. Storage: its, and an address, a word and an answer of AXI4-Lite. Outputs are registers, or
// depend on registers alone. Critical path: tw_node's.

// An open's stream is padded to bytes, and not every kind of endpoint has elements both ways.
/* verilator lint_off UNUSEDSIGNAL */
module {module}
  import tw_smi_pkg::*;
#(
    localparam int unsigned PacketBits = 8 * {packet_bytes},
    localparam int unsigned OpenBits   = ($bits(open_t) + 7) / 8 * 8
) (
{ports}
);
  localparam int unsigned Links = {links};
  localparam int unsigned Endpoints = {endpoints};
  localparam int unsigned LinkBits = Links > 1 ? $clog2(Links) : 1;

  logic [Links-1:0] link_in_valid, link_in_ready, link_out_valid, link_out_ready;
  logic [Links-1:0][PacketBits-1:0] link_in_data, link_out_data;
  logic [Endpoints-1:0] open_valid, open_ready;
  open_t [Endpoints-1:0] open;
  logic [Endpoints-1:0] element_in_valid, element_in_ready, element_in_flush, element_out_valid, element_out_ready;
  logic [Endpoints-1:0][63:0] element_in_data, element_out_data;
  rank_t [Endpoints-1:0] element_out_source;
  logic [31:0] strays;

{wires}

  // AXI4-Lite: a write when address and data are there and its answer has room, and a read likewise.
  logic [{address_bits}-1:0] address_q;
  logic [31:0] data_q, answer_q;
  logic [7:0] rank_q;
  logic address_valid_q, data_valid_q, done_q, refused_q, write_q, read_valid_q, read_refused_q;

  wire write = address_valid_q && data_valid_q && !write_q && (!done_q || s_axil_bready);
  wire is_table = address_q[{address_bits}-1:12] < ({address_bits} - 12)'(Links) && (address_q[11] || address_q[10] == 1'b0);
  wire is_rank = address_q == 16'h8000;
  wire read = s_axil_arvalid && s_axil_arready;

  assign s_axil_awready = !address_valid_q;
  assign s_axil_wready  = !data_valid_q;
  assign s_axil_bvalid  = done_q;
  assign s_axil_bresp   = refused_q ? 2'b10 : 2'b00;
  assign s_axil_arready = !read_valid_q;
  assign s_axil_rvalid  = read_valid_q;
  assign s_axil_rdata   = answer_q;
  assign s_axil_rresp   = read_refused_q ? 2'b10 : 2'b00;

  always_ff @(posedge clk_i) begin
    if (s_axil_awready) address_q <= s_axil_awaddr;
    if (s_axil_wready) data_q <= s_axil_wdata;
    if (write) refused_q <= !is_table && !is_rank;
    if (read) begin
      read_refused_q <= 1'b0;
      unique case (s_axil_araddr)
        16'h8000: answer_q <= 32'(rank_q);
        16'h8004: answer_q <= strays;
        16'h8008: answer_q <= 32'(Links);
        16'h800c: answer_q <= 32'(Endpoints);
        default: begin
          answer_q <= '0;
          read_refused_q <= 1'b1;
        end
      endcase
    end
    if (rst_i) begin
      rank_q <= '0;
      address_valid_q <= 1'b0;
      data_valid_q <= 1'b0;
      done_q <= 1'b0;
      write_q <= 1'b0;
      read_valid_q <= 1'b0;
    end else begin
      if (write && is_rank) rank_q <= data_q[7:0];
      // The table's entry is written in the next cycle, from the same registers.
      address_valid_q <= (address_valid_q && !write_q) || s_axil_awvalid && s_axil_awready;
      data_valid_q <= (data_valid_q && !write_q) || s_axil_wvalid && s_axil_wready;
      write_q <= write;
      done_q <= write || (done_q && !s_axil_bready);
      read_valid_q <= read || (read_valid_q && !s_axil_rready);
    end
  end

  tw_node #(
{parameters}
  ) u_node (
      .clk_i,
      .rst_i,
      .rank_i(rank_q),
      .table_valid_i(write_q && is_table),
      .table_receive_i(address_q[11]),
      .table_link_i(address_q[12+:LinkBits]),
      .table_index_i(address_q[10:2]),
      .table_data_i(data_q[7:0]),
      .link_in_valid_i(link_in_valid),
      .link_in_ready_o(link_in_ready),
      .link_in_data_i(link_in_data),
      .link_out_valid_o(link_out_valid),
      .link_out_ready_i(link_out_ready),
      .link_out_data_o(link_out_data),
      .open_valid_i(open_valid),
      .open_ready_o(open_ready),
      .open_i(open),
      .element_in_valid_i(element_in_valid),
      .element_in_ready_o(element_in_ready),
      .element_in_data_i(element_in_data),
      .element_in_flush_i(element_in_flush),
      .element_out_valid_o(element_out_valid),
      .element_out_ready_i(element_out_ready),
      .element_out_data_o(element_out_data),
      .element_out_source_o(element_out_source),
      .strays_o(strays)
  );
endmodule
/* verilator lint_on UNUSEDSIGNAL */
"""
