// SPDX-License-Identifier: Apache-2.0
// Product of two IEEE 754 numbers of any format: rounded to nearest even, once, with subnormals, infinities and signed
// zeros. NaN is the canonical quiet one.
//
// Order: kept. Latency: Stages cycles. Throughput: a product per cycle. Storage: two to three operands per stage,
// without reset. With 12 or more Stages every step has its own register. Critical path: the multiplication of the
// significands; two empty steps follow it, whose registers synthesis moves into the DSP blocks.
module tw_fp_mul
  import tw_reduce_pkg::registers;
#(
    parameter int unsigned ExponentBits = 11,
    parameter int unsigned FractionBits = 52,  /// without the hidden bit
    parameter int unsigned Stages = 12,  /// 0: no register
    localparam int unsigned Bits = 1 + ExponentBits + FractionBits
) (
    input  logic            clk_i,
    input  logic [Bits-1:0] a_i,
    input  logic [Bits-1:0] b_i,
    output logic [Bits-1:0] product_o
);
  localparam int unsigned Steps = 12;
  localparam int unsigned E = ExponentBits;
  localparam int unsigned F = FractionBits;
  localparam int unsigned CountBits = $clog2(F + 1);
  localparam int unsigned Width = F + 3;  // hidden bit, fraction, guard, sticky
  localparam int unsigned ShiftBits = $clog2(Width + 1);  // a shift by Width leaves only a sticky bit
  localparam int unsigned Bias = 2 ** (E - 1) - 1;

  // The product of two subnormal numbers is less than half of the smallest one: it is not normalised.
  if (F < 2 || E <= ShiftBits || 2 ** (E - 1) < F + 4) begin : check_format
    $error("tw_fp_mul: FractionBits must be at least 2, and the exponents of normal numbers reach below 2^-(FractionBits + 1)");
  end

  typedef struct packed {
    logic sign;
    logic nan;
    logic infinite;
    logic zero;
  } kind_t;
  typedef logic [E-1:0] exponent_t;
  typedef logic signed [E+1:0] power_t;  // exponent that may be out of range
  typedef logic [F:0] significand_t;

  // 0: classification of the operands. If one is subnormal, it becomes x.
  kind_t kind_0, kind_0_q;
  exponent_t exponent_a, exponent_b;
  significand_t a, b, x_0, y_0, x_0_q, y_0_q;
  power_t power_0, power_0_q;
  assign exponent_a = a_i[Bits-2:F];
  assign exponent_b = b_i[Bits-2:F];
  assign a = {exponent_a != 0, a_i[F-1:0]};
  assign b = {exponent_b != 0, b_i[F-1:0]};
  assign x_0 = exponent_b == 0 ? b : a;
  assign y_0 = exponent_b == 0 ? a : b;
  assign power_0 = power_t'({1'b0, exponent_a}) + power_t'({1'b0, exponent_b}) + power_t'({1'b0, exponent_a == 0})
      + power_t'({1'b0, exponent_b == 0});
  always_comb begin
    kind_0.sign = a_i[Bits-1] != b_i[Bits-1];
    kind_0.zero = a == 0 || b == 0;
    kind_0.infinite = &exponent_a || &exponent_b;
    kind_0.nan = (&exponent_a && a_i[F-1:0] != 0) || (&exponent_b && b_i[F-1:0] != 0)
        || (kind_0.infinite && kind_0.zero);
  end
  tw_delay #(
      .Width ($bits(kind_t) + $bits(power_t) + 2 * (F + 1)),
      .Stages(registers(0, Steps, Stages))
  ) sorted (
      .clk_i,
      .in_i ({kind_0, power_0, x_0, y_0}),
      .out_o({kind_0_q, power_0_q, x_0_q, y_0_q})
  );

  // 1 and 2: x normalised.
  kind_t kind_1_q, kind_2_q;
  power_t power_1_q, power_2, power_2_q;
  significand_t x_1_q, y_1_q, x_2, x_2_q, y_2_q;
  logic [CountBits-1:0] zeros, zeros_q;
  logic unused_zero;
  tw_leading_zeros #(
      .Width(F + 1)
  ) leading_zeros (
      .in_i   (x_0_q),
      .zero_o (unused_zero),
      .count_o(zeros)
  );
  tw_delay #(
      .Width ($bits(kind_t) + $bits(power_t) + 2 * (F + 1) + CountBits),
      .Stages(registers(1, Steps, Stages))
  ) counted (
      .clk_i,
      .in_i ({kind_0_q, power_0_q, x_0_q, y_0_q, zeros}),
      .out_o({kind_1_q, power_1_q, x_1_q, y_1_q, zeros_q})
  );
  assign x_2 = x_1_q << zeros_q;
  assign power_2 = power_1_q - power_t'({1'b0, zeros_q}) - power_t'(Bias - 1);
  tw_delay #(
      .Width ($bits(kind_t) + $bits(power_t) + 2 * (F + 1)),
      .Stages(registers(2, Steps, Stages))
  ) normalised (
      .clk_i,
      .in_i ({kind_1_q, power_2, x_2, y_1_q}),
      .out_o({kind_2_q, power_2_q, x_2_q, y_2_q})
  );

  // 3 to 5: the product. Its exponent is exact if the highest bit is set; otherwise it is one less.
  kind_t kind_5_q;
  power_t power_5_q;
  logic [2*F+1:0] product, product_q;
  localparam int unsigned ProductStages = registers(3, Steps, Stages) + registers(4, Steps, Stages)
      + registers(5, Steps, Stages);
  assign product = (2 * F + 2)'(x_2_q) * (2 * F + 2)'(y_2_q);
  tw_delay #(
      .Width ($bits(kind_t) + $bits(power_t) + 2 * F + 2),
      .Stages(ProductStages)
  ) multiplied (
      .clk_i,
      .in_i ({kind_2_q, power_2_q, product}),
      .out_o({kind_5_q, power_5_q, product_q})
  );

  // 6: highest bit shifted to the top; bits below the guard bit become sticky.
  kind_t kind_6_q;
  power_t power_6, power_6_q;
  logic [Width-1:0] sum_6, sum_6_q;
  logic top;
  assign top = product_q[2*F+1];
  assign sum_6 = top ? {product_q[2*F+1:F], product_q[F-1:0] != 0} : {product_q[2*F:F-1], product_q[F-2:0] != 0};
  assign power_6 = power_5_q - power_t'({1'b0, !top});
  tw_delay #(
      .Width ($bits(kind_t) + $bits(power_t) + Width),
      .Stages(registers(6, Steps, Stages))
  ) placed (
      .clk_i,
      .in_i ({kind_5_q, power_6, sum_6}),
      .out_o({kind_6_q, power_6_q, sum_6_q})
  );

  // 7: right shift of a subnormal product. From here on the exponent is one less, because of the hidden bit.
  kind_t kind_7, kind_7_q;
  power_t below;
  exponent_t exponent_7, exponent_7_q;
  logic [ShiftBits-1:0] shift, shift_q;
  logic [Width-1:0] sum_7_q;
  assign below = power_t'(1) - power_6_q;
  always_comb begin
    shift = 0;
    exponent_7 = E'(unsigned'(power_6_q - power_t'(1)));
    if (below > 0) begin
      exponent_7 = 0;
      shift = below > power_t'(Width) ? ShiftBits'(Width) : ShiftBits'(unsigned'(below));
    end
    kind_7 = kind_6_q;
    kind_7.infinite = kind_6_q.infinite || power_6_q >= power_t'(2 ** E - 1);
  end
  tw_delay #(
      .Width ($bits(kind_t) + E + ShiftBits + Width),
      .Stages(registers(7, Steps, Stages))
  ) ranged (
      .clk_i,
      .in_i ({kind_7, exponent_7, shift, sum_6_q}),
      .out_o({kind_7_q, exponent_7_q, shift_q, sum_7_q})
  );

  // 8 and 9: shifted; lost bits become sticky.
  kind_t kind_8_q, kind_9_q;
  exponent_t exponent_8_q, exponent_9_q;
  logic [Width-1:0] kept, lost, sum_8_q;
  significand_t significand_9_q;
  logic round_up, round_up_q;
  assign kept = sum_7_q >> shift_q;
  assign lost = sum_7_q & ~(Width'('1) << shift_q);
  tw_delay #(
      .Width ($bits(kind_t) + E + Width),
      .Stages(registers(8, Steps, Stages))
  ) shifted (
      .clk_i,
      .in_i ({kind_7_q, exponent_7_q, kept[Width-1:1], kept[0] || lost != 0}),
      .out_o({kind_8_q, exponent_8_q, sum_8_q})
  );
  assign round_up = sum_8_q[1] && (sum_8_q[2] || sum_8_q[0]);
  tw_delay #(
      .Width ($bits(kind_t) + E + F + 1 + 1),
      .Stages(registers(9, Steps, Stages))
  ) decided (
      .clk_i,
      .in_i ({kind_8_q, exponent_8_q, sum_8_q[Width-1:2], round_up}),
      .out_o({kind_9_q, exponent_9_q, significand_9_q, round_up_q})
  );

  // 10 and 11: rounded, packed.
  kind_t kind_10_q;
  logic [Bits-2:0] magnitude, magnitude_q;
  logic [Bits-1:0] result;
  tw_fp_round #(
      .ExponentBits(E),
      .FractionBits(F)
  ) round (
      .exponent_i   (exponent_9_q),
      .significand_i(significand_9_q),
      .up_i         (round_up_q),
      .magnitude_o  (magnitude)
  );
  tw_delay #(
      .Width ($bits(kind_t) + Bits - 1),
      .Stages(registers(10, Steps, Stages))
  ) rounded (
      .clk_i,
      .in_i ({kind_9_q, magnitude}),
      .out_o({kind_10_q, magnitude_q})
  );
  assign result = kind_10_q.nan ? {1'b0, E'('1), 1'b1, (F - 1)'(0)}
      : kind_10_q.infinite ? {kind_10_q.sign, E'('1), F'(0)}
      : kind_10_q.zero ? {kind_10_q.sign, (Bits - 1)'(0)} : {kind_10_q.sign, magnitude_q};
  tw_delay #(
      .Width (Bits),
      .Stages(registers(11, Steps, Stages))
  ) finished (
      .clk_i,
      .in_i (result),
      .out_o(product_o)
  );
endmodule
