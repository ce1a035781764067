// SPDX-License-Identifier: Apache-2.0
// Output port to a PCI Express link: sends packets at the rate of its lanes, including their overhead, and only if
// the other end has room for the largest.
//
// The header of a request that is marked short goes out with three double words. A word costs its bytes; a header also those of the packet's start and number, the last word also those of its checksum and
// end (of Gen3 on: with the token of its start, and its checksum, which are as long). Each received packet costs NoticeBytes here, for its
// acknowledgement and credits.
//
// Order: kept. Latency: the time of a word's bytes, at least a cycle. Throughput: Rate / Scale bytes per cycle, up to a word. Storage: a word.
// All outputs depend only on registers. Critical path: from credits and owed bytes through in_ready_o to the next
// owed bytes.
module tw_egress
  import tw_spec_pkg::*;
  import tw_peach2_pkg::*;
#(
    parameter int unsigned Rate = 16,  /// bytes in Scale cycles, at least 1
    parameter int unsigned Scale = 1,  /// at least 1
    parameter int unsigned Packets = 32,  /// capacity of the other end, at least 1
    parameter int unsigned Units = 256,  /// the same in units of 16 bytes of data, at least that of the largest packet
    parameter int unsigned NoticeBytes = 8  /// for a received packet
) (
    input logic clk_i,
    input logic rst_i,

    input  logic  in_valid_i,
    output logic  in_ready_o,
    input  word_t in_data_i,
    input  logic  in_last_i,

    output logic  out_valid_o,
    output word_t out_data_o,
    output logic  out_last_o,

    input logic                 notice_valid_i,    /// a packet was received from the link
    input logic                 credit_valid_i,  /// a packet has left the other end
    input logic [UnitsBits-1:0] credit_units_i
);
  if (Packets < 1 || Units < MaxDwords / 4) begin : check_credits
    $error("tw_egress: Packets must be at least 1, Units those of a packet");
  end
  if (Rate < 1 || Scale < 1) begin : check_rate
    $error("tw_egress: Rate and Scale must be at least 1");
  end

  localparam int unsigned PacketBits = $clog2(Packets + 1);
  localparam int unsigned UnitBits = $clog2(Units + 1);
  localparam int unsigned MostBytes = 32 + 5 + NoticeBytes;  // of a cycle
  localparam int unsigned OwedBits = $clog2(Rate + 8 * Scale * MostBytes) + 1;  // of bytes / Scale, signed
  localparam logic [5:0] StartBytes = 6'd3, EndBytes = 6'd5;

  logic first_q, pending_q, last_q;
  word_t data_q;
  logic [PacketBits-1:0] packets_q;
  logic [UnitBits-1:0] units_q;
  logic [OwedBits-1:0] owed_q;
  logic [6:0] left_q;  // double words of the packet that have not arrived
  logic [3:0] taken_q;  // double words of the packet in the next line

  pcie_memory_write_t request;
  pcie_completion_t   answer;
  assign request = pcie_memory_write_of(in_data_i[127:0]);
  assign answer  = pcie_completion_of(in_data_i[95:0]);
  wire [UnitsBits-1:0] cost = has_data(in_data_i) ? units(request.length[6:0]) : '0;

  wire free = owed_q < OwedBits'(Rate);  // the previous word's bytes are sent by the end of this cycle
  wire allowed = !first_q || (packets_q != 0 && units_q >= UnitBits'(MaxDwords / 4));
  wire accept = in_valid_i && in_ready_o;
  wire begins = accept && first_q;
  assign in_ready_o  = free && allowed;
  assign out_valid_o = pending_q && free;
  assign out_data_o  = data_q;
  assign out_last_o  = last_q;

  logic [6:0] left;
  logic [3:0] room;
  logic [5:0] bytes;
  always_comb begin
    if (first_q) bytes = StartBytes + (in_data_i[LongAt] ? 6'd16 : 6'd12);
    else bytes = {taken_q, 2'd0};
    if (in_last_i) bytes += EndBytes;
  end
  always_comb begin
    left = first_q ? request.length[6:0] : left_q - 7'(taken_q);
    room = 4'd8;
    if (first_q) room -= 4'(is_completion(in_data_i) ? answer.lower_address[4:2] : request.address[2:0]);
  end

  // Owed bytes minus those sent in a cycle, without and with a word, which is accepted only if owed_q is less than Rate.
  wire [OwedBits-1:0] notice = notice_valid_i ? OwedBits'(Scale * NoticeBytes) - OwedBits'(Rate) : -OwedBits'(Rate);
  wire [OwedBits-1:0] without = owed_q + notice;
  wire [OwedBits-1:0] with_word = owed_q + OwedBits'(Scale) * OwedBits'(bytes) + notice;
  wire [OwedBits-1:0] owes = accept ? with_word : without;

  always_ff @(posedge clk_i) begin
    if (accept) begin
      data_q <= in_data_i;
      if (first_q && !is_completion(in_data_i) && !in_data_i[LongAt]) data_q[127:64] <= {32'd0, in_data_i[127:96]};
      last_q <= in_last_i;
      left_q <= left;
      taken_q <= left < 7'(room) ? left[3:0] : room;
    end
    if (rst_i) begin
      first_q   <= 1'b1;
      pending_q <= 1'b0;
      owed_q    <= '0;
      packets_q <= PacketBits'(Packets);
      units_q   <= UnitBits'(Units);
    end else begin
      if (accept) first_q <= in_last_i;
      pending_q <= accept || (pending_q && !free);
      owed_q <= owes[OwedBits-1] ? '0 : owes;
      packets_q <= packets_q - PacketBits'(begins) + PacketBits'(credit_valid_i);
      units_q <= units_q - (begins ? UnitBits'(cost) : '0) + (credit_valid_i ? UnitBits'(credit_units_i) : '0);
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      credits_are_ours : assert (!credit_valid_i || (32'(packets_q) + 1 <= Packets && 32'(units_q) + 32'(credit_units_i) <= Units));
      owed_is_bounded : assert (!owed_q[OwedBits-1]);
    end
  end
`endif
endmodule
