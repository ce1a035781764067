// SPDX-License-Identifier: Apache-2.0
// Environment: requests of any bytes and lengths, with any gaps, committed or dropped with their last word or later. An answer is
// watched by counting the answers that wait.
module answers_proof
  import tw_ethernet_pkg::*;
#(
    parameter int unsigned FrameWords = 2,
    parameter int unsigned Words      = 4
) (
    input logic                clk_i,
    input logic                rst_i,
    input logic                ask_valid_i,
    input logic [WordBits-1:0] ask_data_i,
    input logic                ask_last_i,
    input logic                ask_arp_i,
    input logic                ask_commit_i,
    input logic                ask_drop_i,
    input logic                tx_ready_i
);
  logic tx_valid, tx_last;
  logic inside_q, ended_q;  // a request has begun; its last word has arrived
  udp_end_t own;

  tw_reset_first surroundings (.*);
  assign own = '0;

  tw_answers #(
      .FrameWords(FrameWords),
      .Words     (Words),
      .CountBits (2)
  ) answers (
      .own_i      (own),
      .ask_first_i(!inside_q),
      .tx_valid_o (tx_valid),
      .tx_data_o  (),
      .tx_keep_o  (),
      .tx_last_o  (tx_last),
      .counts_o   (),
      .*
  );

  wire ends = ask_commit_i || ask_drop_i;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      inside_q <= 1'b0;
      ended_q  <= 1'b0;
    end else begin
      inside_q <= (inside_q || ask_valid_i) && !ends;
      ended_q  <= (ended_q || (ask_valid_i && ask_last_i)) && !ends;
    end
    one_of_both : assume (!ask_commit_i || !ask_drop_i);
    ends_what_has_begun : assume (!ends || inside_q || ask_valid_i);
    commits_what_is_whole : assume (!ask_commit_i || ended_q || (ask_valid_i && ask_last_i));
    nothing_behind_the_last : assume (!ask_valid_i || !ended_q);
  end

  // Committed answers that have not left, and words of the answer that is leaving.
  localparam int unsigned CountBits = $clog2(Words + 3) + 1;
  logic [CountBits-1:0] waiting_q, left_q;
  wire pop = tx_valid && tx_ready_i;
  wire answered = answers.answered;
  wire here = answers.fifo.in_valid_i;
  wire [$clog2(Words):0] there = answers.fifo.write_q - answers.fifo.read_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      waiting_q <= '0;
      left_q <= '0;
    end else begin
      waiting_q <= waiting_q + CountBits'(answered) - CountBits'(pop && tx_last);
      if (pop) left_q <= tx_last ? '0 : left_q + 1'b1;
    end
    if (!rst_i) begin
      finds_a_place : assert (!here || 32'(there) < Words);
      none_uncounted : assert ((answers.outcome & (answers.outcome - 1'b1)) == 0 && (answers.outcome != 0) == answers.commit_q[10]);
      answers_leave_whole : assert (!tx_valid || waiting_q != 0);
      as_long_as_allowed : assert (32'(left_q) < FrameWords);
      refuses : cover (answers.outcome.refused);
      is_wrong : cover (answers.outcome.wrong);
      answers_two : cover (waiting_q == 2 && pop && tx_last);
    end
  end
endmodule
