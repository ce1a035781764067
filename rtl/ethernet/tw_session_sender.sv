// SPDX-License-Identifier: Apache-2.0
// Sending half of a session (docs/vcsn.md): frames in flight, which of them were received or count as lost, and the next one to send. A
// tw_send_buffer keeps each frame until it is acknowledged.
//
// A frame is offered (next_valid_o, next_number_o) at least two cycles after its selection in the buffer, whose outputs describe it:
// the first lost one, or else the next new one, while fewer than Window are in flight. To send it, chosen_i is set in the next cycle, in
// which the first word may be read, and done_i with the last word's read. An acknowledgement (rx_valid_i) has a number, below which all frames have left the
// receiver's buffer, which releases them, and a bit for each frame from there on that has arrived. One that arrives while another is
// processed waits; of several, the last one does. A frame is lost when more than Reorder of those sent after it have arrived; or, the
// first missing one, when no progress was acknowledged for Resend cycles (timed_out_o). A session begins with rst_i.
//
// Order: new frames in order. Latency: a new frame is offered in the third cycle after it is available, or after the previous one was read. An acknowledgement takes six cycles and
// two for each frame in flight, in which none is offered; the search for a lost one, one for each before it. Throughput: a frame in five
// cycles. Storage: 20 bits for each frame, 16 of them twice, an acknowledgement twice. Outputs are registers. Critical path: from the order of a frame's last transmission to
// the newest one that has arrived, and to the frame that is lost.
module tw_session_sender #(
    parameter  int unsigned Window     = 16,    /// frames, a power of two, 1 to 64
    parameter  int unsigned Frames     = 32,    /// of the buffer, a power of two, at least Window
    parameter  int unsigned Resend     = 16113, /// cycles, 4 to 2^24
    parameter  int unsigned Reorder    = 3,     /// frames, below 32768
    parameter  int unsigned NumberBits = 32,    /// of frame numbers, even, at least 2 * PlaceBits + 2
    localparam int unsigned FramesBits = $clog2(Frames)
) (
    input  logic                  clk_i,
    input  logic                  rst_i,
    input  logic [  FramesBits:0] frames_i,         /// as in the send buffer
    output logic                  select_valid_o,
    output logic [FramesBits-1:0] select_offset_o,
    output logic                  release_o,
    output logic                  next_valid_o,
    output logic                  next_new_o,       /// the frame was not sent before
    output logic [NumberBits-1:0] next_number_o,
    output logic [NumberBits-1:0] base_o,           /// the oldest unacknowledged frame
    input  logic                  chosen_i,
    input  logic                  done_i,
    input  logic                  rx_valid_i,
    input  logic [NumberBits-1:0] rx_number_i,
    input  logic [    Window-1:0] rx_received_i,
    output logic                  timed_out_o
);
  if (Window < 1 || Window > 64 || (Window & (Window - 1)) != 0) begin : check_window
    $error("tw_session_sender: Window must be a power of two, 1 to 64");
  end
  if (Frames < Window || (Frames & (Frames - 1)) != 0) begin : check_frames
    $error("tw_session_sender: Frames must be a power of two, at least Window");
  end
  if (Resend < 4 || Resend > 1 << 24) begin : check_resend
    $error("tw_session_sender: Resend must be 4 to 2^24");
  end
  if (NumberBits % 2 != 0 || NumberBits < 2 * (Window > 1 ? $clog2(Window) : 1) + 2) begin : check_number
    $error("tw_session_sender: NumberBits must be even, and at least twice those of places and 2");
  end

  localparam int unsigned PlaceBits = Window > 1 ? $clog2(Window) : 1;
  localparam int unsigned HalfBits = NumberBits / 2;
  localparam int unsigned OrderBits = 16;
  localparam int unsigned TimerBits = $clog2(Resend);
  typedef logic [PlaceBits:0] count_t;  // frames in flight
  typedef logic [OrderBits-1:0] order_t;
  typedef enum logic [3:0] {
    Idle,
    Withdraw,
    Low,
    High,
    Check,
    Release,
    Mark,
    Second,
    Search,
    Expire
  } stage_e;

  stage_e stage_q;
  // Frames in flight, by the low bits of their numbers.
  order_t orders_q[Window];  // order of their last transmissions
  logic [Window-1:0] received_q, lost_q;
  logic any_lost_q;
  order_t order_q, newest_q, lately_q;  // of the last transmission; of the newest received frame; missing frames sent before it are lost
  logic [HalfBits-1:0] base_low_q, base_high_q;
  logic base_carries_q;  // all bits of the lower half are set
  count_t under_q;
  // The next frame to send.
  logic has_q, new_q, valid_q, select_q;
  count_t offset_q;
  logic [NumberBits-1:0] number_q;
  // The frame being read.
  logic read_q;
  count_t older_q;  // frames before it
  logic holds_q;  // older_q is 0: the frame must not be released
  // Acknowledgements: the waiting one, and the one being processed.
  logic waits_q;
  logic [NumberBits-1:0] waiting_number_q;
  logic [Window-1:0] waiting_bits_q, bits_q;
  logic [HalfBits:0] low_q;  // its number minus the base
  logic [HalfBits-1:0] high_q;
  logic within_q;  // its number is at most that of the frames in flight
  count_t releasing_q;
  logic progress_q, all_q, release_q, timed_out_q;
  // Walk over the frames in flight: the slot, its contents, the number of frames before it, and from it on.
  logic [PlaceBits-1:0] at_d, at_q;
  logic [Window-1:0] at_bit_q, oldest_bit_q;  // one-hot, of it and of the oldest frame
  order_t order_here_q;
  logic received_here_q, lost_here_q;
  count_t before_q, rest_q;
  logic ended_q;  // none is left
  // Retransmission timer.
  logic runs_q, over_q;
  logic [TimerBits-1:0] time_q;

  function automatic logic [PlaceBits-1:0] place_of(logic [PlaceBits-1:0] number);
    return Window == 1 ? '0 : number;
  endfunction
  wire [PlaceBits-1:0] oldest = place_of(base_low_q[PlaceBits-1:0]);
  wire releases = stage_q == Release && !holds_q;
  wire marks = stage_q == Mark && !ended_q;
  wire comes = releases || (marks && bits_q[0] && !received_here_q);
  wire order_t behind = newest_q - order_here_q;
  wire order_t early = order_here_q - lately_q;
  logic [PlaceBits-1:0] place_q;  // slot of the offered frame
  wire looks = stage_q == Second && !ended_q;
  wire expires = stage_q == Expire && !received_here_q;
  wire loses = expires || (looks && !received_here_q && early[OrderBits-1]);
  wire walks = releases || (stage_q inside {Mark, Second, Search, Expire} && !ended_q);
  // Outside a walk, the oldest frame is the next.
  function automatic logic [Window-1:0] next_of(logic [Window-1:0] place);
    return (place << 1) | (place >> (Window - 1));
  endfunction
  wire [PlaceBits-1:0] next = place_of(at_q + 1'b1);
  assign at_d = walks ? next : oldest;
  wire starts = (chosen_i && !runs_q) || (stage_q == Second && ended_q && !all_q && progress_q);
  wire stops = stage_q == Expire || (stage_q == Second && ended_q && all_q);

  assign select_valid_o = select_q;
  assign select_offset_o = FramesBits'(offset_q);
  assign release_o = release_q;
  assign next_valid_o = valid_q;
  assign next_new_o = new_q;
  assign next_number_o = number_q;
  assign base_o = {base_high_q, base_low_q};
  assign timed_out_o = timed_out_q;

  // Number of the offered frame; two stages shorten the carry chain.
  logic [HalfBits:0] sum_low_q;
  logic [HalfBits-1:0] sum_high_q;
  always_ff @(posedge clk_i) begin
    sum_low_q  <= {1'b0, base_low_q} + (HalfBits + 1)'(offset_q);
    sum_high_q <= base_high_q;
    place_q    <= place_of(oldest + offset_q[PlaceBits-1:0]);
    number_q   <= {sum_high_q + HalfBits'(sum_low_q[HalfBits]), sum_low_q[HalfBits-1:0]};
  end

  always_ff @(posedge clk_i) begin
    if (chosen_i) orders_q[place_q] <= order_q + 1'b1;
    if (rx_valid_i) begin
      waiting_number_q <= rx_number_i;
      waiting_bits_q   <= rx_received_i;
    end
    if (stage_q == Low) begin
      low_q  <= {1'b0, waiting_number_q[HalfBits-1:0]} - {1'b0, base_low_q};
      high_q <= waiting_number_q[NumberBits-1:HalfBits] - base_high_q;
      bits_q <= waiting_bits_q;
    end else if (marks) bits_q <= bits_q >> 1;
    within_q <= high_q == HalfBits'(low_q[HalfBits]) && 32'(low_q[HalfBits-1:0]) <= 32'(under_q);
    if (chosen_i) older_q <= offset_q;
    else if (releases) older_q <= older_q - 1'b1;
    lately_q <= newest_q - order_t'(Reorder);
    if (stage_q == Check) progress_q <= 1'b0;
    else if (comes) progress_q <= 1'b1;
    if (stage_q == Mark) all_q <= 1'b1;
    else if (looks && !received_here_q) all_q <= 1'b0;

    if (stage_q == Check) releasing_q <= low_q[PlaceBits:0];
    else if (releases) releasing_q <= releasing_q - 1'b1;

    at_q <= at_d;
    at_bit_q <= walks ? next_of(at_bit_q) : oldest_bit_q;
    order_here_q <= walks ? orders_q[next] : orders_q[oldest];  // two reads, with the selection after the memory
    received_here_q <= walks ? (received_q & next_of(at_bit_q)) != 0 : (received_q & oldest_bit_q) != 0;
    lost_here_q <= walks ? (lost_q & next_of(at_bit_q)) != 0 : (lost_q & oldest_bit_q) != 0;
    before_q <= walks ? before_q + 1'b1 : '0;
    rest_q <= walks ? rest_q - 1'b1 : under_q;
    ended_q <= walks ? rest_q == 1 : under_q == 0;

    if (rst_i) begin
      stage_q <= Idle;
      received_q <= '0;
      lost_q <= '0;
      any_lost_q <= 1'b0;
      order_q <= '0;
      newest_q <= '0;
      base_low_q <= '0;
      base_high_q <= '0;
      base_carries_q <= 1'b0;
      under_q <= '0;
      has_q <= 1'b0;
      new_q <= 1'b0;
      valid_q <= 1'b0;
      select_q <= 1'b0;
      offset_q <= '0;
      read_q <= 1'b0;
      holds_q <= 1'b0;
      waits_q <= 1'b0;
      release_q <= 1'b0;
      timed_out_q <= 1'b0;
      runs_q <= 1'b0;
      over_q <= 1'b0;
      at_q <= '0;
      at_bit_q <= Window'(1);
      oldest_bit_q <= Window'(1);
      rest_q <= '0;
      ended_q <= 1'b1;
      before_q <= '0;
    end else begin
      any_lost_q <= lost_q != 0;
      waits_q <= rx_valid_i || (waits_q && stage_q != Low);
      read_q <= (chosen_i || read_q) && !done_i;
      holds_q <= (chosen_i ? offset_q == 0 : releases ? read_q && older_q == 1 : holds_q) && !done_i;
      valid_q <= select_q || valid_q;
      select_q <= 1'b0;
      release_q <= releases;
      timed_out_q <= expires;
      runs_q <= starts || (runs_q && !stops);
      over_q <= !starts && !stops && (over_q || (runs_q && time_q == 1));
      if (starts) time_q <= TimerBits'(Resend - 1);
      else if (runs_q && !over_q) time_q <= time_q - 1'b1;
      if (comes) begin
        if (behind[OrderBits-1]) newest_q <= order_here_q;
      end
      if (releases) begin
        oldest_bit_q   <= next_of(oldest_bit_q);
        base_low_q <= base_low_q + 1'b1;
        if (base_carries_q) base_high_q <= base_high_q + 1'b1;
        base_carries_q <= base_low_q == ~HalfBits'(1);
      end
      under_q <= under_q + count_t'(chosen_i && new_q) - count_t'(releases);
      for (int unsigned i = 0; i < Window; i++) begin
        if (at_bit_q[i]) begin
          if (comes) received_q[i] <= !releases;
          if (comes || loses) lost_q[i] <= loses;
        end
        if (chosen_i && place_q == PlaceBits'(i)) begin
          received_q[i] <= 1'b0;
          lost_q[i] <= 1'b0;
        end
      end
      if (chosen_i) begin
        order_q <= order_q + 1'b1;
        has_q   <= 1'b0;
        valid_q <= 1'b0;
      end

      case (stage_q)
        Idle: begin
          if (chosen_i) stage_q <= Idle;
          else if (waits_q || over_q) begin
            has_q   <= 1'b0;
            valid_q <= 1'b0;
            stage_q <= valid_q ? Withdraw : waits_q ? Low : Expire;
          end else if (!has_q && any_lost_q) stage_q <= Search;
          else if (!has_q) begin
            has_q <= 32'(under_q) < Window && 32'(frames_i) > 32'(under_q);
            new_q <= 32'(under_q) < Window && 32'(frames_i) > 32'(under_q);
            offset_q <= under_q;
          end else select_q <= !valid_q && !select_q && !read_q;
        end
        Withdraw: stage_q <= waits_q ? Low : Expire;
        Low: stage_q <= High;
        High: stage_q <= Check;
        Check: stage_q <= !within_q ? Idle : low_q[PlaceBits:0] != 0 ? Release : Mark;
        Release: if (releases && releasing_q == 1) stage_q <= Mark;
        Mark: if (ended_q) stage_q <= Second;
        Second: if (ended_q) stage_q <= Idle;
        Search, Expire: begin
          if (ended_q) stage_q <= Idle;
          else if (stage_q == Search ? lost_here_q : expires) begin
            has_q <= 1'b1;
            new_q <= 1'b0;
            offset_q <= before_q;
            stage_q <= Idle;
          end
        end
        default: stage_q <= Idle;
      endcase
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      window_is_kept : assert (32'(under_q) <= Window);
      chosen_was_offered : assert (!chosen_i || valid_q || stage_q == Withdraw);
      reads_one : assert (!chosen_i || !read_q);
      finds_what_it_expects : assert (stage_q != Expire || !ended_q);
    end
  end
`endif
endmodule
