// SPDX-License-Identifier: Apache-2.0
// A node that forwards words: from the net into the core's clock, where its number is added, and back. A word with 0 hops is
// done; the host's words are sent in cycles without a forwarded word.
//
// Order: kept between net input and output, and from the host. Latency: two crossings (tw_async_fifo); a word is done one cycle
// of the core after it was at the first one's output. Throughput: one word per cycle of the slower clock. Storage: two FIFOs of
// Depth words. Critical path: from the first FIFO's word over the sum into the memory of the second one.
module tw_relay_node #(
    parameter int unsigned Depth = 8  /// words of each crossing, a power of two
) (
    input  logic        net_clk_i,
    input  logic        net_rst_i,
    input  logic        net_in_valid_i,
    output logic        net_in_ready_o,
    input  logic [63:0] net_in_data_i,
    output logic        net_out_valid_o,
    input  logic        net_out_ready_i,
    output logic [63:0] net_out_data_o,
    input  logic        core_clk_i,
    input  logic        core_rst_i,
    input  logic [15:0] core_self_i,
    input  logic        core_host_valid_i,
    output logic        core_host_ready_o,
    input  logic [63:0] core_host_data_i,
    output logic        core_done_valid_o,
    output logic [63:0] core_done_data_o
);
  typedef struct packed {
    logic [7:0]  hops;  // remaining hops
    logic [55:0] sum;
  } word_t;

  word_t word, sent;
  logic word_valid, word_ready, sent_ready;
  wire last = word_valid && word.hops == 8'd0;
  wire passes = word_valid && !last;
  wire [55:0] sum = word.sum + 56'(core_self_i);

  assign word_ready = last || sent_ready;
  assign sent = passes ? '{hops: word.hops - 8'd1, sum: sum} : core_host_data_i;
  assign core_host_ready_o = sent_ready && !passes;

  tw_async_fifo #(
      .Width(64),
      .Depth(Depth)
  ) to_core (
      .wr_clk_i  (net_clk_i),
      .wr_rst_i  (net_rst_i),
      .wr_valid_i(net_in_valid_i),
      .wr_ready_o(net_in_ready_o),
      .wr_data_i (net_in_data_i),
      .rd_clk_i  (core_clk_i),
      .rd_rst_i  (core_rst_i),
      .rd_valid_o(word_valid),
      .rd_ready_i(word_ready),
      .rd_data_o (word)
  );

  tw_async_fifo #(
      .Width(64),
      .Depth(Depth)
  ) to_net (
      .wr_clk_i  (core_clk_i),
      .wr_rst_i  (core_rst_i),
      .wr_valid_i(passes || core_host_valid_i),
      .wr_ready_o(sent_ready),
      .wr_data_i (sent),
      .rd_clk_i  (net_clk_i),
      .rd_rst_i  (net_rst_i),
      .rd_valid_o(net_out_valid_o),
      .rd_ready_i(net_out_ready_i),
      .rd_data_o (net_out_data_o)
  );

  always_ff @(posedge core_clk_i) begin
    if (core_rst_i) core_done_valid_o <= 1'b0;
    else core_done_valid_o <= last;
    if (last) core_done_data_o <= {8'd0, sum};
  end
endmodule
