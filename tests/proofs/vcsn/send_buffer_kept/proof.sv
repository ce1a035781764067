// SPDX-License-Identifier: Apache-2.0
// A send buffer that keeps frames during a session, and does not otherwise. Frames that are kept are selected, read, read again
// and released, with any pauses; others are read once and popped. Any one arriving word is tracked (watch_i chooses it) by its
// index in its frame and the number of frames ahead, and so is any one frame's description.
module send_buffer_kept_proof #(
    parameter int unsigned Words = 4,
    parameter int unsigned FrameWords = 3,
    parameter int unsigned Frames = 2,
    localparam int unsigned WordsBits = $clog2(FrameWords + 1),
    localparam int unsigned FramesBits = $clog2(Frames)
) (
    input logic                  clk_i,
    input logic                  rst_i,
    input logic                  watch_i,
    input logic                  watch_frame_i,
    input logic                  shell_valid_i,
    input logic                  shell_data_i,
    input logic                  shell_first_i,
    input logic                  shell_last_i,
    input logic [           7:0] shell_channel_i,
    input logic                  mac_keep_i,
    input logic                  mac_select_i,
    input logic [FramesBits-1:0] mac_offset_i,
    input logic                  mac_release_i,
    input logic                  mac_read_i,
    input logic                  mac_pop_i
);
  localparam int unsigned IndexBits = $clog2(Words);
  localparam int unsigned Description = WordsBits + 11;
  typedef logic [IndexBits-1:0] index_t;
  typedef logic [WordsBits-1:0] words_t;
  typedef logic [FramesBits:0] count_t;

  logic ready, frame_valid, frame_single, frame_first, frame_last, word_valid, word_data;
  words_t frame_words;
  logic [7:0] frame_channel;
  count_t frames;

  tw_reset_first surroundings (.*);

  tw_send_buffer #(
      .Width(1),
      .Words(Words),
      .FrameWords(FrameWords),
      .Frames(Frames)
  ) buffer (
      .shell_clk_i(clk_i),
      .shell_rst_i(rst_i),
      .shell_ready_o(ready),
      .mac_clk_i(clk_i),
      .mac_rst_i(rst_i),
      .mac_frames_o(frames),
      .mac_frame_valid_o(frame_valid),
      .mac_frame_words_o(frame_words),
      .mac_frame_single_o(frame_single),
      .mac_frame_first_o(frame_first),
      .mac_frame_last_o(frame_last),
      .mac_frame_channel_o(frame_channel),
      .mac_word_valid_o(word_valid),
      .mac_word_data_o(word_data),
      .*
  );

  // Complete frames from the oldest on, and the words of the incomplete one.
  count_t count_q;
  words_t [Frames-1:0] words_q;
  words_t part_q;
  index_t base_q;  // index of the oldest one's first word
  logic first_q;
  wire accept = shell_valid_i && ready;
  wire ends = accept && (shell_last_i || 32'(part_q) + 1 == FrameWords);
  wire leaves = mac_release_i || mac_pop_i;
  // The selected frame, as the number of frames ahead of it; it was selected in the cycle before; its words already read. The
  // buffer shows it if none was released since.
  logic there_q, loads_q, shows_q;
  count_t shown_q;
  words_t taken_q;
  logic keep_q;
  // The frame released in the cycle before.
  logic left_q;
  words_t left_words_q;
  logic [7:0] stored_q, begun_q;  // occupied entries, of words and of frames

  // Number of words of the frames ahead of `frame`.
  function automatic index_t offset_of(count_t frame);
    offset_of = '0;
    for (int unsigned i = 0; i < Frames; i++) if (i < 32'(frame)) offset_of += index_t'(words_q[i]);
  endfunction

  // The watched word, and the watched frame.
  logic watched_q, watched_frame_q, sought_q, reads_it_q, again_q;
  count_t ahead_q, frame_ahead_q;
  words_t place_q;
  logic [Description-1:0] sought_frame_q;
  wire [Description-1:0] shown = {frame_words, frame_single, frame_first, frame_last, frame_channel};
  wire reads_it = mac_read_i && watched_q && shown_q == ahead_q && taken_q == place_q;

  // Words of complete frames; each has one to FrameWords words, and the buffer's records agree.
  logic [7:0] whole;
  logic formed;
  always_comb begin
    whole = '0;
    formed = 1'b1;
    for (int unsigned i = 0; i < Frames; i++) begin
      if (i < 32'(count_q)) begin
        whole += 8'(words_q[i]);
        formed &= words_q[i] != 0 && 32'(words_q[i]) <= FrameWords;
        formed &= buffer.frames_q[FramesBits'(buffer.oldest_q+FramesBits'(i))].words == words_q[i];
        formed &= buffer.frames_q[FramesBits'(buffer.oldest_q+FramesBits'(i))].place == base_q + offset_of(count_t'(i));
      end
    end
  end

  always_ff @(posedge clk_i) begin
    keep_q <= mac_keep_i && !rst_i;
    left_words_q <= words_q[0];
    if (accept && part_q == 0) first_q <= shell_first_i;
    if (rst_i) begin
      count_q <= '0;
      part_q <= '0;
      base_q <= '0;
      there_q <= 1'b1;
      shows_q <= 1'b1;
      loads_q <= 1'b0;
      shown_q <= '0;
      taken_q <= '0;
      left_q <= 1'b0;
      stored_q <= '0;
      begun_q <= '0;
      watched_q <= 1'b0;
      watched_frame_q <= 1'b0;
      reads_it_q <= 1'b0;
      again_q <= 1'b0;
    end else begin
      count_q <= count_q + count_t'(ends) - count_t'(leaves);
      for (int unsigned i = 0; i < Frames; i++) begin
        if (ends && i == 32'(count_q) - 32'(leaves)) words_q[i] <= part_q + 1'b1;
        else if (leaves) words_q[i] <= i + 1 < Frames ? words_q[(i+1)%Frames] : '0;
      end
      if (accept) part_q <= ends ? '0 : part_q + 1'b1;
      if (leaves) base_q <= base_q + index_t'(words_q[0]);
      left_q <= mac_release_i;
      stored_q <= stored_q + 8'(accept) - (mac_keep_i ? (left_q ? 8'(left_words_q) : 8'd0) : 8'(mac_read_i));
      begun_q <= begun_q + 8'(accept && part_q == 0) - 8'(mac_pop_i || left_q);

      loads_q <= mac_select_i;
      if (mac_select_i) begin
        there_q <= 1'b1;
        shows_q <= 1'b1;
        shown_q <= count_t'(mac_offset_i);
        taken_q <= '0;
      end else begin
        if (mac_release_i) begin
          there_q <= there_q && shown_q != 0;
          shows_q <= 1'b0;
          shown_q <= shown_q - 1'b1;
        end
        taken_q <= mac_pop_i ? '0 : taken_q + words_t'(mac_read_i);
      end

      reads_it_q <= reads_it;
      if (!watched_q) begin
        watched_q <= accept && watch_i;
        again_q <= 1'b0;
        ahead_q <= count_q - count_t'(leaves);
        place_q <= part_q;
        sought_q <= shell_data_i;
      end else begin
        if (leaves) ahead_q <= ahead_q - 1'b1;
        if ((leaves && ahead_q == 0) || (reads_it && !mac_keep_i)) watched_q <= 1'b0;
        if (reads_it) again_q <= 1'b1;
      end
      if (!watched_frame_q) begin
        watched_frame_q <= ends && watch_frame_i;
        frame_ahead_q <= count_q - count_t'(leaves);
        sought_frame_q <= {part_q + 1'b1, part_q == 0, part_q == 0 ? shell_first_i : first_q, shell_last_i, shell_channel_i};
      end else if (leaves) begin
        frame_ahead_q <= frame_ahead_q - 1'b1;
        if (frame_ahead_q == 0) watched_frame_q <= 1'b0;
      end
    end

    of_the_shown : assume (!mac_read_i || (there_q && !loads_q && !mac_select_i && shown_q < count_q && taken_q < words_q[shown_q[FramesBits-1:0]]));
    pops_what_was_read : assume (!mac_pop_i || (!mac_keep_i && shown_q < count_q && taken_q + words_t'(mac_read_i) == words_q[0]));
    selects_what_is_there : assume (!mac_select_i || (mac_keep_i && !mac_release_i && (mac_offset_i == 0 || count_t'(mac_offset_i) < count_q)));
    releases_what_is_not_read :
    assume (!mac_release_i || (mac_keep_i && count_q != 0 && !(there_q && shown_q == 0 && (mac_read_i || (taken_q != 0 && taken_q < words_q[0])))));
    keeps_between_reads : assume (!mac_keep_i || keep_q || taken_q == 0);
    keeps_to_the_oldest : assume (mac_keep_i || !keep_q || (there_q && shows_q && !loads_q && shown_q == 0 && taken_q == 0));

    if (!rst_i) begin
      takes_where_there_is_room : assert (ready == (32'(stored_q) < Words && (part_q != 0 || 32'(begun_q) < Frames)));
      frames_find_room : assert (!ends || 32'(count_q) != Frames);
      says_how_many : assert (frames == count_q);
      shows_what_is_selected : assert (frame_valid == (shows_q && count_q != 0));
      same_frame : assert (!watched_frame_q || !there_q || shown_q != frame_ahead_q || shown == sought_frame_q);
      same_words : assert (!reads_it_q || (word_valid && word_data == sought_q));
      full : cover (32'(stored_q) == Words && mac_keep_i);
      read_again : cover (again_q && reads_it);
      released_in_between : cover (mac_release_i && taken_q != 0 && mac_read_i);

      lemma_stored : assert (32'(buffer.held_q) == 32'(stored_q) && 32'(stored_q) <= Words &&
                             stored_q == whole + 8'(part_q) + (left_q ? 8'(left_words_q) : 8'd0) - (keep_q ? 8'd0 : 8'(taken_q)));
      lemma_begun : assert (32'(buffer.begun_q) == 32'(begun_q) && 32'(begun_q) <= Frames &&
                            32'(begun_q) == 32'(count_q) + 32'(part_q != 0) + 32'(left_q) && (!left_q || keep_q));
      lemma_part : assert (buffer.part_q == part_q && 32'(part_q) < FrameWords && buffer.inside_q == (part_q != 0) &&
                           buffer.completes_q == (32'(part_q) + 1 == FrameWords) && (part_q == 0 || (buffer.first_q == first_q &&
                           buffer.place_q == buffer.write_q - index_t'(part_q))));
      lemma_formed : assert (formed && (!left_q || (left_words_q != 0 && 32'(left_words_q) <= FrameWords)));
      lemma_frames : assert (buffer.whole_q == count_q && FramesBits'(buffer.next_q - buffer.oldest_q) == FramesBits'(count_q) &&
                             buffer.write_q == base_q + offset_of(count_q) + index_t'(part_q));
      lemma_left : assert (!left_q || !shows_q);
      lemma_taken : assert (buffer.taken_q == taken_q && buffer.keep_q == keep_q);
      lemma_freed : assert (buffer.frees_q == left_q && buffer.freed_q == (left_q ? left_words_q : '0));
      lemma_shown : assert (buffer.loads_q == loads_q && buffer.selected_q == shows_q && (!there_q || (buffer.shown_q == buffer.oldest_q + FramesBits'(shown_q) &&
                            (shown_q == 0 || shown_q < count_q) && (count_q != 0 || taken_q == 0) && (count_q == 0 || taken_q <= words_q[shown_q[FramesBits-1:0]]))));
      lemma_read : assert (!there_q || loads_q || buffer.read_q == base_q + offset_of(shown_q) + index_t'(taken_q));
      lemma_oldest : assert (keep_q || (there_q && shows_q && !loads_q && shown_q == 0));
      lemma_loads : assert (!loads_q || (taken_q == 0 && there_q));
      lemma_watched : assert (!watched_q || (ahead_q < count_q ? place_q < words_q[ahead_q[FramesBits-1:0]] : ahead_q == count_q && place_q < part_q));
      lemma_not_read : assert (!watched_q || keep_q || ahead_q != 0 || place_q >= taken_q);
      lemma_in_place : assert (!watched_q || buffer.words_q[base_q+offset_of(ahead_q)+index_t'(place_q)] == sought_q);
      lemma_watched_frame : assert (!watched_frame_q || (frame_ahead_q < count_q &&
                                    buffer.frames_q[FramesBits'(buffer.oldest_q+FramesBits'(frame_ahead_q))][Description+IndexBits-1-:Description] == sought_frame_q));
    end
  end
endmodule
