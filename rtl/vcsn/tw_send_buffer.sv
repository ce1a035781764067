// SPDX-License-Identifier: Apache-2.0
// Send buffer of a virtual port. Words cross from the shell's clock domain into the MAC's, and wait until a frame is complete, since its
// header shows whether the packet ends with it, and a MAC needs a frame without gaps. A frame is complete with FrameWords words, or with
// the packet's last one.
//
// Without mac_keep_i the oldest frame is shown, its words are read once, and it is popped. With it frames stay until they are released, the
// oldest first, and any may be read repeatedly: mac_select_i shows frame mac_offset_i, counted from the oldest, from the next cycle
// on until the next release, and its words are read from the second cycle on, from the first one. mac_keep_i may rise when no frame is
// partly read, and fall in the second cycle after frame 0 was selected or later, with no release since.
//
// shell_rst_i and mac_rst_i are asserted together, each until both clocks have had an edge.
//
// Order: kept. Latency: that of tw_async_fifo; a word is written in the cycle in which it is at that FIFO's output, a frame is available in the
// cycle after its last word was written, and a word in the one after its read. Throughput: one word per cycle in and out; the entry of a
// read word or a popped frame is free in the next cycle, those of a released frame and its words in the one after. Storage: 16 words
// and one in the crossing, Words words in a memory with a registered output, which can be block RAM, and Frames descriptors. Descriptors come
// from LUTRAM; all other outputs are registers, or depend only on registers. Critical path: from the pointers of the crossing to the enables of
// its word; from a word's last_i through the frame's end to the count of frames.
module tw_send_buffer #(
    parameter  int unsigned Width      = 512,  /// bits of a word, at least 1
    parameter  int unsigned Words      = 512,  /// capacity, a power of two, at least FrameWords and 2
    parameter  int unsigned FrameWords = 143,  /// maximum of a frame, at least 1
    parameter  int unsigned Frames     = 32,   /// capacity, a power of two, at least 2
    localparam int unsigned WordsBits  = $clog2(FrameWords + 1),
    localparam int unsigned FramesBits = $clog2(Frames)
) (
    input  logic             shell_clk_i,
    input  logic             shell_rst_i,
    input  logic             shell_valid_i,
    output logic             shell_ready_o,
    input  logic [Width-1:0] shell_data_i,
    input  logic             shell_first_i,   /// of a packet
    input  logic             shell_last_i,
    input  logic [      7:0] shell_channel_i, /// of the packet

    input  logic                  mac_clk_i,
    input  logic                  mac_rst_i,
    input  logic                  mac_keep_i,          /// frames stay until they are released
    input  logic                  mac_select_i,        /// only with mac_keep_i, like the release; never both in a cycle
    input  logic [FramesBits-1:0] mac_offset_i,        /// of an existing frame, or 0
    input  logic                  mac_release_i,       /// the oldest frame; not while it is read
    output logic [  FramesBits:0] mac_frames_o,        /// complete frames
    output logic                  mac_frame_valid_o,   /// a frame is shown
    output logic [ WordsBits-1:0] mac_frame_words_o,
    output logic                  mac_frame_single_o,  /// it has one word
    output logic                  mac_frame_first_o,   /// its packet begins with it
    output logic                  mac_frame_last_o,    /// its packet ends with it
    output logic [           7:0] mac_frame_channel_o,
    input  logic                  mac_read_i,          /// reads its next word, if there is one
    input  logic                  mac_pop_i,           /// with the read of its last word, or later
    output logic                  mac_word_valid_o,    /// the word read in the previous cycle
    output logic [     Width-1:0] mac_word_data_o
);
  if (Width < 1 || FrameWords < 1) begin : check_sizes
    $error("tw_send_buffer: Width and FrameWords must be at least 1");
  end
  if (Words < 2 || Words < FrameWords || (Words & (Words - 1)) != 0) begin : check_words
    $error("tw_send_buffer: Words must be a power of two, at least FrameWords and 2");
  end
  if (Frames < 2 || (Frames & (Frames - 1)) != 0) begin : check_frames
    $error("tw_send_buffer: Frames must be a power of two, at least 2");
  end

  localparam int unsigned IndexBits = $clog2(Words);
  localparam int unsigned CrossingWords = 16, CrossingStages = 2;

  typedef struct packed {
    logic first, last;
    logic [7:0] channel;
    logic [Width-1:0] data;
  } word_t;
  typedef struct packed {
    logic [WordsBits-1:0] words;
    logic single, first, last;
    logic [7:0] channel;
    logic [IndexBits-1:0] place;  // of its first word
  } frame_t;

  word_t word;
  frame_t frame, shown;
  logic there;

  frame_t frames_q[Frames];
  logic [FramesBits-1:0] next_q, oldest_q, shown_q;
  logic [FramesBits:0] whole_q;  // complete frames
  logic selected_q;  // no frame was released since the shown one was selected
  logic loads_q;  // it was selected in the previous cycle
  logic frees_q;  // a frame was released in the previous cycle
  logic [WordsBits-1:0] freed_q;  // its words; else 0

  logic [Width-1:0] words_q[Words];
  logic [Width-1:0] data_q;
  logic read_valid_q;
  logic [IndexBits-1:0] write_q, read_q;
  logic [IndexBits:0] held_q;  // words; the highest bit is set when full
  logic [FramesBits:0] begun_q;  // frames that have begun and were not popped; as above
  logic [WordsBits-1:0] part_q;  // words of the incomplete frame
  logic inside_q, completes_q, first_q;  // it has words; the next word completes it; its packet begins with it
  logic [IndexBits-1:0] place_q;  // of its first word

  wire room = !held_q[IndexBits] && (inside_q || !begun_q[FramesBits]);
  wire accept = there && room;
  wire ends = accept && (completes_q || word.last);
  wire begins = accept && !inside_q;
  wire leaves = mac_pop_i || mac_release_i;
  assign frame = '{
          words: part_q + 1'b1,
          single: !inside_q,
          first: inside_q ? first_q : word.first,
          last: word.last,
          channel: word.channel,
          place: inside_q ? place_q : write_q
      };
  assign shown = frames_q[shown_q];

  tw_async_fifo #(
      .Width ($bits(word_t)),
      .Depth (CrossingWords),
      .Stages(CrossingStages)
  ) crossing (
      .wr_clk_i  (shell_clk_i),
      .wr_rst_i  (shell_rst_i),
      .wr_valid_i(shell_valid_i),
      .wr_ready_o(shell_ready_o),
      .wr_data_i ({shell_first_i, shell_last_i, shell_channel_i, shell_data_i}),
      .rd_clk_i  (mac_clk_i),
      .rd_rst_i  (mac_rst_i),
      .rd_valid_o(there),
      .rd_ready_i(room),
      .rd_data_o (word)
  );

  assign mac_frames_o = whole_q;
  assign mac_frame_valid_o = whole_q != 0 && selected_q;
  assign mac_frame_words_o = shown.words;
  assign mac_frame_single_o = shown.single;
  assign mac_frame_first_o = shown.first;
  assign mac_frame_last_o = shown.last;
  assign mac_frame_channel_o = shown.channel;
  assign mac_word_valid_o = read_valid_q;
  assign mac_word_data_o = data_q;

  wire [IndexBits:0] less = mac_keep_i ? (IndexBits + 1)'(freed_q) : (IndexBits + 1)'(mac_read_i);

  always_ff @(posedge mac_clk_i) begin
    if (accept) words_q[write_q] <= word.data;
    if (mac_read_i) data_q <= words_q[read_q];
    if (begins) first_q <= word.first;
    if (begins) place_q <= write_q;
    if (ends) frames_q[next_q] <= frame;
    freed_q <= mac_release_i ? frames_q[oldest_q].words : '0;
    if (mac_rst_i) begin
      write_q <= '0;
      read_q <= '0;
      held_q <= '0;
      begun_q <= '0;
      part_q <= '0;
      inside_q <= 1'b0;
      completes_q <= FrameWords == 1;
      read_valid_q <= 1'b0;
      next_q <= '0;
      oldest_q <= '0;
      shown_q <= '0;
      whole_q <= '0;
      selected_q <= 1'b1;
      loads_q <= 1'b0;
      frees_q <= 1'b0;
      freed_q <= '0;
    end else begin
      if (accept) begin
        write_q <= write_q + 1'b1;
        part_q <= ends ? '0 : part_q + 1'b1;
        inside_q <= !ends;
        completes_q <= FrameWords == 1 || (!ends && 32'(part_q) + 2 == FrameWords);
      end
      if (ends) next_q <= next_q + 1'b1;
      if (leaves) oldest_q <= oldest_q + 1'b1;
      if (mac_select_i) shown_q <= oldest_q + mac_offset_i;
      else if (mac_pop_i) shown_q <= shown_q + 1'b1;
      selected_q <= mac_select_i || (selected_q && !mac_release_i);
      loads_q <= mac_select_i;
      // Without a complete frame, frame 0 is the incomplete one.
      if (loads_q) read_q <= whole_q != 0 ? shown.place : frame.place;
      else if (mac_read_i) read_q <= read_q + 1'b1;
      frees_q <= mac_release_i;
      held_q <= held_q + (IndexBits + 1)'(accept) - less;
      begun_q <= begun_q + (FramesBits + 1)'(begins) - (FramesBits + 1)'(mac_pop_i || frees_q);
      if (ends != leaves) whole_q <= whole_q + {{FramesBits{leaves}}, 1'b1};
      read_valid_q <= mac_read_i;
    end
  end

`ifndef SYNTHESIS
  logic [WordsBits-1:0] taken_q;  // words read of the shown frame
  logic keep_q;

  always_ff @(posedge mac_clk_i) begin
    keep_q <= mac_keep_i;
    if (mac_rst_i) begin
      taken_q <= '0;
      keep_q  <= 1'b0;
    end else begin
      taken_q <= mac_pop_i || mac_select_i ? '0 : taken_q + WordsBits'(mac_read_i);
      reads_its_words : assert (!mac_read_i || ((mac_frame_valid_o || mac_keep_i) && !loads_q && taken_q < mac_frame_words_o));
      pops_what_was_read :
      assert (!mac_pop_i || (!mac_keep_i && mac_frame_valid_o && 32'(taken_q) + 32'(mac_read_i) == 32'(mac_frame_words_o)));
      keeps : assert (mac_keep_i || (!mac_select_i && !mac_release_i));
      keeps_at_a_begin : assert (keep_q || !mac_keep_i || taken_q == 0);
      pops_from_the_oldest : assert (mac_keep_i || whole_q == 0 || (selected_q && !loads_q && shown_q == oldest_q));
      selects_what_is_there :
      assert (!mac_select_i || (!mac_release_i && (mac_offset_i == 0 || (FramesBits + 1)'(mac_offset_i) < whole_q)));
      releases_what_is_there : assert (!mac_release_i || whole_q != 0);
      frames_have_room : assert (!ends || !whole_q[FramesBits]);
    end
  end
`endif
endmodule
