// SPDX-License-Identifier: Apache-2.0
module skid_proof #(
    parameter int unsigned Width = 1
) (
    input logic             clk_i,
    input logic             rst_i,
    input logic             watch_i,
    input logic             in_valid_i,
    input logic [Width-1:0] in_data_i,
    input logic             out_ready_i
);
  logic in_ready, out_valid;
  logic [Width-1:0] out_data;

  tw_reset_first surroundings (.*);

  tw_skid #(
      .Width(Width)
  ) skid (
      .in_ready_o(in_ready),
      .out_valid_o(out_valid),
      .out_data_o(out_data),
      .*
  );

  tw_queue_properties #(
      .Width(Width),
      .Depth(2)
  ) queue (
      .in_ready_i(in_ready),
      .out_valid_i(out_valid),
      .out_data_i(out_data),
      .held_o(),
      .*
  );
endmodule
