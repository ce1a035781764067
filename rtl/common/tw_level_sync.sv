// SPDX-License-Identifier: Apache-2.0
// Synchronizer of levels into another clock domain.
//
// Bits are independent: two that change together may arrive in different cycles, so numbers must cross in Gray code.
// What comes in is a register of the other clock: logic's glitches would be caught too.
//
// Order: that of a bit's changes; a level that lasts less than a period of clk_i and is not there at an edge is not seen.
// Latency: Stages cycles after the first edge that is later than the change, one more where the first flip-flop is
// metastable. Throughput: a change a cycle. Storage: Stages bits for each bit. Critical path: none but the flip-flops' own, of which
// all but one stage are there for the first to settle.
module tw_level_sync #(
    parameter int unsigned Width  = 1,  /// bits, at least 1
    parameter int unsigned Stages = 2   /// flip-flops one after another, at least 2
) (
    input  logic             clk_i,
    input  logic             rst_i,
    input  logic [Width-1:0] level_i,
    output logic [Width-1:0] level_o
);
  if (Width < 1) begin : check_width
    $error("tw_level_sync: Width must be at least 1");
  end
  if (Stages < 2) begin : check_stages
    $error("tw_level_sync: Stages must be at least 2");
  end

  (* ASYNC_REG = "TRUE" *)
  logic [Stages-1:0][Width-1:0] stages_q;

  assign level_o = stages_q[Stages-1];

  always_ff @(posedge clk_i) begin
    if (rst_i) stages_q <= '0;
    else stages_q <= {stages_q[Stages-2:0], level_i};
  end
endmodule
