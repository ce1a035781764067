// SPDX-License-Identifier: Apache-2.0
// A counter in two halves, which shortens the carry chain.
//
// Order: none. Latency: one cycle. Throughput: one per cycle. Storage: Bits. Critical path: the carry chain of half of the
// bits.
module tw_counter #(
    parameter int unsigned Bits = 32  /// even, at least 2
) (
    input  logic            clk_i,
    input  logic            rst_i,
    input  logic            counts_i,
    output logic [Bits-1:0] count_o
);
  if (Bits < 2 || Bits % 2 != 0) begin : check_bits
    $error("tw_counter: Bits must be even, at least 2");
  end

  logic [Bits/2-1:0] low_q, high_q;
  logic carries_q;  // all bits of the lower half are set

  assign count_o = {high_q, low_q};

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      low_q <= '0;
      high_q <= '0;
      carries_q <= 1'b0;
    end else if (counts_i) begin
      low_q <= low_q + 1'b1;
      if (carries_q) high_q <= high_q + 1'b1;
      carries_q <= low_q == ~(Bits / 2)'(1);
    end
  end
endmodule
