// SPDX-License-Identifier: Apache-2.0
// Environment: packets of any length at any inputs, for any outputs; each word waits until it is accepted. Words are tracked from
// any one input (from_q) to any one output (to_q). The inputs of the output registers are checked: each register is a tw_skid,
// whose own proof shows that it loses nothing.
module stream_switch_proof #(
    parameter int unsigned Inputs = 3,
    parameter int unsigned Outputs = 2,
    parameter int unsigned Others = Inputs - 1,  // maximum number of packets that go before one that waits
    localparam int unsigned Width = 1,
    localparam int unsigned ToWidth = Outputs > 1 ? $clog2(Outputs) : 1,
    localparam int unsigned FromWidth = Inputs > 1 ? $clog2(Inputs) : 1
) (
    input logic                            clk_i,
    input logic                            rst_i,
    input logic [ Inputs-1:0]              in_valid_i,
    input logic [ Inputs-1:0][  Width-1:0] in_data_i,
    input logic [ Inputs-1:0]              in_last_i,
    input logic [ Inputs-1:0][ToWidth-1:0] in_to_i,
    input logic [Outputs-1:0]              out_ready_i,
    input logic [FromWidth-1:0]            from_i,
    input logic [ToWidth-1:0]              to_i
);
  logic [Inputs-1:0] in_ready;
  logic [Outputs-1:0] out_valid, out_last;
  logic [Outputs-1:0][Width-1:0] out_data;

  tw_reset_first surroundings (.*);

  tw_stream_switch #(
      .Inputs (Inputs),
      .Outputs(Outputs),
      .Width  (Width)
  ) switch_ (
      .in_ready_o (in_ready),
      .out_valid_o(out_valid),
      .out_data_o (out_data),
      .out_last_o (out_last),
      .*
  );

  logic [Inputs-1:0] pops, inside_q, shown_q, last_q;  // a word is taken; words of its packet are outstanding
  logic [Inputs-1:0][Width-1:0] data_q;
  logic [Inputs-1:0][ToWidth-1:0] to_now_q;
  assign pops = in_valid_i & in_ready;

  for (genvar i = 0; i < Inputs; i++) begin : input_
    always_ff @(posedge clk_i) begin
      shown_q[i] <= !rst_i && in_valid_i[i] && !in_ready[i];
      if (in_valid_i[i]) to_now_q[i] <= in_to_i[i];
      data_q[i] <= in_data_i[i];
      last_q[i] <= in_last_i[i];
      if (rst_i) inside_q[i] <= 1'b0;
      else if (pops[i]) inside_q[i] <= !in_last_i[i];
      waits : assume (!shown_q[i] || (in_valid_i[i] && in_data_i[i] == data_q[i] && in_last_i[i] == last_q[i] && in_to_i[i] == to_now_q[i]));
      one_way : assume (!in_valid_i[i] || !inside_q[i] || in_to_i[i] == to_now_q[i]);
      exists : assume (!in_valid_i[i] || 32'(in_to_i[i]) < Outputs);
    end
  end

  // Inputs of the output registers, and the input port that each comes from.
  logic [Outputs-1:0] pushes, room, busy, ends, open_q;
  logic [Outputs-1:0][Width-1:0] pushed;
  logic [Outputs-1:0][FromWidth-1:0] from_whom, open_from_q;
  for (genvar o = 0; o < Outputs; o++) begin : output_
    assign pushes[o] = switch_.outputs[o].moves;
    assign room[o] = switch_.outputs[o].room;
    assign busy[o] = switch_.outputs[o].busy_q;
    assign from_whom[o] = switch_.outputs[o].from_q;
    assign ends[o] = switch_.outputs[o].out.in_data_i[Width];
    assign pushed[o] = switch_.outputs[o].out.in_data_i[Width-1:0];

    always_ff @(posedge clk_i) begin
      if (pushes[o]) open_from_q[o] <= from_whom[o];
      if (rst_i) open_q[o] <= 1'b0;
      else if (pushes[o]) open_q[o] <= !ends[o];
      if (!rst_i) begin
        packets_do_not_mix : assert (!pushes[o] || !open_q[o] || from_whom[o] == open_from_q[o]);
        whence_it_came : assert (!pushes[o] || (pops[from_whom[o]] && 32'(in_to_i[from_whom[o]]) == o));
        unaltered : assert (!pushes[o] || (pushed[o] == in_data_i[from_whom[o]] && ends[o] == in_last_i[from_whom[o]]));

        lemma_exists : assert (!busy[o] || 32'(from_whom[o]) < Inputs);
        lemma_owner : assert (!busy[o] || (in_valid_i[from_whom[o]] ? 32'(in_to_i[from_whom[o]]) == o :
            inside_q[from_whom[o]] && 32'(to_now_q[from_whom[o]]) == o));
        lemma_open : assert (!open_q[o] || (busy[o] && from_whom[o] == open_from_q[o]));
      end
    end
  end

  logic [Outputs-1:0] begun;
  logic [Outputs-1:0][FromWidth-1:0] next;
  logic [Outputs-1:0][31:0] turns;
  for (genvar o = 0; o < Outputs; o++) begin : choice
    assign begun[o] = switch_.outputs[o].chooses && switch_.outputs[o].asked;
    assign next[o]  = switch_.outputs[o].next;
    assign turns[o] = 32'(switch_.outputs[o].arbiter.turn_q);
  end

  // --- One input, and one output

  logic [FromWidth-1:0] from_q;
  logic [ToWidth-1:0] to_q;
  logic [FromWidth:0] others_q;  // packets that began at its output while the input's packet waits
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      from_q <= 32'(from_i) < Inputs ? from_i : '0;
      to_q   <= 32'(to_i) < Outputs ? to_i : '0;
    end
  end

  logic [Outputs-1:0] takes_it;
  always_comb for (int unsigned o = 0; o < Outputs; o++) takes_it[o] = pushes[o] && from_whom[o] == from_q;
  wire asks = in_valid_i[from_q] && in_to_i[from_q] == to_q;
  wire owns = busy[to_q] && from_whom[to_q] == from_q;
  logic chooses, chosen;  // the output takes a next packet; it is the input's
  logic [31:0] turn;
  always_comb begin
    chooses = 1'b0;
    chosen = 1'b0;
    turn = 0;
    for (int unsigned o = 0; o < Outputs; o++) begin
      if (o == 32'(to_q)) begin
        chooses = begun[o];
        chosen = begun[o] && next[o] == from_q;
        turn = turns[o];
      end
    end
  end
  wire [31:0] distance = 32'(from_q) + (32'(from_q) < turn ? Inputs : 0) - turn;

  always_ff @(posedge clk_i) begin
    if (rst_i || !asks || owns || chosen) others_q <= '0;
    else if (chooses) others_q <= others_q + 1'b1;

    if (!rst_i) begin
      taken_once : assert (pops[from_q] == (takes_it != 0) && (takes_it & (takes_it - Outputs'(1))) == 0);
      never_idle : assert (!asks || busy[to_q] || chooses);
      flows : assert (!asks || !owns || !room[to_q] || takes_it != 0);
      fair : assert (!asks || owns || !chooses || chosen || 32'(others_q) < Others);
      waited : cover (pops[from_q] && !shown_q[from_q] && in_last_i[from_q]);

      lemma_one : assert (32'(from_q) < Inputs && 32'(to_q) < Outputs);
      lemma_turns : assert (others_q == 0 || (asks && !owns && 32'(others_q) + distance < Inputs));
    end
  end
endmodule
