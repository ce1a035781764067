// SPDX-License-Identifier: Apache-2.0
// Final addition of a floating-point unit: adds the hidden bit, which raises the exponent by one, and a unit in the
// last place if rounded up. A carry out of the fraction raises the exponent too, from the largest number to infinity.
//
// No registers. Critical path: one carry chain.
module tw_fp_round #(
    parameter int unsigned ExponentBits = 11,
    parameter int unsigned FractionBits = 52
) (
    input  logic [             ExponentBits-1:0] exponent_i,     /// one less if the hidden bit is set; otherwise 0
    input  logic [               FractionBits:0] significand_i,  /// with the hidden bit
    input  logic                                 up_i,
    output logic [ExponentBits+FractionBits-1:0] magnitude_o
);
  logic unused_low;
  assign {magnitude_o, unused_low} = {exponent_i, significand_i[FractionBits-1:0], 1'b1}
      + {(ExponentBits - 1)'(0), significand_i[FractionBits], FractionBits'(0), up_i};
endmodule
