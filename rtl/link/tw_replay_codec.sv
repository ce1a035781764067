// SPDX-License-Identifier: Apache-2.0
// Encodes words and acknowledgements of a tw_replay, and flow control of a router's port, as one frame per cycle, and decodes
// undamaged frames. docs/links.md describes the layout.
//
// Flow control survives lost frames. With credits, each frame carries, for one virtual channel in turn, the number of
// credits returned in this session, modulo 2^CountBits; the other end outputs the missing ones, one per cycle. With
// stop bits, every frame carries all of them, and a cycle without a good frame stops all channels. Only frames of the
// session count (tw_session); a new session starts with no credits in flight.
//
// Order: kept. Latency: one cycle from the replay to the wire, two from the wire to the replay. Flow control: a credit
// needs two cycles to the wire, and up to Vcs - 1 until its channel's turn, and three from the wire; a stop bit one and
// two. Throughput: a frame per cycle. Storage: three frames, and with credits three counters per virtual channel.
// Critical path: the CRC's XOR tree, or the comparison of two CRCs and the enable of two counters behind it. All
// outputs are registers.
module tw_replay_codec
  import tw_link_pkg::*;
#(
    parameter int unsigned Width        = 262,   /// bits of a word, at least 1
    parameter int unsigned SequenceBits = 9,     /// of the replay, at least 2
    parameter int unsigned Vcs          = 4,     /// virtual channels, 1 to 16
    parameter bit          Credits      = 1'b1,  /// flow control by credits; otherwise by stop bits
    parameter int unsigned CountBits    = 4,     /// 2^CountBits exceeds the capacity of a buffer in flits; with credits
    localparam int unsigned VcBits = Vcs > 1 ? $clog2(Vcs) : 1,
    localparam int unsigned FlowBits = Credits ? VcBits + CountBits : Vcs,
    localparam int unsigned BodyBits = Width + 2 * SequenceBits + 3 + $bits(session_t) + FlowBits,
    localparam int unsigned FrameBits = BodyBits + 32
) (
    input  logic                    clk_i,
    input  logic                    rst_i,
    // The replay's next frame, which advances with wire_ready_i
    input  logic                    tx_valid_i,
    input  logic [       Width-1:0] tx_word_i,
    input  logic [SequenceBits-1:0] sequence_i,
    input  logic                    epoch_i,
    input  logic [SequenceBits-1:0] expected_i,
    input  logic                    request_i,
    // The session of this end; flush: it was lost, and flow control restarts
    input  session_t                session_i,
    // verilator lint_off UNUSEDSIGNAL
    input  logic                    flush_i,          /// used with credits: stop bits have no state
    // verilator lint_on UNUSEDSIGNAL
    // A good frame of the other end, for the session and, if it belongs to the same one, for the replay
    output logic                    peer_valid_o,
    output logic                    peer_word_valid_o,
    output logic [       Width-1:0] peer_word_o,
    output logic [SequenceBits-1:0] peer_sequence_o,
    output logic                    peer_epoch_o,
    output logic [SequenceBits-1:0] peer_expected_o,
    output logic                    peer_request_o,
    output session_t                peer_session_o,
    // Flow control as in tw_flow: from the own input port, and to the own output port
    input  logic [         Vcs-1:0] back_i,
    output logic [         Vcs-1:0] back_o,
    // The wire; its ready must not wait for valid, which is 1 from the first ready on
    input  logic                    wire_ready_i,
    output logic                    wire_valid_o,
    output logic [   FrameBits-1:0] wire_frame_o,
    input  logic                    wire_valid_i,
    input  logic [   FrameBits-1:0] wire_frame_i
);
  if (Width < 1) begin : check_width
    $error("tw_replay_codec: Width must be at least 1");
  end
  if (SequenceBits < 2) begin : check_sequence
    $error("tw_replay_codec: SequenceBits must be at least 2");
  end
  if (Vcs < 1 || Vcs > 16) begin : check_vcs
    $error("tw_replay_codec: there are 1 to 16 virtual channels");
  end
  if (CountBits < 1) begin : check_count
    $error("tw_replay_codec: CountBits must be at least 1");
  end

  typedef struct packed {
    logic                    request;
    logic [SequenceBits-1:0] expected;
    logic                    epoch;
    logic [SequenceBits-1:0] sequence_number;
    logic                    word_valid;
    logic [Width-1:0]        word;
  } replay_t;

  typedef struct packed {
    logic [FlowBits-1:0] flow;
    session_t            session;
    replay_t             replay;
  } body_t;

  logic [FlowBits-1:0] flow;
  body_t out_d, out_q, in_q;
  replay_t peer_q;
  session_t peer_session_q;
  logic [31:0] out_crc, in_crc, in_check_q;
  logic out_valid_q, in_valid_q, peer_valid_q;
  logic [Vcs-1:0] back_q;

  // To the wire
  assign out_d.flow    = flow;
  assign out_d.session = session_i;
  assign out_d.replay  = '{
          request: request_i,
          expected: expected_i,
          epoch: epoch_i,
          sequence_number: sequence_i,
          word_valid: tx_valid_i,
          word: tx_word_i
      };
  assign wire_valid_o = out_valid_q;
  assign wire_frame_o = {out_crc, out_q};

  tw_crc32 #(
      .Width(BodyBits)
  ) out_check (
      .clk_i,
      .rst_i,
      .in_valid_i(wire_ready_i),
      .in_data_i(out_d),
      .crc_o(out_crc)
  );

  always_ff @(posedge clk_i) begin
    if (wire_ready_i) out_q <= out_d;
    if (rst_i) out_valid_q <= 1'b0;
    else if (wire_ready_i) out_valid_q <= 1'b1;
  end

  // From the wire
  wire good = in_valid_q && in_crc == in_check_q;
  wire counts = good && session_i.up && same_session(session_i, in_q.session);

  assign peer_word_valid_o = peer_q.word_valid;
  assign peer_valid_o      = peer_valid_q;
  assign peer_word_o       = peer_q.word;
  assign peer_sequence_o   = peer_q.sequence_number;
  assign peer_epoch_o      = peer_q.epoch;
  assign peer_expected_o   = peer_q.expected;
  assign peer_request_o    = peer_q.request;
  assign peer_session_o    = peer_session_q;
  assign back_o            = back_q;

  tw_crc32 #(
      .Width(BodyBits)
  ) in_check (
      .clk_i,
      .rst_i,
      .in_valid_i(wire_valid_i),
      .in_data_i(wire_frame_i[BodyBits-1:0]),
      .crc_o(in_crc)
  );

  always_ff @(posedge clk_i) begin
    {in_check_q, in_q} <= wire_frame_i;
    peer_q             <= in_q.replay;
    peer_session_q     <= in_q.session;
    if (rst_i) begin
      in_valid_q   <= 1'b0;
      peer_valid_q <= 1'b0;
    end else begin
      in_valid_q   <= wire_valid_i;
      peer_valid_q <= good;
    end
  end

  // Flow control
  if (Credits) begin : credits
    typedef struct packed {
      logic [CountBits-1:0] count;
      logic [VcBits-1:0]    vc;
    } credits_t;

    // Credits since the session began: returned here, reported by the other end, and output of the reported ones.
    logic [Vcs-1:0][CountBits-1:0] returned_q, granted_q, given_q;
    logic [VcBits-1:0] turn_q;
    credits_t granted;
    logic [Vcs-1:0] missing;

    assign flow = {returned_q[turn_q], turn_q};
    assign granted = in_q.flow;

    for (genvar v = 0; v < int'(Vcs); v++) begin : channel
      assign missing[v] = granted_q[v] != given_q[v];

      always_ff @(posedge clk_i) begin
        if (rst_i || flush_i) begin
          returned_q[v] <= 0;
          granted_q[v]     <= 0;
          given_q[v]    <= 0;
        end else begin
          returned_q[v] <= returned_q[v] + CountBits'(back_i[v]);
          given_q[v]    <= given_q[v] + CountBits'(missing[v]);
          if (counts && granted.vc == VcBits'(v)) granted_q[v] <= granted.count;
        end
      end
    end

    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        turn_q <= 0;
        back_q <= '0;
      end else begin
        if (wire_ready_i) turn_q <= turn_q == VcBits'(Vcs - 1) ? 0 : turn_q + 1;
        back_q <= flush_i ? '0 : missing;
      end
    end
  end else begin : margin
    assign flow = back_i;

    always_ff @(posedge clk_i) begin
      if (rst_i) back_q <= '1;
      else back_q <= counts ? in_q.flow : '1;
    end
  end
endmodule
