// SPDX-License-Identifier: Apache-2.0
// The bus of a hub: routes each beat by its address to memory, calculator, working RAM or registers.
//
// Beats arrive on two lanes. The side lane has priority, so a beat that waits for the calculator does not block those
// that its results need. A beat offered to memory stays until it is accepted.
//
// Of a hub's 1 GByte the lower half is memory; the next 256 MByte are the calculator's contexts, one after the other; then
// the RAM, and 128 MByte further on the registers. Beats to other addresses, and partial writes to the calculator, are
// dropped and reported; such reads return zero.
//
// Order: beats and replies of a lane are in order: while memory reads are outstanding, no other target is read, nor memory by the
// other lane. Latency: none to the targets; a reply two cycles after its beat, one after it came from memory. Throughput: a beat per
// cycle. Storage: a reply. Critical path: from beat_valid_i through the choices of lane and target to beat_ready_o, or through
// memory_ready_i.
module tw_bus
  import tw_peach2_pkg::*;
#(
    parameter int unsigned RamBits = 11,  /// log2 of the RAM's beats of 16 bytes
    parameter int unsigned Contexts = 4,  /// of the calculator, a power of two
    parameter int unsigned Sums = 16,  /// beats of partial sums
    parameter int unsigned Records = 8,  /// beats of a result
    localparam int unsigned BeatBits = AddressBits - 4,
    localparam int unsigned ContextBits = $clog2(Contexts),
    localparam int unsigned PlaceBits = $clog2(Sums),
    localparam int unsigned RecordBits = $clog2(Records),
    localparam int unsigned MemoryBits = 25,
    localparam int unsigned Registers = 8,
    localparam int unsigned Lanes = 2  // the side lane is the second one
) (
    input logic clk_i,
    input logic rst_i,

    input  logic [Lanes-1:0]               beat_valid_i,
    output logic [Lanes-1:0]               beat_ready_o,
    input  logic [Lanes-1:0]               beat_write_i,
    input  logic [Lanes-1:0][BeatBits-1:0] beat_address_i,
    input  logic [Lanes-1:0][       127:0] beat_data_i,
    input  logic [Lanes-1:0][        15:0] beat_enable_i,
    output logic                           reply_valid_o,
    output logic                           reply_side_o,    /// for the side lane
    output logic                           reply_failed_o,  /// nothing is at its address
    output logic [127:0]                   reply_data_o,

    output logic                  memory_valid_o,
    input  logic                  memory_ready_i,
    output logic                  memory_write_o,
    output logic [MemoryBits-1:0] memory_address_o,
    output logic [         127:0] memory_data_o,
    output logic [          15:0] memory_enable_o,
    input  logic                  memory_reply_valid_i,  /// at least one cycle after its beat
    input  logic [         127:0] memory_reply_data_i,

    output logic                   calculator_valid_o,    /// a write
    input  logic                   calculator_ready_i,
    output logic [ContextBits-1:0] calculator_context_o,
    output logic [  PlaceBits-1:0] calculator_place_o,
    output logic [ RecordBits-1:0] calculator_read_o,
    input  logic [          127:0] calculator_data_i,     /// for the address of the previous cycle

    output logic               ram_write_o,
    output logic [RamBits-1:0] ram_address_o,
    input  logic [      127:0] ram_data_i,     /// for the address of the previous cycle

    output logic                 register_write_o,
    input  logic                 register_ready_i,    /// for a write
    output logic [Registers-1:0] register_address_o,
    input  logic [        127:0] register_data_i,     /// for the address of the previous cycle

    output logic                stray_valid_o,
    output logic [BeatBits-1:0] stray_address_o
);
  typedef enum logic [2:0] {Memory, Calculator, Ram, Register, None} target_e;

  target_e target, from_q;
  logic fast_q, side_q;  // side_q: the last read is of the side lane
  logic stays_q;  // memory was offered a beat of the first lane, and has not accepted it
  logic [9:0] under_way_q;  // outstanding memory reads

  wire side = beat_valid_i[1] && !stays_q;
  wire valid = beat_valid_i[side];
  wire write = beat_write_i[side];
  wire [BeatBits-1:0] address = beat_address_i[side];
  wire [15:0] enable = beat_enable_i[side];

  always_comb begin
    if (!address[25]) target = Memory;
    else if (!address[24]) target = write && enable != '1 ? None : Calculator;
    else if (!address[23]) target = address[22:RamBits] == 0 ? Ram : None;
    else target = address[22:Registers] == 0 ? Register : None;
  end
  wire reads_fast = !write && target != Memory;
  wire memory_takes = write || under_way_q == 0 || (under_way_q != '1 && side_q == side);
  logic ready;
  always_comb begin
    unique case (target)
      Memory: ready = memory_ready_i && memory_takes;
      Calculator: ready = write ? calculator_ready_i : under_way_q == 0;
      Register: ready = write ? register_ready_i : under_way_q == 0;
      default: ready = write || under_way_q == 0;
    endcase
  end
  assign beat_ready_o = {side && ready, !side && ready};
  wire goes = valid && ready;

  assign memory_valid_o = valid && target == Memory && memory_takes;
  assign memory_write_o = write;
  assign memory_address_o = address[MemoryBits-1:0];
  assign memory_data_o = beat_data_i[side];
  assign memory_enable_o = enable;
  assign calculator_valid_o = valid && write && target == Calculator;
  assign calculator_context_o = address[23-:ContextBits];
  assign calculator_place_o = address[PlaceBits-1:0];
  assign calculator_read_o = address[RecordBits-1:0];
  assign ram_write_o = valid && write && target == Ram;
  assign ram_address_o = address[RamBits-1:0];
  assign register_write_o = valid && write && target == Register;
  assign register_address_o = address[Registers-1:0];

  always_ff @(posedge clk_i) begin
    fast_q <= !rst_i && goes && reads_fast;
    from_q <= target;
    stray_valid_o <= !rst_i && goes && target == None;
    stray_address_o <= address;
    reply_valid_o <= !rst_i && (fast_q || memory_reply_valid_i);
    reply_side_o <= side_q;
    reply_failed_o <= fast_q && from_q == None;
    unique case (from_q)
      Calculator: reply_data_o <= calculator_data_i;
      Ram: reply_data_o <= ram_data_i;
      Register: reply_data_o <= register_data_i;
      default: reply_data_o <= '0;
    endcase
    if (!fast_q) reply_data_o <= memory_reply_data_i;
    stays_q <= !rst_i && memory_valid_o && !memory_ready_i && !side;
    if (goes && !write) side_q <= side;
    if (rst_i) under_way_q <= '0;
    else under_way_q <= under_way_q + 10'(goes && !write && target == Memory) - 10'(memory_reply_valid_i);
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      one_reply : assert (!fast_q || !memory_reply_valid_i);
      replies_were_asked_for : assert (!memory_reply_valid_i || under_way_q != 0);
    end
  end
`endif
endmodule
