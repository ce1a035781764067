// SPDX-License-Identifier: Apache-2.0
// Memory of a link's slots, with two read ports: one copy of the memory for each, since a block RAM has one write port
// and one read port.
//
// A step reads a packet from each of its edges here, all of the same length. Packet i, edges ascending, is read by port
// i modulo 2 in sub-cycle i / 2 of every `pace` cycles; a single packet by the first free port. A slot is a ring: its
// last flit is followed by its first. Order: of addresses. Latency: the first flit is out in the cycle after the step.
// Throughput: a flit written and two read per cycle; a port is free again pace * flits cycles after its step. Storage:
// Flits words twice; per port, base, offset and operand of half of the edges. out_data_o is the memory's output
// register. Critical path: from base_i and offset_i through the selection of the first edge and their sum to the
// memory's address.
module tw_slot_bank #(
    parameter int unsigned Edges = 6,        /// at most 30
    parameter int unsigned Flits = 4096,     /// at least 2
    parameter int unsigned SlotFlits = 64,
    parameter int unsigned OperandWidth = 3,
    parameter int unsigned UnitWidth = 3,
    localparam int unsigned AddressWidth = $clog2(Flits),
    localparam int unsigned OffsetWidth = SlotFlits > 1 ? $clog2(SlotFlits) : 1,
    localparam int unsigned PacketsWidth = $clog2(Edges + 1)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                    write_valid_i,
    input logic [AddressWidth-1:0] write_address_i,
    input logic [           255:0] write_data_i,

    input  logic [Edges-1:0]                   from_i,     /// edges of the step whose slots are in this bank
    input  logic [Edges-1:0][AddressWidth-1:0] base_i,     /// of their slots
    input  logic [Edges-1:0][ OffsetWidth-1:0] offset_i,   /// of their packets in the slots
    input  logic [Edges-1:0][OperandWidth-1:0] operand_i,
    output logic [PacketsWidth-1:0]            packets_o,  /// number of edges in from_i
    output logic                               free_o,     /// the required ports are free
    input  logic                               step_i,
    input  logic [2:0]                         size_i,     /// log2 of a packet's flits
    input  logic [3:0]                         pace_i,
    input  logic [UnitWidth-1:0]               unit_i,

    output logic [1:0]                   out_valid_o,
    output logic [1:0][           255:0] out_data_o,
    output logic [1:0][   UnitWidth-1:0] out_unit_o,
    output logic [1:0][OperandWidth-1:0] out_operand_o,
    output logic [1:0]                   out_head_o,
    output logic [1:0]                   out_tail_o
);
  if (Edges < 1 || Edges > 30 || Flits < 2 || SlotFlits < 1 || SlotFlits > Flits) begin : check_sizes
    $error("tw_slot_bank: 1 to 30 edges, 2 flits at least, and slots that it can hold");
  end

  localparam int unsigned Entries = (Edges + 1) / 2;  // maximum number of packets that a port reads together
  localparam int unsigned EntryWidth = Entries > 1 ? $clog2(Entries) : 1;

  typedef struct packed {
    logic [AddressWidth-1:0] base;
    logic [OffsetWidth-1:0]  offset;
    logic [OperandWidth-1:0] operand;
  } packet_t;

  logic [Edges-1:0][PacketsWidth-1:0] rank;  // number of packets from lower edges
  always_comb begin
    packets_o = '0;
    for (int unsigned k = 0; k < Edges; k++) begin
      rank[k] = packets_o;
      packets_o += PacketsWidth'(from_i[k]);
    end
  end

  wire alone = packets_o == 1;
  logic [1:0] free, read;
  logic [1:0][AddressWidth-1:0] read_address;
  assign free_o = packets_o == 0 || (alone ? |free : &free);

  for (genvar q = 0; q < 2; q++) begin : port
    packet_t [Entries-1:0] chosen, packets_q;
    logic [EntryWidth-1:0] last_q;  // index of the last packet
    logic [3:0] cycle_q, pace_q;    // sub-cycle, one per packet; sub-cycles per flit
    logic [6:0] left_q;             // remaining flits of a packet, with this one
    logic head_q;
    logic [UnitWidth-1:0] unit_q;

    always_comb begin
      chosen = '0;
      for (int unsigned k = 0; k < Edges; k++)
        for (int unsigned j = 0; j < Entries; j++)
          if (from_i[k] && (32'(rank[k]) == 2 * j + q || (alone && j == 0)))
            chosen[j] |= {base_i[k], offset_i[k], operand_i[k]};
    end

    assign free[q] = left_q == 0;
    wire starts = step_i && packets_o != 0 && (!alone || q == 0 && free[0] || q == 1 && !free[0]);
    wire [6:0] flits = 7'd1 << size_i;
    wire [EntryWidth-1:0] place = EntryWidth'(cycle_q);

    wire packet_t packet = free[q] ? chosen[0] : packets_q[place];
    assign read[q] = free[q] ? starts : cycle_q <= 4'(last_q);
    assign read_address[q] = packet.base + AddressWidth'(packet.offset);
    wire [OffsetWidth-1:0] next_offset = packet.offset == OffsetWidth'(SlotFlits - 1) ? '0 : packet.offset + 1;

    (* ram_style = "block" *) logic [255:0] words_q[Flits];
    always_ff @(posedge clk_i) begin
      if (write_valid_i) words_q[write_address_i] <= write_data_i;
      if (read[q]) out_data_o[q] <= words_q[read_address[q]];
    end

    always_ff @(posedge clk_i) begin
      out_valid_o[q] <= read[q];
      out_unit_o[q] <= free[q] ? unit_i : unit_q;
      out_operand_o[q] <= packet.operand;
      out_head_o[q] <= free[q] || head_q;
      out_tail_o[q] <= free[q] ? flits == 1 : left_q == 1;
      if (starts) begin
        packets_q <= chosen;
        packets_q[0].offset <= next_offset;
        last_q <= alone ? '0 : EntryWidth'((packets_o - PacketsWidth'(q + 1)) >> 1);
        pace_q <= pace_i;
        unit_q <= unit_i;
        cycle_q <= pace_i == 1 ? 4'd0 : 4'd1;
        left_q <= pace_i == 1 ? flits - 1 : flits;
        head_q <= pace_i != 1;
      end else if (!free[q]) begin
        if (read[q]) packets_q[place].offset <= next_offset;
        cycle_q <= cycle_q + 1;
        if (cycle_q + 1 == pace_q) begin
          cycle_q <= '0;
          left_q <= left_q - 1;
          head_q <= 1'b0;
        end
      end
      if (rst_i) begin
        out_valid_o[q] <= 1'b0;
        left_q <= '0;
      end
    end
  end

`ifndef SYNTHESIS
  logic unread[Flits];
  logic [1:0] read_is_written;

  // verilator lint_off BLKSEQ
  always @(posedge clk_i) begin
    if (rst_i) begin
      for (int unsigned i = 0; i < Flits; i++) unread[i] = 1'b0;
    end else begin
      if (write_valid_i) unread_is_kept : assert (!unread[write_address_i]);
      for (int q = 0; q < 2; q++) begin
        if (read[q]) begin
          read_is_written[q] = unread[read_address[q]];
          unread[read_address[q]] = 1'b0;
        end
      end
      written_is_read : assert ((read & ~read_is_written) == '0);
      if (write_valid_i) unread[write_address_i] = 1'b1;
      if (step_i) begin
        ports_are_free : assert (free_o);
        pace_suffices : assert (32'(packets_o) <= 2 * 32'(pace_i));
      end
    end
  end
  // verilator lint_on BLKSEQ
`endif
endmodule
