// SPDX-License-Identifier: Apache-2.0
// rtl/common/tw_level_sync.sv with metastability: if a bit changed in the step before an edge of clk_i, the first flip-flop takes
// the old or the new value, nondeterministically. `step` and `either` are undriven: `step` is no clock of a proof, so its
// registers load in every step; `either` has any value in each step.
module tw_level_sync #(
    parameter int unsigned Width  = 1,
    parameter int unsigned Stages = 2
) (
    input  logic             clk_i,
    input  logic             rst_i,
    input  logic [Width-1:0] level_i,
    output logic [Width-1:0] level_o
);
  logic [Stages-1:0][Width-1:0] stages_q;
  logic [Width-1:0] before_q;
  wire step;
  wire [Width-1:0] either;

  assign level_o = stages_q[Stages-1];

  always_ff @(posedge step) before_q <= level_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) stages_q <= '0;
    else stages_q <= {stages_q[Stages-2:0], (either & before_q) | (~either & level_i)};
  end
endmodule
