// SPDX-License-Identifier: Apache-2.0
module ram_fifo_proof #(
    parameter int unsigned Width = 1,
    parameter int unsigned Depth = 2
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
  logic [$clog2(Depth+3)-1:0] held;

  tw_reset_first surroundings (.*);

  tw_ram_fifo #(
      .Width(Width),
      .Depth(Depth)
  ) fifo (
      .in_ready_o(in_ready),
      .out_valid_o(out_valid),
      .out_data_o(out_data),
      .count_o(count),
      .*
  );

  // One word more than the memory holds: the one at the output.
  tw_queue_properties #(
      .Width(Width),
      .Depth(Depth + 1),
      .Prompt(1'b0)
  ) queue (
      .in_ready_i(in_ready),
      .out_valid_i(out_valid),
      .out_data_i(out_data),
      .held_o(held),
      .*
  );

  wire [31:0] place = 32'(fifo.memory.read_q) + 32'(queue.ahead_q) - 32'(out_valid);
  wire [31:0] wrapped = place < Depth ? place : place - Depth;
  logic waited_q;  // a word was held, and none was at the output

  always_ff @(posedge clk_i) begin
    waited_q <= !rst_i && held != 0 && !out_valid;
    if (!rst_i) begin
      counts : assert (32'(count) + 32'(out_valid) == 32'(held));
      takes_while_memory_has_room : assert (in_ready == (32'(count) < Depth));
      prompt : assert (!waited_q || out_valid);
      lemma_watched_in_place :
      assert (!queue.watched_q || (out_valid && queue.ahead_q == 0) || fifo.memory.words_q[wrapped] == queue.word_q);
    end
  end
endmodule
