// SPDX-License-Identifier: Apache-2.0
// The time for which a frame holds a virtual port back at a pace: as many cycles from its choice on as its words and its headers' one take. The
// line is taken for that many cycles, too, so that no pace of a word a cycle or faster holds a port back: what words take beyond it
// is counted down, word by word.
//
// Order: none. Latency: a cycle. Throughput: a word a cycle. Storage: the pace, twice, and the count of the frame. Outputs depend on registers alone. Critical path: from
// the count, whether it has gone down to a cycle, to the count.
module tw_pacer #(
    parameter int unsigned WordsBits = 8,  /// of a frame's words
    parameter int unsigned PaceBits  = 20  /// at least 10
) (
    input logic clk_i,
    input logic rst_i,

    input logic                set_valid_i,
    input logic [PaceBits-1:0] set_pace_i,   /// cycles in 1/256 that a word takes at least; 0 after reset

    input  logic [WordsBits-1:0] words_i,  /// of a frame that is chosen in this cycle; where opens_o was set in the cycle before, or after reset
    input  logic                 sent_i,   /// one was, in the cycle before, and none is
    output logic                 opens_o   /// no frame before holds the next cycle's back
);
  if (PaceBits < 10) begin : check_bits
    $error("tw_pacer: PaceBits must be at least 10");
  end

  typedef logic [PaceBits-1:0] pace_t;
  localparam pace_t Cycle = pace_t'(256);

  logic open_q;  // but for a frame that was sent in the cycle before
  logic paced_q, paced_1q;  // slower than a word a cycle; in the cycle before
  pace_t over_q, kept_q;  // what a word takes beyond a cycle, less 1; of the frame that is counted
  pace_t left_q;  // what its word takes still, less 1
  logic over_ends_q, kept_ends_q, ends_q;  // that is within the next cycle
  logic [WordsBits-1:0] words_q;  // to come after that one
  logic more_q;  // some are

  wire next = ends_q && more_q;
  wire pace_t begun = kept_q + pace_t'(left_q[7:0]) + pace_t'(1);

  wire open = open_q && !(sent_i && paced_1q);
  assign opens_o = open || (ends_q && !more_q);

  always_ff @(posedge clk_i) begin
    if (open) begin  // a frame that is sent has a word's cycle, of the headers, behind it in the next one
      kept_q <= over_q;
      kept_ends_q <= over_ends_q;
      left_q <= over_q;
      ends_q <= over_ends_q;
      words_q <= words_i;
      more_q <= 1'b1;
    end else begin
      left_q <= next ? begun : left_q - Cycle;
      ends_q <= next ? kept_ends_q && !begun[8] : left_q[PaceBits-1:8] == 1;
      if (next) words_q <= words_q - 1'b1;
      if (next) more_q <= words_q != 1;
    end
    if (set_valid_i) begin
      over_q <= set_pace_i - Cycle - pace_t'(1);
      over_ends_q <= set_pace_i <= Cycle << 1;
    end
    if (rst_i) begin
      open_q  <= 1'b1;
      paced_q <= 1'b0;
      paced_1q <= 1'b0;
    end else begin
      open_q <= opens_o;
      paced_1q <= paced_q;
      if (set_valid_i) paced_q <= set_pace_i > Cycle;
    end
  end
endmodule
