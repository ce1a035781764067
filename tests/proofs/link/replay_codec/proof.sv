// SPDX-License-Identifier: Apache-2.0
// The state that one end sends to the other over a wire that loses, repeats, delays and damages frames. Each entry of the wire
// loads the entry before it or keeps its frame, and the last one is delivered or not, nondeterministically. With Damage, any few
// bits of it may be wrong, or any bits within 32 of each other.
module replay_codec_proof
  import tw_link_pkg::*;
#(
    parameter bit          Credits = 1'b1,
    parameter bit          Damage  = 1'b0,
    parameter int unsigned Wrong   = 5,  // maximum number of wrong bits in a frame, at any positions
    parameter int unsigned Vcs     = 2,
    parameter int unsigned Depth   = 3,  // flits that a buffer holds
    parameter int unsigned Entries  = 1,  // of the wire, beside the sender's register
    parameter int unsigned Calm    = 5 + Entries + Vcs + Depth - 1,
    localparam int unsigned Width = 1,
    localparam int unsigned SequenceBits = 2,
    localparam int unsigned CountBits = $clog2(Depth + 1),
    localparam int unsigned VcBits = Vcs > 1 ? $clog2(Vcs) : 1,
    localparam int unsigned ReplayBits = Width + 2 * SequenceBits + 3,
    localparam int unsigned FlowLsb = ReplayBits + $bits(session_t),
    localparam int unsigned FlowBits = Credits ? VcBits + CountBits : Vcs,
    localparam int unsigned BodyBits = FlowLsb + FlowBits,
    localparam int unsigned FrameBits = BodyBits + 32
) (
    input logic                 clk_i,
    input logic                 rst_i,
    input logic [      Vcs-1:0] send_i,
    input logic [      Vcs-1:0] return_i,
    input logic                 takes_i,
    input logic [   Entries-1:0] moves_i,
    input logic                 delivers_i,
    input logic [ReplayBits-1:0] replay_i,     // state of the far replay: request, expected, epoch, sequence, word
    input logic                 another_i,     // the far session is not the one that the near end knows
    input logic [FrameBits-1:0] flips_i,       // the bits of a frame that are inverted: a few,
    input logic                 burst_i,       // or the burst starting at at_i
    input logic [         31:0] burst_bits_i,
    input logic [          5:0] at_i
);
  // The check of a frame, bit by bit.
  function automatic logic [31:0] check_of(logic [BodyBits-1:0] body);
    logic [31:0] crc;
    crc = '1;
    for (int i = 0; i < int'(BodyBits); i++) crc = crc >> 1 ^ (crc[0] ^ body[i] ? 32'h82F6_3B78 : 0);
    return ~crc;
  endfunction

  // Contents of a frame that was delivered undamaged.
  typedef struct packed {
    logic whole;
    logic [FlowBits-1:0] flow;
    session_t session;
    logic [ReplayBits-1:0] replay;
  } granted_t;

  logic [Entries:0][FrameBits-1:0] frames;
  logic [Entries:0] valid;
  logic [Vcs-1:0] back, returned;
  logic peer_valid;
  logic [ReplayBits-1:0] peer;
  session_t peer_session;
  granted_t [1:0] granted_q;  // one and two cycles ago

  localparam session_t Near = '{up: 1'b1, echo_valid: 1'b1, number: 1'b1, default: '0};
  localparam session_t Far = '{up: 1'b1, echo_valid: 1'b1, echo: 1'b1, default: '0};

  wire [ReplayBits-1:0] replay = Damage ? replay_i : '0;
  wire session_t session = '{up: 1'b1, echo_valid: 1'b1, echo: 1'b1, number: Damage && another_i, default: '0};
  wire [FrameBits-1:0] burst = FrameBits'(burst_bits_i) << at_i;
  wire [FrameBits-1:0] few = 32'($countones(flips_i)) <= Wrong ? flips_i : '0;
  wire [FrameBits-1:0] flips = !Damage ? '0 : burst_i ? burst : few;
  wire whole = flips == '0;

  tw_reset_first surroundings (.*);

  tw_replay_codec #(
      .Width(Width),
      .SequenceBits(SequenceBits),
      .Vcs(Vcs),
      .Credits(Credits),
      .CountBits(CountBits)
  ) far (
      .clk_i,
      .rst_i,
      .tx_valid_i(replay[Width]),
      .tx_word_i(replay[Width-1:0]),
      .sequence_i(replay[Width+1+:SequenceBits]),
      .epoch_i(replay[Width+1+SequenceBits]),
      .expected_i(replay[Width+2+SequenceBits+:SequenceBits]),
      .request_i(replay[ReplayBits-1]),
      .session_i(session),
      .flush_i(1'b0),
      .peer_valid_o(),
      .peer_word_valid_o(),
      .peer_word_o(),
      .peer_sequence_o(),
      .peer_epoch_o(),
      .peer_expected_o(),
      .peer_request_o(),
      .peer_session_o(),
      .back_i(Credits ? returned : return_i),
      .back_o(),
      .wire_ready_i(takes_i),
      .wire_valid_o(valid[0]),
      .wire_frame_o(frames[0]),
      .wire_valid_i(1'b0),
      .wire_frame_i(FrameBits'(0))
  );

  tw_replay_codec #(
      .Width(Width),
      .SequenceBits(SequenceBits),
      .Vcs(Vcs),
      .Credits(Credits),
      .CountBits(CountBits)
  ) near (
      .clk_i,
      .rst_i,
      .tx_valid_i(1'b0),
      .tx_word_i(Width'(0)),
      .sequence_i(SequenceBits'(0)),
      .epoch_i(1'b0),
      .expected_i(SequenceBits'(0)),
      .request_i(1'b0),
      .session_i(Near),
      .flush_i(1'b0),
      .peer_valid_o(peer_valid),
      .peer_word_valid_o(peer[Width]),
      .peer_word_o(peer[Width-1:0]),
      .peer_sequence_o(peer[Width+1+:SequenceBits]),
      .peer_epoch_o(peer[Width+1+SequenceBits]),
      .peer_expected_o(peer[Width+2+SequenceBits+:SequenceBits]),
      .peer_request_o(peer[ReplayBits-1]),
      .peer_session_o(peer_session),
      .back_i(Vcs'(0)),
      .back_o(back),
      .wire_ready_i(1'b1),
      .wire_valid_o(),
      .wire_frame_o(),
      .wire_valid_i(delivers_i && valid[Entries]),
      .wire_frame_i(frames[Entries] ^ flips)
  );

  for (genvar p = 0; p < int'(Entries); p++) begin : place
    always_ff @(posedge clk_i) begin
      if (moves_i[p]) frames[p+1] <= frames[p];
      if (rst_i) valid[p+1] <= 1'b0;
      else if (moves_i[p]) valid[p+1] <= valid[p];
    end
  end

  always_ff @(posedge clk_i) begin
    granted_q[0].flow <= frames[Entries][FlowLsb+:FlowBits];
    {granted_q[0].session, granted_q[0].replay} <= frames[Entries][FlowLsb-1:0];
    granted_q[0].whole <= !rst_i && delivers_i && valid[Entries] && whole;
    granted_q[1] <= granted_q[0];
    if (rst_i) granted_q[1].whole <= 1'b0;
  end

  if (Damage) begin : damage
    for (genvar s = 0; s <= int'(Entries); s++) begin : sent
      always_ff @(posedge clk_i) begin
        if (!rst_i) begin
          lemma_session : assert (!valid[s] || frames[s][ReplayBits+1+:4] == Far[4:1]);
          lemma_checked : assert (!valid[s] || frames[s][BodyBits+:32] == check_of({frames[s][FlowLsb+:FlowBits], Far[4:1], frames[s][ReplayBits:0]}));
        end
      end
    end

    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        lemma_noticed : assert (near.good == granted_q[0].whole);
        lemma_came : assert (!granted_q[0].whole || near.in_q == {granted_q[0].flow, granted_q[0].session, granted_q[0].replay});
        says_nothing : assert (!peer_valid || granted_q[1].whole);
        whole_is_taken : assert (!granted_q[1].whole || (peer_valid && peer == granted_q[1].replay && peer_session == granted_q[1].session));
        comes : cover (near.in_valid_q && !near.good);
      end
    end
  end

  if (Credits) begin : credits
    logic [$clog2(Calm+1)-1:0] calm_q;

    wire calm = takes_i && &moves_i && delivers_i && whole && returned == 0;

    always_ff @(posedge clk_i) begin
      if (rst_i || !calm) calm_q <= 0;
      else if (32'(calm_q) != Calm) calm_q <= calm_q + 1;
    end

    // A flit needs a credit, enters the buffer at once, and returns the credit when it leaves.
    for (genvar v = 0; v < int'(Vcs); v++) begin : channel
      logic [CountBits:0] credits_q, held_q;

      wire send = send_i[v] && credits_q != 0;

      assign returned[v] = return_i[v] && held_q != 0;

      always_ff @(posedge clk_i) begin
        if (rst_i) begin
          credits_q <= (CountBits + 1)'(Depth);
          held_q <= 0;
        end else begin
          credits_q <= credits_q + (CountBits + 1)'(back[v]) - (CountBits + 1)'(send);
          held_q <= held_q + (CountBits + 1)'(send) - (CountBits + 1)'(returned[v]);
        end
      end

      // Counts since the last credit that came out. They grow from stage to stage, from the reported ones back to the returned
      // ones; a stage that reports another channel is skipped.
      logic [Entries+2:0][CountBits-1:0] count;
      logic [Entries+2:0] ordered;

      wire [CountBits-1:0] away = far.credits.returned_q[v] - near.credits.given_q[v];

      assign count[Entries+2] = near.credits.granted_q[v] - near.credits.given_q[v];
      assign ordered[Entries+2] = 1'b1;
      for (genvar s = 0; s <= int'(Entries) + 1; s++) begin : stage
        wire [FlowBits-1:0] flow = s > int'(Entries) ? near.in_q[FlowLsb+:FlowBits] : frames[s][FlowLsb+:FlowBits];
        wire granted = (s > int'(Entries) ? granted_q[0].whole : valid[s]) && flow[VcBits-1:0] == VcBits'(v);

        assign count[s] = granted ? flow[FlowBits-1:VcBits] - near.credits.given_q[v] : count[s+1];
        assign ordered[s] = count[s+1] <= count[s];
      end

      always_ff @(posedge clk_i) begin
        if (!rst_i) begin
          conserved :
          assert (32'(credits_q) + 32'(held_q) + 32'(back[v]) + 32'(away) == Depth && &ordered && count[0] <= away);
          all_away : cover (held_q == 0 && credits_q == 0);
        end
      end

      if (!Damage) begin : calms
        always_ff @(posedge clk_i) begin
          if (!rst_i) heals : assert (32'(calm_q) != Calm || 32'(credits_q) + 32'(held_q) == Depth);
        end
      end
    end
  end else begin : margin
    assign returned = '0;

    always_ff @(posedge clk_i) begin
      if (!rst_i) stops : assert (back == (granted_q[1].whole && granted_q[1].session ==? {1'bx, Far[3:0]} ? granted_q[1].flow : '1));
    end
  end
endmodule
