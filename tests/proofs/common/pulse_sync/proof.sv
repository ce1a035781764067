// SPDX-License-Identifier: Apache-2.0
module pulse_sync_proof #(
    parameter int unsigned Stages = 2
) (
    input logic clk_i,
    input logic wr_clk_i,
    input logic wr_rst_i,
    input logic rd_clk_i,
    input logic rd_rst_i,
    input logic wr_pulse_i
);
  logic wr_ready, rd_pulse, rst;

  tw_resets_together surroundings (
      .rst_o(rst),
      .*
  );

  tw_pulse_sync #(
      .Stages(Stages)
  ) sync (
      .wr_ready_o(wr_ready),
      .rd_pulse_o(rd_pulse),
      .*
  );

  // A pulse that was taken and has not come out, and edges of the reader, and then of the writer, since.
  logic pending_q;
  logic [$clog2(Stages+4)-1:0] rd_waits_q, wr_waits_q;

  wire taken = wr_clk_i && !wr_rst_i && wr_pulse_i && wr_ready;
  wire out = rd_clk_i && !rd_rst_i && rd_pulse;

  always_ff @(posedge clk_i) begin
    if (rst) pending_q <= 1'b0;
    else pending_q <= taken || (pending_q && !out);
    if (rst || !pending_q || rd_pulse) rd_waits_q <= 0;
    else if (rd_clk_i && !rd_rst_i) rd_waits_q <= rd_waits_q + 1;
    if (rst || pending_q || wr_ready) wr_waits_q <= 0;
    else if (wr_clk_i && !wr_rst_i) wr_waits_q <= wr_waits_q + 1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst) begin
      no_more : assert (!rd_pulse || pending_q);
      no_less : assert (!pending_q || !wr_ready);
      arrives : assert (32'(rd_waits_q) < Stages + 1 || rd_pulse);
      returns : assert (32'(wr_waits_q) < Stages + 1 || wr_ready);
      second : cover (taken && sync.sent_q);
    end
  end
endmodule
