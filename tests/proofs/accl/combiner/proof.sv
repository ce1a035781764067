// SPDX-License-Identifier: Apache-2.0
// Environment: words at both inputs in any cycles; packets of x are combined or pass. The lanes are built for sums of int8. The
// lowest bits of both operands are free, and the sum's lowest bit is 1 where they differ. The result for one bit holds for all.
module combiner_proof
  import tw_spec_pkg::*;
#(
    parameter int unsigned Latency = 1
) (
    input logic clk_i,
    input logic rst_i,
    input logic watch_i,
    input logic x_valid_i,
    input logic x_bit_i,
    input logic x_last_i,
    input logic x_combines_i,
    input logic y_valid_i,
    input logic y_bit_i,
    input logic out_ready_i
);
  localparam int unsigned Entries = Latency + 3;
  logic x_ready, y_ready, out_valid, out_last;
  logic [511:0] out_data;
  logic [$clog2(Entries+2)-1:0] held;

  tw_reset_first surroundings (.*);

  tw_combiner #(
      .Latency(Latency),
      .Pairs  (512'd1 << (16 * 32'(DatatypeInt8) + 32'(OperatorSum)))
  ) combiner (
      .x_ready_o(x_ready),
      .x_data_i(512'(x_bit_i)),
      .x_operation_i(OperatorSum),
      .x_datatype_i(DatatypeInt8),
      .y_ready_o(y_ready),
      .y_data_i(512'(y_bit_i)),
      .y_last_i(x_last_i),
      .out_valid_o(out_valid),
      .out_data_o(out_data),
      .out_last_o(out_last),
      .*
  );

  tw_queue_properties #(
      .Width (2),
      .Depth (Entries),
      .Prompt(1'b0)
  ) queue (
      .in_valid_i(x_valid_i),
      .in_ready_i(x_ready),
      .in_data_i({x_last_i, x_bit_i != (x_combines_i && y_bit_i)}),
      .out_valid_i(out_valid),
      .out_data_i({out_last, out_data[0]}),
      .held_o(held),
      .*
  );

  wire takes = x_valid_i && x_ready;
  logic [$clog2(Latency+3)-1:0] waits_q;  // cycles in which a word was held but none was at the output

  always_ff @(posedge clk_i) begin
    waits_q <= rst_i || held == 0 || out_valid ? 0 : waits_q + 1'b1;
    if (!rst_i) begin
      y_with_x : assert ((y_valid_i && y_ready) == (takes && x_combines_i));
      takes_wherever_it_can : assert (!x_valid_i || (x_combines_i && !y_valid_i) || takes == (32'(held) < Entries));
      prompt : assert (32'(waits_q) <= Latency + 1);
    end
  end
endmodule
