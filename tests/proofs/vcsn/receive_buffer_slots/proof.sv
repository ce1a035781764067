// SPDX-License-Identifier: Apache-2.0
// A receive buffer with slots. Environment: frames begin for any slot, are accepted where there is room, end or are dropped, and
// are kept two cycles later or not; the crossing accepts words at any time, and the buffer restarts where that is allowed. Any
// one arriving word is tracked (watch_i chooses it) by its slot and its index in the frame, and compared with the word that
// leaves in the order of slots.
module receive_buffer_slots_proof #(
    parameter int unsigned Words = 4,
    parameter int unsigned FrameWords = 2,
    parameter int unsigned Window = 2,
    localparam int unsigned SlotBits = $clog2(Window)
) (
    input logic                clk_i,
    input logic                rst_i,
    input logic                watch_i,
    input logic                mac_begin_i,
    input logic [SlotBits-1:0] mac_slot_i,
    input logic                take_i,             // the frame that began in the cycle before
    input logic                mac_valid_i,
    input logic                mac_data_i,
    input logic                mac_first_i,
    input logic                mac_last_i,
    input logic [         7:0] mac_channel_i,
    input logic                mac_commit_i,
    input logic                mac_drop_i,
    input logic                mac_keep_i,
    input logic                mac_begin_again_i,
    input logic                shell_ready_i
);
  localparam int unsigned PartBits = $clog2(FrameWords + 1);
  typedef logic [SlotBits-1:0] slot_t;
  typedef logic [PartBits-1:0] part_t;

  logic room, idle, left, valid, data, first, last;
  logic [7:0] channel;
  logic [Window-1:0] held;

  tw_reset_first surroundings (.*);

  tw_receive_buffer #(
      .Width(1),
      .Words(Words),
      .FrameWords(FrameWords),
      .Window(Window)
  ) store (
      .mac_clk_i(clk_i),
      .mac_rst_i(rst_i),
      .mac_room_o(room),
      .mac_word_left_o(),
      .mac_slots_i(1'b1),
      .mac_idle_o(idle),
      .mac_left_o(left),
      .mac_held_o(held),
      .shell_clk_i(clk_i),
      .shell_rst_i(rst_i),
      .shell_valid_o(valid),
      .shell_data_o(data),
      .shell_first_o(first),
      .shell_last_o(last),
      .shell_channel_o(channel),
      .*
  );

  wire [10:0] comes = {mac_first_i, mac_last_i, mac_channel_i, mac_data_i};
  wire [10:0] shown = {first, last, channel, data};
  wire goes = valid && shell_ready_i;

  // The frame that is arriving, and the frames whose last word arrived one and two cycles ago: their words may still be kept.
  typedef struct packed {
    logic valid;
    slot_t slot;
    part_t words;
  } frame_t;
  logic begun_q, free_q;  // in the cycle before; its slot was free
  frame_t open_q, ended_1q, ended_2q;
  wire open = open_q.valid || take_i;
  // Kept frames that have not left; the next slot, and the number of its words that have left.
  logic [Window-1:0] kept_q;
  part_t [Window-1:0] words_q;
  slot_t next_q;
  part_t gone_q;
  wire ends = goes && gone_q + 1'b1 == words_q[next_q];
  logic ended_q;  // a frame ended in the cycle before
  // The watched word.
  typedef enum logic [1:0] {
    None,
    Comes,
    Ended,
    Kept
  } watched_e;
  watched_e watched_q;
  slot_t slot_q;
  part_t place_q;
  logic [10:0] sought_q;
  logic [3:0] waits_q;  // cycles in which the next frame is kept, but not offered

  function automatic logic [Window-1:0] bit_of(logic is, slot_t slot);
    return Window'(is) << slot;
  endfunction

  // Frames whose reading has begun and that have not left; the slot that is being read, and the number of its words already read.
  slot_t reading;
  part_t behind;
  assign reading = store.order_q - 1'b1;
  assign behind = words_q[reading] - store.rest_q;
  wire waits = valid && store.ends_q;
  wire slot_t begun = slot_t'(store.reads_q) + slot_t'(waits);
  logic [Window-1:0] fresh;
  logic lengths_right;
  always_comb begin
    fresh = kept_q & ~bit_of(store.reads_q, reading);
    if (waits) fresh &= ~bit_of(1'b1, next_q);
    lengths_right = 1'b1;
    for (int unsigned i = 0; i < Window; i++)
      if (kept_q[i]) lengths_right &= words_q[i] != 0 && 32'(words_q[i]) <= FrameWords && store.lengths_q[i] == words_q[i];
  end
  function automatic logic alone(frame_t frame, logic one, slot_t one_slot, logic other, slot_t other_slot);
    return !frame.valid || (!held[frame.slot] && !(one && one_slot == frame.slot) && !(other && other_slot == frame.slot));
  endfunction
  function automatic logic [31:0] place_of(slot_t slot, part_t word);
    return 32'(slot) * FrameWords + 32'(word);
  endfunction

  always_ff @(posedge clk_i) begin
    begun_q <= mac_begin_i && !mac_begin_again_i && !rst_i;
    if (mac_begin_i) begin
      open_q.slot <= mac_slot_i;
      free_q <= !held[mac_slot_i] && !(mac_commit_i && open_q.slot == mac_slot_i) && !(ended_1q.valid && ended_1q.slot == mac_slot_i) &&
          !(ended_2q.valid && ended_2q.slot == mac_slot_i);
    end
    if (rst_i || mac_begin_again_i) begin
      open_q.valid <= 1'b0;
      open_q.words <= '0;
      ended_1q.valid <= 1'b0;
      ended_2q.valid <= 1'b0;
      kept_q <= '0;
      next_q <= '0;
      gone_q <= '0;
      ended_q <= 1'b0;
      watched_q <= None;
      waits_q <= '0;
    end else begin
      open_q.valid <= open && !mac_commit_i && !mac_drop_i;
      open_q.words <= mac_commit_i || mac_drop_i ? '0 : open_q.words + part_t'(mac_valid_i);
      ended_1q <= '{valid: mac_commit_i, slot: open_q.slot, words: open_q.words};
      ended_2q <= ended_1q;
      kept_q   <= (kept_q & ~bit_of(ends, next_q)) | bit_of(mac_keep_i, ended_2q.slot);
      if (mac_keep_i) words_q[ended_2q.slot] <= ended_2q.words;
      if (goes) gone_q <= ends ? '0 : gone_q + 1'b1;
      if (ends) next_q <= next_q + 1'b1;
      ended_q <= ends;
      waits_q <= !kept_q[next_q] || valid ? '0 : waits_q == '1 ? waits_q : waits_q + 1'b1;

      case (watched_q)
        None: begin
          if (mac_valid_i && watch_i) watched_q <= Comes;
          slot_q   <= open_q.slot;
          place_q  <= open_q.words;
          sought_q <= comes;
        end
        Comes: if (mac_commit_i) watched_q <= Ended;
        else if (mac_drop_i) watched_q <= None;
        Ended: if (ended_2q.valid && ended_2q.slot == slot_q) watched_q <= mac_keep_i ? Kept : None;
        default: if (goes && next_q == slot_q && gone_q == place_q) watched_q <= None;
      endcase
    end

    between_frames : assume (!mac_begin_i || !open || mac_commit_i || mac_drop_i);
    takes_what_began : assume (!take_i || (begun_q && room && !open_q.valid && !mac_begin_again_i));
    of_a_frame : assume (!mac_valid_i || (open && 32'(open_q.words) < FrameWords));
    ends_once : assume (!(mac_commit_i || mac_drop_i) || (open_q.valid && !mac_valid_i && !(mac_commit_i && mac_drop_i)));
    has_words : assume (!mac_commit_i || open_q.words != 0);
    keeps_what_ended : assume (!mac_keep_i || ended_2q.valid);
    begins_again_between_frames : assume (!mac_begin_again_i || (idle && !open && !ended_1q.valid && !ended_2q.valid));

    if (!rst_i) begin
      room_where_it_is_free : assert (!begun_q || room == free_q);
      kept_alone : assert (!valid || (kept_q[next_q] && gone_q < words_q[next_q]));
      kept_in_order : assert (watched_q != Kept || !goes || next_q != slot_q || gone_q != place_q || shown == sought_q);
      kept_until_it_goes : assert (watched_q != Kept || (kept_q[slot_q] && place_q < words_q[slot_q] && (next_q != slot_q || place_q >= gone_q)));
      offers : assert (waits_q < 4);
      shows_what_is_kept : assert (held == (kept_q | bit_of(ended_q, next_q - 1'b1)) && left == ended_q);
      idle_is_empty : assert (!idle || !kept_q[next_q]);
      all_taken : cover (kept_q == '1);
      comes_out : cover (watched_q == Kept && goes && next_q == slot_q && gone_q == place_q && slot_q != 0);
      begins_again : cover (mac_begin_again_i && kept_q != 0);

      lemma_open : assert ((!(begun_q || open_q.valid) || (store.slot_q == open_q.slot && 32'(store.write_q.index) == place_of(open_q.slot, open_q.words) % Words)) &&
                           store.part_q == open_q.words && (open_q.valid || open_q.words == 0) && 32'(open_q.words) <= FrameWords);
      lemma_last : assert ((!(begun_q || open_q.valid) || store.write_q.last == (32'(store.write_q.index) == Words - 1)) &&
                           (!store.reads_q || store.read_q.last == (32'(store.read_q.index) == Words - 1)));
      lemma_ended : assert (store.ended_1q == ended_1q.valid && store.ended_2q == ended_2q.valid &&
                            (!ended_1q.valid || (store.slot_1q == ended_1q.slot && store.part_1q == ended_1q.words)) &&
                            (!ended_2q.valid || (store.slot_2q == ended_2q.slot && store.part_2q == ended_2q.words)));
      lemma_words : assert ((!ended_1q.valid || (ended_1q.words != 0 && 32'(ended_1q.words) <= FrameWords)) &&
                            (!ended_2q.valid || (ended_2q.words != 0 && 32'(ended_2q.words) <= FrameWords)) && lengths_right);
      lemma_alone : assert (alone(open_q, ended_1q.valid, ended_1q.slot, ended_2q.valid, ended_2q.slot) &&
                            alone(ended_1q, ended_2q.valid, ended_2q.slot, open_q.valid, open_q.slot) &&
                            alone(ended_2q, ended_1q.valid, ended_1q.slot, open_q.valid, open_q.slot));
      lemma_free : assert (!begun_q || !free_q || alone('{1'b1, open_q.slot, '0}, ended_1q.valid, ended_1q.slot, ended_2q.valid, ended_2q.slot));
      lemma_begun : assert (!begun_q || !open_q.valid || ended_1q.valid == 1'b0);
      lemma_room : assert (!open_q.valid || room);
      lemma_order : assert (store.oldest_q == next_q - slot_t'(ended_q) && store.order_q == next_q + begun && store.left_q == ended_q);
      lemma_held : assert (!(ended_q && kept_q[next_q-1'b1]) && store.held_q == (kept_q | bit_of(ended_q, next_q - 1'b1)) && store.fresh_q == fresh);
      lemma_found : assert (!store.found_q || (fresh[store.order_q] && store.found_words_q == words_q[store.order_q] &&
                                               32'(store.found_place_q) == place_of(store.order_q, '0)));
      lemma_reads : assert (!store.reads_q || (kept_q[reading] && store.rest_q != 0 && store.rest_q <= words_q[reading] && store.final_q == (store.rest_q == 1) &&
                            32'(store.read_q.index) == place_of(reading, behind) &&
                            (waits ? behind == 0 && reading == next_q + 1'b1 : reading == next_q && behind == gone_q + part_t'(valid))));
      lemma_there : assert (valid ? (kept_q[next_q] && store.ends_q == (gone_q + 1'b1 == words_q[next_q]) && (store.reads_q || waits)) : gone_q == 0);
      lemma_waits : assert (waits_q == 0 || valid || !kept_q[next_q] || 32'(waits_q) <= (store.reads_q ? 2 : 32'(store.found_q)));
      lemma_watched : assert (watched_q == None || (place_q < FrameWords &&
                              (watched_q == Comes ? open_q.valid && open_q.slot == slot_q && place_q < open_q.words :
                               watched_q == Ended ? (ended_1q.valid && ended_1q.slot == slot_q && place_q < ended_1q.words) ||
                                                    (ended_2q.valid && ended_2q.slot == slot_q && place_q < ended_2q.words) : 1'b1)));
      lemma_in_place : assert (watched_q == None || (watched_q == Kept && valid && next_q == slot_q && gone_q == place_q ? shown == sought_q :
                               store.words_q[place_of(slot_q, place_q)] == sought_q));
    end
  end
endmodule
