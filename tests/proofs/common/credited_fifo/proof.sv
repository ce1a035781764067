// SPDX-License-Identifier: Apache-2.0
// Entries are reserved whenever there is room, and their words arrive at any time. That no word is lost, altered or overtaken
// after it arrives is a property of tw_ram_fifo, which is proved again here.
module credited_fifo_proof #(
    parameter int unsigned Depth = 2
) (
    input logic clk_i,
    input logic rst_i,
    input logic watch_i,
    input logic take_i,
    input logic in_valid_i,
    input logic in_data_i,
    input logic out_ready_i
);
  localparam int unsigned CountBits = $clog2(Depth + 1);
  logic room, out_valid, out_data;
  logic [$clog2(Depth+3)-1:0] held;

  tw_reset_first surroundings (.*);

  tw_credited_fifo #(
      .Width(1),
      .Depth(Depth)
  ) credited (
      .room_o(room),
      .out_valid_o(out_valid),
      .out_data_o(out_data),
      .*
  );

  // Every arriving word is pushed.
  tw_queue_properties #(
      .Width (1),
      .Depth (Depth + 1),
      .Prompt(1'b0)
  ) queue (
      .in_ready_i(1'b1),
      .out_valid_i(out_valid),
      .out_data_i(out_data),
      .held_o(held),
      .*
  );

  logic [CountBits-1:0] under_way_q;
  wire [31:0] place = 32'(credited.fifo.memory.read_q) + 32'(queue.ahead_q) - 32'(out_valid);
  wire [31:0] wrapped = place < Depth ? place : place - Depth;
  logic waited_q;  // a word was held, and none was at the output

  always_ff @(posedge clk_i) begin
    waited_q <= !rst_i && held != 0 && !out_valid;
    under_way_q <= rst_i ? 0 : under_way_q + CountBits'(take_i) - CountBits'(in_valid_i);
    takes_where_there_is_room : assume (!take_i || room);
    comes_for_a_place : assume (!in_valid_i || take_i || under_way_q != 0);
    if (!rst_i) begin
      places_add_up : assert (32'(credited.taken_q) == 32'(held) + 32'(under_way_q));
      room_unless_all_are_taken : assert (room == (32'(held) + 32'(under_way_q) < Depth));
      prompt : assert (!waited_q || out_valid);
      all_taken : cover (32'(under_way_q) == Depth);
      lemma_alike : assert (under_way_q == credited.under_way_q);
      lemma_bounded : assert (32'(held) + 32'(under_way_q) <= Depth);
      lemma_counts : assert (32'(credited.fifo.memory.count_q) + 32'(out_valid) == 32'(held));
      lemma_watched_in_place :
      assert (!queue.watched_q || (out_valid && queue.ahead_q == 0) || credited.fifo.memory.words_q[wrapped] == queue.word_q);
    end
  end
endmodule
