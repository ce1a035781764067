// SPDX-License-Identifier: Apache-2.0
// Deep FIFO in block RAM: the memory's output register holds the word at the head.
//
// Order: kept. Latency: a word is at the output two cycles after it entered. Throughput: one word per cycle in and out;
// a full memory accepts a word only in the cycle after one has left it. Storage: Depth words in a memory with a
// registered output, which can be block RAM, and one at the output. The output is a register, in_ready_o depends only
// on registers. Critical path: from out_ready_i to the enables of the output and of the count.
module tw_ram_fifo #(
    parameter int unsigned Width = 32,   /// bits of a word, at least 1
    parameter int unsigned Depth = 512,  /// words in memory, at least 2, any number
    localparam int unsigned CountWidth = $clog2(Depth + 1)
) (
    input  logic                  clk_i,
    input  logic                  rst_i,
    input  logic                  in_valid_i,
    output logic                  in_ready_o,
    input  logic [     Width-1:0] in_data_i,
    output logic                  out_valid_o,
    input  logic                  out_ready_i,
    output logic [     Width-1:0] out_data_o,
    output logic [CountWidth-1:0] count_o       /// words in memory
);
  if (Depth < 2) begin : check_depth
    $error("tw_ram_fifo: Depth must be at least 2");
  end

  logic there, valid_q;
  logic [Width-1:0] next, data_q;
  wire load = !valid_q || out_ready_i;

  assign out_valid_o = valid_q;
  assign out_data_o  = data_q;

  tw_fifo #(
      .Width(Width),
      .Depth(Depth)
  ) memory (
      .clk_i,
      .rst_i,
      .in_valid_i,
      .in_ready_o,
      .in_data_i,
      .out_valid_o(there),
      .out_ready_i(load),
      .out_data_o (next),
      .count_o
  );

  always_ff @(posedge clk_i) begin
    if (there && load) data_q <= next;
    if (rst_i) valid_q <= 1'b0;
    else if (load) valid_q <= there;
  end
endmodule
