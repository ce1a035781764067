// SPDX-License-Identifier: Apache-2.0
// One end of a reliable link: go-back-N retransmission. Words that enter here leave the other end exactly once and in
// order, even if frames are lost or duplicated in either direction. The codec drops damaged frames. docs/links.md describes
// the protocol and its correctness.
//
// A frame carries a word or none, and always four numbers: sequence (of its word, or of the next one), epoch (parity of
// this end's retransmissions), expected (the sequence number that this end waits for) and request (parity of the
// retransmissions requested from the other end). The wire must not reorder frames; both ends start together
// (tw_session).
//
// Order: kept. Latency: a word's frame is out two cycles after the word entered; a frame's word is out one cycle after
// the frame arrived. Throughput: a word per cycle if Window covers a round trip. Storage: Window words. Critical path:
// from a frame's expected to base_q, next_q and ready_q, two subtractions and comparisons of $clog2(Window) + 1 bits.
// All outputs are registers, or the comparison of one with a constant.
module tw_replay #(
    parameter int unsigned Width      = 262,  /// bits of a word, at least 1
    parameter int unsigned Window     = 256,  /// words held until they are acknowledged: a power of two, at least 2
    parameter int unsigned Slack      = 2,    /// words that may still arrive while ready is 0; below Window
    parameter int unsigned DownCycles = 1024, /// without a good frame until the link counts as down, at least 1
    localparam int unsigned SequenceBits = $clog2(Window) + 1
) (
    input  logic                    clk_i,
    input  logic                    rst_i,
    // Words to be sent
    input  logic                    in_valid_i,
    output logic                    in_ready_o,
    input  logic [       Width-1:0] in_word_i,
    // Words received; each must be taken in its cycle
    output logic                    out_valid_o,
    output logic [       Width-1:0] out_word_o,
    output logic                    up_o,            /// good frames arrive
    // The next frame to send; advances when the wire accepts it
    input  logic                    wire_ready_i,
    output logic                    tx_valid_o,      /// the frame carries a word
    output logic [       Width-1:0] tx_word_o,       /// the last one sent if the frame carries none
    output logic [SequenceBits-1:0] sequence_o,
    output logic                    epoch_o,
    output logic [SequenceBits-1:0] expected_o,
    output logic                    request_o,
    // A good frame of the other end
    input  logic                    peer_valid_i,
    input  logic                    peer_word_valid_i,
    input  logic [       Width-1:0] peer_word_i,
    input  logic [SequenceBits-1:0] peer_sequence_i,
    input  logic                    peer_epoch_i,
    input  logic [SequenceBits-1:0] peer_expected_i,
    input  logic                    peer_request_i
);
  if (Width < 1) begin : check_width
    $error("tw_replay: Width must be at least 1");
  end
  if (Window < 2 || (Window & (Window - 1)) != 0) begin : check_window
    $error("tw_replay: Window must be a power of two, at least 2");
  end
  if (Slack >= Window) begin : check_slack
    $error("tw_replay: Slack must be below Window");
  end
  if (DownCycles < 1) begin : check_down
    $error("tw_replay: DownCycles must be at least 1");
  end

  localparam int unsigned IndexBits = SequenceBits - 1;
  localparam int unsigned SilentBits = $clog2(DownCycles + 1);

  // Sender: words base .. write-1 are held, words from next on are to be sent.
  logic [Width-1:0] words_q[Window];
  logic [SequenceBits-1:0] base_d, base_q, next_q, write_d, write_q;
  logic epoch_q, ready_q;

  wire [SequenceBits-1:0] acknowledged = peer_expected_i - base_q;
  wire [SequenceBits-1:0] sent = next_q - base_q;
  wire [SequenceBits-1:0] held = write_d - base_d;
  wire send = next_q != write_q;

  assign base_d  = peer_valid_i && acknowledged <= sent ? peer_expected_i : base_q;
  assign write_d = write_q + SequenceBits'(in_valid_i);

  always_ff @(posedge clk_i) begin
    if (in_valid_i) words_q[write_q[IndexBits-1:0]] <= in_word_i;
    if (rst_i) begin
      base_q  <= 0;
      next_q  <= 0;
      write_q <= 0;
      epoch_q <= 1'b0;
      ready_q <= 1'b1;
    end else begin
      base_q  <= base_d;
      write_q <= write_d;
      ready_q <= 32'(held) + Slack < Window;
      if (peer_valid_i && peer_request_i != epoch_q) begin
        next_q  <= base_d;
        epoch_q <= peer_request_i;
      end else if (wire_ready_i) begin
        next_q <= next_q + SequenceBits'(send);
      end
    end
  end

  // Receiver: accepts the expected word of the epoch that it requested. A later word reveals a gap, for which it
  // requests retransmission once per epoch; an earlier word is a duplicate.
  logic [SequenceBits-1:0] expected_q;
  logic [SilentBits-1:0] silent_q;
  logic request_q, out_valid_q;
  logic [Width-1:0] out_word_q;

  wire current = peer_valid_i && peer_epoch_i == request_q;
  wire [SequenceBits-1:0] ahead = peer_sequence_i - expected_q;
  wire accept = current && peer_word_valid_i && ahead == 0;
  wire gap = current && ahead != 0 && 32'(ahead) <= Window;

  assign in_ready_o  = ready_q;
  assign out_valid_o = out_valid_q;
  assign out_word_o  = out_word_q;
  assign up_o        = silent_q != SilentBits'(DownCycles);

  always_ff @(posedge clk_i) begin
    out_word_q <= peer_word_i;
    if (rst_i) begin
      out_valid_q <= 1'b0;
      expected_q  <= 0;
      request_q   <= 1'b0;
      silent_q    <= SilentBits'(DownCycles);
    end else begin
      out_valid_q <= accept;
      expected_q  <= expected_q + SequenceBits'(accept);
      request_q   <= request_q ^ gap;
      if (peer_valid_i) silent_q <= 0;
      else if (up_o) silent_q <= silent_q + 1;
    end
  end

  // The next frame
  logic tx_valid_q, tx_epoch_q, tx_request_q;
  logic [Width-1:0] tx_word_q;
  logic [SequenceBits-1:0] tx_sequence_q, tx_expected_q;

  assign tx_valid_o = tx_valid_q;
  assign tx_word_o  = tx_word_q;
  assign sequence_o = tx_sequence_q;
  assign epoch_o    = tx_epoch_q;
  assign expected_o = tx_expected_q;
  assign request_o  = tx_request_q;

  // The memory's output register; a word is never read in the cycle in which it is written.
  always_ff @(posedge clk_i) begin
    if (rst_i) tx_word_q <= 0;
    else if (wire_ready_i && send) tx_word_q <= words_q[next_q[IndexBits-1:0]];
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      tx_valid_q    <= 1'b0;
      tx_sequence_q <= 0;
      tx_epoch_q    <= 1'b0;
      tx_expected_q <= 0;
      tx_request_q  <= 1'b0;
    end else if (wire_ready_i) begin
      tx_valid_q    <= send;
      tx_sequence_q <= next_q;
      tx_epoch_q    <= epoch_q;
      tx_expected_q <= expected_q;
      tx_request_q  <= request_q;
    end
  end

`ifndef SYNTHESIS
  wire [SequenceBits-1:0] held_now = write_q - base_q;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      no_overflow : assert (!in_valid_i || 32'(held_now) < Window);
      sent_is_held : assert (sent <= held_now);
    end
  end
`endif
endmodule
