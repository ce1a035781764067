// SPDX-License-Identifier: Apache-2.0
// Receive buffer of a virtual port. Words are written as they arrive from the MAC; a frame is kept at its end (mac_commit_i), or
// discarded (mac_drop_i) if its checksum or length was wrong. Words of kept frames cross into the shell's clock domain.
//
// A frame begins only if mac_room_o is set, and after the end of the previous one; its end comes after its last word. So all of it is in
// the memory by then, and its first word leaves the memory in that cycle.
//
// With mac_slots_i frames may arrive in another order than they leave. Each gives its slot when it begins
// (mac_begin_i, which may also come for other frames, but not between a frame's first word and its end), and mac_room_o shows from the next
// cycle on whether the slot is free. mac_keep_i, in the second cycle after the frame's end, keeps the frame. Kept frames leave in the order of slots, cyclically from slot 0 on;
// mac_left_o shows that all words of one have left. So frames whose slot is their number modulo Window leave in order.
//
// mac_slots_i changes with mac_begin_again_i, when mac_idle_o is set and no frame arrives: slots restart at 0, and frames in slots that could not
// leave are discarded.
//
// shell_rst_i and mac_rst_i are asserted together, each until both clocks have had an edge.
//
// Order: kept, or that of slots. Latency: a frame's first word enters the crossing in the cycle after the frame's end, with slots in the fourth one after it is kept; then that of
// tw_async_fifo. mac_left_o is set in the cycle after a frame's last word has left; its slot is free in the next one.
// Throughput: one word per cycle in and out, except two cycles between frames in slots. Storage: Words words in a memory with a registered output, which can be block RAM, and 16
// words and one in the crossing. The word at the memory's output occupies an entry, which is free in the cycle after it has entered
// the crossing; with slots, a frame's entries are freed together. Outputs are registers, or depend only on registers. Critical path: from the pointers of the crossing through a
// leaving word to the count of kept words.
module tw_receive_buffer #(
    parameter  int unsigned Width      = 512,            /// bits of a word, at least 1
    parameter  int unsigned Words      = 2560,           /// capacity, at least FrameWords and 2, any number
    parameter  int unsigned FrameWords = 143,            /// maximum of a frame, at least 1
    parameter  int unsigned Window     = 16,             /// slots, a power of two, 1 to 64; Words must suffice for them
    localparam int unsigned SlotBits   = Window > 1 ? $clog2(Window) : 1
) (
    input  logic                mac_clk_i,
    input  logic                mac_rst_i,
    output logic                mac_room_o,      /// for the longest frame
    input  logic                mac_valid_i,     /// a frame's next word
    input  logic [   Width-1:0] mac_data_i,
    input  logic                mac_first_i,     /// of a packet
    input  logic                mac_last_i,
    input  logic [         7:0] mac_channel_i,   /// of the packet
    input  logic                mac_commit_i,    /// the frame has ended, and is kept; it has at least one word
    input  logic                mac_drop_i,      /// the frame is discarded
    output logic                mac_word_left_o, /// a word entered the crossing in the previous cycle
    input  logic                mac_slots_i,     /// frames have slots
    input  logic                mac_begin_again_i,
    output logic                mac_idle_o,      /// in the previous cycle no frame that could leave was stored or arriving
    input  logic                mac_begin_i,     /// the next frame would have mac_slot_i
    input  logic [SlotBits-1:0] mac_slot_i,
    input  logic                mac_keep_i,      /// keeps the frame that ended two cycles ago
    output logic                mac_left_o,      /// all words of the oldest frame have left
    output logic [  Window-1:0] mac_held_o,      /// slots that are not free

    input  logic             shell_clk_i,
    input  logic             shell_rst_i,
    output logic             shell_valid_o,
    input  logic             shell_ready_i,
    output logic [Width-1:0] shell_data_o,
    output logic             shell_first_o,
    output logic             shell_last_o,
    output logic [      7:0] shell_channel_o
);
  if (Width < 1 || FrameWords < 1) begin : check_sizes
    $error("tw_receive_buffer: Width and FrameWords must be at least 1");
  end
  if (Words < 2 || Words < FrameWords) begin : check_words
    $error("tw_receive_buffer: Words must be at least FrameWords and 2");
  end

  if (Window < 1 || Window > 64 || (Window & (Window - 1)) != 0 || Window * FrameWords > Words) begin : check_window
    $error("tw_receive_buffer: Window must be a power of two, 1 to 64, and Words have room for so many frames");
  end

  localparam int unsigned IndexBits = $clog2(Words);
  localparam int unsigned CountBits = $clog2(Words + 1) + 1;
  localparam int unsigned PartBits = $clog2(FrameWords + 1);
  localparam int unsigned CrossingWords = 16, CrossingStages = 2;

  typedef struct packed {
    logic first, last;
    logic [7:0] channel;
    logic [Width-1:0] data;
  } word_t;
  typedef struct packed {
    logic last;  // the index is the last one
    logic [IndexBits-1:0] index;
  } pointer_t;

  function automatic pointer_t after(pointer_t at);
    return '{
        last: at.index == IndexBits'(Words - 2),
        index: at.last ? '0 : at.index + 1'b1
    };
  endfunction

  word_t words_q[Words];
  word_t word_q;
  logic  there_q;  // a kept word that has not left
  pointer_t write_q, kept_q, read_q;  // of the next word; of the first one that may be discarded; of the next one to leave
  logic [CountBits-1:0] spare_q;  // free entries beyond those of the longest frame; negative: no room
  logic [PartBits-1:0] part_q, less_q;  // words of the frame; minus 1

  // Frames in slots.
  function automatic logic [SlotBits-1:0] next_slot(logic [SlotBits-1:0] slot);
    return Window == 1 ? '0 : slot + 1'b1;
  endfunction
  function automatic logic [IndexBits-1:0] place_of(logic [SlotBits-1:0] slot);
    place_of = '0;
    for (int unsigned i = 0; i < Window; i++) place_of |= {IndexBits{slot == SlotBits'(i)}} & IndexBits'(i * FrameWords);
  endfunction

  logic [PartBits-1:0] lengths_q[Window];
  logic [Window-1:0] held_q, fresh_q;  // kept frames that have not left; those not read yet
  logic [SlotBits-1:0] slot_q, order_q, oldest_q;  // of the arriving frame; the next one to read; the oldest one
  logic ended_1q, ended_2q;  // a frame ended, which may be kept; its slot and words
  logic [SlotBits-1:0] slot_1q, slot_2q;
  logic [PartBits-1:0] part_1q, part_2q;
  logic idle_q;
  logic found_q;  // frame order_q is present
  logic [PartBits-1:0] found_words_q;
  logic [IndexBits-1:0] found_place_q;
  logic free_q;  // slot_q was free when its frame began
  logic reads_q, final_q, ends_q, left_q;  // a word is to be read; the frame's last one is; it is at the memory's output; it has left
  logic [PartBits-1:0] rest_q;  // words to read

  logic crossing_ready, word_left_q;
  wire  goes = there_q && crossing_ready;
  wire  moves = !there_q || crossing_ready;
  wire  reads = moves && reads_q;
  wire  in_order = spare_q == CountBits'(Words - FrameWords) - CountBits'(there_q);  // no kept word is in the memory
  wire  load = mac_slots_i ? reads : moves && (!in_order || mac_commit_i);
  wire  takes = found_q && !reads_q;
  wire  comes = mac_commit_i && !mac_slots_i;  // words are kept

  assign mac_idle_o = idle_q;
  assign mac_room_o = mac_slots_i ? free_q : !spare_q[CountBits-1];
  assign mac_left_o = left_q;
  assign mac_word_left_o = word_left_q;
  assign mac_held_o = held_q;

  logic [CountBits-1:0] more, more_less;  // kept words; minus the leaving one
  assign more = comes ? CountBits'(part_q) : '0;
  assign more_less = comes ? CountBits'(less_q) : '1;

  always_ff @(posedge mac_clk_i) begin
    if (mac_valid_i) begin
      words_q[write_q.index] <= '{
          first: mac_first_i,
          last: mac_last_i,
          channel: mac_channel_i,
          data: mac_data_i
      };
    end
    if (load) word_q <= words_q[read_q.index];
    word_left_q <= !mac_rst_i && goes;
    if (mac_keep_i) lengths_q[slot_2q] <= part_2q;
    slot_1q <= slot_q;
    slot_2q <= slot_1q;
    part_1q <= part_q;
    part_2q <= part_1q;
    idle_q <= mac_slots_i ? !held_q[oldest_q] && !mac_keep_i : in_order && !there_q && !mac_commit_i;
    if (mac_begin_i) slot_q <= mac_slot_i;
    if (!found_q) found_words_q <= lengths_q[order_q];
    if (!found_q) found_place_q <= place_of(order_q);
    if (!reads_q) begin
      rest_q  <= found_words_q;
      final_q <= 32'(found_words_q) == 1;
    end else if (moves) begin
      rest_q  <= rest_q - 1'b1;
      final_q <= 32'(rest_q) == 2;
    end
    if (mac_rst_i || mac_begin_again_i) begin
      there_q <= 1'b0;
      write_q <= '0;
      kept_q <= '0;
      read_q <= '0;
      spare_q <= CountBits'(Words - FrameWords);
      part_q <= '0;
      less_q <= '1;
      held_q <= '0;
      fresh_q <= '0;
      order_q <= '0;
      free_q <= 1'b0;
      oldest_q <= '0;
      found_q <= 1'b0;
      reads_q <= 1'b0;
      ended_1q <= 1'b0;
      ended_2q <= 1'b0;
      idle_q <= 1'b1;
      ends_q <= 1'b0;
      left_q <= 1'b0;
    end else begin
      there_q <= load || (there_q && !crossing_ready);
      if (load || takes) read_q <= takes ? '{index: found_place_q, default: 1'b0} : after(read_q);
      if (mac_commit_i) kept_q <= write_q;
      if ((mac_slots_i && mac_begin_i) || mac_drop_i || mac_valid_i) begin
        write_q <= after(write_q);
        if (mac_drop_i) write_q <= kept_q;
        if (mac_slots_i && mac_begin_i) write_q <= '{index: place_of(mac_slot_i), default: 1'b0};
      end
      if (mac_commit_i || mac_drop_i) begin
        part_q <= '0;
        less_q <= '1;
      end else if (mac_valid_i) begin
        part_q <= part_q + 1'b1;
        less_q <= part_q;
      end
      spare_q <= goes ? spare_q - more_less : spare_q - more;  // `goes` is late
      for (int unsigned i = 0; i < Window; i++) begin
        if (left_q && oldest_q == SlotBits'(i)) held_q[i] <= 1'b0;
        if (takes && order_q == SlotBits'(i)) fresh_q[i] <= 1'b0;
        if (mac_keep_i && slot_2q == SlotBits'(i)) begin
          held_q[i]  <= 1'b1;
          fresh_q[i] <= 1'b1;
        end
      end
      ended_1q <= mac_commit_i;
      ended_2q <= ended_1q;
      if (mac_begin_i)
        free_q <= !held_q[mac_slot_i] && !(mac_commit_i && mac_slot_i == slot_q) && !(ended_1q && mac_slot_i == slot_1q) &&
            !(ended_2q && mac_slot_i == slot_2q);
      found_q <= found_q ? !takes : fresh_q[order_q];
      if (takes) order_q <= next_slot(order_q);
      if (left_q) oldest_q <= next_slot(oldest_q);
      reads_q <= reads_q ? !(moves && final_q) : found_q;
      if (reads) ends_q <= final_q;
      left_q <= goes && ends_q;
    end
  end

  tw_async_fifo #(
      .Width ($bits(word_t)),
      .Depth (CrossingWords),
      .Stages(CrossingStages)
  ) crossing (
      .wr_clk_i  (mac_clk_i),
      .wr_rst_i  (mac_rst_i),
      .wr_valid_i(there_q),
      .wr_ready_o(crossing_ready),
      .wr_data_i (word_q),
      .rd_clk_i  (shell_clk_i),
      .rd_rst_i  (shell_rst_i),
      .rd_valid_o(shell_valid_o),
      .rd_ready_i(shell_ready_i),
      .rd_data_o ({shell_first_o, shell_last_o, shell_channel_o, shell_data_o})
  );

`ifndef SYNTHESIS
  always_ff @(posedge mac_clk_i) begin
    if (!mac_rst_i) begin
      begins_with_room : assert (!mac_valid_i || part_q != 0 || mac_room_o);
      not_too_long : assert (!mac_valid_i || 32'(part_q) < FrameWords);
      ends_after_its_words : assert (!(mac_commit_i || mac_drop_i) || !mac_valid_i);
      one_end : assert (!mac_commit_i || (!mac_drop_i && part_q != 0));
      bounded : assert (mac_slots_i || signed'(spare_q) >= signed'(CountBits'(part_q)) - signed'(CountBits'(FrameWords)));
      begins_between_frames : assert (!mac_slots_i || !mac_begin_i || part_q == 0 || mac_commit_i || mac_drop_i);
      keeps_what_ended : assert (!mac_keep_i || (mac_slots_i && ended_2q));
      not_in_use : assert (!mac_keep_i || !held_q[slot_2q]);
      begins_again_idle : assert (!mac_begin_again_i || (idle_q && part_q == 0 && !mac_valid_i && !mac_commit_i && !ended_1q));
    end
  end
`endif
endmodule
