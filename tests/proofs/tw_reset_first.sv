// SPDX-License-Identifier: Apache-2.0
// The reset assumption of every proof: reset in the first cycle, when registers and memories hold any values, and at any
// later time.
module tw_reset_first (
    input logic clk_i,
    input logic rst_i
);
  logic begun_q = 1'b0;

  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
    if (!begun_q) reset_first : assume (rst_i);
  end
endmodule
