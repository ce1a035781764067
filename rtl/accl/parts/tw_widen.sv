// SPDX-License-Identifier: Apache-2.0
// Converts float16 to float32, exactly. A NaN keeps its sign and payload, and becomes quiet, as in x86 and Arm processors.
//
// Order: kept. Latency: two cycles. Throughput: a number per cycle. Storage: about an operand per stage, none of it reset. Critical
// path: the count of leading zeros of a subnormal number, or the shift by it.
module tw_widen (
    input  logic        clk_i,
    input  logic [15:0] narrow_i,
    output logic [31:0] wide_o
);
  // Difference of the exponents' biases; also the exponent of float16's largest subnormal number.
  localparam logic [7:0] Bias = 8'd112;

  logic sign_q, zero, zero_q;
  logic [4:0] exponent_q;
  logic [9:0] fraction_q, fraction;
  logic [3:0] zeros, zeros_q;
  logic [7:0] exponent;
  tw_leading_zeros #(
      .Width(10)
  ) leading_zeros (
      .in_i   (narrow_i[9:0]),
      .zero_o (zero),
      .count_o(zeros)
  );

  always_comb begin
    exponent = 8'(exponent_q) + Bias;
    fraction = fraction_q;
    if (&exponent_q) begin
      exponent = '1;
      fraction[9] = !zero_q;
    end else if (exponent_q == 0) begin
      exponent = zero_q ? 8'd0 : Bias - 8'(zeros_q);
      fraction = (fraction_q << zeros_q) << 1;
    end
  end

  always_ff @(posedge clk_i) begin
    {sign_q, exponent_q, fraction_q} <= narrow_i;
    zero_q <= zero;
    zeros_q <= zeros;
    wide_o <= {sign_q, exponent, fraction, 13'd0};
  end
endmodule
