// SPDX-License-Identifier: Apache-2.0
// Receiving half of a session (docs/vcsn.md): decides which frames have room, and when to acknowledge received frames. It counts the
// frames that have left a tw_receive_buffer with slots; a frame's slot is the low bits of its number.
//
// A data frame's number is checked with its header (begin_valid_i): it has room if fits_o, valid from the third cycle on until the next check, and the buffer's
// mac_room_o are set, and must be dropped otherwise. Received frames (rx_valid_i) belong to the session, complete and correct. Each has a base, below which
// its sender knows that all frames have left. rx_data_i marks a data frame's end, with rx_taken_i if it was kept; rx_asks_i a request for a
// frame with a base. A received frame takes effect in the next cycle, a frame that leaves the buffer a cycle later.
//
// An acknowledgement is due (says_o) at once after a duplicate, or a frame with one missing before it; after a quarter of the window
// has arrived, or left; a quarter of Resend after any other frame has arrived or left, or was requested; and again, if no frame has left since (again_o), after Resend until the
// peer knows it. Its sender sets said_i, and sends the values of that cycle: number_o, below which all frames had left in the cycle before; received_o, a bit for each frame
// from that number on; and asks_o, which asks the peer to answer. sent_i: a data frame, which has a base, was sent. A session begins with rst_i, together
// with its buffer.
//
// Order: none. Latency: as above. Throughput: a received and a sent frame per cycle. Storage: counts, a bit for each frame. Outputs depend only on
// registers. Critical path: from a frame's base through its comparison with reported_q to known_q; for wide windows, from the count of frames that have left through the rotation
// of the bits.
module tw_session_receiver #(
    parameter  int unsigned Window     = 16,    /// frames, a power of two, 1 to 64
    parameter  int unsigned Resend     = 16113, /// cycles, 4 to 2^24
    parameter  int unsigned NumberBits = 32,    /// of frame numbers, even, at least 2 * SlotBits
    localparam int unsigned SlotBits   = Window > 1 ? $clog2(Window) : 1
) (
    input  logic                  clk_i,
    input  logic                  rst_i,
    input  logic                  left_i,          /// as in the receive buffer
    input  logic [    Window-1:0] held_i,
    input  logic                  begin_valid_i,
    input  logic [NumberBits-1:0] begin_number_i,
    output logic                  fits_o,
    input  logic                  rx_valid_i,
    input  logic [NumberBits-1:0] rx_base_i,
    input  logic                  rx_data_i,
    input  logic                  rx_taken_i,
    input  logic [  SlotBits-1:0] rx_slot_i,    /// of the kept frame
    input  logic                  rx_asks_i,
    input  logic                  sent_i,
    input  logic                  said_i,
    output logic                  says_o,
    output logic                  again_o,
    output logic                  asks_o,
    output logic                  spoke_o,         /// an acknowledgement was sent
    output logic                  rested_o,        /// and none for Resend cycles
    output logic [NumberBits-1:0] number_o,
    output logic [    Window-1:0] received_o
);
  if (Window < 1 || Window > 64 || (Window & (Window - 1)) != 0) begin : check_window
    $error("tw_session_receiver: Window must be a power of two, 1 to 64");
  end
  if (Resend < 4 || Resend > 1 << 24) begin : check_resend
    $error("tw_session_receiver: Resend must be 4 to 2^24");
  end

  if (NumberBits % 2 != 0 || NumberBits < 2 * SlotBits) begin : check_number
    $error("tw_session_receiver: NumberBits must be even, and at least twice those of slots");
  end

  localparam int unsigned HalfBits = NumberBits / 2;
  localparam int unsigned Due = Window >= 4 ? Window / 4 : 1;
  localparam int unsigned DueBits = $clog2(Due + 1);
  localparam int unsigned Quarter = Resend / 4;
  localparam int unsigned TimerBits = $clog2(Resend);

  // Timers: remaining cycles; over at 0.
  typedef struct packed {
    logic runs, over;
    logic [TimerBits-1:0] rest;
  } timer_t;
  function automatic timer_t started(int unsigned cycles);
    return '{runs: 1'b1, over: cycles == 1, rest: TimerBits'(cycles - 1)};
  endfunction
  function automatic timer_t later(timer_t timer);
    later = timer;
    if (timer.runs && !timer.over) begin
      later.over = timer.rest == 1;
      later.rest = timer.rest - 1'b1;
    end
  endfunction

  // Count of frames that have left, in two halves to shorten the carry chain.
  logic [HalfBits-1:0] low_q, high_q;
  logic carries_q;  // all bits of the lower half are set
  logic [NumberBits-1:0] reported_q;  // the count that was sent
  logic known_q;  // the peer knows reported_q
  logic [DueBits-1:0] few_q;  // frames that have left since, at most Due
  logic some_q, many_q;  // at least one; Due, which are acknowledged at once
  logic [SlotBits-1:0] next_q;  // slot of the next frame if none is missing
  logic [DueBits-1:0] fresh_q;  // frames that have arrived since an acknowledgement
  logic full_q;  // one more is acknowledged at once
  logic now_q;
  timer_t report_q, confirm_q, again_q;

  wire data = rx_valid_i && rx_data_i;
  wire regular = rx_taken_i && rx_slot_i == next_q && !full_q;
  wire knows = rx_valid_i && rx_base_i == reported_q;  // the peer cannot know more than was sent

  logic left_q;  // a frame left in the previous cycle
  logic [NumberBits-1:0] number_q;
  logic [Window-1:0] received_q;
  assign number_o = number_q;
  assign received_o = received_q;
  assign spoke_o = again_q.runs;
  assign rested_o = again_q.over;
  assign says_o = now_q || many_q || report_q.over || confirm_q.over || (again_q.over && !known_q);
  assign again_o = again_q.over && !known_q && !some_q;
  assign asks_o = some_q || !known_q;

  // The window starts at the count of frames that have left.
  logic [HalfBits:0] ahead_low_1q;  // the highest bit is the borrow
  logic [HalfBits-1:0] number_high_1q, high_1q, ahead_low_2q, ahead_high_2q;
  logic fits_q;
  assign fits_o = fits_q;

  // Bits of the frames from that count on: rotated by two bits of the distance per stage.
  function automatic logic [Window-1:0] turned(logic [Window-1:0] bits, logic [SlotBits-1:0] by);
    logic [Window-1:0] unturned;
    turned = bits;
    for (int unsigned turn = 0; turn < SlotBits; turn += 2) begin
      unturned = turned;
      for (int unsigned i = 0; i < Window; i++) turned[i] = unturned[(i+(32'(by)&(32'd3<<turn)))%Window];
    end
  endfunction

  always_ff @(posedge clk_i) begin
    ahead_low_1q <= {1'b0, begin_number_i[HalfBits-1:0]} - {1'b0, low_q};
    number_high_1q <= begin_number_i[NumberBits-1:HalfBits];
    high_1q <= high_q;
    ahead_low_2q <= ahead_low_1q[HalfBits-1:0];
    ahead_high_2q <= number_high_1q - high_1q - HalfBits'(ahead_low_1q[HalfBits]);
    number_q <= rst_i ? '0 : {high_q, low_q};
    received_q <= rst_i ? '0 : turned(held_i, low_q[SlotBits-1:0]);
  end

  logic [1:0] begun_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      low_q <= '0;
      high_q <= '0;
      carries_q <= 1'b0;
      reported_q <= '0;
      known_q <= 1'b1;
      few_q <= '0;
      some_q <= 1'b0;
      many_q <= 1'b0;
      next_q <= '0;
      fresh_q <= '0;
      full_q <= Due == 1;
      now_q <= 1'b0;
      report_q <= '0;
      confirm_q <= '0;
      again_q <= '0;
      begun_q <= '0;
      left_q <= 1'b0;
      fits_q <= 1'b0;
    end else begin
      begun_q <= {begun_q[0], begin_valid_i};
      left_q <= left_i;
      if (begun_q[1]) fits_q <= ahead_high_2q == 0 && 32'(ahead_low_2q) < Window;

      if (left_i) begin
        low_q <= low_q + 1'b1;
        if (carries_q) high_q <= high_q + 1'b1;
        carries_q <= low_q == ~HalfBits'(1);
      end
      if (said_i) begin
        few_q  <= DueBits'(left_q);
        some_q <= left_q;
        many_q <= left_q && Due == 1;
      end else if (left_q && !many_q) begin
        few_q  <= few_q + 1'b1;
        some_q <= 1'b1;
        many_q <= 32'(few_q) + 1 == Due;
      end
      if (said_i) reported_q <= number_q;
      if (said_i && some_q) known_q <= 1'b0;
      else if (knows) known_q <= 1'b1;

      if (data && rx_taken_i) begin
        next_q  <= Window == 1 ? '0 : next_q + 1'b1;
        if (rx_slot_i == next_q && !full_q) begin
          fresh_q <= fresh_q + 1'b1;
          full_q  <= 32'(fresh_q) + 2 == Due;
        end else begin
          fresh_q <= '0;
          full_q  <= Due == 1;
        end
      end
      now_q <= (now_q && !said_i) || (data && !regular);
      // Also for frames that are acknowledged at once, where it has no effect.
      if (said_i ? data : !report_q.runs && (data || some_q)) report_q <= started(Quarter);
      else if (said_i) report_q <= '0;
      else report_q <= later(report_q);

      if (rx_valid_i && rx_asks_i && (said_i || sent_i || !confirm_q.runs)) confirm_q <= started(Quarter);
      else if (said_i || sent_i) confirm_q <= '0;
      else confirm_q <= later(confirm_q);
      if (said_i) again_q <= started(Resend);
      else again_q <= later(again_q);
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      reported_is_left : assert (some_q || reported_q == number_o);
      held_where_it_leaves : assert (!left_i || held_i[low_q[SlotBits-1:0]&SlotBits'(Window-1)]);
    end
  end
`endif
endmodule
