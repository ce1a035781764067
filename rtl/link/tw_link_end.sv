// SPDX-License-Identifier: Apache-2.0
// One end of a link between a router's port and a transceiver: tw_session, tw_replay and tw_replay_codec, connected as
// in docs/links.md, and their events. Either end may be reset alone, at any time: both report it (lost_o) and start a
// new session, unless hold_i prevents it. A router's partial packets do not belong to the new session: lost_o reports
// the loss, and ready_o is 0 until the link is up.
//
// Order: kept. Latency: three cycles from flit_i to the frame, four from a frame to flit_o. The frame is an
// AXI4-Stream, valid in every cycle from the first on; it is held until taken. Arriving frames are taken in every
// cycle. Throughput: a frame per cycle in each direction. Storage: that of its parts. Critical path: those of its
// parts, and an AND of two registers.
module tw_link_end
  import tw_network_pkg::*;
  import tw_link_pkg::*;
#(
    parameter int unsigned Vcs        = 4,
    parameter bit          Credits    = 1'b1,
    parameter int unsigned Window     = 256,   /// see tw_replay
    parameter int unsigned DownCycles = 1024,
    parameter int unsigned CountBits  = 4,     /// see tw_replay_codec
    parameter int unsigned FrameBits  = 326    /// frame width that tw_replay_codec derives from these
) (
    input  logic                 clk_i,
    input  logic                 rst_i,
    // The router's port
    input  logic                 flit_valid_i,
    input  flit_t                flit_i,
    output logic                 ready_o,
    output logic                 flit_valid_o,
    output flit_t                flit_o,
    input  logic [      Vcs-1:0] back_i,        /// from the input port
    output logic [      Vcs-1:0] back_o,        /// to the output port
    // The transceiver
    output logic                 frame_valid_o,
    input  logic                 frame_ready_i,
    output logic [FrameBits-1:0] frame_o,
    input  logic                 frame_valid_i,
    input  logic [FrameBits-1:0] frame_i,
    // Events
    input  logic                 hold_i,        /// no new session follows a lost one
    output logic                 up_o,          /// both ends have echoed each other's session, and good frames arrive
    output logic                 lost_o,        /// the session was lost, at this or the other end
    output logic                 repeated_o,    /// a frame with a retransmitted flit is generated
    output logic                 damaged_o      /// a damaged frame arrived
);
  localparam int unsigned SequenceBits = $clog2(Window) + 1;
  localparam int unsigned WordBits = $bits(flit_t);

  // A word: data, virtual channel, head, tail, bit 0 first.
  logic [WordBits-1:0] word, tx_word, peer_word;
  logic tx_valid, tx_epoch, tx_request;
  logic [SequenceBits-1:0] tx_sequence, tx_expected;
  logic peer_valid, peer_word_valid, peer_epoch, peer_request;
  logic [SequenceBits-1:0] peer_sequence, peer_expected;
  session_t session, peer_session;
  logic current, flush, ready;

  // The first frame is generated without ready: valid does not wait for ready.
  wire moves = frame_ready_i || !frame_valid_o;

  // Outside of a session nothing is accepted: it is the rest of cut packets.
  wire begins = rst_i || flush;
  wire given = flit_valid_i && session.up;

  assign ready_o = ready && session.up;
  assign {flit_o.tail, flit_o.head, flit_o.vc, flit_o.data} = word;

  tw_session sessions (
      .clk_i,
      .rst_i,
      .hold_i,
      .session_o(session),
      .peer_valid_i(peer_valid),
      .peer_i(peer_session),
      .current_o(current),
      .flush_o(flush),
      .lost_o
  );

  tw_replay #(
      .Width(WordBits),
      .Window(Window),
      .DownCycles(DownCycles)
  ) replay (
      .clk_i,
      .rst_i(begins),
      .in_valid_i(given),
      .in_ready_o(ready),
      .in_word_i({flit_i.tail, flit_i.head, flit_i.vc, flit_i.data}),
      .out_valid_o(flit_valid_o),
      .out_word_o(word),
      .up_o,
      .wire_ready_i(moves),
      .tx_valid_o(tx_valid),
      .tx_word_o(tx_word),
      .sequence_o(tx_sequence),
      .epoch_o(tx_epoch),
      .expected_o(tx_expected),
      .request_o(tx_request),
      .peer_valid_i(current),
      .peer_word_valid_i(peer_word_valid),
      .peer_word_i(peer_word),
      .peer_sequence_i(peer_sequence),
      .peer_epoch_i(peer_epoch),
      .peer_expected_i(peer_expected),
      .peer_request_i(peer_request)
  );

  tw_replay_codec #(
      .Width(WordBits),
      .SequenceBits(SequenceBits),
      .Vcs(Vcs),
      .Credits(Credits),
      .CountBits(CountBits)
  ) codec (
      .clk_i,
      .rst_i,
      .tx_valid_i(tx_valid),
      .tx_word_i(tx_word),
      .sequence_i(tx_sequence),
      .epoch_i(tx_epoch),
      .expected_i(tx_expected),
      .request_i(tx_request),
      .session_i(session),
      .flush_i(flush),
      .peer_valid_o(peer_valid),
      .peer_word_valid_o(peer_word_valid),
      .peer_word_o(peer_word),
      .peer_sequence_o(peer_sequence),
      .peer_epoch_o(peer_epoch),
      .peer_expected_o(peer_expected),
      .peer_request_o(peer_request),
      .peer_session_o(peer_session),
      .back_i,
      .back_o,
      .wire_ready_i(moves),
      .wire_valid_o(frame_valid_o),
      .wire_frame_o(frame_o),
      .wire_valid_i(frame_valid_i),
      .wire_frame_i(frame_i)
  );

  // A word sent for the first time has the sequence number after all previous ones. A frame that arrived two cycles ago
  // and is not passed to the replay was damaged.
  logic [SequenceBits-1:0] new_q;
  logic [1:0] came_q;

  wire carries = moves && tx_valid;

  assign repeated_o = carries && tx_sequence != new_q;
  assign damaged_o  = came_q[1] && !peer_valid;

  always_ff @(posedge clk_i) begin
    if (begins) new_q <= 0;
    else new_q <= new_q + SequenceBits'(carries && !repeated_o);
    if (rst_i) came_q <= '0;
    else came_q <= {came_q[0], frame_valid_i};
  end
endmodule
