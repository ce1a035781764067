// SPDX-License-Identifier: Apache-2.0
// Selects the aggregation unit for a step.
//
// A unit that has read the packet before, and whose result would not meet that one's. Where an edge still has packets in a unit's
// queues, that unit, so that they stay in order; what fills a stage takes the process's own; else the one with the fewest
// packets queued, from the process's own one on.
//
// Order: none. Latency: what is taken or sent counts from the next cycle on. Throughput: a step a cycle, and a packet sent on each
// port. Storage: for each unit two times and a count, for each edge of a row a count and a unit. choice_* depend on the step in
// the same cycle. Critical path: from step_row_i over the edges' units to the units that are free, the choice, and queued_q.
module tw_dispatch #(
    parameter int unsigned Units = 6,
    parameter int unsigned Ports = 6,     /// edge k is sent by port k modulo Ports
    parameter int unsigned Rows = 32,
    parameter int unsigned Edges = 6,     /// of a row, at most 32
    parameter int unsigned Words = 106,   /// of a queue: packets of a unit and port at a time
    parameter int unsigned TimeBits = 11,
    localparam int unsigned UnitWidth = Units > 1 ? $clog2(Units) : 1,
    localparam int unsigned PortWidth = $clog2(Ports + 1),
    localparam int unsigned RowWidth = Rows > 1 ? $clog2(Rows) : 1,
    localparam int unsigned EdgeWidth = Edges > 1 ? $clog2(Edges) : 1
) (
    input logic clk_i,
    input logic rst_i,

    // A step: which unit takes it, if any does.
    input  logic [ RowWidth-1:0] step_row_i,
    input  logic [    Edges-1:0] step_to_edges_i,
    input  logic                 step_to_stages_i,
    input  logic [UnitWidth-1:0] step_own_i,
    input  logic [    Units-1:0] step_room_i,      /// units whose queues have room
    input  logic [    Units-1:0] step_kept_i,      /// units that keep a process
    input  logic [ TimeBits-1:0] step_latency_i,   /// to the result's first flit
    output logic                 choice_valid_o,
    output logic [UnitWidth-1:0] choice_unit_o,
    output logic                 choice_room_o,    /// where there is none: time alone might give one

    // That unit takes it.
    input logic                 take_i,
    input logic [PortWidth-1:0] take_ports_i,  /// for which its packet is queued
    input logic [ TimeBits-1:0] take_read_i,   /// cycles until it has been read, at least 1
    input logic [ TimeBits-1:0] take_left_i,   /// cycles until the result has left the lanes

    // What each port has sent.
    input logic [Ports-1:0]                sent_valid_i,
    input logic [Ports-1:0][UnitWidth-1:0] sent_unit_i,
    input logic [Ports-1:0][ RowWidth-1:0] sent_row_i,
    input logic [Ports-1:0][EdgeWidth-1:0] sent_edge_i,
    input logic [Ports-1:0]                sent_done_i   /// for all edges of this port
);
  if (Units < 1 || Ports < 1 || Rows < 1 || Edges < 1 || Edges > 32 || Words < 1) begin : check_sizes
    $error("tw_dispatch: at least 1 unit, port, row and word, 1 to 32 edges");
  end

  localparam int unsigned CountWidth = $clog2(Ports * Words + 1);
  localparam int unsigned EdgeCountWidth = $clog2(Words + 1);

  logic [Units-1:0][TimeBits-1:0] input_q, output_q;  // cycles until it is free
  logic [Units-1:0][CountWidth-1:0] queued_q;

  // --- The edges' packets

  logic [Edges-1:0] edge_queued;
  logic [Edges-1:0][UnitWidth-1:0] edge_unit;

  for (genvar k = 0; k < Edges; k++) begin : edge_
    localparam int unsigned Port = k % Ports;
    logic [Rows-1:0][EdgeCountWidth-1:0] count_q;
    (* ram_style = "distributed" *) logic [UnitWidth-1:0] unit_q[Rows];

    assign edge_queued[k] = count_q[step_row_i] != '0;
    assign edge_unit[k] = unit_q[step_row_i];

    wire takes = take_i && step_to_edges_i[k];
    wire sends = sent_valid_i[Port] && 32'(sent_edge_i[Port]) == k;

    always_ff @(posedge clk_i) begin
      if (takes) unit_q[step_row_i] <= choice_unit_o;
      for (int unsigned r = 0; r < Rows; r++) begin
        count_q[r] <= count_q[r] + EdgeCountWidth'(takes && 32'(step_row_i) == r)
            - EdgeCountWidth'(sends && 32'(sent_row_i[Port]) == r);
        if (rst_i) count_q[r] <= '0;
      end
    end
  end

  // --- The choice

  logic [Units-1:0] allowed, free;
  always_comb begin
    for (int unsigned u = 0; u < Units; u++) begin
      allowed[u] = step_room_i[u] && (!step_to_stages_i || 32'(step_own_i) == u);
      for (int unsigned k = 0; k < Edges; k++)
        if (step_to_edges_i[k] && edge_queued[k] && 32'(edge_unit[k]) != u) allowed[u] = 1'b0;
      free[u] = allowed[u] && !step_kept_i[u] && input_q[u] == '0 && output_q[u] <= step_latency_i;
    end
  end

  assign choice_room_o  = allowed != '0;
  assign choice_valid_o = free != '0;

  // All against all, so that comparing counts takes no time behind the step: the first one from step_own_i on of those that are free
  // and have the fewest packets.
  logic [Units-1:0] from_own, wins;
  always_comb begin
    choice_unit_o = '0;
    for (int unsigned u = 0; u < Units; u++) from_own[u] = u >= 32'(step_own_i);
    for (int unsigned u = 0; u < Units; u++) begin
      wins[u] = free[u];
      for (int unsigned v = 0; v < Units; v++) begin
        if (v != u && free[v] && (queued_q[v] < queued_q[u] ||
            (queued_q[v] == queued_q[u] && (from_own[v] == from_own[u] ? v < u : from_own[v]))))
          wins[u] = 1'b0;
      end
      if (wins[u]) choice_unit_o |= UnitWidth'(u);
    end
  end

  // --- The units

  for (genvar u = 0; u < Units; u++) begin : unit
    wire takes = take_i && 32'(choice_unit_o) == u;
    logic [PortWidth-1:0] done;
    always_comb begin
      done = '0;
      for (int unsigned p = 0; p < Ports; p++)
        done += PortWidth'(sent_valid_i[p] && sent_done_i[p] && 32'(sent_unit_i[p]) == u);
    end

    always_ff @(posedge clk_i) begin
      if (takes) input_q[u] <= take_read_i - 1'b1;
      else if (input_q[u] != '0) input_q[u] <= input_q[u] - 1'b1;
      if (takes) output_q[u] <= take_left_i - 1'b1;
      else if (output_q[u] != '0) output_q[u] <= output_q[u] - 1'b1;
      queued_q[u] <= queued_q[u] + CountWidth'(takes ? take_ports_i : '0) - CountWidth'(done);
      if (rst_i) begin
        input_q[u]  <= '0;
        output_q[u] <= '0;
        queued_q[u] <= '0;
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) own_exists : assert (32'(step_own_i) < Units);
    if (!rst_i) one_takes_it : assert (!take_i || (choice_valid_o && take_read_i != '0 && take_left_i != '0));
  end
`endif
endmodule
