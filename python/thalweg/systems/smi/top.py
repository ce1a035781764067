# SPDX-License-Identifier: Apache-2.0
"""A top for an SMI rank with flat port names: AXI4-Stream for elements, opens and links, AXI4-Lite for the tables.

Instantiates rtl/smi/tw_node.sv (docs/smi.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from thalweg.resources import find_root
from thalweg.rtl.export import Port, Stream
from thalweg.systems.smi.cluster import Node
from thalweg.systems.smi.metadata import BYTES, Operation
from thalweg.systems.smi.routes import KINDS

ADDRESS_BITS = 16
LINK_STRIDE, RECEIVE_OFFSET, ENTRY_STRIDE = 0x1000, 0x800, 4
RANK, STRAYS, LINKS, ENDPOINTS, UNROUTED = 0x8000, 0x8004, 0x8008, 0x800C, 0x8010
"""AXI4-Lite address map, 32-bit words: entry i of a link's send table at link * LINK_STRIDE + 4 i, its receive table at + RECEIVE_OFFSET;
and registers."""


def gives(kind: str) -> bool:
    """True if a kernel gives elements to such an endpoint."""
    return kind != "pop"


def takes(kind: str) -> bool:
    return kind != "push"


def name_of(operation: Operation) -> str:
    return f"{operation.type}_{operation.port}"


def parameters(operations: Sequence[Operation], node: Node) -> dict[str, int | str]:
    """Returns the parameters of tw_node."""

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


def open_fields() -> dict[str, tuple[int, int, str]]:
    """Returns the fields of `open_t` (rtl/smi/tw_smi_pkg.sv), which opens a channel: lowest bit, width and description."""
    root = find_root(alone=True)
    package = (root / "rtl/smi/tw_smi_pkg.sv").read_text()
    common = (root / "spec/generated/sv/tw_spec_pkg.sv").read_text()
    logic = r"logic(?: \[(\d+):0\])?"
    enums = re.findall(rf"typedef enum {logic} \{{[^}}]*\}} (\w+);", common + package)
    bits = {name: int(high or 0) + 1 for high, name in enums + re.findall(rf"typedef {logic} (\w+);", package)}
    found = re.search(r"typedef struct packed \{([^}]*)\} open_t;", package)
    assert found
    members = re.findall(rf"^ *(?:{logic}|(\w+)) +(\w+);(?: *// (.*))?$", found[1], re.M)
    assert len(members) == len(found[1].split("\n")) - 2
    fields, at = {}, 0
    for high, kind, name, about in reversed(members):
        width = bits[kind] if kind else int(high or 0) + 1
        fields[name] = (at, width, about)
        at += width
    return dict(reversed(fields.items()))


def streams(operations: Sequence[Operation], node: Node) -> dict[str, list[tuple[int, Stream]]]:
    """Returns the streams of links and endpoints by description, with their numbers."""
    packet, opens = 8 * node.packet_bytes, 8 * -(-sum(bits for _, bits, _ in open_fields().values()) // 8)
    groups = {
        f"Link {link}: packets": [
            (link, Stream(f"s_axis_link_{link}", "link_in", packet, last=False)),
            (link, Stream(f"m_axis_link_{link}", "link_out", packet, last=False)),
        ]
        for link in range(node.links)
    }
    for number, operation in enumerate(operations):
        name, bits = name_of(operation), 8 * BYTES[operation.data_type]
        of_endpoint = [Stream(f"s_axis_{name}_open", "open", opens, last=False)]
        if gives(operation.type):
            of_endpoint.append(Stream(f"s_axis_{name}", "element_in", bits, last=operation.type == "push"))
        if takes(operation.type):
            source = {"tid": ("source", 8)} if operation.type == "pop" else {}
            of_endpoint.append(Stream(f"m_axis_{name}", "element_out", bits, last=False, beside=source))
        about = f"Endpoint {number}: {operation.type} of port {operation.port}, {operation.data_type}"
        groups[about] = [(number, stream) for stream in of_endpoint]
    return groups


def ports(operations: Sequence[Operation], node: Node) -> dict[str, list[Port]]:
    """Returns the ports of the top, by description."""
    of_streams = {
        about: [port for _, stream in group for port in stream.ports()]
        for about, group in streams(operations, node).items()
    }
    return {"Clock and reset": [*CLOCK], "AXI4-Lite: tables and registers": [*REGISTERS], **of_streams}


def top_level(module: str, operations: Sequence[Operation], node: Node) -> str:
    """Returns the text of the module."""
    values = parameters(operations, node)
    width = max(map(len, values))
    declared = ",\n".join(
        f"    // {about}\n" + ",\n".join(f"    {port}" for port in group)
        for about, group in ports(operations, node).items()
    )
    return _TEMPLATE.format(
        module=module,
        ports=declared,
        links=node.links,
        endpoints=len(operations),
        packet_bytes=node.packet_bytes,
        parameters=",\n".join(f"      .{name:<{width}}({value})" for name, value in values.items()),
        wires="\n".join(_wires(operations, node)),
        address_bits=ADDRESS_BITS,
    )


_INNER_BITS = {"open_data": "$bits(open_t)", "element_in_data": "64"}
"""Inner wires whose width differs from that of the port."""
_INWARD = ("element_in_valid", "element_in_data", "element_in_last", "element_out_ready")
"""Inner wires without a port for some kinds of endpoints."""


def _wires(operations: Sequence[Operation], node: Node) -> Iterator[str]:
    absent = {(inner, number) for inner in _INWARD for number in range(len(operations))}
    for group in streams(operations, node).values():
        for number, stream in group:
            for port in stream.ports():
                absent.discard((port.inner, number))
                inner = f"{port.inner}[{number}]"
                if port.is_output:
                    part = f"[{port.bits - 1}:0]" if port.inner == "element_out_data" else ""
                    yield f"  assign {port.name} = {inner}{part};"
                else:
                    bits = _INNER_BITS.get(port.inner)
                    value = f"{bits}'({port.name})" if bits else port.name
                    yield f"  assign {inner} = {value};"
    for inner, number in sorted(absent):
        yield f"  assign {inner}[{number}] = '0;"


CLOCK = (Port("aclk", "", 1, False), Port("aresetn", "", 1, False))
REGISTERS = tuple(
    Port(f"s_axil_{name}", "", bits, is_output)
    for name, bits, is_output in (
        ("awvalid", 1, False),
        ("awready", 1, True),
        ("awaddr", ADDRESS_BITS, False),
        ("wvalid", 1, False),
        ("wready", 1, True),
        ("wdata", 32, False),
        ("bvalid", 1, True),
        ("bready", 1, False),
        ("bresp", 2, True),
        ("arvalid", 1, False),
        ("arready", 1, True),
        ("araddr", ADDRESS_BITS, False),
        ("rvalid", 1, True),
        ("rready", 1, False),
        ("rdata", 32, True),
        ("rresp", 2, True),
    )
)

_TEMPLATE = """\
// SPDX-License-Identifier: Apache-2.0
// Generated by thalweg smi generate. Do not edit.
//
// A rank of SMI: endpoints for a program's operations, send and receive kernels of its links. AXI4-Stream: an endpoint's opens (open_t of
// tw_smi_pkg, zeros above), its elements (tlast: a push's packet leaves at once; tid: the rank that a pop's come from), the links' packets.
// AXI4-Lite, whole words: entry i of link l's send table at 0x1000 l + 4 i, of its receive table at 0x1000 l + 0x800 + 4 i, written alone;
// the rank's own number at 0x8000; read alone: packets dropped for lack of their port at 0x8004, for lack of a route to their rank at 0x8010,
// links at 0x8008, endpoints at 0x800c.
//
// Order, latency and throughput: tw_node's. Storage: its, and an address, a word and an answer of AXI4-Lite. Outputs are registers, or
// depend on registers alone. Critical path: tw_node's.

