// SPDX-License-Identifier: Apache-2.0
// Reads by units that take more than one cycle per flit, whose buffer space stays reserved.
//
// A packet of n flits, read at one flit per p cycles, cannot be overtaken by arrivals of a flit per cycle once n (p -
// 1) of these cycles have passed: its room is held until then. A unit reads one packet of each member of an entry at
// the same time, so one timer per unit suffices. Order: none. Latency: the reads of a step are held from the next cycle
// on; freed_o is set in the last cycle before the room is free, in the cycle of the step if nothing is held.
// Throughput: a step and Queries queries per cycle. Storage: entry, members and timer of each unit. held_o depends on
// the queried entry, freed_o on the step. Critical path: from request_entry_i through the comparison with each unit's
// entry to held_o.
module tw_slow_reads #(
    parameter int unsigned Units = 6,
    parameter int unsigned Entries = 32,   /// rows, or operations
    parameter int unsigned Members = 6,   /// of an entry: edges, or stages
    parameter int unsigned Queries = 6,   /// queries per cycle
    localparam int unsigned EntryWidth = Entries > 1 ? $clog2(Entries) : 1,
    localparam int unsigned UnitWidth = Units > 1 ? $clog2(Units) : 1
) (
    input logic clk_i,
    input logic rst_i,

    input logic                  step_valid_i,
    input logic [ UnitWidth-1:0] step_unit_i,     /// which has completed its previous read
    input logic [EntryWidth-1:0] step_entry_i,
    input logic [   Members-1:0] step_members_i,  /// members that it reads
    input logic [           2:0] step_size_i,     /// log2 of a packet's flits
    input logic [           3:0] step_pace_i,     /// cycles per flit, at least 1

    input  logic [Queries-1:0][EntryWidth-1:0] request_entry_i,
    output logic [Queries-1:0][   Members-1:0] held_o,
    output logic                               freed_o       /// some room is free from the next cycle on
);
  if (Units < 1 || Entries < 1 || Members < 1 || Queries < 1) begin : check_sizes
    $error("tw_slow_reads: at least a unit, a place, a member and a question");
  end

  localparam int unsigned TimeBits = 11;  // 14 cycles per flit, of 128 flits

  wire [TimeBits-1:0] cycles = TimeBits'(step_pace_i - 4'd1) << step_size_i;
  wire reads = step_valid_i && step_members_i != '0;
  wire holds = reads && cycles > TimeBits'(1);

  logic [Units-1:0][TimeBits-1:0] left_q;
  logic [Units-1:0][EntryWidth-1:0] entry_q;
  logic [Units-1:0][Members-1:0] members_q;

  always_comb begin
    held_o = '0;
    freed_o = reads && !holds;
    for (int unsigned u = 0; u < Units; u++) begin
      if (left_q[u] == TimeBits'(1)) freed_o = 1'b1;
      for (int unsigned q = 0; q < Queries; q++)
        if (left_q[u] != '0 && entry_q[u] == request_entry_i[q]) held_o[q] |= members_q[u];
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned u = 0; u < Units; u++) begin
      if (left_q[u] != '0) left_q[u] <= left_q[u] - TimeBits'(1);
      if (holds && 32'(step_unit_i) == u) begin
        left_q[u] <= cycles - TimeBits'(1);
        entry_q[u] <= step_entry_i;
        members_q[u] <= step_members_i;
      end
    end
    if (rst_i) left_q <= '0;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i && reads) begin
      pace_is_set : assert (step_pace_i != '0);
      unit_has_read : assert (!holds || left_q[step_unit_i] == '0);
    end
  end
`endif
endmodule
