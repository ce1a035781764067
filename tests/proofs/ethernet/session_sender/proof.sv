// SPDX-License-Identifier: Apache-2.0
// Environment: frames enter the send buffer at any time; the line accepts an offered frame at any time and reads it for any time;
// any acknowledgements arrive at any time. The reference state: the frames sent and released, the contents of the
// acknowledgements that were valid when they were evaluated, and the frame that the buffer shows.
module session_sender_proof #(
    parameter int unsigned Window = 2,
    parameter int unsigned Frames = 2,
    parameter int unsigned Resend = 4,
    parameter int unsigned Reorder = 1,
    parameter int unsigned NumberBits = 4,
    // Cycles without an acknowledgement, on a line that accepts and reads each offer at once, until the first missing frame is
    // sent again
    parameter int unsigned Again = 60,
    parameter int unsigned Leaves = 60,  // and until the frames covered by the last acknowledgement have left
    localparam int unsigned FramesBits = $clog2(Frames)
) (
    input logic                  clk_i,
    input logic                  rst_i,
    input logic                  arrives_i,
    input logic                  chosen_i,
    input logic                  done_i,
    input logic                  rx_valid_i,
    input logic [NumberBits-1:0] rx_number_i,
    input logic [    Window-1:0] rx_received_i
);
  typedef logic [NumberBits-1:0] number_t;
  localparam logic [3:0] Withdraw = 4'd1, Low = 4'd2, Mark = 4'd6;  // the sender's stages
  localparam int unsigned EntryBits = Window > 1 ? $clog2(Window) : 1;

  logic select_valid, release_frame, next_valid, next_new;
  logic [FramesBits-1:0] select_offset;
  logic [FramesBits:0] frames_q;
  number_t next_number, base;

  tw_reset_first surroundings (.*);

  tw_session_sender #(
      .Window(Window),
      .Frames(Frames),
      .Resend(Resend),
      .Reorder(Reorder),
      .NumberBits(NumberBits)
  ) sender (
      .frames_i(frames_q),
      .select_valid_o(select_valid),
      .select_offset_o(select_offset),
      .release_o(release_frame),
      .next_valid_o(next_valid),
      .next_new_o(next_new),
      .next_number_o(next_number),
      .base_o(base),
      .timed_out_o(),
      .*
  );

  function automatic logic [EntryBits-1:0] place_of(number_t number);
    return EntryBits'(number % number_t'(Window));
  endfunction

  // The line.
  logic offered_q, chosen_q, reading_q;
  number_t read_q;

  // Frame numbers: the next new one, the oldest in the buffer, and the first that is not acknowledged cumulatively; the frames
  // that have arrived.
  number_t sent_q, left_q, taken_q;
  logic [Window-1:0] come_q;
  wire number_t under_way = sent_q - left_q;
  // The frame that the buffer shows, valid if none was released since it was selected.
  logic shows_q;
  number_t shown_q;

  // The last acknowledgement, and whether it was valid when it arrived.
  number_t rx_q;
  logic [Window-1:0] bits_q;
  logic fitted_q;
  wire looks = sender.waits_q && sender.stage_q == Low;
  wire fits = rx_q - left_q <= under_way;

  wire may_choose = offered_q && !chosen_q && !reading_q;
  wire number_t sum = {sender.sum_high_q, (NumberBits / 2)'(0)} + number_t'(sender.sum_low_q);
  wire looking = sender.stage_q > Low && sender.stage_q <= Mark;
  logic [Window-1:0] under_mask;
  always_comb begin
    under_mask = '0;
    for (int unsigned k = 0; k < Window; k++)
      if (number_t'(k) < sent_q - base) under_mask[place_of(base+number_t'(k))] = 1'b1;
  end

  // The first missing frame, if any.
  logic misses;
  number_t missing;
  always_comb begin
    misses = 1'b0;
    missing = left_q;
    for (int unsigned k = 0; k < Window; k++) begin
      if (!misses && number_t'(k) < under_way && !come_q[place_of(left_q+number_t'(k))]) begin
        misses = 1'b1;
        missing = left_q + number_t'(k);
      end
    end
  end

  // Cycles in which the line acts as soon as it may and no acknowledgement arrives.
  logic [$clog2(Again+1)-1:0] again_q;
  logic [$clog2(Leaves+1)-1:0] leaves_q;
  number_t missing_q;
  wire prompt = (chosen_i || !offered_q || chosen_q) && (done_i || !(reading_q || chosen_i));

  always_ff @(posedge clk_i) begin
    offered_q <= !rst_i && next_valid;
    chosen_q  <= !rst_i && chosen_i;
    missing_q <= missing;
    if (chosen_i) read_q <= next_number;
    if (rx_valid_i) begin
      rx_q  <= rx_number_i;
      bits_q   <= rx_received_i;
      fitted_q <= rx_number_i - left_q <= under_way;
    end
    if (select_valid) shown_q <= left_q + number_t'(select_offset);
    if (rst_i) begin
      frames_q <= '0;
      reading_q <= 1'b0;
      sent_q <= '0;
      left_q <= '0;
      taken_q <= '0;
      come_q <= '0;
      shows_q <= 1'b0;
      again_q <= '0;
      leaves_q <= '0;
      fitted_q <= 1'b0;
    end else begin
      frames_q <= frames_q + (FramesBits + 1)'(arrives_i) - (FramesBits + 1)'(release_frame);
      reading_q <= (reading_q || chosen_i) && !done_i;
      if (chosen_i && next_new) begin
        sent_q <= sent_q + 1'b1;
        come_q[place_of(sent_q)] <= 1'b0;
      end
      if (release_frame) left_q <= left_q + 1'b1;
      shows_q <= select_valid || (shows_q && !release_frame);
      if (looks && fits) begin
        taken_q <= rx_q;
        for (int unsigned k = 0; k < Window; k++) begin
          if (rx_q - left_q + number_t'(k) < under_way && bits_q[k]) come_q[place_of(rx_q+number_t'(k))] <= 1'b1;
          if (number_t'(k) < rx_q - left_q) come_q[place_of(left_q+number_t'(k))] <= 1'b1;
        end
      end
      again_q <= !prompt || rx_valid_i || !misses || missing != missing_q || (chosen_i && next_number == missing) ? '0 :
          32'(again_q) == Again ? again_q : again_q + 1'b1;
      leaves_q <= !prompt || rx_valid_i ? '0 : 32'(leaves_q) == Leaves ? leaves_q : leaves_q + 1'b1;
    end

    has_place : assume (!arrives_i || 32'(frames_q) < Frames);
    of_what_is_offered : assume (!chosen_i || (offered_q && !chosen_q && !reading_q));
    of_what_is_read : assume (!done_i || reading_q || chosen_i);

    if (!rst_i) begin
      keeps_the_window : assert (32'(under_way) <= Window);
      new_in_order : assert (!chosen_i || !next_new || (next_number == sent_q && 32'(under_way) < 32'(frames_q)));
      again_if_missing : assert (!chosen_i || next_new || (next_number - left_q < under_way && !come_q[place_of(next_number)]));
      shows_what_it_offers : assert (!chosen_i || (shows_q && shown_q == next_number));
      leaves_when_acknowledged : assert (!release_frame || (left_q != taken_q && under_way != 0));
      stays_while_read : assert (!release_frame || !reading_q || read_q != left_q);
      says_what_left : assert (base == left_q + number_t'(release_frame));
      sends_again : assert (32'(again_q) < Again);
      leaves_in_time : assert (32'(leaves_q) < Leaves || !fitted_q || rx_q == left_q || rx_q - left_q > number_t'(Window));
      full : cover (32'(under_way) == Window && 32'(frames_q) == Frames);
      is_sent_again : cover (chosen_i && !next_new);
      leaves : cover (release_frame);

      lemma_under_way : assert (number_t'(sender.under_q) == sent_q - base && 32'(under_way) <= 32'(frames_q));
      lemma_read : assert (sender.read_q == reading_q && (!reading_q || (read_q - left_q < under_way && number_t'(sender.older_q) == read_q - base)));
      lemma_come : assert (looking || (sender.received_q & under_mask) == (come_q & under_mask));
      lemma_stage : assert (!may_choose || sender.stage_q <= Withdraw);
      lemma_offer :
      assert (!(sender.has_q || may_choose) ||
              (next_new ? 32'(sender.offset_q) == 32'(sender.under_q) && 32'(sender.under_q) < Window && 32'(frames_q) > 32'(sender.under_q) :
               sender.offset_q < sender.under_q && !sender.received_q[place_of(base+number_t'(sender.offset_q))]));
      lemma_sum : assert (!(select_valid || next_valid) || sum == base + number_t'(sender.offset_q));
      lemma_number : assert (!(next_valid || may_choose) || (next_number == base + number_t'(sender.offset_q) && sender.place_q == place_of(next_number)));
      lemma_shown : assert (!(next_valid || may_choose) || (shows_q && shown_q == next_number));
      lemma_taken : assert (looking || taken_q == base);
      lemma_taken_fits : assert (taken_q - base <= sent_q - base);
      lemma_lost_is_missing : assert ((sender.lost_q & (sender.received_q | ~under_mask)) == '0);
    end
  end
endmodule
