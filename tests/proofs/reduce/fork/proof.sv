// SPDX-License-Identifier: Apache-2.0
// Environment: packets for any outputs, for which room was reserved; outputs read them at any time. A packet's words are counted
// from the head of the packet that an output reads: for any one word, the watched one, the count determines when it must be at
// the output.
module fork_proof #(
    parameter int unsigned Outputs = 2,
    parameter int unsigned Width = 1,
    parameter int unsigned Words = 3,
    localparam int unsigned CountWidth = $clog2(Words + 1)
) (
    input logic                  clk_i,
    input logic                  rst_i,
    input logic [Outputs-1:0]    take_i,
    input logic [CountWidth-1:0] take_words_i,
    input logic [Outputs-1:0]    in_valid_i,
    input logic [Width-1:0]      in_data_i,
    input logic                  in_last_i,
    input logic                  in_held_i,
    input logic [Outputs-1:0]    watch_i,
    input logic [Outputs-1:0]    out_ready_i,
    input logic [Outputs-1:0]    out_again_i
);
  logic [Outputs-1:0] take, in_valid, out_valid, out_last;
  logic [Outputs-1:0][CountWidth-1:0] room;
  logic [Outputs-1:0][Width-1:0] out_data;

  tw_reset_first surroundings (.*);

  tw_fork #(
      .Outputs(Outputs),
      .Width(Width),
      .Words(Words)
  ) copies (
      .take_i(take),
      .room_o(room),
      .in_valid_i(in_valid),
      .out_valid_o(out_valid),
      .out_data_o(out_data),
      .out_last_o(out_last),
      .*
  );

  for (genvar o = 0; o < Outputs; o++) begin : copy
    // Words that have arrived since the head of the front packet; words of it already read; words of a held packet; words
    // reserved but not arrived.
    logic [7:0] come_q, read_q, open_q, awaited_q;
    logic inside_q, held_q;  // a packet with outstanding words; it is held
    logic stalled_q;
    logic [Width-1:0] stalled_data_q;
    logic stalled_last_q;

    assign take[o] = take_i[o] && take_words_i <= room[o];
    assign in_valid[o] = in_valid_i[o] && awaited_q != 0 && (!inside_q || in_held_i == held_q);

    wire pop = out_valid[o] && out_ready_i[o];
    wire ends = pop && out_last[o];
    wire leaves = ends && !out_again_i[o];

    always_ff @(posedge clk_i) begin
      if (in_valid[o]) held_q <= in_held_i;
      if (rst_i) begin
        come_q <= 0;
        read_q <= 0;
        open_q <= 0;
        awaited_q <= 0;
        inside_q <= 1'b0;
      end else begin
        come_q <= come_q + 8'(in_valid[o]) - (leaves ? read_q + 1 : 0);
        if (pop) read_q <= ends ? 0 : read_q + 1;
        if (in_valid[o] && in_held_i) open_q <= in_last_i ? 0 : open_q + 1;
        awaited_q <= awaited_q + (take[o] ? 8'(take_words_i) : 0) - 8'(in_valid[o]);
        if (in_valid[o]) inside_q <= !in_last_i;
      end
    end

    // The watched word, from the cycle in which it arrives, and the number of words that arrived before it.
    logic watched_q, last_q;
    logic [7:0] ahead_q;
    logic [Width-1:0] word_q;

    wire watched = watched_q || (in_valid[o] && watch_i[o]);
    wire [7:0] ahead = watched_q ? ahead_q : come_q;
    wire [Width-1:0] word = watched_q ? word_q : in_data_i;
    wire last = watched_q ? last_q : in_last_i;

    always_ff @(posedge clk_i) begin
      watched_q <= !rst_i && watched && !(leaves && ahead <= read_q);
      ahead_q <= leaves ? ahead - read_q - 1 : ahead;
      word_q <= word;
      last_q <= last;
    end

    logic again_q;  // the watched word is in a packet that is replayed

    always_ff @(posedge clk_i) begin
      again_q <= !rst_i && watched_q && (again_q || (ends && out_again_i[o]));
      stalled_q <= !rst_i && out_valid[o] && !out_ready_i[o];
      stalled_data_q <= out_data[o];
      stalled_last_q <= out_last[o];
      if (!rst_i) begin
        room_is_free : assert (32'(room[o]) + 32'(come_q) + 32'(awaited_q) == Words);
        never_too_many : assert (32'(come_q) + 32'(awaited_q) <= Words);
        gives_what_it_holds : assert (out_valid[o] == (come_q != read_q + open_q || (in_valid[o] && !in_held_i)));
        in_order : assert (!watched || !out_valid[o] || read_q != ahead || (out_data[o] == word && out_last[o] == last));
        waits_for_ready : assert (!stalled_q || (out_valid[o] && out_data[o] == stalled_data_q && out_last[o] == stalled_last_q));
        full : cover (room[o] == 0 && awaited_q == 0);
        comes_again : cover (again_q && pop && read_q == ahead);
        held_comes_out : cover (watched_q && held_q && leaves && ahead == read_q);

        lemma_counts : assert (read_q + open_q <= come_q && 32'(come_q) <= Words && open_q <= come_q && read_q <= come_q);
        lemma_open : assert (open_q == 0 || (inside_q && held_q));
        lemma_same : assert (32'(copies.queue[o].passed_q) == 32'(read_q) && 32'(copies.queue[o].held_q) == 32'(open_q) &&
            32'(copies.queue[o].unread_q) == 32'(come_q) - 32'(read_q) - 32'(open_q) &&
            32'(copies.queue[o].awaited_q) == 32'(awaited_q));
        lemma_places : assert (32'(copies.queue[o].head_q) < Words &&
            32'(copies.queue[o].read_q) == (32'(copies.queue[o].head_q) + 32'(read_q)) % Words &&
            32'(copies.queue[o].write_q) == (32'(copies.queue[o].head_q) + 32'(come_q)) % Words);
        lemma_watched : assert (!watched_q || (ahead_q < come_q && 32'(ahead_q) < Words));
        lemma_kept : assert (!watched_q ||
            (copies.queue[o].words_q[(32'(copies.queue[o].head_q) + 32'(ahead_q)) % Words] == word_q &&
            copies.queue[o].lasts_q[(32'(copies.queue[o].head_q) + 32'(ahead_q)) % Words] == last_q));
      end
    end
  end
endmodule
