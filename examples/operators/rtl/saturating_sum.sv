// SPDX-License-Identifier: Apache-2.0
// Saturating sum of two signed numbers.
module saturating_sum #(
    parameter int unsigned Bits   = 16,
    parameter int unsigned Stages = 0    /// registers after the sum
) (
    input  logic            clk_i,
    input  logic [Bits-1:0] a_i,
    input  logic [Bits-1:0] b_i,
    output logic [Bits-1:0] result_o
);
  logic [Bits:0] exact;
  logic [Bits-1:0] sum;
  assign exact = {a_i[Bits-1], a_i} + {b_i[Bits-1], b_i};
  assign sum   = exact[Bits] == exact[Bits-1] ? exact[Bits-1:0] : {exact[Bits], {(Bits - 1) {!exact[Bits]}}};
  tw_delay #(
      .Width (Bits),
      .Stages(Stages)
  ) delay (
      .clk_i,
      .in_i (sum),
      .out_o(result_o)
  );
endmodule
