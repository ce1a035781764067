// SPDX-License-Identifier: Apache-2.0
// Environment: frames begin where they may; credits for words that the other end has taken arrive, some of them late; words leave
// the receive buffer at any time; settings change while nothing moves. The reference state: the words sent, taken by the other
// end, and taken out of the receive buffer.
module credits_proof #(
    parameter int unsigned Ports = 2,
    parameter int unsigned FrameWords = 3,
    parameter int unsigned CreditsBits = 3,
    parameter int unsigned NumberBits = 8,
    localparam int unsigned PortBits = $clog2(Ports),
    localparam int unsigned WordsBits = $clog2(FrameWords + 1)
) (
    input logic                                  clk_i,
    input logic                                  rst_i,
    input logic                                  set_valid_i,
    input logic [   PortBits-1:0]                set_port_i,
    input logic [CreditsBits-1:0]                set_words_i,
    input logic [CreditsBits-1:0]                set_report_i,
    input logic [      Ports-1:0]                forget_i,
    input logic [      Ports-1:0]                sent_i,
    input logic [      Ports-1:0][WordsBits-1:0] words_i,
    input logic [      Ports-1:0]                taken_i,
    input logic [      Ports-1:0][ NumberBits-1:0] number_i,
    input logic [      Ports-1:0]                left_i,
    input logic [      Ports-1:0]                reported_i,
    input logic [      Ports-1:0]                takes_i    // the other end takes a word
);
  logic [Ports-1:0] held, report;
  typedef logic [NumberBits-1:0] number_t;
  logic [Ports-1:0][NumberBits-1:0] report_number;
  localparam number_t Late = number_t'(1) << (NumberBits - 2);  // lag of a credit: fewer words than this were taken since

  tw_reset_first surroundings (.*);

  tw_credits #(
      .Ports(Ports),
      .FrameWords(FrameWords),
      .CreditsBits(CreditsBits),
      .NumberBits(NumberBits)
  ) credits (
      .held_o(held),
      .report_valid_o(report),
      .report_number_o(report_number),
      .*
  );

  for (genvar i = 0; i < Ports; i++) begin : port
    number_t sent_q, theirs_q, ours_q, reported_q;  // words: sent, taken by the other end, left here, reported as left
    logic [CreditsBits-1:0] limit_q, period_q, limit_1q, period_1q;  // in force; set in the cycle before
    logic sets_1q, sets_2q, held_q, sent_before_q, taken_q;
    wire sets = forget_i[i] || (set_valid_i && set_port_i == PortBits'(i));
    wire uses = set_valid_i && set_port_i == PortBits'(i);
    wire number_t under_way = sent_q - theirs_q;
    wire takes = takes_i[i] && under_way != 0;
    wire number_t known_way = sent_q - credits.port[i].known_q;  // in flight, as far as known here
    wire number_t gains = number_t'(credits.port[i].gain_q);
    wire number_t more = credits.port[i].number_q - credits.port[i].known_q;

    always_ff @(posedge clk_i) begin
      sets_1q <= sets;
      sets_2q <= sets_1q;
      limit_1q <= uses ? set_words_i : '0;
      period_1q <= uses ? set_report_i : '0;
      held_q <= held[i];
      sent_before_q <= sent_i[i];
      taken_q <= taken_i[i];
      sent_q <= sent_q + (sent_i[i] ? number_t'(words_i[i]) : '0);
      theirs_q <= theirs_q + number_t'(takes);
      ours_q <= ours_q + number_t'(left_i[i]);
      if (reported_i[i]) reported_q <= ours_q;
      if (sets_1q) begin
        sent_q <= '0;
        theirs_q <= '0;
        limit_q <= limit_1q;
        period_q <= period_1q;
      end
      if (sets_2q) begin
        ours_q <= '0;
        reported_q <= '0;
      end
      if (rst_i) begin
        sets_1q <= 1'b0;
        sets_2q <= 1'b0;
        sent_before_q <= 1'b0;
        taken_q <= 1'b0;
        held_q <= 1'b0;
        limit_q <= '0;
        period_q <= '0;
        sent_q <= '0;
        theirs_q <= '0;
        ours_q <= '0;
        reported_q <= '0;
      end

      both_ways : assume ((set_words_i == 0) == (set_report_i == 0) && 32'(set_port_i) < Ports);
      frames_may_begin : assume (!sent_i[i] || (!held_q && !sent_before_q && words_i[i] != 0 && 32'(words_i[i]) <= FrameWords));
      nothing_moves : assume (!(sets || sets_1q || sets_2q) || (!sent_i[i] && !taken_i[i] && !credits.port[i].credit_q));
      of_what_was_taken : assume (!taken_i[i] || (!taken_q && theirs_q - number_i[i] < Late));
      in_time : assume (ours_q - reported_q < Late);
      of_reports : assume (!reported_i[i] || report[i]);

      if (!rst_i) begin
        has_room : assert (!sent_i[i] || limit_q == 0 || under_way < number_t'(limit_q));
        never_more : assert (limit_q == 0 || under_way < number_t'(limit_q) + FrameWords);
        says_what_left : assert (!report[i] || report_number[i] == ours_q);
        says_it_in_time : assert (report[i] == (period_q != 0 && !sets_1q && !sets_2q && ours_q - reported_q >= number_t'(period_q)));
        stops : cover (held[i]);
        reports : cover (report[i]);
        late : cover (limit_q != 0 && taken_i[i] && number_i[i] != theirs_q);

        lemma_on :
        assert (credits.port[i].on_q == (period_q != 0) && (limit_q == 0) == (period_q == 0) &&
                (period_q == 0 || credits.port[i].period_q == period_q));
        lemma_sets :
        assert (credits.port[i].clear_q == sets_1q && credits.port[i].begun_q == sets_2q &&
                (!sets_1q || (credits.port[i].set_q ?
                              credits.set_report_q == period_1q && credits.set_words_q == limit_1q - 1'b1 && (limit_1q == 0) == (period_1q == 0) :
                              period_1q == 0 && limit_1q == 0)));
        if (limit_q != 0) begin
          lemma_known : assert (theirs_q - credits.port[i].known_q <= known_way && under_way <= known_way);
          lemma_most : assert (known_way < number_t'(limit_q) + FrameWords && gains < number_t'(limit_q) + FrameWords &&
                               known_way + gains < number_t'(limit_q) + FrameWords);
          lemma_spare : assert (credits.port[i].spare_q == (CreditsBits + 1)'(number_t'(limit_q) - 1'b1 - known_way - gains));
          lemma_may : assert (held_q || sent_before_q || known_way < number_t'(limit_q));
        end else begin
          lemma_off : assert (!held[i]);
        end
        if (credits.port[i].credit_q) begin
          lemma_number : assert (theirs_q - credits.port[i].number_q <= Late && taken_q);
          lemma_halves : assert (credits.port[i].extra_q == (CreditsBits + 1)'(more) &&
                                 (credits.port[i].lower_q ? credits.port[i].below_less_q : credits.port[i].below_q) == more[NumberBits-1]);
        end
        lemma_left : assert ({credits.port[i].high_left_q, credits.port[i].low_left_q} == ours_q || period_q == 0 || sets_2q);
        lemma_carries : assert (credits.port[i].carries_q == (credits.port[i].low_left_q == '1) || period_q == 0 || sets_2q);
        lemma_due : assert (report[i] || period_q == 0 || sets_1q || sets_2q ||
                            (credits.port[i].due_q != 0 && number_t'(credits.port[i].due_q) == number_t'(period_q) - (ours_q - reported_q)));
      end
    end
  end
endmodule
