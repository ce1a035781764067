// SPDX-License-Identifier: Apache-2.0
// Synchronizer of a reset into another clock domain.
//
// A reset is captured without an edge of clk_i, which may be stopped, or have a longer period than the reset; but rst_o
// changes only at edges of clk_i, since all blocks have synchronous resets.
//
// Order: none. Latency: rst_o is set from power-up on, and rises at the first edge after rst_i has; it falls Stages + 1
// edges after rst_i has, one later if the first flip-flop is metastable. Throughput: resets closer together than this
// merge. Storage: Stages + 1 bits. Critical path: none but the flip-flops' own.
module tw_reset_sync #(
    parameter int unsigned Stages = 2  /// flip-flops before the last that the release of reset passes, at least 2
) (
    input  logic clk_i,
    input  logic rst_i,  /// of any clock, or asynchronous; without glitches
    output logic rst_o
);
  if (Stages < 2) begin : check_stages
    $error("tw_reset_sync: Stages must be at least 2");
  end

  // In reset from power-up on.
  // verilator lint_off PROCASSINIT
  (* ASYNC_REG = "TRUE" *)
  logic [Stages-1:0] stages_q = '1;
  logic rst_q = 1'b1;
  // verilator lint_on PROCASSINIT

  assign rst_o = rst_q;

  always_ff @(posedge clk_i or posedge rst_i) begin
    if (rst_i) stages_q <= '1;
    else stages_q <= {stages_q[Stages-2:0], 1'b0};
  end

  always_ff @(posedge clk_i) rst_q <= stages_q[Stages-1];
endmodule
