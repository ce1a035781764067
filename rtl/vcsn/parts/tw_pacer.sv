// SPDX-License-Identifier: Apache-2.0
// The time for which a frame blocks a virtual port at a pace: from its choice on, that of its words and one for the headers at that pace. The
// line is occupied for as many cycles as these are words, so a pace of a word per cycle or faster never blocks a port: only the excess of each
// word over a cycle is counted down, word by word.
//
// Order: none. Latency: a cycle. Throughput: a word per cycle. Storage: the pace, twice, and the count of the frame. Outputs depend only on registers. Critical path:
// from the comparison of the count with a cycle to the count.
module tw_pacer #(
    parameter int unsigned WordsBits = 8,  /// of a frame's words
    parameter int unsigned PaceBits  = 20  /// at least 10
) (
    input logic clk_i,
    input logic rst_i,

    input logic                set_valid_i,
    input logic [PaceBits-1:0] set_pace_i,   /// minimum time of a word, in cycles / 256; 0 after reset

    input  logic [WordsBits-1:0] words_i,  /// of a frame that is chosen in this cycle; if opens_o was set in the previous cycle, or after reset
    input  logic                 sent_i,   /// a frame was chosen in the previous cycle, and none is in this one
    output logic                 opens_o   /// no earlier frame blocks the next cycle
);
  if (PaceBits < 10) begin : check_bits
    $error("tw_pacer: PaceBits must be at least 10");
  end

  typedef logic [PaceBits-1:0] pace_t;
  localparam pace_t Cycle = pace_t'(256);

  logic open_q;  // except for a frame chosen in the previous cycle
  logic paced_q, paced_1q;  // slower than a word per cycle; in the previous cycle
  pace_t over_q, kept_q;  // excess of a word over a cycle, minus 1; of the frame being counted
  pace_t left_q;  // remaining excess of its word, minus 1
  logic over_ends_q, kept_ends_q, ends_q;  // it ends within the next cycle
  logic [WordsBits-1:0] words_q;  // after the present one
  logic more_q;  // words_q is not 0

  wire next = ends_q && more_q;
  wire pace_t begun = kept_q + pace_t'(left_q[7:0]) + pace_t'(1);

  wire open = open_q && !(sent_i && paced_1q);
  assign opens_o = open || (ends_q && !more_q);

  always_ff @(posedge clk_i) begin
    if (open) begin  // a chosen frame has passed its headers' cycle in the next one
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
