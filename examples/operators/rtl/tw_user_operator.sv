// SPDX-License-Identifier: Apache-2.0
// The operators of operators.cpp in hardware: user0 is complex_product, user1 saturating_sum. tw_lane instantiates this
// unit for every element of a flit, if its Pairs has the user's operators.
module tw_user_operator #(
    parameter int unsigned Index  = 0,   /// number of the user's operator
    parameter int unsigned Bits   = 64,  /// bits of an element
    parameter int unsigned Stages = 0    /// registers from operands to result; one more follows
) (
    input  logic            clk_i,
    input  logic [Bits-1:0] a_i,
    input  logic [Bits-1:0] b_i,
    output logic [Bits-1:0] result_o
);
  if (Index == 0) begin : complex_product
    complex_product #(
        .Stages(Stages)
    ) operator (
        .clk_i,
        .a_i,
        .b_i,
        .result_o
    );
  end else begin : saturating_sum
    saturating_sum #(
        .Bits  (Bits),
        .Stages(Stages)
    ) operator (
        .clk_i,
        .a_i,
        .b_i,
        .result_o
    );
  end
endmodule
