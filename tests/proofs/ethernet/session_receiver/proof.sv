// SPDX-License-Identifier: Apache-2.0
// Environment: frames of any numbers begin, end and are kept in a receive buffer with slots, and leave it in order. Data frames,
// acknowledgements and requests for acknowledgement arrive, and acknowledgements are sent, at any time. The reference state:
// which frames have been kept and have left, and which acknowledgements were sent and are known to the sender.
module session_receiver_proof #(
    parameter int unsigned Window = 2,
    parameter int unsigned Resend = 8,
    parameter int unsigned NumberBits = 4,
    localparam int unsigned SlotBits = Window > 1 ? $clog2(Window) : 1
) (
    input logic                  clk_i,
    input logic                  rst_i,
    input logic                  begin_valid_i,
    input logic [NumberBits-1:0] begin_number_i,
    input logic                  commit_i,       // the frame has ended
    input logic                  keep_i,         // keeps the frame that ended two cycles ago
    input logic                  left_i,
    input logic                  rx_valid_i,
    input logic [NumberBits-1:0] rx_base_i,
    input logic                  rx_data_i,
    input logic                  rx_asks_i,
    input logic                  sent_i,
    input logic                  said_i
);
  typedef logic [NumberBits-1:0] number_t;
  localparam int unsigned Quarter = Resend / 4;
  localparam int unsigned Due = Window >= 4 ? Window / 4 : 1;

  logic fits, says, again, asks, spoke, rested;
  number_t number;
  logic [Window-1:0] received, held_q;

  tw_reset_first surroundings (.*);

  function automatic logic [SlotBits-1:0] slot_of(number_t of);
    return SlotBits'(of % number_t'(Window));
  endfunction

  // Frames: the next one to leave, and those that were kept; the arriving one, with a free slot, and those that have ended, of
  // which one may be kept.
  typedef struct packed {
    logic valid;
    logic fits;  // relative to the frames that had left when it began
    number_t number;
  } frame_t;
  number_t left_q, taken_q;
  frame_t open_q, ended_1q, ended_2q;
  logic kept_q;
  number_t kept_number_q;
  logic starts;
  always_comb begin
    starts = begin_valid_i && !held_q[slot_of(begin_number_i)];
    if (commit_i && slot_of(open_q.number) == slot_of(begin_number_i)) starts = 1'b0;
    if (ended_1q.valid && slot_of(ended_1q.number) == slot_of(begin_number_i)) starts = 1'b0;
    if (ended_2q.valid && slot_of(ended_2q.number) == slot_of(begin_number_i)) starts = 1'b0;
  end

  tw_session_receiver #(
      .Window(Window),
      .Resend(Resend),
      .NumberBits(NumberBits)
  ) receiver (
      .held_i(held_q),
      .fits_o(fits),
      .rx_taken_i(kept_q),
      .rx_slot_i(slot_of(kept_number_q)),
      .says_o(says),
      .again_o(again),
      .asks_o(asks),
      .spoke_o(spoke),
      .rested_o(rested),
      .number_o(number),
      .received_o(received),
      .*
  );

  typedef logic [$clog2(Quarter+4)-1:0] wait_t;
  function automatic wait_t later(wait_t count);
    return count == 0 || 32'(count) == Quarter + 3 ? count : count + 1'b1;
  endfunction
  typedef logic [$clog2(Due+1)-1:0] some_t;
  function automatic some_t more(some_t count, logic one);
    return one && 32'(count) != Due ? count + 1'b1 : count;
  endfunction

  // The state one cycle ago, and the last acknowledgement sent; known: its sender has confirmed that number.
  number_t left_1q, said_q;
  logic [Window-1:0] bits_q;
  logic known_q, spoke_q, more_q;  // frames have left that it did not acknowledge
  // A number was checked one and two cycles ago.
  logic asked_1q, asked_2q;
  logic fits_1q, fits_2q, fits_q;
  // Cycles since the last acknowledgement; since a frame arrived or left, or a request for acknowledgement, without an
  // acknowledgement after it.
  logic [$clog2(Resend+2)-1:0] age_q;
  wait_t news_q, questions_q;
  some_t came_q, went_q;
  logic irregular_q, went_1q;
  wire data = rx_valid_i && rx_data_i;

  logic [Window-1:0] turned;
  always_comb for (int unsigned k = 0; k < Window; k++) turned[k] = held_q[slot_of(left_q+number_t'(k))];

  // A frame that may be kept has a slot of its own and stays within the window.
  function automatic logic alone(frame_t frame, frame_t one, frame_t other);
    return !frame.valid || (!held_q[slot_of(frame.number)] && !(one.valid && slot_of(one.number) == slot_of(frame.number)) &&
                            !(other.valid && slot_of(other.number) == slot_of(frame.number)) &&
                            (!frame.fits || frame.number - left_q < number_t'(Window)));
  endfunction
  wire number_t ahead_1 = {receiver.number_high_1q - receiver.high_1q - (NumberBits / 2)'(receiver.ahead_low_1q[NumberBits/2]),
                           receiver.ahead_low_1q[NumberBits/2-1:0]};

  always_ff @(posedge clk_i) begin
    left_1q <= rst_i ? '0 : left_q;
    bits_q <= rst_i ? '0 : turned;
    kept_number_q <= ended_2q.number;
    fits_1q <= begin_number_i - left_q < number_t'(Window);
    fits_2q <= fits_1q;
    if (rst_i) begin
      left_q <= '0;
      taken_q <= '0;
      held_q <= '0;
      open_q.valid <= 1'b0;
      ended_1q.valid <= 1'b0;
      ended_2q.valid <= 1'b0;
      kept_q <= 1'b0;
      asked_1q <= 1'b0;
      asked_2q <= 1'b0;
      fits_q <= 1'b0;
      said_q <= '0;
      known_q <= 1'b1;
      spoke_q <= 1'b0;
      more_q <= 1'b0;
      age_q <= '0;
      news_q <= '0;
      questions_q <= '0;
      came_q <= '0;
      went_q <= '0;
      irregular_q <= 1'b0;
      went_1q <= 1'b0;
    end else begin
      if (left_i) left_q <= left_q + 1'b1;
      if (left_i) held_q[slot_of(left_q)] <= 1'b0;
      if (keep_i) held_q[slot_of(ended_2q.number)] <= 1'b1;
      if (begin_valid_i) open_q <= '{valid: starts, fits: begin_number_i - left_q < number_t'(Window), number: begin_number_i};
      else if (commit_i) open_q.valid <= 1'b0;
      ended_1q <= '{valid: commit_i, fits: open_q.fits, number: open_q.number};
      ended_2q <= ended_1q;
      kept_q   <= keep_i;
      if (keep_i) taken_q <= taken_q + 1'b1;

      asked_1q <= begin_valid_i;
      asked_2q <= asked_1q;
      if (asked_2q) fits_q <= fits_2q;

      if (said_i) said_q <= number;
      if (said_i && more_q) known_q <= 1'b0;
      else if (rx_valid_i && rx_base_i == said_q) known_q <= 1'b1;
      spoke_q <= spoke_q || said_i;
      more_q  <= went_1q || (more_q && !said_i);
      age_q <= said_i ? '0 : 32'(age_q) == Resend + 1 ? age_q : age_q + 1'b1;

      went_1q <= left_i;
      news_q <= (said_i || news_q == 0) ? wait_t'(data || went_1q) : later(news_q);
      if (rx_valid_i && rx_asks_i && (said_i || sent_i || questions_q == 0)) questions_q <= wait_t'(1);
      else questions_q <= said_i || sent_i ? '0 : later(questions_q);
      came_q <= more(said_i ? '0 : came_q, data);
      went_q <= more(said_i ? '0 : went_q, went_1q);
      irregular_q <= data && !(kept_q && kept_number_q + 1'b1 == taken_q);
    end

    in_order : assume (!left_i || held_q[slot_of(left_q)]);
    between_frames : assume (!begin_valid_i || !open_q.valid || commit_i);
    ends_what_began : assume (!commit_i || open_q.valid);
    keeps_what_fits : assume (!keep_i || (ended_2q.valid && fits));
    is_received : assume (!kept_q || data);
    nobody_knows_more : assume (!rx_valid_i || said_q - rx_base_i < number_t'(1) << (NumberBits - 1));

    if (!rst_i) begin
      fits_in_the_window : assert (fits == fits_q);
      keeps_once : assert (!keep_i || (ended_2q.number - left_q < number_t'(Window) && !held_q[slot_of(ended_2q.number)]));
      says_what_left : assert (number == left_1q);
      says_what_came : assert (received == bits_q);
      asks_until_known : assert (asks == !(known_q && !more_q));
      says_in_time : assert (says || (32'(news_q) <= Quarter && 32'(questions_q) <= Quarter));
      says_at_once : assert (says || !irregular_q);
      says_of_many : assert (says || (32'(came_q) < Due && 32'(went_q) < Due));
      says_again : assert (says || !spoke_q || 32'(age_q) + 1 < Resend || known_q);
      says_how_long :
      assert (spoke == spoke_q && rested == (spoke_q && 32'(age_q) + 1 >= Resend) && again == (rested && !known_q && !more_q));
      all_wait : cover (held_q == '1);
      comes_early : cover (keep_i && ended_2q.number != left_q);
      is_known : cover (said_q != 0 && !asks);

      lemma_taken : assert (taken_q - left_q == number_t'($countones(held_q)));
      lemma_next : assert (receiver.next_q == slot_of(taken_q - number_t'(kept_q)));
      lemma_kept : assert (!kept_q || (kept_number_q - left_q < number_t'(Window) && held_q[slot_of(kept_number_q)]));
      lemma_numbers : assert ({receiver.high_q, receiver.low_q} == left_q && receiver.carries_q == (receiver.low_q == '1));
      lemma_open : assert (alone(open_q, ended_1q, ended_2q) && (!open_q.valid || open_q.fits == (asked_1q ? fits_1q : asked_2q ? fits_2q : fits_q)));
      lemma_ended : assert (alone(ended_1q, ended_2q, open_q) && (!ended_1q.valid || ended_1q.fits == (asked_2q ? fits_2q : fits_q)));
      lemma_decided : assert (alone(ended_2q, open_q, ended_1q) && (!ended_2q.valid || ended_2q.fits == fits_q));
      lemma_not_begun : assert (!open_q.valid || !ended_1q.valid || asked_1q || !asked_2q);
      lemma_asked : assert (receiver.begun_q == {asked_2q, asked_1q} && (!asked_1q || fits_1q == (ahead_1 < number_t'(Window))) &&
                            (!asked_2q || fits_2q == ({receiver.ahead_high_2q, receiver.ahead_low_2q} < number_t'(Window))));
      lemma_said : assert (receiver.reported_q == said_q && receiver.known_q == known_q && receiver.some_q == more_q && receiver.left_q == went_1q);
      lemma_fresh : assert (receiver.full_q == (32'(receiver.fresh_q) + 1 == Due) && 32'(receiver.fresh_q) < Due && 32'(came_q) <= Due &&
                            (receiver.now_q || came_q <= receiver.fresh_q));
      lemma_again : assert (receiver.again_q.runs == spoke_q && 32'(age_q) <= Resend + 1 && (!spoke_q ? !rested : (rested == (32'(age_q) + 1 >= Resend) &&
                            (rested || 32'(receiver.again_q.rest) + 32'(age_q) + 1 == Resend))));
      lemma_confirm : assert (32'(questions_q) <= Quarter + 3 && receiver.confirm_q.runs == (questions_q != 0) && (questions_q == 0 ? !receiver.confirm_q.over :
                              receiver.confirm_q.over ? 32'(questions_q) >= Quarter : 32'(receiver.confirm_q.rest) + 32'(questions_q) == Quarter &&
                              receiver.confirm_q.rest != 0));
      lemma_report : assert (32'(news_q) <= Quarter + 3 && (receiver.report_q.runs ? news_q != 0 && (receiver.report_q.over ? 32'(news_q) >= Quarter : receiver.report_q.rest != 0 &&
                             32'(receiver.report_q.rest) + 32'(news_q) - Quarter <= 1) : !receiver.report_q.over && news_q == wait_t'(more_q)));
      lemma_went : assert (32'(went_q) <= Due && receiver.few_q == went_q && receiver.many_q == (32'(went_q) == Due) && more_q == (went_q != 0) && (more_q || said_q == left_1q) &&
                           receiver.number_q == left_1q && left_q - left_1q == number_t'(went_1q));
    end
  end
endmodule
