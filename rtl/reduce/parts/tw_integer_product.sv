// SPDX-License-Identifier: Apache-2.0
// Products of the integers of two flits; they wrap, so that signs make no difference.
//
// Order: kept. Latency: Stages cycles. Throughput: a flit per cycle. Storage: a flit per size and stage. Critical path:
// a multiplication of 64 bits; an empty step follows it, whose registers synthesis moves into the DSP blocks.
module tw_integer_product
  import tw_spec_pkg::*;
  import tw_reduce_pkg::*;
#(
    parameter pairs_t Pairs = all_pairs(),  /// others cost nothing
    parameter int unsigned Stages = 3  /// 0: no register
) (
    input  logic         clk_i,
    input  datatype_e    datatype_i,
    input  logic [255:0] a_i,
    input  logic [255:0] b_i,
    output logic [255:0] product_o
);
  localparam int unsigned Steps = 3;

  function automatic logic [3:0] built_sizes();
    built_sizes = '0;
    for (int unsigned t = 0; t < 32; t++) if (Pairs[t][OperatorProd]) built_sizes |= integer_bytes(datatype_e'(5'(t)));
  endfunction
  localparam logic [3:0] Built = built_sizes();

  // 0 and 1: products of each size.
  logic [3:0][255:0] products, products_q;
  logic [3:0] bytes_q;
  for (genvar level = 0; level < 4; level++) begin : sizes
    localparam int unsigned Bits = 8 << level;
    for (genvar i = 0; i < 256 / Bits; i++) begin : elements
      assign products[level][Bits*i+:Bits] = Built[level] ? a_i[Bits*i+:Bits] * b_i[Bits*i+:Bits] : '0;
    end
  end
  tw_delay #(
      .Width (4 * 256 + 4),
      .Stages(registers(0, Steps, Stages) + registers(1, Steps, Stages))
  ) after_products (
      .clk_i,
      .in_i ({products, integer_bytes(datatype_i)}),
      .out_o({products_q, bytes_q})
  );

  // 2: selection of the size.
  logic [255:0] product;
  always_comb begin
    product = '0;
    for (int unsigned level = 0; level < 4; level++) if (bytes_q[level]) product |= products_q[level];
  end
  tw_delay #(
      .Width (256),
      .Stages(registers(2, Steps, Stages))
  ) after_choice (
      .clk_i,
      .in_i (product),
      .out_o(product_o)
  );
endmodule
