// SPDX-License-Identifier: Apache-2.0
// Frames at any ports, that may be withdrawn, and any settings at any time. Against it stand what is left of each frame's time at its
// pace, from the product of the two, and the choice by its definition.
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
    input logic                                 choose_i,
    input logic [       Ports-1:0]              wanting_i,
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
  logic [Ports-1:0][PaceBits-1:0] paces_q;
  left_t [Ports-1:0] left_q;  // of a frame's time at its pace, in 1/256 cycles
  logic [WordsBits-1:0] busy_q;  // cycles for which the line is taken
  logic [PortBits-1:0] last_q;
  logic [Ports-1:0] expected_q, may, expected;

  // The first after the last one, of those of the highest priority that may.
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
    end
    expected_q <= expected;
    if (rst_i) begin
      busy_q <= '0;
      last_q <= '0;
      expected_q <= '0;
      priorities_q <= '0;
      paces_q <= '0;
    end

    line_is_taken : assume (!choose_i || busy_q == 0);
    ports_are_there : assume (32'(set_port_i) < Ports);

    if (!rst_i) begin
      chooses_by_definition : assert (chosen == expected_q);
      lemma_busy : assert (multiplexer.busy_q == busy_q);
      lemma_last : assert (multiplexer.last_q == last_q && 32'(last_q) < Ports);
    end
  end

  for (genvar i = 0; i < Ports; i++) begin : port
    wire left_t takes = left_t'(paces_q[i]) * (left_t'(words_i[i]) + 1'b1);
    wire left_t left = expected[i] ? takes : left_q[i];
    always_ff @(posedge clk_i) begin
      if (rst_i) left_q[i] <= '0;
      else left_q[i] <= left > left_t'(256) ? left - left_t'(256) : '0;
    end

    // What the block counts: of the word that is counted, and of those to come.
    wire [PaceBits-1:0] over = multiplexer.port[i].kept_q;
    wire left_t counted = left_t'(multiplexer.port[i].left_q) + 1'b1 +
                          (multiplexer.port[i].more_q ? left_t'(multiplexer.port[i].words_q) * (left_t'(over) + left_t'(257)) : '0);
    always_ff @(posedge clk_i) begin
      whole_frames : assume (words_i[i] != 0 && 32'(words_i[i]) <= FrameWords);
      if (!rst_i) begin
        waits : cover (choose_i && wanting_i[i] && left_q[i] != 0);
        lemma_set :
        assert (multiplexer.priority_q[i] == priorities_q[i] && multiplexer.port[i].paced_q == (paces_q[i] > 256) &&
                (paces_q[i] <= 256 || (multiplexer.port[i].over_q == paces_q[i] - 257 && multiplexer.port[i].over_ends_q == (paces_q[i] <= 512))));
        if (multiplexer.open_q[i]) begin
          lemma_open : assert (left_q[i] <= left_t'(busy_q) * left_t'(256));
        end else begin
          lemma_counted : assert (left_q[i] == counted);
          lemma_words : assert (multiplexer.port[i].more_q == (multiplexer.port[i].words_q != 0) &&
                                32'(multiplexer.port[i].words_q) <= FrameWords);
          lemma_over : assert (32'(over) <= 2**PaceBits - 258 && multiplexer.port[i].kept_ends_q == (over < 256));
          lemma_ends : assert (multiplexer.port[i].ends_q == (multiplexer.port[i].left_q < 256));
        end
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
