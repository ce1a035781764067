// SPDX-License-Identifier: Apache-2.0
// Environment: frames begin when there is room, arrive with any pauses, and are kept or dropped after their last words; the
// crossing accepts words at any time. Any one word that arrives is tracked (watch_i chooses it). The buffer restarts where that
// is allowed.
module receive_buffer_proof #(
    parameter int unsigned Words = 5,
    parameter int unsigned FrameWords = 2
) (
    input logic       clk_i,
    input logic       rst_i,
    input logic       watch_i,
    input logic       mac_valid_i,
    input logic       mac_data_i,
    input logic       mac_first_i,
    input logic       mac_last_i,
    input logic [7:0] mac_channel_i,
    input logic       mac_commit_i,
    input logic       mac_drop_i,
    input logic       mac_begin_again_i,
    input logic       mac_keep_i,
    input logic       shell_ready_i
);
  logic room, idle, valid, data, first, last;
  logic [7:0] channel;

  tw_reset_first surroundings (.*);

  tw_receive_buffer #(
      .Width(1),
      .Words(Words),
      .FrameWords(FrameWords),
      .Window(1)
  ) store (
      .mac_clk_i(clk_i),
      .mac_rst_i(rst_i),
      .mac_room_o(room),
      .shell_clk_i(clk_i),
      .shell_rst_i(rst_i),
      .shell_valid_o(valid),
      .shell_data_o(data),
      .shell_first_o(first),
      .shell_last_o(last),
      .shell_channel_o(channel),
      .mac_word_left_o(),
      .mac_slots_i(1'b0),
      .mac_begin_i(1'b0),
      .mac_idle_o(idle),
      .mac_slot_i(1'b0),
      .mac_left_o(),
      .mac_held_o(),
      .*
  );

  wire [10:0] comes = {mac_first_i, mac_last_i, mac_channel_i, mac_data_i};
  wire [10:0] shown = {first, last, channel, data};
  wire goes = valid && shell_ready_i;

  // Kept words that have not left, and words of the arriving frame.
  logic [7:0] stored_q, part_q;
  // The watched word, the number of words ahead of it, and whether it is kept.
  logic watched_q, kept_q;
  logic [7:0] ahead_q;
  logic [10:0] sought_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      stored_q <= '0;
      part_q <= '0;
      watched_q <= 1'b0;
      kept_q <= 1'b0;
    end else begin
      stored_q <= stored_q + (mac_commit_i ? part_q : 8'd0) - 8'(goes);
      part_q   <= mac_commit_i || mac_drop_i ? '0 : part_q + 8'(mac_valid_i);
      if (!watched_q) begin
        watched_q <= mac_valid_i && watch_i;
        kept_q <= 1'b0;
        ahead_q <= stored_q + part_q - 8'(goes);
        sought_q <= comes;
      end else begin
        if (goes) ahead_q <= ahead_q - 1'b1;
        if (mac_commit_i) kept_q <= 1'b1;
        if ((mac_drop_i && !kept_q) || (goes && ahead_q == 0)) watched_q <= 1'b0;
      end
    end
  end

  function automatic logic [31:0] wrapped(logic [31:0] place);
    return place < Words ? place : place - Words;
  endfunction
  wire [31:0] read = 32'(store.read_q.index);
  wire [31:0] place = wrapped(read + 32'(ahead_q) - 32'(valid));
  wire [31:0] loaded = 32'(stored_q) - 32'(valid);  // words that are kept and in the memory
  wire buffer_pointer_right = 32'(store.kept_q.index) == wrapped(read + loaded) && 32'(store.write_q.index) == wrapped(32'(store.kept_q.index) + 32'(part_q));

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      room_is_what_is_free : assert (room == (32'(stored_q) + FrameWords <= Words));
      kept_in_order : assert (!watched_q || !kept_q || ahead_q != 0 || !valid || shown == sought_q);
      kept_alone : assert (!valid || stored_q != 0);
      offers : assert (valid || stored_q == 0);
      idle_is_empty : assert (!idle || stored_q == 0);
      all_taken : cover (32'(stored_q) == Words);
      begins_again : cover (mac_begin_again_i);
      comes_out : cover (watched_q && ahead_q == 0 && goes);

      lemma_stored : assert (signed'(32'(signed'(store.spare_q))) == signed'(32'(Words)) - signed'(32'(FrameWords)) - signed'(32'(stored_q)) && 32'(stored_q) + 32'(part_q) <= Words);
      lemma_part : assert (32'(store.part_q) == 32'(part_q) && 32'(part_q) <= FrameWords &&
                           store.less_q == store.part_q - 1'b1);
      lemma_free : assert (part_q == 0 || 32'(stored_q) + FrameWords <= Words);
      lemma_indices : assert (read < Words && 32'(store.kept_q.index) < Words && 32'(store.write_q.index) < Words);
      lemma_last : assert (store.read_q.last == (read == Words - 1) && store.kept_q.last == (32'(store.kept_q.index) == Words - 1) && store.write_q.last == (32'(store.write_q.index) == Words - 1));
      lemma_no_slots : assert (!store.found_q && !store.reads_q && store.fresh_q == 0 && store.held_q == 0);
      lemma_pointers : assert (buffer_pointer_right);
      lemma_ahead : assert (!watched_q || (kept_q ? ahead_q < stored_q : ahead_q >= stored_q && ahead_q < stored_q + part_q));
      lemma_in_place : assert (!watched_q || (valid && ahead_q == 0 ? shown == sought_q : store.words_q[place] == sought_q));
    end
  end
endmodule
