// SPDX-License-Identifier: Apache-2.0
// Compares two elements, as IEEE 754 numbers with -0 before +0, or as integers.
//
// No registers. Critical path: one carry chain of the element's width.
module tw_compare #(
    parameter int unsigned ExponentBits = 11,  /// 0: only integers
    parameter int unsigned FractionBits = 52,  /// without sign; of integers all bits but the highest
    localparam int unsigned Bits = 1 + ExponentBits + FractionBits
) (
    input  logic            float_i,
    input  logic            signed_i,     /// for integers
    input  logic [Bits-1:0] a_i,
    input  logic [Bits-1:0] b_i,
    output logic            b_first_o,    /// b precedes a; for numbers
    output logic            identical_o,
    output logic            zeros_o,      /// both are zero, of either sign; false for integers
    output logic            a_nan_o,
    output logic            b_nan_o
);
  // Keys, as unsigned numbers, have the order of the values.
  function automatic logic [Bits-1:0] key(logic [Bits-1:0] value, logic float, logic is_signed);
    return {value[Bits-1] ^ (float || is_signed), value[Bits-2:0] ^ {(Bits - 1) {float && value[Bits-1]}}};
  endfunction

  assign b_first_o   = key(b_i, float_i, signed_i) < key(a_i, float_i, signed_i);
  assign identical_o = a_i == b_i;

  if (ExponentBits == 0) begin : integers
    assign {zeros_o, a_nan_o, b_nan_o} = '0;
  end else begin : floats
    assign zeros_o = float_i && {a_i[Bits-2:0], b_i[Bits-2:0]} == 0;
    assign a_nan_o = float_i && &a_i[Bits-2:FractionBits] && a_i[FractionBits-1:0] != 0;
    assign b_nan_o = float_i && &b_i[Bits-2:FractionBits] && b_i[FractionBits-1:0] != 0;
  end
endmodule
