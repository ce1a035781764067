// SPDX-License-Identifier: Apache-2.0
// Environment: frames at any ports, sent slowly or not, that may be withdrawn, and any settings at any time. The reference state:
// the rest of each frame's time at its pace, from the product of the two, and the choice by its definition.
module multiplexer_proof #(
    parameter int unsigned Ports = 2,
    parameter int unsigned FrameWords = 3,
    parameter int unsigned PriorityBits = 1,
    parameter int unsigned PaceBits = 10,
    localparam int unsigned PortBits = $clog2(Ports),
    localparam int unsigned WordsBits = $clog2(FrameWords + 1),
    localparam int unsigned TimeBits = PaceBits + WordsBits + 1
) (
    input logic                                 clk_i,
    input logic                                 rst_i,
    input logic                                 set_valid_i,
    input logic [    PortBits-1:0]              set_port_i,
    input logic [PriorityBits-1:0]              set_priority_i,
    input logic [    PaceBits-1:0]              set_pace_i,
    input logic                                 slow_valid_i,
    input logic [    PortBits-1:0]              slow_port_i,
    input logic [    PaceBits-1:0]              slow_pace_i,
    input logic                                 choose_i,
    input logic [       Ports-1:0]              wanting_i,
    input logic [       Ports-1:0]              slow_i,
    input logic [       Ports-1:0][WordsBits-1:0] words_i
);
  logic [Ports-1:0] chosen;

  tw_reset_first surroundings (.*);

  tw_multiplexer #(
      .Ports(Ports),
      .FrameWords(FrameWords),
      .PriorityBits(PriorityBits),
      .PaceBits(PaceBits)
  ) multiplexer (
      .chosen_o(chosen),
      .any_o(),
      .*
  );

  typedef logic [TimeBits-1:0] left_t;

  logic [Ports-1:0][PriorityBits-1:0] priorities_q;
  logic [Ports-1:0][PaceBits-1:0] paces_q, slows_q;
  left_t [Ports-1:0][1:0] left_q;  // rest of a frame's time at its pace, in 1/256 cycles; at the slow pace if it was sent so
  logic [WordsBits-1:0] busy_q;  // cycles for which the line is busy
  logic [PortBits-1:0] last_q;
  logic [Ports-1:0] expected_q, may, expected;

  // The next port in turn after the last one, among the eligible ports of the highest priority.
  always_comb begin
    logic [PortBits-1:0] port;
    logic [PriorityBits-1:0] most;
    for (int unsigned i = 0; i < Ports; i++) may[i] = wanting_i[i] && left_q[i] == 0;
    most = '0;
    for (int unsigned i = 0; i < Ports; i++) if (may[i] && priorities_q[i] > most) most = priorities_q[i];
    expected = '0;
    port = last_q;
    for (int unsigned k = 0; k < Ports; k++) begin
      port = 32'(port) == Ports - 1 ? '0 : port + 1'b1;
      if (choose_i && expected == 0 && may[port] && priorities_q[port] == most) expected[port] = 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (busy_q != 0) busy_q <= busy_q - 1'b1;
    for (int unsigned i = 0; i < Ports; i++) begin
      if (expected[i]) begin
        busy_q <= words_i[i];
        last_q <= PortBits'(i);
      end
      if (set_valid_i && 32'(set_port_i) == i) begin
        priorities_q[i] <= set_priority_i;
        paces_q[i] <= set_pace_i;
      end
      if (slow_valid_i && 32'(slow_port_i) == i) slows_q[i] <= slow_pace_i;
    end
    expected_q <= expected;
    if (rst_i) begin
      busy_q <= '0;
      last_q <= '0;
      expected_q <= '0;
      priorities_q <= '0;
      paces_q <= '0;
      slows_q <= '0;
    end

    line_is_taken : assume (!choose_i || busy_q == 0);
    ports_are_there : assume (32'(set_port_i) < Ports && 32'(slow_port_i) < Ports);

    if (!rst_i) begin
      chooses_by_definition : assert (chosen == expected_q);
      lemma_busy : assert (multiplexer.busy_q == busy_q && (chosen == 0 || busy_q != 0));
      lemma_last : assert (multiplexer.last_q == Ports'(1) << last_q && 32'(last_q) < Ports);
    end
  end

  for (genvar i = 0; i < Ports; i++) begin : port
    multiplexer_proof_pacer #(.FrameWords(FrameWords), .PaceBits(PaceBits)) pace (
        .clk_i, .rst_i, .sends_i(expected[i]), .words_i(words_i[i]), .pace_i(paces_q[i]), .busy_i(busy_q), .left_o(left_q[i][0]),
        .open_i(multiplexer.port[i].pace.open), .paced_i(multiplexer.port[i].pace.paced_q), .over_i(multiplexer.port[i].pace.over_q),
        .kept_i(multiplexer.port[i].pace.kept_q), .word_i(multiplexer.port[i].pace.left_q), .over_ends_i(multiplexer.port[i].pace.over_ends_q),
        .kept_ends_i(multiplexer.port[i].pace.kept_ends_q), .ends_i(multiplexer.port[i].pace.ends_q),
        .more_words_i(multiplexer.port[i].pace.words_q), .more_i(multiplexer.port[i].pace.more_q)
    );
    multiplexer_proof_pacer #(.FrameWords(FrameWords), .PaceBits(PaceBits)) slow (
        .clk_i, .rst_i, .sends_i(expected[i] && slow_i[i]), .words_i(words_i[i]), .pace_i(slows_q[i]), .busy_i(busy_q), .left_o(left_q[i][1]),
        .open_i(multiplexer.port[i].slow_pace.open), .paced_i(multiplexer.port[i].slow_pace.paced_q), .over_i(multiplexer.port[i].slow_pace.over_q),
        .kept_i(multiplexer.port[i].slow_pace.kept_q), .word_i(multiplexer.port[i].slow_pace.left_q), .over_ends_i(multiplexer.port[i].slow_pace.over_ends_q),
        .kept_ends_i(multiplexer.port[i].slow_pace.kept_ends_q), .ends_i(multiplexer.port[i].slow_pace.ends_q),
        .more_words_i(multiplexer.port[i].slow_pace.words_q), .more_i(multiplexer.port[i].slow_pace.more_q)
    );
    always_ff @(posedge clk_i) begin
      whole_frames : assume (words_i[i] != 0 && 32'(words_i[i]) <= FrameWords);
      if (!rst_i) begin
        waits : cover (choose_i && wanting_i[i] && left_q[i][0] != 0);
        waits_slowly : cover (choose_i && wanting_i[i] && left_q[i][0] == 0 && left_q[i][1] != 0);
        lemma_priority : assert (multiplexer.priority_q[i] == priorities_q[i]);
        lemma_both : assert (multiplexer.open_q[i] == (multiplexer.port[i].pace.open_q && multiplexer.port[i].slow_pace.open_q));
        lemma_open : assert (!choose_i || (multiplexer.port[i].pace.open == multiplexer.port[i].pace.open_q && multiplexer.port[i].slow_pace.open == multiplexer.port[i].slow_pace.open_q));
      end
    end
    for (genvar j = i + 1; j < Ports; j++) begin : pair
      always_ff @(posedge clk_i) begin
        if (!rst_i) begin
          lemma_before :
          assert (multiplexer.chosen_q != 0 || multiplexer.before_q[i][j] ==
                  (priorities_q[i] != priorities_q[j] ? priorities_q[i] > priorities_q[j] : 32'(last_q) < i || 32'(last_q) >= j));
        end
      end
    end
  end
endmodule

// The rest of a frame's time at a pace, from their product, and the block's count of it.
module multiplexer_proof_pacer #(
    parameter int unsigned FrameWords = 3,
    parameter int unsigned PaceBits = 10,
    localparam int unsigned WordsBits = $clog2(FrameWords + 1),
    localparam int unsigned TimeBits = PaceBits + WordsBits + 1
) (
    input logic                 clk_i,
    input logic                 rst_i,
    input logic                 sends_i,
    input logic [WordsBits-1:0] words_i,
    input logic [ PaceBits-1:0] pace_i,
    input logic [WordsBits-1:0] busy_i,
    output logic [TimeBits-1:0] left_o,
    input logic                 open_i,
    input logic                 paced_i,
    input logic [ PaceBits-1:0] over_i,
    input logic [ PaceBits-1:0] kept_i,
    input logic [ PaceBits-1:0] word_i,
    input logic                 over_ends_i,
    input logic                 kept_ends_i,
    input logic                 ends_i,
    input logic [WordsBits-1:0] more_words_i,
    input logic                 more_i
);
  typedef logic [TimeBits-1:0] left_t;
  left_t left_q;
  assign left_o = left_q;

  wire left_t takes = left_t'(pace_i) * (left_t'(words_i) + 1'b1);
  wire left_t left = sends_i ? takes : left_q;
  // Of the word that is counted, and of the following ones.
  wire left_t counted = left_t'(word_i) + 1'b1 + (more_i ? left_t'(more_words_i) * (left_t'(kept_i) + left_t'(257)) : '0);

  always_ff @(posedge clk_i) begin
    if (rst_i) left_q <= '0;
    else left_q <= left > left_t'(256) ? left - left_t'(256) : '0;
    if (!rst_i) begin
      lemma_set : assert (paced_i == (pace_i > 256) && (pace_i <= 256 || (over_i == pace_i - 257 && over_ends_i == (pace_i <= 512))));
      if (open_i) begin
        lemma_open : assert (left_q <= left_t'(busy_i) * left_t'(256));
      end else begin
        lemma_counted : assert (left_q == counted);
        lemma_words : assert (more_i == (more_words_i != 0) && 32'(more_words_i) <= FrameWords);
        lemma_over : assert (32'(kept_i) <= 2**PaceBits - 258 && kept_ends_i == (kept_i < 256));
        lemma_ends : assert (ends_i == (word_i < 256));
      end
    end
  end
endmodule
