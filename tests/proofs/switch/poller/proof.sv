// SPDX-License-Identifier: Apache-2.0
// Words at any inputs; what is shown goes or doesn't, as the tool likes. Each input's words are followed as a queue's, from where they come
// to where they go out when it is its turn.
module poller_proof #(
    parameter int unsigned Inputs = 3,
    parameter int unsigned Reads  = 2,
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
      .Reads  (Reads)
  ) poller (
      .in_ready_o (in_ready),
      .out_valid_o(out_valid),
      .out_data_o (out_data),
      .out_to_o   (out_to),
      .*
  );

  wire goes = out_valid && out_goes_i;

  for (genvar i = 0; i < Inputs; i++) begin : input_
    wire turn = 32'(poller.turn_q) == i;
    wire held = poller.valid[i];

    tw_queue_properties #(
        .Width(ToWidth + Width),
        .Depth(2)
    ) queue (
        .in_valid_i (in_valid_i[i]),
        .in_ready_i (in_ready[i]),
        .in_data_i  ({in_to_i[i], in_data_i[i]}),
        .out_valid_i(held),
        .out_ready_i(turn && goes),
        .out_data_i ({poller.to[i], poller.data[i]}),
        .held_o     (),
        .*
    );

    logic [SinceWidth-1:0] since_q;  // cycles that others have had
    always_ff @(posedge clk_i) begin
      since_q <= rst_i || turn ? '0 : since_q + 1'b1;
      if (!rst_i) begin
        shows_its_word : assert (!turn || (out_valid == held && (!held || {out_to, out_data} == {poller.to[i], poller.data[i]})));
        turn_comes : assert (turn || 32'(since_q) < Others);
        taken : cover (turn && goes);
      end
    end
  end

  logic [Inputs-1:0] turns;
  for (genvar i = 0; i < Inputs; i++) begin : whose
    assign turns[i] = input_[i].turn;
  end

  // Words of one input on end.
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
