// SPDX-License-Identifier: Apache-2.0
// Environment: words leave the crossing in any cycle; a reader reads a frame's words, with any pauses, and pops the frame with
// its last word or later. Words are tracked as a queue, and so are frames, which follow from the words that arrived.
module send_buffer_proof #(
    parameter int unsigned Words = 4,
    parameter int unsigned FrameWords = 3,
    parameter int unsigned Frames = 2,
    localparam int unsigned WordsBits = $clog2(FrameWords + 1),
    localparam int unsigned FrameBits = WordsBits + 11
) (
    input logic       clk_i,
    input logic       rst_i,
    input logic       watch_i,
    input logic       watch_frame_i,
    input logic       shell_valid_i,
    input logic       shell_data_i,
    input logic       shell_first_i,
    input logic       shell_last_i,
    input logic [7:0] shell_channel_i,
    input logic       mac_read_i,
    input logic       mac_pop_i
);
  logic ready, frame_valid, frame_single, frame_first, frame_last, word_valid, word_data;
  logic [WordsBits-1:0] frame_words;
  logic [7:0] frame_channel;
  logic [$clog2(Words+3)-1:0] held;
  logic [$clog2(Frames+2)-1:0] frames_held;

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
      .mac_keep_i(1'b0),
      .mac_select_i(1'b0),
      .mac_offset_i('0),
      .mac_release_i(1'b0),
      .mac_frames_o(),
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

  // Arrivals and departures.
  logic [7:0] stored_q, part_q, open_q, taken_q;  // words, words of the incomplete frame, frames, words of the front one
  logic first_q;
  wire accept = shell_valid_i && ready;
  wire ends = accept && (shell_last_i || 32'(part_q) + 1 == FrameWords);

  always_ff @(posedge clk_i) begin
    if (accept && part_q == 0) first_q <= shell_first_i;
    if (rst_i) begin
      stored_q <= '0;
      part_q <= '0;
      open_q <= '0;
      taken_q <= '0;
    end else begin
      stored_q <= stored_q + 8'(accept) - 8'(mac_read_i);
      if (accept) part_q <= ends ? '0 : part_q + 1'b1;
      open_q  <= open_q + 8'(accept && part_q == 0) - 8'(mac_pop_i);
      taken_q <= mac_pop_i ? '0 : taken_q + 8'(mac_read_i);
    end
  end

  // One word more than the memory holds: the one that was read.
  tw_queue_properties #(
      .Width (1),
      .Depth (Words + 1),
      .Prompt(1'b0)
  ) words (
      .in_valid_i(shell_valid_i),
      .in_ready_i(ready),
      .in_data_i(shell_data_i),
      .out_valid_i(word_valid),
      .out_ready_i(1'b1),
      .out_data_i(word_data),
      .held_o(held),
      .*
  );

  tw_queue_properties #(
      .Width(FrameBits),
      .Depth(Frames)
  ) frames (
      .watch_i(watch_frame_i),
      .in_valid_i(ends),
      .in_ready_i(32'(frames_held) != Frames),
      .in_data_i({WordsBits'(part_q) + 1'b1, part_q == 0, part_q == 0 ? shell_first_i : first_q, shell_last_i, shell_channel_i}),
      .out_valid_i(frame_valid),
      .out_ready_i(mac_pop_i),
      .out_data_i({frame_words, frame_single, frame_first, frame_last, frame_channel}),
      .held_o(frames_held),
      .*
  );

  localparam int unsigned Index = $clog2(Words), FrameIndex = $clog2(Frames);
  wire [Index-1:0] place = buffer.read_q + Index'(words.ahead_q) - Index'(word_valid);
  wire [FrameIndex-1:0] frame_place = buffer.oldest_q + FrameIndex'(frames.ahead_q);

  logic [7:0] whole;  // words of complete frames
  logic formed;  // each has one to FrameWords words
  always_comb begin
    whole = '0;
    formed = 1'b1;
    for (int unsigned i = 0; i < Frames; i++) begin
      if (i < 32'(frames_held)) begin
        whole += 8'(buffer.frames_q[FrameIndex'(buffer.oldest_q+FrameIndex'(i))].words);
        formed &= buffer.frames_q[FrameIndex'(buffer.oldest_q+FrameIndex'(i))].words != 0;
        formed &= 32'(buffer.frames_q[FrameIndex'(buffer.oldest_q+FrameIndex'(i))].words) <= FrameWords;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      takes_where_there_is_room : assert (ready == (32'(stored_q) < Words && (part_q != 0 || 32'(open_q) < Frames)));
      frames_find_room : assert (!ends || 32'(frames_held) != Frames);
      words_are_there : assert (!frame_valid || 8'(frame_words) <= stored_q + taken_q);
      full : cover (32'(stored_q) == Words);
      all_frames : cover (32'(open_q) == Frames && !ready && 32'(stored_q) < Words);

      lemma_stored : assert (32'(buffer.held_q) == 32'(stored_q) && 32'(stored_q) <= Words);
      lemma_held : assert (32'(held) == 32'(stored_q) + 32'(word_valid));
      lemma_part : assert (32'(buffer.part_q) == 32'(part_q) && 32'(part_q) < FrameWords && buffer.inside_q == (part_q != 0) &&
                           buffer.completes_q == (32'(part_q) + 1 == FrameWords));
      lemma_first : assert (part_q == 0 || buffer.first_q == first_q);
      lemma_open : assert (32'(buffer.begun_q) == 32'(open_q) && 32'(open_q) == 32'(frames_held) + 32'(part_q != 0));
      lemma_open_bounded : assert (32'(open_q) <= Frames);
      lemma_pointers : assert (Index'(buffer.write_q - buffer.read_q) == Index'(stored_q));
      lemma_frames : assert (32'(buffer.whole_q) == 32'(frames_held) && FrameIndex'(buffer.next_q - buffer.oldest_q) == FrameIndex'(frames_held));
      lemma_shown : assert (buffer.shown_q == buffer.oldest_q && buffer.selected_q && !buffer.loads_q && !buffer.frees_q && buffer.freed_q == 0);
      lemma_whole : assert (stored_q + taken_q == whole + part_q && formed);
      lemma_taken : assert (buffer.taken_q == WordsBits'(taken_q) && (frame_valid ? taken_q <= 8'(frame_words) : taken_q == 0));
      lemma_word_in_place :
      assert (!words.watched_q || (word_valid && words.ahead_q == 0 ? word_data == words.word_q : buffer.words_q[place] == words.word_q));
      lemma_frame_in_place : assert (!frames.watched_q || buffer.frames_q[frame_place][FrameBits+Index-1-:FrameBits] == frames.word_q);
    end
  end
endmodule
