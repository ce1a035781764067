// SPDX-License-Identifier: Apache-2.0
// Two ends and the wires between them. Each entry of a wire loads the entry before it or keeps its frame, and the last one is
// delivered or not, nondeterministically: frames get lost, are repeated, and take any time. Words go in one direction; those of
// the other direction share only the frames with them.
module replay_proof #(
    parameter int unsigned Width  = 1,
    parameter int unsigned Window = 2,
    parameter int unsigned Entries = 1,  // of a wire: frames in flight, beside the one in the sender's register
    // Fault-free cycles until every word has come out: the wire there, back and there again, the words, and five registers
    parameter int unsigned Calm   = 3 * Entries + Window + 5
) (
    input logic              clk_i,
    input logic              rst_i,
    input logic              watch_i,
    input logic              in_valid_i,
    input logic [ Width-1:0] in_word_i,
    input logic              near_takes_i,
    input logic              far_takes_i,
    input logic [Entries-1:0] there_moves_i,
    input logic [Entries-1:0] back_moves_i,
    input logic              there_delivers_i,
    input logic              back_delivers_i
);
  localparam int unsigned SequenceBits = $clog2(Window) + 1;

  typedef struct packed {
    logic                    word_valid;
    logic [Width-1:0]        word;
    logic [SequenceBits-1:0] sequence_number;
    logic                    epoch;
    logic [SequenceBits-1:0] expected;
    logic                    request;
  } frame_t;

  logic in_ready, out_valid;
  logic [Width-1:0] out_word;
  frame_t near_frame, far_frame;
  frame_t [Entries:0] there, back;
  logic [Entries:0] there_valid, back_valid;

  tw_reset_first surroundings (.*);

  wire push = in_valid_i && in_ready;

  tw_replay #(
      .Width(Width),
      .Window(Window),
      .Slack(0),
      .DownCycles(1)
  ) near (
      .clk_i,
      .rst_i,
      .in_valid_i(push),
      .in_ready_o(in_ready),
      .in_word_i,
      .out_valid_o(),
      .out_word_o(),
      .up_o(),
      .wire_ready_i(near_takes_i),
      .tx_valid_o(near_frame.word_valid),
      .tx_word_o(near_frame.word),
      .sequence_o(near_frame.sequence_number),
      .epoch_o(near_frame.epoch),
      .expected_o(near_frame.expected),
      .request_o(near_frame.request),
      .peer_valid_i(back_delivers_i && back_valid[Entries]),
      .peer_word_valid_i(back[Entries].word_valid),
      .peer_word_i(back[Entries].word),
      .peer_sequence_i(back[Entries].sequence_number),
      .peer_epoch_i(back[Entries].epoch),
      .peer_expected_i(back[Entries].expected),
      .peer_request_i(back[Entries].request)
  );

  tw_replay #(
      .Width(Width),
      .Window(Window),
      .Slack(0),
      .DownCycles(1)
  ) far (
      .clk_i,
      .rst_i,
      .in_valid_i(1'b0),
      .in_ready_o(),
      .in_word_i(Width'(0)),
      .out_valid_o(out_valid),
      .out_word_o(out_word),
      .up_o(),
      .wire_ready_i(far_takes_i),
      .tx_valid_o(far_frame.word_valid),
      .tx_word_o(far_frame.word),
      .sequence_o(far_frame.sequence_number),
      .epoch_o(far_frame.epoch),
      .expected_o(far_frame.expected),
      .request_o(far_frame.request),
      .peer_valid_i(there_delivers_i && there_valid[Entries]),
      .peer_word_valid_i(there[Entries].word_valid),
      .peer_word_i(there[Entries].word),
      .peer_sequence_i(there[Entries].sequence_number),
      .peer_epoch_i(there[Entries].epoch),
      .peer_expected_i(there[Entries].expected),
      .peer_request_i(there[Entries].request)
  );

  assign there[0] = near_frame;
  assign back[0] = far_frame;
  assign there_valid[0] = 1'b1;
  assign back_valid[0] = 1'b1;

  for (genvar p = 0; p < int'(Entries); p++) begin : place
    always_ff @(posedge clk_i) begin
      if (there_moves_i[p]) there[p+1] <= there[p];
      if (back_moves_i[p]) back[p+1] <= back[p];
      if (rst_i) begin
        there_valid[p+1] <= 1'b0;
        back_valid[p+1]  <= 1'b0;
      end else begin
        if (there_moves_i[p]) there_valid[p+1] <= there_valid[p];
        if (back_moves_i[p]) back_valid[p+1] <= back_valid[p];
      end
    end
  end

  // Any one word may be the watched one; the words ahead of it are counted, and it must come out when there are none.
  logic [SequenceBits-1:0] held_q, ahead_q;
  logic watched_q;
  logic [Width-1:0] word_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      held_q <= 0;
      watched_q <= 1'b0;
    end else begin
      held_q <= held_q + SequenceBits'(push) - SequenceBits'(out_valid);
      if (!watched_q) begin
        watched_q <= push && watch_i;
        ahead_q <= held_q - SequenceBits'(out_valid);
        word_q <= in_word_i;
      end else if (out_valid) begin
        watched_q <= ahead_q != 0;
        ahead_q <= ahead_q - 1;
      end
    end
  end

  // Frames move and are delivered, and no new word is given.
  logic [$clog2(Calm+1)-1:0] calm_q;

  wire calm = near_takes_i && far_takes_i && &there_moves_i && &back_moves_i && there_delivers_i && back_delivers_i && !push;

  always_ff @(posedge clk_i) begin
    if (rst_i || !calm) calm_q <= 0;
    else if (32'(calm_q) != Calm) calm_q <= calm_q + 1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      heals : assert (32'(calm_q) != Calm || held_q == 0);
      invents_nothing : assert (!out_valid || held_q != 0);
      in_order_and_once : assert (!out_valid || !watched_q || ahead_q != 0 || out_word == word_q);
      watched_comes_out : cover (watched_q && ahead_q == 0 && out_valid);
    end
  end
endmodule
