// SPDX-License-Identifier: Apache-2.0
// The reception monitor of an external port: counts data words in time windows, and reports, once per window with too many, the
// virtual ports that received them. Windows follow each other without gaps from the second cycle after their setting on.
//
// Order: none. Latency: two cycles from a frame's end. Throughput: a frame per cycle. Storage: the window's time and words, a bit per port. Outputs are
// registers. Critical path: from a window's end through its remaining words to the subtraction of a frame.
module tw_monitor #(
    parameter  int unsigned Ports      = 2,                      /// virtual ports, 1 to 8
    parameter  int unsigned FrameWords = 143,                    /// maximum words of a frame, at least 1
    parameter  int unsigned CyclesBits = 24,                     /// of a window's cycles, at least 2
    parameter  int unsigned WordsBits  = 15,                     /// of a window's words, at least FrameBits
    localparam int unsigned FrameBits  = $clog2(FrameWords + 1)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                  set_valid_i,
    input logic [CyclesBits-1:0] set_cycles_i, /// length of a window; 0, as after reset: off
    input logic [ WordsBits-1:0] set_words_i,  /// maximum in a window
    input logic [     Ports-1:0] forget_i,     /// a circuit is written: its virtual port's words no longer count

    input  logic [    Ports-1:0] ends_i,     /// a data frame was kept
    input  logic [FrameBits-1:0] words_i,    /// of that frame
    output logic [    Ports-1:0] indicate_o  /// for one cycle
);
  if (Ports < 1 || Ports > 8) begin : check_ports
    $error("tw_monitor: Ports must be 1 to 8");
  end
  if (FrameWords < 1 || WordsBits < FrameBits) begin : check_words
    $error("tw_monitor: WordsBits must be at least those of FrameWords, which is at least 1");
  end

  logic set_q, on_q, running;
  logic [CyclesBits-1:0] more_q;  // cycles of a window minus 1
  logic [WordsBits-1:0] most_q;
  logic [WordsBits:0] left_q;  // words left to the limit; negative: exceeded
  logic [Ports-1:0] from_q, indicate_q;
  logic reported_q;

  wire begins = on_q && !running;  // a window starts with this cycle
  wire over = left_q[WordsBits] && !reported_q;
  // Words are no longer counted once a window's limit is exceeded.
  wire [FrameBits-1:0] counted = words_i & {FrameBits{on_q && ends_i != 0 && (begins || !left_q[WordsBits])}};

  tw_timer #(
      .Bits(CyclesBits)
  ) window (
      .clk_i,
      .rst_i    (rst_i || set_q),
      .load_i   (begins),
      .cycles_i (more_q),
      .running_o(running)
  );

  assign indicate_o = indicate_q;

  always_ff @(posedge clk_i) begin
    if (set_valid_i) begin
      more_q <= set_cycles_i - 1'b1;
      most_q <= set_words_i;
    end
    from_q <= ((begins ? '0 : from_q) | ends_i) & ~forget_i;
    indicate_q <= over ? from_q & ~forget_i : '0;
    left_q <= (begins ? {1'b0, most_q} : left_q) - (WordsBits + 1)'(counted);
    reported_q <= !begins && left_q[WordsBits];
    if (rst_i || set_q) begin
      from_q <= '0;
      left_q <= '0;
      reported_q <= 1'b0;
    end
    if (set_valid_i) on_q <= set_cycles_i != 0;
    set_q <= set_valid_i;
    if (rst_i) begin
      set_q <= 1'b0;
      on_q <= 1'b0;
      indicate_q <= '0;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) one_ends : assert ($onehot0(ends_i) && (ends_i == 0 || words_i != 0));
  end
`endif
endmodule
