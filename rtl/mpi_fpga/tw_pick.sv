// SPDX-License-Identifier: Apache-2.0
// Selects the process of a collective unit that is tried next.
//
// A process that may be able to advance is held exactly once: in the queue of the event that woke it, or by the unit
// that reads its packet. Queues and units take turns; one process is selected per cycle. Processes that lack room in
// some queue, and those that wait for an earlier operation, are retried once after room has become free, or a process
// has ended.
//
// Order: kept in each queue; round-robin between queues. Latency: none if a queue is empty: early_* are selected in the
// same cycle; effects of the process tried in this cycle (late_*, tried_*) can be selected in the next. Throughput: a
// process per cycle. Storage: Links + Units + 6 queues of Depth processes, and one process per unit. pick_* depend on
// early_* in the same cycle, the other outputs are registers. Critical path: from early_* through the arbiter and the
// selection of the process to pick_process_o.
module tw_pick #(
    parameter int unsigned Links = 6,
    parameter int unsigned Units = 6,
    parameter int unsigned ProcessBits = 12,
    parameter int unsigned Depth = 512,      /// processes per queue
    parameter int unsigned CycleBits = 10,   /// width of a unit's reading time
    localparam int unsigned Queues = Links + Units + 3,  // with bypass: links, stages, host, start, answer
    localparam int unsigned UnitWidth = Units > 1 ? $clog2(Units) : 1
) (
    input logic clk_i,
    input logic rst_i,

    // Processes woken by an arrival: over each link, in each unit's stages, from the host; or started; or answered by
    // collective control.
    input logic [Queues-1:0]                  early_valid_i,
    input logic [Queues-1:0][ProcessBits-1:0] early_process_i,
    // Arrivals in this cycle for the process that is tried, which begins to wait for them. Never for a queue with an
    // early one.
    input logic [Queues-1:0]                  late_valid_i,

    // The process that is tried, and its outcome: none of these if it ends, or waits for its own resource.
    output logic                  tried_valid_o,
    output logic [ProcessBits-1:0] tried_process_o,
    input logic                   tried_time_i,      /// lacks only time
    input logic                   tried_room_i,      /// lacks room in a queue
    input logic                   tried_turn_i,      /// waits for the end of an earlier operation
    input logic                   tried_advances_i,  /// a unit reads its packet:
    input logic [  UnitWidth-1:0] tried_unit_i,      /// this one;
    input logic [  CycleBits-1:0] tried_cycles_i,    /// after this many cycles, at least 1, it can be selected again

    input logic room_freed_i,
    input logic process_ended_i,

    output logic [      Units-1:0] kept_o,          /// units that hold a process
    output logic                   pick_valid_o,    /// this process is tried in the next cycle
    output logic [ProcessBits-1:0] pick_process_o
);
  if (Links < 1 || Units < 1 || Depth < 1) begin : check_sizes
    $error("tw_pick: at least 1 link, unit and place in a queue");
  end

  localparam int unsigned Sources = Queues + 3 + Units;

  logic [Sources-1:0] ready, chosen;
  logic [Sources-1:0][ProcessBits-1:0] offered;

  tw_arbiter #(
      .Inputs(Sources)
  ) turns (
      .clk_i,
      .rst_i,
      .request_i     (ready),
      .served_i      (pick_valid_o),
      .grant_o       (chosen),
      .winner_valid_o(pick_valid_o),
      .winner_index_o()
  );

  always_comb begin
    pick_process_o = '0;
    for (int unsigned s = 0; s < Sources; s++) if (chosen[s]) pick_process_o |= offered[s];
  end

  always_ff @(posedge clk_i) begin
    tried_valid_o   <= !rst_i && pick_valid_o;
    tried_process_o <= pick_process_o;
  end

  // --- Queues, which arrivals bypass if they are empty

  for (genvar q = 0; q < Queues; q++) begin : arrival
    logic waiting;
    logic [ProcessBits-1:0] first;
    wire passes = early_valid_i[q] && !waiting && chosen[q];

    tw_fifo #(
        .Width(ProcessBits),
        .Depth(Depth)
    ) queue (
        .clk_i,
        .rst_i,
        .in_valid_i ((early_valid_i[q] && !passes) || late_valid_i[q]),
        .in_ready_o (),
        .in_data_i  (early_valid_i[q] ? early_process_i[q] : tried_process_o),
        .out_valid_o(waiting),
        .out_ready_i(chosen[q]),
        .out_data_o (first),
        .count_o    ()
    );

    assign ready[q]   = waiting || early_valid_i[q];
    assign offered[q] = waiting ? first : early_process_i[q];
  end

  // --- Queues of tried processes that no other block wakes

  wire [2:0] tried = {tried_turn_i, tried_room_i, tried_time_i};
  wire [2:0] again = {process_ended_i, room_freed_i, 1'b1};
  localparam int unsigned CountWidth = $clog2(Depth + 1);

  for (genvar i = 0; i < 3; i++) begin : retry
    localparam int unsigned Source = Queues + i;
    logic [CountWidth-1:0] count, left_q;
    wire takes = chosen[Source];

    tw_fifo #(
        .Width(ProcessBits),
        .Depth(Depth)
    ) queue (
        .clk_i,
        .rst_i,
        .in_valid_i (tried[i]),
        .in_ready_o (),
        .in_data_i  (tried_process_o),
        .out_valid_o(),
        .out_ready_i(takes),
        .out_data_o (offered[Source]),
        .count_o    (count)
    );

    assign ready[Source] = left_q != '0;

    always_ff @(posedge clk_i) begin
      if (rst_i) left_q <= '0;
      else if (again[i]) left_q <= count + CountWidth'(tried[i]) - CountWidth'(takes);
      else left_q <= left_q - CountWidth'(takes);
    end
  end

  // --- Units

  for (genvar u = 0; u < Units; u++) begin : unit
    localparam int unsigned Source = Queues + 3 + u;
    logic [ProcessBits-1:0] process_q;
    logic [CycleBits-1:0] cycles_q;
    logic kept_q;

    assign kept_o[u] = kept_q;
    assign ready[Source] = kept_q && cycles_q == '0;
    assign offered[Source] = process_q;

    always_ff @(posedge clk_i) begin
      if (cycles_q != '0) cycles_q <= cycles_q - 1'b1;
      if (chosen[Source]) kept_q <= 1'b0;
      if (tried_advances_i && 32'(tried_unit_i) == u) begin
        kept_q <= 1'b1;
        process_q <= tried_process_o;
        cycles_q <= tried_cycles_i - 1'b1;
      end
      if (rst_i) kept_q <= 1'b0;
    end

`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      if (!rst_i && tried_advances_i && 32'(tried_unit_i) == u) unit_is_free : assert (!kept_q && tried_cycles_i != '0);
    end
`endif
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      early_or_late : assert ((early_valid_i & late_valid_i) == '0);
      one_outcome : assert ($countones({tried, tried_advances_i, late_valid_i}) <= 1);
    end
  end
`endif
endmodule
