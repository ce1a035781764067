// SPDX-License-Identifier: Apache-2.0
// Credits of an external port's virtual ports, in both directions. A frame is sent only if fewer words than a limit are outstanding, so
// that the other end's receive buffer has room for the longest frame. Reports return the number of words that have left this receive buffer.
//
// A setting applies to frames chosen from the second cycle after it on. Both ends are set while no words are in flight.
//
// Order: none. Latency: three cycles from a credit to its effect, two from a word that has left to the report, one from a sent
// frame. Throughput: for each port, a leaving word per cycle, and a frame and a credit every second cycle. Storage: two numbers
// of words per port, and the outstanding words. Numbers are modulo 2^32. Outputs are registers. Critical path: from a frame's words and a
// credit to the outstanding words.
module tw_credits #(
    parameter  int unsigned Ports       = 2,                             /// virtual ports, 1 to 8
    parameter  int unsigned FrameWords  = 143,                           /// maximum words of a frame, at least 1
    parameter  int unsigned CreditsBits = 15,                            /// of limits, at least WordsBits, less than NumberBits
    parameter  int unsigned NumberBits  = 32,                            /// of numbers of words, in reports too; even
    localparam int unsigned PortBits    = Ports > 1 ? $clog2(Ports) : 1,
    localparam int unsigned WordsBits   = $clog2(FrameWords + 1)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                   set_valid_i,
    input logic [   PortBits-1:0] set_port_i,
    input logic [CreditsBits-1:0] set_words_i,   /// a frame may begin if fewer words are outstanding; 0, as after reset: credits are off
    input logic [CreditsBits-1:0] set_report_i,  /// words that have left per report; at least 1 if credits are used
    input logic [      Ports-1:0] forget_i,      /// a circuit is written, which turns its credits off unless they are set in the same cycle

    output logic [Ports-1:0]                held_o,   /// no frame may begin
    input  logic [Ports-1:0]                sent_i,   /// a frame was chosen in the previous cycle
    input  logic [Ports-1:0][WordsBits-1:0] words_i,  /// of that frame
    input  logic [Ports-1:0]                taken_i,  /// a report from the other end, at most every second cycle
    input  logic [Ports-1:0][ NumberBits-1:0] number_i, /// number of words in that report

    input  logic [Ports-1:0]       left_i,           /// a word has left the receive buffer
    output logic [Ports-1:0]       report_valid_o,   /// a report is due
    input  logic [Ports-1:0]       reported_i,       /// the report is sent
    output logic [Ports-1:0][NumberBits-1:0] report_number_o
);
  if (Ports < 1 || Ports > 8) begin : check_ports
    $error("tw_credits: Ports must be 1 to 8");
  end
  if (FrameWords < 1 || CreditsBits < WordsBits || CreditsBits >= NumberBits || NumberBits % 2 != 0) begin : check_bits
    $error("tw_credits: CreditsBits must be less than NumberBits, which is even, and at least those of FrameWords, which is at least 1");
  end

  localparam int unsigned SpareBits = CreditsBits + 1;
  localparam int unsigned Half = NumberBits / 2;
  typedef logic [Half-1:0] half_t;
  localparam half_t Sign = half_t'(1) << (Half - 1);
  typedef logic [CreditsBits-1:0] words_t;
  typedef logic [SpareBits-1:0] spare_t;

  words_t set_words_q, set_report_q;

  always_ff @(posedge clk_i) begin
    set_words_q  <= set_words_i - 1'b1;
    set_report_q <= set_report_i;
  end

  for (genvar i = 0; i < Ports; i++) begin : port
    logic on_q, set_q, clear_q, begun_q;  // credits are used; set in the previous cycle; set or turned off in it; two cycles ago

  // Sending. A credit's number is compared in two cycles, by halves.
    spare_t spare_q;  // credits minus outstanding words, minus 1; negative: no frame may begin
    logic [NumberBits-1:0] known_q, number_q;
    logic credit_q;  // a credit has arrived
    spare_t extra_q;  // its number minus the last one
    logic lower_q, below_q, below_less_q;  // the lower half's difference is negative; the upper half's is; the upper half's is with a borrow
    spare_t gain_q;
    wire more = credit_q && !(lower_q ? below_less_q : below_q);
    wire spare_t sent = sent_i[i] && !begun_q ? spare_t'(words_i[i]) : '0;

    // Receiving.
    logic report_q;
    words_t period_q, due_q;  // words per report; words to the next one
    half_t low_left_q, high_left_q;
    logic carries_q;  // all bits of the lower half are set

    assign held_o[i] = spare_q[SpareBits-1];
    assign report_valid_o[i] = report_q;
    assign report_number_o[i] = {high_left_q, low_left_q};

    always_ff @(posedge clk_i) begin
      set_q <= set_valid_i && set_port_i == PortBits'(i);
      clear_q <= forget_i[i] || (set_valid_i && set_port_i == PortBits'(i));
      begun_q <= clear_q;

      credit_q <= taken_i[i] && !clear_q && !begun_q;
      extra_q <= spare_t'(number_i[i]) - spare_t'(known_q);
      lower_q <= number_i[i][Half-1:0] < known_q[Half-1:0];
      below_q <= half_t'(number_i[i][NumberBits-1:Half] - known_q[NumberBits-1:Half]) >= Sign;
      below_less_q <= half_t'(number_i[i][NumberBits-1:Half] + ~known_q[NumberBits-1:Half]) >= Sign;
      number_q <= number_i[i];
      gain_q <= more ? extra_q : '0;
      if (more) known_q <= number_q;
      spare_q <= spare_q - sent + gain_q;

      if (left_i[i]) begin
        low_left_q <= low_left_q + 1'b1;
        carries_q  <= low_left_q == ~half_t'(1);
        if (carries_q) high_left_q <= high_left_q + 1'b1;
      end
      if (reported_i[i]) begin
        due_q <= left_i[i] ? period_q - 1'b1 : period_q;
        report_q <= left_i[i] && period_q == 1;
      end else if (left_i[i] && !report_q) begin
        due_q <= due_q - 1'b1;
        report_q <= due_q == 1;
      end

      if (clear_q) begin
        on_q <= set_q && set_report_q != 0;
        spare_q <= '0;
        gain_q <= set_q ? spare_t'(set_words_q) : '0;  // added one cycle later, in which no frame is deducted
        known_q <= '0;
        period_q <= set_report_q;
      end else if (!on_q) begin
        spare_q <= '0;
      end
      // A report may still be sent in the first cycle of the new setting.
      if (begun_q) begin
        due_q <= period_q;
        low_left_q <= '0;
        high_left_q <= '0;
        carries_q <= 1'b0;
      end
      if (!on_q || forget_i[i] || (set_valid_i && set_port_i == PortBits'(i)) || clear_q || begun_q) report_q <= 1'b0;
      if (rst_i) begin
        on_q <= 1'b0;
        clear_q <= 1'b0;
        begun_q <= 1'b0;
        credit_q <= 1'b0;
        gain_q <= '0;
        spare_q <= '0;
        report_q <= 1'b0;
      end
    end
  end

`ifndef SYNTHESIS
  logic [Ports-1:0] taken_q;

  always_ff @(posedge clk_i) begin
    taken_q <= rst_i ? '0 : taken_i;
    if (!rst_i) begin
      port_is_there : assert (!set_valid_i || 32'(set_port_i) < Ports);
      reports_both_ways : assert (!set_valid_i || (set_words_i == 0) == (set_report_i == 0));
      every_second_cycle : assert ((taken_i & taken_q) == 0);
    end
  end
`endif
endmodule
