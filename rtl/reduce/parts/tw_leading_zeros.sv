// SPDX-License-Identifier: Apache-2.0
// Number of zeros of a word above its highest one; for a word of zeros `zero_o` is set, and the count is undefined.
//
// No registers. Critical path: a tree of halves, each with its count.
module tw_leading_zeros #(
    parameter int unsigned Width = 8,  /// at least 2
    localparam int unsigned CountWidth = $clog2(Width)
) (
    input  logic [     Width-1:0] in_i,
    output logic                  zero_o,
    output logic [CountWidth-1:0] count_o
);
  localparam int unsigned Leaves = 2 ** CountWidth;

  // Level l has nodes of 2^l bits, the lowest bits first; missing bits at the lower end are ones.
  logic [CountWidth:0][Leaves-1:0] zero;
  logic [CountWidth:0][Leaves-1:0][CountWidth-1:0] count;

  always_comb begin
    zero  = '0;
    count = '0;
    for (int unsigned i = 0; i < Width; i++) zero[0][Leaves-Width+i] = !in_i[i];
    for (int unsigned l = 0; l < CountWidth; l++)
    for (int unsigned i = 0; i < Leaves >> (l + 1); i++) begin
      zero[l+1][i]  = zero[l][2*i+1] && zero[l][2*i];
      count[l+1][i] = zero[l][2*i+1] ? count[l][2*i] : count[l][2*i+1];
      count[l+1][i][l] = zero[l][2*i+1];
    end
  end

  assign zero_o  = in_i == 0;
  assign count_o = count[CountWidth][0];
endmodule
