// SPDX-License-Identifier: Apache-2.0
// Selects the aggregation unit for a step.
//
// A unit is free if it has read its previous packet and the new result does not collide with the previous one. If an
// edge still has packets in a unit's queues, that unit is chosen, to keep them in order. A step that fills a stage
// takes the process's own unit. Otherwise the unit with the fewest queued packets is chosen, from the process's own one
// on.
//
// Order: none. Latency: takes and sent packets count from the next cycle on. Throughput: a step per cycle, and a sent
// packet per port. Storage: two timers and a count per unit, a count and a unit per edge of a row. choice_* depend on
// the step in the same cycle. Critical path: from step_row_i through the edges' units to the free units, the choice,
// and queued_q.
module tw_dispatch #(
    parameter int unsigned Units = 6,
    parameter int unsigned Ports = 6,     /// edge k is sent by port k modulo Ports
    parameter int unsigned Rows = 32,
    parameter int unsigned Edges = 6,     /// edges per row, at most 32
    parameter int unsigned Words = 106,   /// maximum number of packets queued per unit and port
    parameter int unsigned TimeBits = 11,
    localparam int unsigned UnitWidth = Units > 1 ? $clog2(Units) : 1,
    localparam int unsigned PortWidth = $clog2(Ports + 1),
    localparam int unsigned RowWidth = Rows > 1 ? $clog2(Rows) : 1,
    localparam int unsigned EdgeWidth = Edges > 1 ? $clog2(Edges) : 1
) (
    input logic clk_i,
    input logic rst_i,

    // A step, and the unit that takes it, if any.
    input  logic [ RowWidth-1:0] step_row_i,
    input  logic [    Edges-1:0] step_to_edges_i,
    input  logic                 step_to_stages_i,
    input  logic [UnitWidth-1:0] step_own_i,
    input  logic [    Units-1:0] step_room_i,      /// units whose queues have room
    input  logic [    Units-1:0] step_kept_i,      /// units that hold a process
    input  logic [ TimeBits-1:0] step_latency_i,   /// cycles to the result's first flit
    output logic                 choice_valid_o,
    output logic [UnitWidth-1:0] choice_unit_o,
    output logic                 choice_room_o,    /// without a choice: a unit may become free by time alone

    // The chosen unit takes the step.
    input logic                 take_i,
    input logic [PortWidth-1:0] take_ports_i,  /// number of ports for which its packet is queued
    input logic [ TimeBits-1:0] take_read_i,   /// cycles until it has been read, at least 1
    input logic [ TimeBits-1:0] take_left_i,   /// cycles until the result has left the lanes

    // Packets sent by each port.
    input logic [Ports-1:0]                sent_valid_i,
    input logic [Ports-1:0][UnitWidth-1:0] sent_unit_i,
    input logic [Ports-1:0][ RowWidth-1:0] sent_row_i,
    input logic [Ports-1:0][EdgeWidth-1:0] sent_edge_i,
    input logic [Ports-1:0]                sent_done_i   /// to all edges of this port
);
  if (Units < 1 || Ports < 1 || Rows < 1 || Edges < 1 || Edges > 32 || Words < 1) begin : check_sizes
    $error("tw_dispatch: at least 1 unit, port, row and word, 1 to 32 edges");
  end

  localparam int unsigned CountWidth = $clog2(Ports * Words + 1);
  localparam int unsigned EdgeCountWidth = $clog2(Words + 1);

  logic [Units-1:0][TimeBits-1:0] input_q, output_q;  // cycles until the unit is free
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

  // Compares all pairs, so that counts are compared in parallel with the step: of the free units with the fewest
  // packets, the first from step_own_i on wins.
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
