// SPDX-License-Identifier: Apache-2.0
// Counts cycles after a load. Lower and upper half have separate carry chains.
//
// Order: none. Latency: a cycle. Throughput: a load per cycle. Storage: the count. Outputs are registers. Critical path: from the lower half's zero detection to the upper half.
module tw_timer #(
    parameter int unsigned Bits = 24  /// at least 2
) (
    input  logic            clk_i,
    input  logic            rst_i,
    input  logic            load_i,
    input  logic [Bits-1:0] cycles_i,
    output logic            running_o  /// for cycles_i cycles after the load
);
  if (Bits < 2) begin : check_bits
    $error("tw_timer: Bits must be at least 2");
  end

  localparam int unsigned Low = Bits / 2;

  logic running_q;
  logic [Low-1:0] low_q;
  logic [Bits-Low-1:0] high_q;

  assign running_o = running_q;

  always_ff @(posedge clk_i) begin
    if (load_i) {high_q, low_q} <= cycles_i;
    else if (running_q) begin
      low_q <= low_q - 1'b1;
      if (low_q == 0) high_q <= high_q - 1'b1;
    end
    if (rst_i) running_q <= 1'b0;
    else if (load_i) running_q <= cycles_i != 0;
    else if (high_q == 0 && low_q == 1) running_q <= 1'b0;
  end
endmodule
