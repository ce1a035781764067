// SPDX-License-Identifier: Apache-2.0
// Environment: words arrive in any cycles in which there is room; commits and drops at any time. Any one word may be the watched
// one: it is tracked by counting the words ahead of it.
module frame_fifo_proof #(
    parameter int unsigned Depth = 4,
    parameter int unsigned Room  = 1,
    localparam int unsigned IndexBits = $clog2(Depth),
    localparam int unsigned CountBits = $clog2(Depth + 4)
) (
    input logic clk_i,
    input logic rst_i,
    input logic watch_i,
    input logic in_valid_i,
    input logic in_data_i,
    input logic in_commit_i,
    input logic in_drop_i,
    input logic out_ready_i
);
  logic room, out_valid, out_data;

  tw_reset_first surroundings (.*);

  tw_frame_fifo #(
      .Width(1),
      .Depth(Depth),
      .Room (Room)
  ) fifo (
      .room_o(room),
      .out_valid_o(out_valid),
      .out_data_o(out_data),
      .*
  );

  typedef logic [CountBits-1:0] count_t;
  count_t kept_q, open_q;  // words of committed frames, and of the arriving one
  count_t ahead_q;  // words ahead of the watched one
  logic [1:0] waits_q;  // cycles since a committed word could have been at the output
  logic watched_q, committed_q, word_q, stalled_q, stalled_word_q;
  wire pop = out_valid && out_ready_i;
  wire count_t open = open_q + count_t'(in_valid_i);
  wire watches = !watched_q && watch_i && in_valid_i && !in_drop_i;

  always_ff @(posedge clk_i) begin
    stalled_q <= !rst_i && out_valid && !out_ready_i;
    stalled_word_q <= out_data;
    waits_q <= rst_i || kept_q == 0 || out_valid ? '0 : waits_q + 1'b1;
    if (rst_i) begin
      kept_q <= '0;
      open_q <= '0;
      watched_q <= 1'b0;
      committed_q <= 1'b0;
    end else begin
      kept_q <= kept_q - count_t'(pop) + (in_commit_i ? open : '0);
      open_q <= in_commit_i || in_drop_i ? '0 : open;
      if (watches) begin
        watched_q <= 1'b1;
        committed_q <= in_commit_i;
        ahead_q <= kept_q + open_q - count_t'(pop);
        word_q <= in_data_i;
      end else if (watched_q) begin
        ahead_q <= ahead_q - count_t'(pop);
        if (in_commit_i) committed_q <= 1'b1;
        if ((in_drop_i && !committed_q) || (pop && ahead_q == 0)) watched_q <= 1'b0;
      end
    end
  end

  // Words at the output, and in memory.
  wire count_t shown = count_t'(fifo.out_valid_q) + count_t'(fifo.next_valid_q);
  wire count_t kept_there = count_t'((IndexBits + 1)'(fifo.kept_q - fifo.read_q));
  wire count_t there = count_t'((IndexBits + 1)'(fifo.write_q - fifo.read_q));
  wire count_t place = ahead_q - shown;

  always_ff @(posedge clk_i) begin
    one_of_both : assume (!in_commit_i || !in_drop_i);
    words_have_places : assume (!in_valid_i || 32'(there) < Depth);
    if (!rst_i) begin
      in_order : assert (!watched_q || ahead_q != 0 || !out_valid || (committed_q && out_data == word_q));
      whole_frames_alone : assert (!out_valid || kept_q != 0);
      gives_what_it_holds : assert (out_valid || kept_q == 0 || waits_q < 2);
      waits_for_ready : assert (!stalled_q || (out_valid && out_data == stalled_word_q));
      room_is_there : assert (!room || 32'(there) + Room <= Depth);
      never_too_many : assert (32'(there) <= Depth);
      watched_comes_out : cover (watched_q && ahead_q == 0 && pop);
      full : cover (32'(there) == Depth && shown == 2);
      frame_is_dropped : cover (in_drop_i && open_q > 1 && kept_q != 0);

      lemma_kept : assert (kept_q == kept_there + shown && open_q == there - kept_there && kept_there <= there);
      lemma_used : assert (32'(fifo.used_q) <= Depth && 32'(fifo.used_q) + 1 >= 32'(there));
      lemma_room : assert (!room || 32'(fifo.used_q) + 1 + Room <= Depth);
      lemma_waits : assert (out_valid || kept_q == 0 || waits_q < 1 || fifo.next_valid_q);
      lemma_watched : assert (!watched_q || (committed_q ? ahead_q < kept_q : ahead_q >= kept_q && ahead_q < kept_q + open_q));
      lemma_in_place :
      assert (!watched_q || (ahead_q == 0 && fifo.out_valid_q ? fifo.out_q :
              ahead_q < shown ? fifo.next_q : fifo.words_q[IndexBits'(IndexBits'(fifo.read_q) + IndexBits'(place))]) == word_q);
    end
  end
endmodule
