// SPDX-License-Identifier: Apache-2.0
// Product of two complex numbers of two doubles each, real parts in the lower half: four products and two sums, each
// rounded.
module complex_product #(
    parameter int unsigned Stages = 27  /// registers: half of them in the multipliers, half in the adders
) (
    input  logic         clk_i,
    input  logic [127:0] a_i,
    input  logic [127:0] b_i,
    output logic [127:0] result_o
);
  localparam int unsigned ProductStages = Stages / 2;
  localparam logic [63:0] Sign = {1'b1, 63'd0};

  // products[i][j]: part i of a times part j of b
  logic [1:0][1:0][63:0] products;
  for (genvar i = 0; i < 2; i++) begin : parts_of_a
    for (genvar j = 0; j < 2; j++) begin : parts_of_b
      tw_fp_mul #(
          .ExponentBits(11),
          .FractionBits(52),
          .Stages(ProductStages)
      ) mul (
          .clk_i,
          .a_i      (a_i[64*i+:64]),
          .b_i      (b_i[64*j+:64]),
          .product_o(products[i][j])
      );
    end
  end

  for (genvar part = 0; part < 2; part++) begin : sums
    tw_fp_add #(
        .ExponentBits(11),
        .FractionBits(52),
        .Stages(Stages - ProductStages)
    ) add (
        .clk_i,
        .a_i  (products[0][part]),
        .b_i  (part == 0 ? products[1][1] ^ Sign : products[1][0]),
        .sum_o(result_o[64*part+:64])
    );
  end
endmodule
