// SPDX-License-Identifier: Apache-2.0
// Environment: words at any inputs; the word shown is accepted at any time. Each input's words are tracked as a queue, from their
// arrival to their departure in the input's turn. With Circuits, all words of an input's message go to one output; the inputs
// with open messages and the outputs they hold are derived here from the words that leave.
module poller_proof #(
    parameter int unsigned Inputs = 3,
    parameter int unsigned Reads  = 2,
    parameter bit Circuits = 1'b0,
    parameter int unsigned Others = (Inputs - 1) * Reads,  // cycles in which others have their turn
    localparam int unsigned Outputs = 2,
    localparam int unsigned Width = 1,
    localparam int unsigned ToWidth = 1,
    localparam int unsigned SinceWidth = $clog2(Inputs * Reads + 2)
) (
    input logic                           clk_i,
    input logic                           rst_i,
    input logic                           watch_i,
    input logic [Inputs-1:0]              in_valid_i,
    input logic [Inputs-1:0][  Width-1:0] in_data_i,
    input logic [Inputs-1:0][ToWidth-1:0] in_to_i,
    input logic [Inputs-1:0]              in_last_i,
    input logic                           out_goes_i
);
  logic [Inputs-1:0] in_ready;
  logic out_valid;
  logic [Width-1:0] out_data;
  logic [ToWidth-1:0] out_to;

  tw_reset_first surroundings (.*);

  tw_poller #(
      .Inputs (Inputs),
      .Outputs(Outputs),
      .Width  (Width),
      .Reads  (Reads),
      .Circuits(Circuits)
  ) poller (
      .in_ready_o (in_ready),
      .out_valid_o(out_valid),
      .out_data_o (out_data),
      .out_to_o   (out_to),
      .*
  );

  wire goes = out_valid && out_goes_i;

  logic [Inputs-1:0] holds;
  logic [Inputs-1:0][ToWidth-1:0] has;

  for (genvar i = 0; i < Inputs; i++) begin : input_
    wire turn = 32'(poller.turn_q) == i;
    wire held = poller.valid[i];

    tw_queue_properties #(
        .Width(1 + ToWidth + Width),
        .Depth(2)
    ) queue (
        .in_valid_i (in_valid_i[i]),
        .in_ready_i (in_ready[i]),
        .in_data_i  ({in_last_i[i], in_to_i[i], in_data_i[i]}),
        .out_valid_i(held),
        .out_ready_i(turn && goes),
        .out_data_i ({poller.last[i], poller.to[i], poller.data[i]}),
        .held_o     (),
        .*
    );

    // All words of a message have the same output.
    logic within_q;
    logic [ToWidth-1:0] to_q;
    always_ff @(posedge clk_i) begin
      if (in_valid_i[i] && in_ready[i]) begin
        within_q <= Circuits && !in_last_i[i];
        to_q <= in_to_i[i];
      end
      if (rst_i) within_q <= 1'b0;
      else one_output : assume (!within_q || in_to_i[i] == to_q);
    end

    // Whether its message is open at the output side, and the output that it holds.
    logic holds_q;
    logic [ToWidth-1:0] has_q;
    always_ff @(posedge clk_i) begin
      if (turn && goes) begin
        holds_q <= Circuits && !poller.last[i];
        has_q <= out_to;
      end
      if (rst_i) holds_q <= 1'b0;
    end
    assign holds[i] = holds_q;
    assign has[i] = has_q;
    wire [Inputs-1:0] by_others;
    for (genvar o = 0; o < Inputs; o++) begin : other
      assign by_others[o] = o != i && holds[o] && has[o] == poller.to[i];
    end

    logic [SinceWidth-1:0] since_q;  // cycles in which others had their turn
    always_ff @(posedge clk_i) begin
      since_q <= rst_i || turn ? '0 : since_q + 1'b1;
      if (!rst_i) begin
        shows_its_word : assert (!turn || !out_valid || (held && {out_to, out_data} == {poller.to[i], poller.data[i]}));
        shows_where_free : assert (!turn || out_valid == (held && by_others == 0));
        turn_comes : assert (turn || 32'(since_q) < Others);
        taken : cover (turn && goes);
      end
    end
    if (Circuits) begin : circuits
      always_ff @(posedge clk_i) if (!rst_i) waits : cover (turn && held && !out_valid);
    end
  end

  logic [Inputs-1:0] turns;
  for (genvar i = 0; i < Inputs; i++) begin : whose
    assign turns[i] = input_[i].turn;
  end

  // Consecutive words of one input.
  logic [SinceWidth-1:0] reads_q;
  logic [Inputs-1:0] before_q;
  wire again = before_q == turns;
  always_ff @(posedge clk_i) begin
    before_q <= turns;
    reads_q  <= rst_i || !goes ? '0 : again ? reads_q + 1'b1 : SinceWidth'(1);
    if (!rst_i) begin
      one_turn : assert (turns != 0 && (turns & (turns - Inputs'(1))) == 0);
      no_more_reads : assert (Inputs == 1 || 32'(reads_q) <= Reads);
    end
  end
endmodule
