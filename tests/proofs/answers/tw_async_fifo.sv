// SPDX-License-Identifier: Apache-2.0
// Abstraction of rtl/common/tw_async_fifo.sv without its latency, for blocks behind one: words come out in any cycle, as free
// inputs of the proof decide. That the crossing keeps all words and their order is proved separately.
module tw_async_fifo #(
    parameter int unsigned Width  = 32,
    parameter int unsigned Depth  = 16,
    parameter int unsigned Stages = 2
) (
    input  logic             wr_clk_i,
    input  logic             wr_rst_i,
    input  logic             wr_valid_i,
    output logic             wr_ready_o,
    input  logic [Width-1:0] wr_data_i,
    input  logic             rd_clk_i,
    input  logic             rd_rst_i,
    output logic             rd_valid_o,
    input  logic             rd_ready_i,
    output logic [Width-1:0] rd_data_o
);
  assign wr_ready_o = rd_ready_i;
  assign rd_valid_o = wr_valid_i;
  assign rd_data_o  = wr_data_i;
endmodule
