// SPDX-License-Identifier: Apache-2.0
// Synchronizer of levels into another clock domain.
//
// Bits are independent: two that change together may arrive in different cycles, so numbers must cross in Gray code.
// The input must be a register of the other clock, since glitches of logic would be captured too.
//
// Order: that of a bit's changes; a level that lasts less than a period of clk_i and is not present at an edge is
// missed. Latency: Stages cycles after the first edge later than the change, one more if the first flip-flop is
// metastable. Throughput: a change per cycle. Storage: Stages bits per bit. Critical path: none but the flip-flops'
// own; all but one stage are settling time for the first.
module tw_level_sync #(
    parameter int unsigned Width  = 1,  /// bits, at least 1
    parameter int unsigned Stages = 2   /// flip-flops in sequence, at least 2
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
