// SPDX-License-Identifier: Apache-2.0
module fifo_proof #(
    parameter int unsigned Width = 1,
    parameter int unsigned Depth = 1
) (
    input logic             clk_i,
    input logic             rst_i,
    input logic             watch_i,
    input logic             in_valid_i,
    input logic [Width-1:0] in_data_i,
    input logic             out_ready_i
);
  logic in_ready, out_valid;
  logic [Width-1:0] out_data;
  logic [$clog2(Depth+1)-1:0] count;
  logic [$clog2(Depth+2)-1:0] held;

  tw_reset_first surroundings (.*);

  tw_fifo #(
      .Width(Width),
      .Depth(Depth)
  ) fifo (
      .in_ready_o(in_ready),
      .out_valid_o(out_valid),
      .out_data_o(out_data),
      .count_o(count),
      .*
  );

  tw_queue_properties #(
      .Width(Width),
      .Depth(Depth)
  ) queue (
      .in_ready_i(in_ready),
      .out_valid_i(out_valid),
      .out_data_i(out_data),
      .held_o(held),
      .*
  );

  wire [31:0] place = 32'(fifo.read_q) + 32'(queue.ahead_q);
  wire [31:0] wrapped = place < Depth ? place : place - Depth;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      counts : assert (32'(count) == 32'(held));
      lemma_watched_in_place : assert (!queue.watched_q || fifo.words_q[wrapped] == queue.word_q);
    end
  end
endmodule
