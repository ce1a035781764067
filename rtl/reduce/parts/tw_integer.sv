// SPDX-License-Identifier: Apache-2.0
// Sum, bitwise and logical operators of the integers of two flits. Sums wrap; logical operators give 0 or 1.
//
// Order: kept. Latency: Stages cycles. Throughput: a flit per cycle. Storage: one and a half flits per stage. Critical
// path: the carry chain of a sum: one of 64 bits serves all sizes.
module tw_integer
  import tw_spec_pkg::*;
  import tw_reduce_pkg::*;
#(
    parameter pairs_t Pairs = all_pairs(),  /// others cost nothing
    parameter int unsigned Stages = 2  /// 0: no register
) (
    input  logic         clk_i,
    input  operator_e    operation_i,
    input  datatype_e    datatype_i,
    input  logic [255:0] a_i,
    input  logic [255:0] b_i,
    output logic [255:0] result_o
);
  localparam int unsigned Steps = 2;

  function automatic logic [15:0] built_operators();
    logic [15:0] operators;
    operators = '0;
    for (int unsigned t = 0; t < 32; t++) if (integer_bytes(datatype_e'(5'(t))) != 0) operators |= Pairs[t];
    return operators;
  endfunction
  localparam logic [15:0] Built = built_operators();

  // For each byte above a word's first: true if it continues the element below it.
  function automatic logic [7:1] joins(logic [3:1] bytes);
    joins = '0;
    for (int unsigned i = 1; i < 8; i++)
    joins[i] = (i % 2 == 1 && bytes[3:1] != 0) || (i % 4 == 2 && bytes[3:2] != 0) || (i == 4 && bytes[3]);
  endfunction

  logic [7:1] join_bytes;
  logic [255:0] bits, bits_q;
  logic [31:0] a_true, a_true_q, b_true, b_true_q;
  logic [3:0] bytes, bytes_q;
  operator_e operation_q;

  // 0: sums and bitwise results, and bytes that are not zero.
  assign bytes = integer_bytes(datatype_i);
  assign join_bytes = joins(bytes[3:1]);
  for (genvar w = 0; w < 4; w++) begin : words
    logic [70:0] a, b, sum;
    logic [63:0] sums;
    // Between bytes, a one propagates a carry, and a zero absorbs it.
    always_comb begin
      a = '0;
      b = '0;
      for (int unsigned i = 0; i < 8; i++) begin
        a[9*i+:8] = a_i[64*w+8*i+:8];
        b[9*i+:8] = b_i[64*w+8*i+:8];
        if (i > 0) a[9*i-1] = join_bytes[i];
      end
      sum = a + b;
      for (int unsigned i = 0; i < 8; i++) sums[8*i+:8] = sum[9*i+:8];
    end
    always_comb begin
      bits[64*w+:64] = '0;
      if (Built[OperatorSum] && operation_i == OperatorSum) bits[64*w+:64] = sums;
      if (Built[OperatorBand] && operation_i == OperatorBand) bits[64*w+:64] = a_i[64*w+:64] & b_i[64*w+:64];
      if (Built[OperatorBor] && operation_i == OperatorBor) bits[64*w+:64] = a_i[64*w+:64] | b_i[64*w+:64];
      if (Built[OperatorBxor] && operation_i == OperatorBxor) bits[64*w+:64] = a_i[64*w+:64] ^ b_i[64*w+:64];
    end
  end
  always_comb
    for (int unsigned i = 0; i < 32; i++) begin
      a_true[i] = a_i[8*i+:8] != 0;
      b_true[i] = b_i[8*i+:8] != 0;
    end
  tw_delay #(
      .Width (256 + 64 + 4 + 4),
      .Stages(registers(0, Steps, Stages))
  ) after_words (
      .clk_i,
      .in_i ({bits, a_true, b_true, bytes, operation_i}),
      .out_o({bits_q, a_true_q, b_true_q, bytes_q, operation_q})
  );

  // 1: logical results of whole elements, each in its lowest bit.
  logic [255:0] result;
  always_comb begin
    result = bits_q;
    for (int unsigned i = 0; i < 32; i++) begin
      logic a, b, first;
      a = a_true_q[i] || (bytes_q[3:1] != 0 && a_true_q[i|1]) || (bytes_q[3:2] != 0 && a_true_q[(i|3)-:2] != 0)
          || (bytes_q[3] && a_true_q[(i|7)-:4] != 0);
      b = b_true_q[i] || (bytes_q[3:1] != 0 && b_true_q[i|1]) || (bytes_q[3:2] != 0 && b_true_q[(i|3)-:2] != 0)
          || (bytes_q[3] && b_true_q[(i|7)-:4] != 0);
      first = (bytes_q & 4'(i % 8 == 0 ? 4'd15 : i % 4 == 0 ? 4'd7 : i % 2 == 0 ? 4'd3 : 4'd1)) != 0;
      if (Built[OperatorLand] && operation_q == OperatorLand && first) result[8*i] = a && b;
      if (Built[OperatorLor] && operation_q == OperatorLor && first) result[8*i] = a || b;
      if (Built[OperatorLxor] && operation_q == OperatorLxor && first) result[8*i] = a != b;
    end
  end
  tw_delay #(
      .Width (256),
      .Stages(registers(1, Steps, Stages))
  ) after_truths (
      .clk_i,
      .in_i (result),
      .out_o(result_o)
  );
endmodule
