// SPDX-License-Identifier: Apache-2.0
// One end of a session (docs/vcsn.md): sends and receives control frames, opens and closes sessions; its halves are tw_session_sender and
// tw_session_receiver. It belongs to a virtual port, whose buffers keep frames, and use slots, while it has a session (used_o without
// closing_o).
//
// open_valid_i ends the present session and opens one with another number, or none (0). Until then (closing_o) nothing is sent or accepted: the
// frame being sent is read to its end, frames of the former session that are unsent or unacknowledged are dropped, one per cycle,
// and the receive buffer must hold no frame that could leave. A node's restart asserts rst_i.
//
// A received frame (rx_valid_i, in the cycle after commit_i of its words) is decided in the next cycle, in which keep_o
// keeps it, and updates both halves in the one after. A control frame is chosen at least two cycles after its cause (says_o),
// and has the state of that cycle (said_i in the next one).
//
// Order: none. Latency: as above. Throughput: a frame in two cycles. Storage: three session numbers, a frame's headers and bits. Outputs are
// registers, or depend only on registers. Critical path: from a frame's numbers through the decision to the slots that are held.
module tw_session_end
  import tw_vcsn_pkg::*;
  import tw_vcsn_spec_pkg::*;
#(
    parameter  int unsigned Window     = 16,    /// as in both halves
    parameter  int unsigned Frames     = 32,
    parameter  int unsigned Resend     = 16113,
    parameter  int unsigned Reorder    = 3,
    parameter  int unsigned Tries      = 16,    /// unanswered tries before the session ends, 1 to 2^20
    localparam int unsigned FramesBits = $clog2(Frames),
    localparam int unsigned SlotBits   = Window > 1 ? $clog2(Window) : 1
) (
    input  logic clk_i,
    input  logic rst_i,

    input  logic           open_valid_i,
    input  session_t       open_number_i,
    output logic           used_o,          /// it has a session, or is closing the former one
    output logic           closing_o,
    output logic           keeps_o,         /// its buffers hold a session's frames
    output session_state_t state_o,

    input  logic [  FramesBits:0] frames_i,         /// of the send buffer, as in tw_session_sender
    output logic                  select_valid_o,
    output logic [FramesBits-1:0] select_offset_o,
    output logic                  release_o,
    output logic                  may_send_o,       /// the frame that the buffer shows may be sent
    input  logic                  chosen_i,         /// that frame was chosen in the previous cycle
    input  logic                  done_i,           /// its last word is read
    output logic                  says_o,
    input  logic                  said_i,           /// a control frame was chosen in the previous cycle
    output logic [$bits(frame_kind_e)-1:0] says_kind_o, /// valid with said_i
    output logic                  says_first_o,
    output logic                  says_last_o,
    output logic [63:0]           says_number_o,
    output vcsn_sequence_t        sequence_o,       /// valid with said_i or chosen_i

    input  logic                  receiving_i,      /// a frame's words are being accepted
    input  logic                  idle_i,           /// as in tw_receive_buffer
    input  logic                  left_i,
    input  logic [Window-1:0]     held_i,
    output logic                  begin_again_o,
    output logic                  keep_o,
    input  logic                  commit_i,
    input  logic                  begin_valid_i,    /// as in tw_decoder
    input  logic [31:0]           begin_number_i,
    input  logic                  rx_valid_i,
    input  vcsn_sequence_t        rx_sequence_i,
    input  logic [$bits(frame_kind_e)-1:0] rx_kind_i,
    input  logic                  rx_first_i,
    input  logic                  rx_last_i,
    input  logic [Window-1:0]     rx_received_i
);
  if (Tries < 1 || Tries > 1 << 20) begin : check_tries
    $error("tw_session_end: Tries must be 1 to 2^20");
  end

  localparam int unsigned TriesBits = $clog2(Tries + 1);

  typedef enum logic [2:0] {
    Settle,
    Wait,
    Drop,
    Select,
    Ready
  } stage_e;

  session_t id_q, peer_q, peer_1q;
  session_state_t state_q;
  logic keeps_q;
  // Closing and opening.
  logic closing_q;
  stage_e stage_q;
  session_t number_q;  // of the next session
  logic [FramesBits:0] rest_q;  // frames to drop
  logic drops_q;  // rest_q is not 0
  logic reading_q;  // a frame is being read
  logic [1:0] received_q;  // a frame's words were accepted
  // Pending answer and refusal, and their destinations.
  logic answers_q, refuses_q;
  session_t answer_q, refuse_q, refused_q;  // the session number that was named
  logic [TriesBits-1:0] tries_q;
  logic says_q;

  logic next_valid, timed_out, sender_release, sender_select;
  logic [FramesBits-1:0] sender_offset;
  logic [31:0] next_number, base, left_number;
  logic fits, rx_says, again, asks, spoke, rested;
  logic [Window-1:0] received;
  logic hears_q;  // a received frame for both halves
  logic data_q, taken_q, asked_q;
  logic [31:0] hears_number_q, hears_base_q;
  logic [Window-1:0] hears_received_q;

  wire begins = closing_q && stage_q == Ready && idle_i && !receiving_i && received_q == 0 && !open_valid_i;
  wire drops = closing_q && stage_q == Drop && drops_q;
  wire halves_rst = rst_i || closing_q || !keeps_q;

  assign used_o = keeps_q || closing_q;
  assign closing_o = closing_q;
  assign keeps_o = keeps_q;
  assign state_o = closing_q ? '{closing: 1'b1, default: 1'b0} : state_q;
  assign begin_again_o = begins;
  assign release_o = sender_release || drops;
  assign select_valid_o = sender_select || (closing_q && stage_q == Select);
  assign select_offset_o = closing_q ? '0 : sender_offset;
  assign may_send_o = !closing_q && (!keeps_q || (state_q.open && next_valid));

  tw_session_sender #(
      .Window (Window),
      .Frames (Frames),
      .Resend (Resend),
      .Reorder(Reorder)
  ) sender (
      .clk_i,
      .rst_i           (halves_rst),
      .frames_i,
      .select_valid_o  (sender_select),
      .select_offset_o (sender_offset),
      .release_o       (sender_release),
      .next_valid_o    (next_valid),
      .next_new_o      (),
      .next_number_o   (next_number),
      .base_o          (base),
      .chosen_i,
      .done_i,
      .rx_valid_i   (hears_q && !data_q),
      .rx_number_i  (hears_number_q),
      .rx_received_i(hears_received_q),
      .timed_out_o     (timed_out)
  );

  tw_session_receiver #(
      .Window(Window),
      .Resend(Resend)
  ) receiver (
      .clk_i,
      .rst_i         (halves_rst),
      .left_i,
      .held_i,
      .begin_valid_i,
      .begin_number_i,
      .fits_o        (fits),
      .rx_valid_i (hears_q),
      .rx_base_i  (hears_base_q),
      .rx_data_i  (data_q),
      .rx_taken_i (taken_q),
      .rx_slot_i  (SlotBits'(slot_of(hears_number_q[5:0], Window))),
      .rx_asks_i  (asked_q),
      .sent_i        (chosen_i),
      .said_i,
      .says_o        (rx_says),
      .again_o       (again),
      .asks_o        (asks),
      .spoke_o       (spoke),
      .rested_o      (rested),
      .number_o      (left_number),
      .received_o    (received)
  );

  // Received frames: comparison of their numbers, then the decision.
  logic rx_q, written_1q, written_q, first_q, last_q, to_me_q, to_none_q, from_peer_q, from_none_q, of_peer_q;
  logic [$bits(frame_kind_e)-1:0] kind_q;
  vcsn_sequence_t sequence_q;
  logic [Window-1:0] bits_q;
  wire is_refusal = kind_q == FrameKindRefusal;
  wire is_answer = kind_q == FrameKindAcknowledgement;
  wire has_ended = state_q.refused || state_q.silent;
  wire decides = rx_q && !closing_q;
  wire opens = is_answer && to_none_q;  // from an end that does not know this session
  wire is_ours = decides && !is_refusal && !opens && to_me_q && !has_ended;
  wire is_new_peer = is_ours && state_q.open && !from_peer_q;
  wire accepts = is_ours && !(state_q.open && !from_peer_q);
  wire means = accepts && !(is_answer && !last_q);
  wire is_foreign = decides && !is_refusal && !opens && (!to_me_q || has_ended);
  wire is_refused = decides && is_refusal && state_q.open && to_me_q && of_peer_q;

  wire refuses = (is_foreign || is_new_peer || is_refused) && !from_none_q;

  assign keep_o = means && !is_answer && written_q && fits;

  logic said_refuses_q, said_again_q, knows_q;

  // Control frames that are retransmitted, up to Tries times without an answer.
  wire frames = frames_i != 0;
  wire says_again = state_q.opening ? frames && spoke && rested : state_q.open && again;
  wire is_open = state_q.opening || state_q.open;
  wire spent = tries_q == TriesBits'(Tries);
  wire tried = said_i && said_again_q;
  wire ends = is_open && spent && (timed_out || (!answers_q && says_again));

  // Contents of a control frame, with the state of the previous cycle.
  session_t said_peer_q, said_named_q;
  logic [31:0] said_base_q;
  assign says_o = says_q && !closing_q;
  assign says_kind_o = said_refuses_q ? FrameKindRefusal : FrameKindAcknowledgement;
  assign says_first_o = !said_refuses_q && asks;
  assign says_last_o = said_refuses_q || knows_q;
  assign says_number_o = said_refuses_q ? '0 : 64'(received);
  always_comb begin
    sequence_o.session = id_q;
    sequence_o.peer = chosen_i ? peer_1q : said_peer_q;
    sequence_o.number = chosen_i ? next_number : said_refuses_q ? 32'(said_named_q) : left_number;
    sequence_o.base = chosen_i ? base : said_base_q;
  end

  always_ff @(posedge clk_i) begin
    written_1q <= commit_i;
    written_q <= written_1q;
    sequence_q <= rx_sequence_i;
    kind_q <= rx_kind_i;
    first_q <= rx_first_i;
    last_q <= rx_last_i;
    bits_q <= rx_received_i;
    to_me_q <= rx_sequence_i.peer == id_q;
    to_none_q <= rx_sequence_i.peer == 0;
    from_none_q <= rx_sequence_i.session == 0;
    from_peer_q <= rx_sequence_i.session == peer_q;
    of_peer_q <= rx_sequence_i.number == 32'(peer_q);

    data_q <= !is_answer;
    taken_q <= keep_o;
    asked_q <= is_answer && first_q;
    hears_number_q <= sequence_q.number;
    hears_base_q <= sequence_q.base;
    hears_received_q <= bits_q;

    peer_1q <= peer_q;
    said_refuses_q <= refuses_q;
    said_again_q <= !refuses_q && !answers_q && says_again;
    knows_q <= !answers_q || answer_q == peer_q;
    said_peer_q <= refuses_q ? refuse_q : answers_q ? answer_q : peer_q;
    said_named_q <= refused_q;
    said_base_q <= refuses_q ? '0 : base;

    if (open_valid_i) number_q <= open_number_i;
    if (stage_q == Wait) begin
      rest_q  <= frames_i;
      drops_q <= frames_i != 0;
    end else if (drops) begin
      rest_q  <= rest_q - 1'b1;
      drops_q <= rest_q != 1;
    end
    received_q <= {received_q[0], receiving_i};

    if (decides && opens && !has_ended) answer_q <= sequence_q.session;
    if (refuses) begin
      refuse_q  <= sequence_q.session;
      refused_q <= is_foreign ? sequence_q.peer : id_q;
    end

    if (rst_i) begin
      id_q <= '0;
      peer_q <= '0;
      state_q <= '0;
      keeps_q <= 1'b0;
      closing_q <= 1'b0;
      stage_q <= Settle;
      reading_q <= 1'b0;
      answers_q <= 1'b0;
      refuses_q <= 1'b0;
      tries_q <= '0;
      says_q <= 1'b0;
      rx_q <= 1'b0;
      hears_q <= 1'b0;
    end else begin
      rx_q <= rx_valid_i && !closing_q && keeps_q;
      hears_q <= means;
      reading_q <= chosen_i ? !done_i : reading_q && !done_i;
      says_q <= keeps_q && !closing_q && !said_i && !ends &&
          (refuses_q || answers_q || (state_q.opening && frames && (!spoke || rested)) || (state_q.open && rx_says));

      if (said_i && said_refuses_q) refuses_q <= 1'b0;
      if (said_i && !said_refuses_q) answers_q <= 1'b0;
      if (decides && opens && !has_ended) answers_q <= 1'b1;
      if (refuses) refuses_q <= 1'b1;

      if (accepts) tries_q <= '0;
      else if (is_open && !spent && (timed_out || tried)) begin
        tries_q <= timed_out && tried && 32'(tries_q) + 1 != Tries ? tries_q + TriesBits'(2) : tries_q + TriesBits'(1);
      end
      if (accepts) begin
        peer_q  <= sequence_q.session;
        state_q <= '{open: 1'b1, default: 1'b0};
      end else if (ends) state_q <= '{silent: 1'b1, default: 1'b0};
      else if (is_new_peer || is_refused) state_q <= '{refused: 1'b1, default: 1'b0};

      if (open_valid_i && (open_number_i != 0 || used_o)) begin
        if (!closing_q) stage_q <= Settle;
        closing_q <= 1'b1;
      end
      if (closing_q) begin
        case (stage_q)
          Settle: stage_q <= Wait;
          Wait: if (!reading_q) stage_q <= keeps_q ? Drop : Ready;
          Drop: if (!drops_q) stage_q <= Select;
          Select: stage_q <= Ready;
          default: ;
        endcase
      end
      if (begins) begin
        closing_q <= 1'b0;
        id_q <= number_q;
        peer_q <= '0;
        keeps_q <= number_q != 0;
        state_q <= '{opening: number_q != 0, default: 1'b0};
        answers_q <= 1'b0;
        refuses_q <= 1'b0;
        tries_q <= '0;
      end
    end
  end
endmodule
