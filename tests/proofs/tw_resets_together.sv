// SPDX-License-Identifier: Apache-2.0
// The resets of two clocks: asserted together, each until both clocks have had an edge under reset; at first, when registers and
// memories hold any values, and at any later time. In a step (clk_i) a clock has an edge if its input is 1.
module tw_resets_together (
    input  logic clk_i,
    input  logic wr_clk_i,
    input  logic wr_rst_i,
    input  logic rd_clk_i,
    input  logic rd_rst_i,
    output logic rst_o      /// previous state is discarded
);
  logic resetting_q = 1'b1, wr_done_q = 1'b0, rd_done_q = 1'b0;
  logic wr_live_q = 1'b0, rd_live_q = 1'b0;

  wire wr_edge = wr_clk_i && wr_rst_i;
  wire rd_edge = rd_clk_i && rd_rst_i;
  wire begins = (wr_edge && wr_live_q) || (rd_edge && rd_live_q);

  assign rst_o = resetting_q || begins;

  always_ff @(posedge clk_i) begin
    wr_live_q <= !rst_o && (wr_live_q || (wr_clk_i && !wr_rst_i));
    rd_live_q <= !rst_o && (rd_live_q || (rd_clk_i && !rd_rst_i));
    if (resetting_q) begin
      together : assume (wr_rst_i && rd_rst_i);
      wr_done_q   <= wr_done_q || wr_edge;
      rd_done_q   <= rd_done_q || rd_edge;
      resetting_q <= !(wr_done_q && rd_done_q);
    end else begin
      wr_done_q   <= wr_edge;
      rd_done_q   <= rd_edge;
      resetting_q <= begins;
    end
  end
endmodule
