// SPDX-License-Identifier: Apache-2.0
// The network's arithmetic, arranged for the driver: lanes for one kind of operators each, each with a clock of its own, so that
// a cycle simulates only one of them; and, for all pairs of operands, the floating-point units in formats of 8 bits, and the unit
// for min and max with its smallest types: [0] without registers, [1] as pipelines that start with a register.
module arithmetic
  import tw_spec_pkg::*;
  import tw_reduce_pkg::*;
#(
    parameter int unsigned Latency = 14,
    parameter int unsigned SmallStages = 5,  /// fewer than the steps of a floating-point unit, and more than those of min and max
    localparam int unsigned Lanes = 9
) (
    input  logic      [Lanes-1:0]        clk_i,
    input  operator_e                    operation_i,
    input  datatype_e                    datatype_i,
    input  logic      [    255:0]        a_i,
    input  logic      [    255:0]        b_i,
    output logic      [Lanes-1:0][255:0] result_o,     /// Latency + 1 cycles later
    // Formats of 4 and 3, and of 5 and 2 bits of exponent and fraction.
    input  logic                         small_clk_i,
    input  logic      [      7:0]        small_a_i,
    input  logic      [      7:0]        small_b_i,
    output logic [1:0][1:0][7:0]         small_sum_o,      /// of [1] SmallStages + 1 cycles later
    output logic [1:0][1:0][7:0]         small_product_o,
    output logic      [      1:0][  4:0] small_compared_o, /// b first, identical, zeros, a is a NaN, b is a NaN
    // min and max of operation_i and datatype_i: of integers of 8 bits, and of fp16.
    input  logic      [    255:0]        order_a_i,
    input  logic      [    255:0]        order_b_i,
    output logic      [      1:0][255:0] order_o           /// of [1] SmallStages + 1 cycles later
);
  // Lane 0: integers except products and order; 1: their products; 2: order; 3 to 5: sums of 16, 32, 64 bits; 6 to 8: products.
  function automatic int unsigned lane_of(operator_e operation, datatype_e datatype);
    if (operation inside {OperatorMin, OperatorMax, OperatorMinloc, OperatorMaxloc}) return 2;
    for (int unsigned f = 0; f < 3; f++)
    if (datatype == real_type(f) || datatype == complex_type(f)) return (operation == OperatorSum ? 3 : 6) + f;
    return operation == OperatorProd ? 1 : 0;
  endfunction
  function automatic pairs_t pairs_of(int unsigned lane);
    pairs_of = all_pairs();
    for (int unsigned t = 0; t < 32; t++)
    for (int unsigned o = 0; o < 16; o++)
    if (lane_of(operator_e'(4'(o)), datatype_e'(5'(t))) != lane) pairs_of[t][o] = 1'b0;
  endfunction

  for (genvar l = 0; l < Lanes; l++) begin : lanes
    operator_e operation_q;
    datatype_e datatype_q;
    logic [255:0] a_q, b_q;
    always_ff @(posedge clk_i[l]) begin
      operation_q <= operation_i;
      datatype_q <= datatype_i;
      a_q <= a_i;
      b_q <= b_i;
    end
    tw_lane #(
        .Latency(Latency),
        .Pairs  (pairs_of(l))
    ) lane (
        .clk_i         (clk_i[l]),
        .rst_i         (1'b0),
        .in_valid_i    (1'b1),
        .in_operation_i(operation_q),
        .in_datatype_i (datatype_q),
        .in_head_i     (1'b0),
        .in_bytes_i    (6'd32),
        .in_a_i        (a_q),
        .in_b_i        (b_q),
        .in_tag_i      (1'b0),
        .out_valid_o   (),
        .out_data_o    (result_o[l]),
        .out_tag_o     ()
    );
  end

  function automatic pairs_t smallest_ordered();
    smallest_ordered = '0;
    for (int unsigned t = 0; t < 32; t++)
    if (datatype_e'(5'(t)) inside {DatatypeInt8, DatatypeUint8, DatatypeFloat16})
      smallest_ordered[t] = 16'(1) << OperatorMin | 16'(1) << OperatorMax;
  endfunction

  for (genvar p = 0; p < 2; p++) begin : exhaustive
    localparam int unsigned Stages = p == 0 ? 0 : SmallStages;
    logic [7:0] a, b;
    logic [255:0] order_a, order_b;
    if (p == 0) begin : at_once
      assign {a, b, order_a, order_b} = {small_a_i, small_b_i, order_a_i, order_b_i};
    end else begin : pipelined
      always_ff @(posedge small_clk_i) {a, b, order_a, order_b} <= {small_a_i, small_b_i, order_a_i, order_b_i};
    end
    for (genvar f = 0; f < 2; f++) begin : formats
      tw_fp_add #(
          .ExponentBits(4 + f),
          .FractionBits(3 - f),
          .Stages(Stages)
      ) add (
          .clk_i(small_clk_i),
          .a_i  (a),
          .b_i  (b),
          .sum_o(small_sum_o[p][f])
      );
      tw_fp_mul #(
          .ExponentBits(4 + f),
          .FractionBits(3 - f),
          .Stages(Stages)
      ) mul (
          .clk_i    (small_clk_i),
          .a_i      (a),
          .b_i      (b),
          .product_o(small_product_o[p][f])
      );
    end
    tw_order #(
        .Pairs (smallest_ordered()),
        .Stages(Stages)
    ) order (
        .clk_i      (small_clk_i),
        .operation_i(operation_i),
        .datatype_i (datatype_i),
        .head_i     (1'b0),
        .a_i        (order_a),
        .b_i        (order_b),
        .result_o   (order_o[p])
    );
  end

  for (genvar f = 0; f < 2; f++) begin : small_compares
    tw_compare #(
        .ExponentBits(4 + f),
        .FractionBits(3 - f)
    ) compare (
        .float_i    (1'b1),
        .signed_i   (1'b0),
        .a_i        (small_a_i),
        .b_i        (small_b_i),
        .b_first_o  (small_compared_o[f][4]),
        .identical_o(small_compared_o[f][3]),
        .zeros_o    (small_compared_o[f][2]),
        .a_nan_o    (small_compared_o[f][1]),
        .b_nan_o    (small_compared_o[f][0])
    );
  end
endmodule
