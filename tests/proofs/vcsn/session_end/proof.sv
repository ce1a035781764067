// SPDX-License-Identifier: Apache-2.0
// One end of a session on a network that may deliver anything at any time, with an encoder and a decoder that act within their
// contracts, buffers, and a host that opens sessions at any time. In one session it has at most one partner, the other end's
// session that it has accepted a frame of: each frame that it accepts comes from the partner and names this session, and its data
// frames name the partner. If both ends behave so, each accepts in a session only frames that the other one sent to it in one
// session; that a session's numbers start anew with it is proved of its halves.
module session_end_proof
  import tw_vcsn_pkg::*;
  import tw_vcsn_spec_pkg::*;
#(
    parameter int unsigned Window = 2,
    parameter int unsigned Frames = 2,
    parameter int unsigned Resend = 4,
    parameter int unsigned Tries = 2
) (
    input logic           clk_i,
    input logic           rst_i,
    input logic           open_valid_i,
    input session_t       open_number_i,
    input logic           arrives_i,   // a frame, in the send buffer
    input logic           chosen_i,
    input logic           done_i,
    input logic           said_i,
    input logic           decides_i,   // the decoder decides on a frame
    input logic           takes_i,     // its words are taken
    input logic           ends_i,      // the frame has ended
    input logic           good_i,      // and is valid
    input logic           idle_i,
    input logic           left_i,
    input logic [Window-1:0] held_i,
    input logic           begin_valid_i,
    input logic [31:0]    begin_number_i,
    input vcsn_sequence_t rx_sequence_i,
    input logic [$bits(frame_kind_e)-1:0] rx_kind_i,
    input logic           rx_first_i,
    input logic           rx_last_i,
    input logic [Window-1:0] rx_received_i
);
  localparam int unsigned FramesBits = $clog2(Frames);

  logic used, closing, keeps, release_frame, may_send, says, says_last, begins, keep;
  session_state_t state;
  logic [$bits(frame_kind_e)-1:0] says_kind;
  vcsn_sequence_t says_sequence;
  logic [FramesBits:0] frames_q;

  tw_reset_first surroundings (.*);

  // An arriving frame: its words are taken; it has a session's header; it belongs to the current session.
  typedef struct packed {
    logic valid, taken, sequenced, current;
  } frame_t;
  frame_t comes_q, comes, ended_1q, ended_2q, rx_q;
  always_comb begin
    comes = comes_q;
    if (decides_i) comes = '{valid: 1'b1, taken: takes_i && !closing, sequenced: used, current: keeps && !closing};
  end
  wire commit = ended_1q.valid && ended_1q.taken && !rst_i;
  wire rx_valid = ended_2q.valid && ended_2q.sequenced;

  tw_session_end #(
      .Window (Window),
      .Frames (Frames),
      .Resend (Resend),
      .Reorder(1),
      .Tries  (Tries)
  ) side (
      .used_o         (used),
      .closing_o      (closing),
      .keeps_o        (keeps),
      .state_o        (state),
      .frames_i       (frames_q),
      .select_valid_o (),
      .select_offset_o(),
      .release_o      (release_frame),
      .may_send_o     (may_send),
      .says_o         (says),
      .says_kind_o    (says_kind),
      .says_first_o   (),
      .says_last_o    (says_last),
      .says_number_o  (),
      .sequence_o     (says_sequence),
      .receiving_i    (comes_q.valid && comes_q.taken),
      .begin_again_o  (begins),
      .keep_o         (keep),
      .commit_i       (commit),
      .rx_valid_i  (rx_valid),
      .*
  );

  // The encoder.
  logic may_q, may_say_q, chosen_q, said_q, reading_q;
  // This session and its partner, if it has one; the last session that asked.
  session_t next_q, mine_q, partner_q, asked_q;
  logic has_partner_q;
  // The header received in the cycle before.
  logic decides_q;
  vcsn_sequence_t header_q;
  logic [$bits(frame_kind_e)-1:0] kind_q;
  wire refusal = kind_q == FrameKindRefusal;
  wire question = kind_q == FrameKindAcknowledgement && header_q.peer == 0;
  wire decides = decides_q && !closing;
  wire over = state.refused || state.silent;
  wire to_me = !refusal && !question && header_q.peer == mine_q && !over;
  wire stranger = has_partner_q && header_q.session != partner_q;
  wire takes = decides && to_me && !stranger;
  wire refused = decides && refusal && state.open && header_q.peer == mine_q && header_q.number == 32'(partner_q);
  wire ends = refused || (decides && to_me && stranger);
  wire owes = header_q.session != 0 && (ends || (decides && !refusal && !question && !to_me));
  // The refusal that it owes, and for how long; the end that it knows of.
  logic owes_q, ended_q;
  session_t owed_q, named_q;
  logic [2:0] owing_q;
  // Frames in the send buffer when the session was to end; attempts without an answer.
  logic [FramesBits:0] former_q;
  logic [$clog2(Tries+2)-1:0] tries_q;
  logic was_silent_q;
  wire tried = said_i || side.timed_out;

  function automatic logic stale(frame_t frame);
    return frame.valid && frame.taken && !frame.current;
  endfunction

  // State in the cycle of the choice, which is the one before.
  session_t partner_1q, asked_1q, owed_1q, named_1q;
  logic has_partner_1q, owes_1q;

  always_ff @(posedge clk_i) begin
    partner_1q <= partner_q;
    has_partner_1q <= has_partner_q;
    asked_1q <= asked_q;
    owes_1q <= owes_q;
    owed_1q <= owed_q;
    named_1q <= named_q;
    header_q <= rx_sequence_i;
    kind_q <= rx_kind_i;
    may_q <= !rst_i && may_send && frames_q != 0;
    may_say_q <= !rst_i && says;
    chosen_q <= !rst_i && chosen_i;
    said_q <= !rst_i && said_i;
    ended_q <= !rst_i && ends;
    was_silent_q <= state.silent;
    ended_1q <= comes;
    ended_1q.valid <= comes.valid && ends_i && good_i && !rst_i;
    ended_2q <= ended_1q;
    rx_q <= ended_2q;
    if (open_valid_i) next_q <= open_number_i;
    if (rst_i) begin
      frames_q <= '0;
      reading_q <= 1'b0;
      comes_q.valid <= 1'b0;
      ended_2q.valid <= 1'b0;
      rx_q.valid <= 1'b0;
      mine_q <= '0;
      has_partner_q <= 1'b0;
      decides_q <= 1'b0;
      owes_q <= 1'b0;
      owing_q <= '0;
      former_q <= '0;
      tries_q <= '0;
    end else begin
      frames_q <= frames_q + (FramesBits + 1)'(arrives_i) - (FramesBits + 1)'(release_frame || (done_i && !keeps));
      reading_q <= (reading_q || chosen_i) && !done_i;
      comes_q <= comes;
      comes_q.valid <= comes.valid && !ends_i;
      decides_q <= rx_valid && !closing && keeps;

      if (takes) begin
        has_partner_q <= 1'b1;
        partner_q <= header_q.session;
      end
      if (decides && question && !over) asked_q <= header_q.session;
      if (owes) begin
        owed_q  <= header_q.session;
        named_q <= ends ? mine_q : header_q.peer;
      end
      owes_q <= owes || (owes_q && !(said_i && says_kind == FrameKindRefusal));
      owing_q <= !owes_q || said_i || begins ? '0 : owing_q == '1 ? owing_q : owing_q + 1'b1;
      tries_q <= takes ? '0 : 32'(tries_q) + 32'(said_i) + 32'(side.timed_out) > Tries ? ($bits(tries_q))'(Tries) :
          tries_q + ($bits(tries_q))'(said_i) + ($bits(tries_q))'(side.timed_out);

      if (open_valid_i && !closing) former_q <= frames_q + (FramesBits + 1)'(arrives_i) - (FramesBits + 1)'(release_frame);
      else if (release_frame && former_q != 0) former_q <= former_q - 1'b1;
      if (begins) begin
        mine_q <= next_q;
        has_partner_q <= 1'b0;
        comes_q.current <= 1'b0;
        ended_1q.current <= 1'b0;
        ended_2q.current <= 1'b0;
        rx_q.current <= 1'b0;
        owes_q <= 1'b0;
        tries_q <= '0;
      end
    end

    has_place : assume (!arrives_i || 32'(frames_q) < Frames);
    of_what_it_may : assume (!chosen_i || (may_q && !chosen_q && !reading_q));
    of_what_is_read : assume (!done_i || reading_q || chosen_i);
    of_what_it_says : assume (!said_i || (may_say_q && !said_q && !chosen_i));
    one_after_the_other : assume (!decides_i || (!comes_q.valid && !ended_1q.valid));
    ends_what_came : assume (!ends_i || comes.valid);
    releases_what_is_there : assume (!side.sender.release_q || frames_q != 0);  // as proved of the sender
    of_data : assume (!rx_valid || !ended_2q.taken || rx_kind_i == FrameKindData);

    if (!rst_i) begin
      takes_of_one : assert (!side.means || takes);
      keeps_of_its_session : assert (!keep || (takes && kind_q == FrameKindData && rx_q.taken && rx_q.current));
      sends_to_one : assert (!chosen_i || !keeps || (has_partner_q && says_sequence.session == mine_q && says_sequence.peer == partner_q));
      says_who_it_is : assert (!said_i || says_sequence.session == mine_q);
      names_its_partner :
      assert (!said_i || says_kind == FrameKindRefusal ||
              says_sequence.peer == (says_last ? (has_partner_1q ? partner_1q : 16'd0) : asked_1q));
      knows_of_its_end : assert (!ended_q || over || closing);
      refuses_who_it_owes : assert (!said_i || says_kind != FrameKindRefusal || (owes_1q && says_sequence.peer == owed_1q && says_sequence.number == 32'(named_1q)));
      refuses_in_time : assert (closing || owing_q < 3 || says || may_say_q);
      nothing_after_its_end : assert (closing || !keeps || !over || (!may_send && !side.means));
      has_no_state : assert (keeps || closing || state == '0);
      begins_with_nothing : assert (!begins || (idle_i && (former_q == 0 || !keeps) && !reading_q && !(comes_q.valid && comes_q.taken) &&
                                    !(ended_1q.valid && ended_1q.taken) && !(ended_2q.valid && ended_2q.taken)));
      drops_what_is_there : assert (!side.drops || frames_q != 0);
      silent_without_an_answer : assert (!state.silent || was_silent_q || 32'(tries_q) >= Tries);
      opens : cover (keeps && state.open && chosen_i);
      keeps_words : cover (keep);
      is_refused : cover (state.refused && owes_q);
      is_silent : cover (state.silent);
      begins_after_one : cover (begins && keeps);

      lemma_numbers : assert (side.id_q == mine_q && (!closing || side.number_q == next_q) && (keeps || mine_q == 0));
      lemma_partner : assert (side.peer_q == (has_partner_q ? partner_q : 16'd0) && has_partner_q >= (side.state_q.open || side.state_q.refused) &&
                              !(has_partner_q && side.state_q.opening));
      lemma_state : assert (keeps ? side.state_q inside {5'd8, 5'd4, 5'd2, 5'd1} : side.state_q == '0 && !has_partner_q);
      lemma_apart : assert (!(comes_q.valid && ended_1q.valid) && !(ended_1q.valid && ended_2q.valid));
      lemma_of_session : assert ((!decides_q || keeps) && (!owes_q || keeps || closing));
      lemma_drops : assert (!closing || keeps || side.stage_q != 3'd2);
      lemma_offers : assert (closing || owing_q == 0 || says || !(side.is_open && side.spent));
      lemma_received : assert (side.rx_q == decides_q && !(decides_q && rx_valid) &&
                            (!decides || (side.sequence_q == header_q && side.kind_q == kind_q && side.to_me_q == (header_q.peer == mine_q) &&
                                          side.to_none_q == (header_q.peer == 0) && side.from_none_q == (header_q.session == 0) &&
                                          side.from_peer_q == (header_q.session == side.peer_q) &&
                                          side.of_peer_q == (header_q.number == 32'(side.peer_q)))));
      lemma_owes : assert (side.refuses_q == owes_q && (!owes_q || (side.refuse_q == owed_q && side.refused_q == named_q)));
      lemma_answers : assert (!side.answers_q || side.answer_q == asked_q);
      lemma_says : assert (!(keeps || closing) || (side.said_refuses_q == owes_1q && side.peer_1q == (has_partner_1q ? partner_1q : 16'd0) &&
                           (!side.said_refuses_q || (side.said_peer_q == owed_1q && side.said_named_q == named_1q)) &&
                           (side.said_refuses_q || side.said_peer_q == (side.knows_q ? side.peer_1q : asked_1q))));
      lemma_may : assert (!may_q || !keeps || (has_partner_q && has_partner_1q && partner_1q == partner_q));
      lemma_rest : assert (!closing || side.stage_q < 3'd2 || side.drops_q == (side.rest_q != 0));
      lemma_reads : assert (side.reading_q == reading_q && (!closing || side.stage_q == 0 || !may_q) && (!closing || side.stage_q <= 3'd1 || !reading_q));
      lemma_written : assert (!(keeps || closing) || side.written_1q == (ended_2q.valid && ended_2q.taken));
      lemma_written_before : assert (!keeps || closing || side.written_q == (rx_q.valid && rx_q.taken));
      lemma_taken : assert (!closing || (!(ended_1q.valid && ended_1q.taken && side.stage_q != 0 && !side.received_q[0]) &&
                                         !(ended_2q.valid && ended_2q.taken && side.stage_q > 3'd1 && !side.received_q[1])));
      lemma_current : assert (!keeps || closing || (!stale(comes_q) && !stale(ended_1q) && !stale(ended_2q) && !stale(rx_q)));
      lemma_frame : assert (!(rx_q.valid && rx_q.taken) || !decides_q || kind_q == FrameKindData);
      lemma_former : assert (!closing || !keeps || (32'(former_q) <= 32'(frames_q) && (side.stage_q < 3'd2 || former_q <= side.rest_q) &&
                             (side.stage_q < 3'd2 || side.rest_q <= frames_q) && (side.stage_q < 3'd3 || side.rest_q == 0)));
      lemma_released : assert (!closing || side.stage_q == 0 || !side.sender.release_q);
      lemma_tries : assert (side.tries_q <= tries_q && 32'(tries_q) <= Tries);
    end
  end
endmodule
