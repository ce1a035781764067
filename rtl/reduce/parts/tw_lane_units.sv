// SPDX-License-Identifier: Apache-2.0
// Units of a lane, and the selection among their results: the elements of two flits combined by an operator of the
// specification.
//
// Order: kept. Latency: Stages cycles. Throughput: a flit per cycle. The floating-point units are pipelined over all
// stages; units of at most four stages share a shift register for the rest. Storage: that of the units, and a flit per
// stage of the shift register. Critical path: that of a unit, or the selection of a result.
module tw_lane_units
  import tw_spec_pkg::*;
  import tw_reduce_pkg::*;
#(
    parameter pairs_t Pairs = all_pairs(),  /// others cost nothing
    parameter int unsigned Stages = 13  /// 0: no register
) (
    input  logic         clk_i,
    input  operator_e    operation_i,
    input  datatype_e    datatype_i,
    input  logic         head_i,       /// elements of 16 bytes start 8 bytes higher
    input  logic [255:0] a_i,
    input  logic [255:0] b_i,
    output logic [255:0] result_o
);
  localparam int unsigned ShortStages = Stages < 4 ? Stages : 4;

  typedef enum logic [3:0] {
    Bits,     // sums of integers, bitwise, logical
    Product,  // of integers
    Order,    // min, max, minloc, maxloc
    Sum16,
    Sum32,
    Sum64,
    Product16,
    Product32,
    Product64
  } unit_e;
  localparam int unsigned Units = 9;

  function automatic unit_e unit_of(operator_e operation, datatype_e datatype);
    if (operation inside {OperatorMin, OperatorMax, OperatorMinloc, OperatorMaxloc}) return Order;
    for (int unsigned f = 0; f < 3; f++)
    if (datatype == real_type(f) || datatype == complex_type(f))
      return unit_e'(4'((operation == OperatorSum ? 32'(Sum16) : 32'(Product16)) + f));
    return operation == OperatorProd ? Product : Bits;
  endfunction
  function automatic logic [Units-1:0] built_units();
    built_units = '0;
    for (int unsigned t = 0; t < 32; t++)
    for (int unsigned o = 0; o < 13; o++)
    if (Pairs[t][o]) built_units[unit_of(operator_e'(4'(o)), datatype_e'(5'(t)))] = 1'b1;
  endfunction
  localparam logic [Units-1:0] Built = built_units();

  // Short units.
  logic [3:0] unit, short_unit, last_unit;
  logic [2:0][255:0] short_results;
  logic [255:0] short_result, short_result_q;
  assign unit = unit_of(operation_i, datatype_i);
  tw_delay #(
      .Width (4),
      .Stages(ShortStages)
  ) to_short (
      .clk_i,
      .in_i (unit),
      .out_o(short_unit)
  );
  tw_delay #(
      .Width (4),
      .Stages(Stages - ShortStages)
  ) to_last (
      .clk_i,
      .in_i (short_unit),
      .out_o(last_unit)
  );

  if (Built[Bits]) begin : bits
    tw_integer #(
        .Pairs (Pairs),
        .Stages(ShortStages)
    ) integer_unit (
        .clk_i,
        .operation_i,
        .datatype_i,
        .a_i,
        .b_i,
        .result_o(short_results[Bits])
    );
  end else begin : no_bits
    assign short_results[Bits] = '0;
  end
  if (Built[Product]) begin : products
    tw_integer_product #(
        .Pairs (Pairs),
        .Stages(ShortStages)
    ) integer_product (
        .clk_i,
        .datatype_i,
        .a_i,
        .b_i,
        .product_o(short_results[Product])
    );
  end else begin : no_products
    assign short_results[Product] = '0;
  end
  if (Built[Order]) begin : orders
    tw_order #(
        .Pairs (Pairs),
        .Stages(ShortStages)
    ) order (
        .clk_i,
        .operation_i,
        .datatype_i,
        .head_i,
        .a_i,
        .b_i,
        .result_o(short_results[Order])
    );
  end else begin : no_orders
    wire unused_head = head_i;
    assign short_results[Order] = '0;
  end

  always_comb begin
    short_result = '0;
    for (int unsigned u = 0; u < 3; u++)
    if (Built[u] && (Built == Units'(1) << u || short_unit == 4'(u))) short_result |= short_results[u];
  end
  tw_delay #(
      .Width (256),
      .Stages(Stages - ShortStages)
  ) short_ones (
      .clk_i,
      .in_i (short_result),
      .out_o(short_result_q)
  );

  // Floating-point units.
  logic [Units-1:0][255:0] results;
  assign results[2:0] = {short_result_q, short_result_q, short_result_q};
  for (genvar f = 0; f < 3; f++) begin : formats
    localparam int unsigned Width = 16 << f;
    localparam int unsigned E = exponent_bits(f);
    for (genvar i = 0; i < 256 / Width; i++) begin : elements
      if (Built[32'(Sum16)+f]) begin : sums
        tw_fp_add #(
            .ExponentBits(E),
            .FractionBits(Width - 1 - E),
            .Stages(Stages)
        ) add (
            .clk_i,
            .a_i  (a_i[Width*i+:Width]),
            .b_i  (b_i[Width*i+:Width]),
            .sum_o(results[32'(Sum16)+f][Width*i+:Width])
        );
      end else begin : no_sums
        assign results[32'(Sum16)+f][Width*i+:Width] = '0;
      end
      if (Built[32'(Product16)+f]) begin : products
        tw_fp_mul #(
            .ExponentBits(E),
            .FractionBits(Width - 1 - E),
            .Stages(Stages)
        ) mul (
            .clk_i,
            .a_i      (a_i[Width*i+:Width]),
            .b_i      (b_i[Width*i+:Width]),
            .product_o(results[32'(Product16)+f][Width*i+:Width])
        );
      end else begin : no_products
        assign results[32'(Product16)+f][Width*i+:Width] = '0;
      end
    end
  end

  always_comb begin
    result_o = '0;
    for (int unsigned u = 0; u < Units; u++)
    if (Built[u] && (Built == Units'(1) << u || last_unit == 4'(u))) result_o |= results[u];
  end
endmodule
