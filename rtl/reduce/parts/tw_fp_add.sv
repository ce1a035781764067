// SPDX-License-Identifier: Apache-2.0
// Sum of two IEEE 754 numbers of any format: rounded to nearest even, with subnormals, infinities and signed zeros. NaN
// is the canonical quiet one.
//
// Order: kept. Latency: Stages cycles. Throughput: a sum per cycle. Storage: about two operands per stage, without
// reset. With 12 or more Stages every step has its own register. Critical path: then a carry chain over a whole number
// (comparison, sum, rounding), or the count of leading zeros.
module tw_fp_add
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
    output logic [Bits-1:0] sum_o
);
  localparam int unsigned Steps = 12;
  localparam int unsigned E = ExponentBits;
  localparam int unsigned F = FractionBits;
  localparam int unsigned AlignBits = $clog2(F + 4);  // a shift by F+3 leaves only a sticky bit
  localparam int unsigned AlignHalf = 2;
  localparam int unsigned Width = F + 5;  // carry, hidden bit, fraction, guard, round, sticky
  localparam int unsigned CountBits = $clog2(Width);
  localparam int unsigned CountHalf = 2;

  if (F < 2 || E <= CountBits) begin : check_format
    $error("tw_fp_add: FractionBits must be at least 2, and ExponentBits above log2(FractionBits + 5)");
  end

  // Properties known before the sum, which accompany it.
  typedef struct packed {
    logic sign;
    logic nan;
    logic infinite;
  } kind_t;
  typedef logic [E-1:0] exponent_t;
  typedef logic [F:0] significand_t;
  typedef logic [Width-1:0] wide_t;

  // Shifts right; lost bits are ORed into the lowest bit.
  function automatic logic [F+3:0] jam(logic [F+3:0] value, int unsigned by);
    logic [F+3:0] shifted, lost;
    shifted = value >> by;
    lost = value & ~((F + 4)'('1) << by);
    return {shifted[F+3:1], shifted[0] || lost != 0};
  endfunction

  // 0: comparison of magnitudes.
  logic swap, swap_q;
  logic [Bits-1:0] a_q, b_q;
  assign swap = a_i[Bits-2:0] < b_i[Bits-2:0];
  tw_delay #(
      .Width (2 * Bits + 1),
      .Stages(registers(0, Steps, Stages))
  ) compared (
      .clk_i,
      .in_i ({a_i, b_i, swap}),
      .out_o({a_q, b_q, swap_q})
  );

  // 1: larger magnitude first.
  logic [Bits-1:0] larger, lesser, larger_q, lesser_q;
  assign larger = swap_q ? b_q : a_q;
  assign lesser = swap_q ? a_q : b_q;
  tw_delay #(
      .Width (2 * Bits),
      .Stages(registers(1, Steps, Stages))
  ) swapped (
      .clk_i,
      .in_i ({larger, lesser}),
      .out_o({larger_q, lesser_q})
  );

  // 2: distance of exponents. Subnormal numbers have exponent 1, without the hidden bit.
  kind_t kind_2, kind_2_q;
  logic subtract, subtract_2_q;
  exponent_t exponent_larger, exponent_lesser, exponent, distance, exponent_2_q;
  significand_t larger_2, larger_2_q, lesser_2, lesser_2_q;
  logic far, far_q;
  logic [AlignBits-1:0] align_q;
  assign exponent_larger = larger_q[Bits-2:F];
  assign exponent_lesser = lesser_q[Bits-2:F];
  always_comb begin
    kind_2.sign = larger_q[Bits-1];
    kind_2.nan = &exponent_larger && (larger_q[F-1:0] != 0 || (&exponent_lesser && subtract));
    kind_2.infinite = &exponent_larger;
  end
  assign subtract = larger_q[Bits-1] != lesser_q[Bits-1];
  assign exponent = {exponent_larger[E-1:1], exponent_larger[0] || exponent_larger == 0};
  assign distance = exponent - {exponent_lesser[E-1:1], exponent_lesser[0] || exponent_lesser == 0};
  assign far = distance[E-1:AlignBits] != 0;
  assign larger_2 = {exponent_larger != 0, larger_q[F-1:0]};
  assign lesser_2 = {exponent_lesser != 0, lesser_q[F-1:0]};
  tw_delay #(
      .Width ($bits(kind_t) + E + 2 * (F + 1) + 2 + AlignBits),
      .Stages(registers(2, Steps, Stages))
  ) measured (
      .clk_i,
      .in_i ({kind_2, subtract, exponent, larger_2, lesser_2, far, distance[AlignBits-1:0]}),
      .out_o({kind_2_q, subtract_2_q, exponent_2_q, larger_2_q, lesser_2_q, far_q, align_q})
  );

  // 3 and 4: aligned, with guard, round and sticky bits.
  kind_t kind_3_q, kind_4_q;
  logic subtract_3_q, subtract_4_q;
  exponent_t exponent_3_q, exponent_4_q;
  significand_t larger_3_q, larger_4_q;
  logic [F+3:0] coarse, coarse_q, fine, aligned_q;
  logic [AlignHalf-1:0] align_3_q;
  always_comb begin
    coarse = {lesser_2_q, 3'b0};
    for (int unsigned k = AlignBits; k-- > AlignHalf;) if (align_q[k]) coarse = jam(coarse, 2 ** k);
    if (far_q) coarse = (F + 4)'(lesser_2_q != 0);
  end
  tw_delay #(
      .Width ($bits(kind_t) + 1 + E + F + 1 + F + 4 + AlignHalf),
      .Stages(registers(3, Steps, Stages))
  ) coarsely_aligned (
      .clk_i,
      .in_i ({kind_2_q, subtract_2_q, exponent_2_q, larger_2_q, coarse, align_q[AlignHalf-1:0]}),
      .out_o({kind_3_q, subtract_3_q, exponent_3_q, larger_3_q, coarse_q, align_3_q})
  );
  always_comb begin
    fine = coarse_q;
    for (int unsigned k = AlignHalf; k-- > 0;) if (align_3_q[k]) fine = jam(fine, 2 ** k);
  end
  tw_delay #(
      .Width ($bits(kind_t) + 1 + E + F + 1 + F + 4),
      .Stages(registers(4, Steps, Stages))
  ) finely_aligned (
      .clk_i,
      .in_i ({kind_3_q, subtract_3_q, exponent_3_q, larger_3_q, fine}),
      .out_o({kind_4_q, subtract_4_q, exponent_4_q, larger_4_q, aligned_q})
  );

  // 5: the sum, with a carry bit. The lowest bit of the addition is the carry in.
  kind_t kind_5_q;
  logic subtract_5_q;
  exponent_t exponent_5_q;
  wide_t sum, sum_5_q;
  logic  unused_low;
  assign {sum, unused_low} = {1'b0, larger_4_q, 3'b0, 1'b1}
      + {subtract_4_q, aligned_q ^ {(F + 4) {subtract_4_q}}, subtract_4_q};
  tw_delay #(
      .Width ($bits(kind_t) + 1 + E + Width),
      .Stages(registers(5, Steps, Stages))
  ) added (
      .clk_i,
      .in_i ({kind_4_q, subtract_4_q, exponent_4_q, sum}),
      .out_o({kind_5_q, subtract_5_q, exponent_5_q, sum_5_q})
  );

  // 6: leading zeros.
  kind_t kind_6_q;
  logic subtract_6_q;
  exponent_t exponent_6_q;
  wide_t sum_6_q;
  logic [CountBits-1:0] zeros, zeros_q;
  logic zero, zero_6_q;
  tw_leading_zeros #(
      .Width(Width)
  ) leading_zeros (
      .in_i   (sum_5_q),
      .zero_o (zero),
      .count_o(zeros)
  );
  tw_delay #(
      .Width ($bits(kind_t) + 1 + E + Width + CountBits + 1),
      .Stages(registers(6, Steps, Stages))
  ) counted (
      .clk_i,
      .in_i ({kind_5_q, subtract_5_q, exponent_5_q, sum_5_q, zeros, zero}),
      .out_o({kind_6_q, subtract_6_q, exponent_6_q, sum_6_q, zeros_q, zero_6_q})
  );

  // 7: left shift, limited by the smallest exponent. From here on the exponent is one less, since the hidden bit will
  // be added to it; for subnormal numbers both are zero.
  kind_t kind_7, kind_7_q;
  exponent_t exponent_7, exponent_7_q;
  wide_t sum_7_q;
  logic [CountBits-1:0] shift, shift_q;
  logic limited;
  always_comb begin
    limited = exponent_6_q < E'(zeros_q);
    shift = limited ? exponent_6_q[CountBits-1:0] : zeros_q;
    exponent_7 = limited || zero_6_q ? 0 : exponent_6_q - E'(zeros_q);
    kind_7 = kind_6_q;
    if (zero_6_q && subtract_6_q) kind_7.sign = 1'b0;
  end
  tw_delay #(
      .Width ($bits(kind_t) + E + Width + CountBits),
      .Stages(registers(7, Steps, Stages))
  ) bounded (
      .clk_i,
      .in_i ({kind_7, exponent_7, sum_6_q, shift}),
      .out_o({kind_7_q, exponent_7_q, sum_7_q, shift_q})
  );

  // 8 and 9: normalised.
  kind_t kind_8_q, kind_9_q;
  exponent_t exponent_8_q, exponent_9_q;
  wide_t sum_8, sum_8_q, sum_9;
  logic [CountHalf-1:0] shift_8_q;
  assign sum_8 = sum_7_q << {shift_q[CountBits-1:CountHalf], CountHalf'(0)};
  tw_delay #(
      .Width ($bits(kind_t) + E + Width + CountHalf),
      .Stages(registers(8, Steps, Stages))
  ) coarsely_normalised (
      .clk_i,
      .in_i ({kind_7_q, exponent_7_q, sum_8, shift_q[CountHalf-1:0]}),
      .out_o({kind_8_q, exponent_8_q, sum_8_q, shift_8_q})
  );
  assign sum_9 = sum_8_q << shift_8_q;
  logic round_up, round_up_q;
  logic [F:0] significand_9_q;
  assign round_up = sum_9[3] && (sum_9[4] || sum_9[2:0] != 0);
  tw_delay #(
      .Width ($bits(kind_t) + E + F + 1 + 1),
      .Stages(registers(9, Steps, Stages))
  ) finely_normalised (
      .clk_i,
      .in_i ({kind_8_q, exponent_8_q, sum_9[Width-1:4], round_up}),
      .out_o({kind_9_q, exponent_9_q, significand_9_q, round_up_q})
  );

  // 10 and 11: rounded, packed.
  kind_t kind_10_q;
  logic [Bits-2:0] magnitude, magnitude_q;
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
  logic [Bits-1:0] packed_sum;
  assign packed_sum = kind_10_q.nan ? {1'b0, E'('1), 1'b1, (F - 1)'(0)}
      : kind_10_q.infinite || &magnitude_q[Bits-2:F] ? {kind_10_q.sign, E'('1), F'(0)}
      : {kind_10_q.sign, magnitude_q};
  tw_delay #(
      .Width (Bits),
      .Stages(registers(11, Steps, Stages))
  ) finished (
      .clk_i,
      .in_i (packed_sum),
      .out_o(sum_o)
  );

  wire unused = unused_low;
endmodule