// An open's stream is padded to bytes, and not every kind of endpoint has elements both ways.
/* verilator lint_off UNUSEDSIGNAL */
module {module}
  import tw_smi_pkg::*;
(
{ports}
);
  localparam int unsigned PacketBits = 8 * {packet_bytes};
  localparam int unsigned Links = {links};
  localparam int unsigned Endpoints = {endpoints};
  localparam int unsigned LinkBits = Links > 1 ? $clog2(Links) : 1;

  logic [Links-1:0] link_in_valid, link_in_ready, link_out_valid, link_out_ready;
  logic [Links-1:0][PacketBits-1:0] link_in_data, link_out_data;
  logic [Endpoints-1:0] open_valid, open_ready;
  open_t [Endpoints-1:0] open_data;
  logic [Endpoints-1:0] element_in_valid, element_in_ready, element_in_last, element_out_valid, element_out_ready;
  logic [Endpoints-1:0][63:0] element_in_data, element_out_data;
  rank_t [Endpoints-1:0] element_out_source;
  logic [31:0] strays, unrouted;

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

  always_ff @(posedge aclk) begin
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
        16'h8010: answer_q <= unrouted;
        default: begin
          answer_q <= '0;
          read_refused_q <= 1'b1;
        end
      endcase
    end
    if (!aresetn) begin
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
      .clk_i(aclk),
      .rst_i(!aresetn),
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
      .open_i(open_data),
      .element_in_valid_i(element_in_valid),
      .element_in_ready_o(element_in_ready),
      .element_in_data_i(element_in_data),
      .element_in_flush_i(element_in_last),
      .element_out_valid_o(element_out_valid),
      .element_out_ready_i(element_out_ready),
      .element_out_data_o(element_out_data),
      .element_out_source_o(element_out_source),
      .strays_o(strays),
      .unrouted_o(unrouted)
  );
endmodule
/* verilator lint_on UNUSEDSIGNAL */
"""
