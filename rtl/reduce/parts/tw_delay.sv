// SPDX-License-Identifier: Apache-2.0
// A shift register without reset; with 0 stages it is a wire.
//
// Order: kept. Latency: Stages cycles. Throughput: a word per cycle. Storage: Stages words; several stages use the
// FPGA's LUT shift registers. Critical path: none, from register to register.
module tw_delay #(
    parameter int unsigned Width  = 1,  /// bits, at least 1
    parameter int unsigned Stages = 1   /// registers
) (
    input  logic             clk_i,
    input  logic [Width-1:0] in_i,
    output logic [Width-1:0] out_o
);
  if (Stages == 0) begin : wires
    wire unused_clk = clk_i;
    assign out_o = in_i;
  end else if (Stages == 1) begin : register
    always_ff @(posedge clk_i) out_o <= in_i;
  end else begin : shift
    logic [Stages-1:0][Width-1:0] row_q;
    always_ff @(posedge clk_i) row_q <= {row_q[Stages-2:0], in_i};
    assign out_o = row_q[Stages-1];
  end
endmodule
