// SPDX-License-Identifier: Apache-2.0
// A pulse that crosses into another clock: each cycle of pulse_i while ready is one cycle of pulse_o.
//
// A pulse turns a level over, the level crosses, and its change is a pulse there; it comes back, and then the next may go.
// wr_rst_i and rd_rst_i are asserted together: each lasts until both clocks have had an edge in it.
//
// Order: kept. Latency: Stages cycles of rd_clk_i after its first edge later than the pulse. Throughput: one pulse in Stages + 1 cycles of
// rd_clk_i and as many of wr_clk_i, with what lies between their edges; wr_ready_o says when the next may come, and one that comes
// while it is not is ignored. Storage: 2 Stages + 3 bits. Outputs depend on registers alone. Critical path: from pulse to level,
// two gates.
module tw_pulse_sync #(
    parameter int unsigned Stages = 2  /// flip-flops of each synchronizer, at least 2
) (
    input  logic wr_clk_i,
    input  logic wr_rst_i,
    input  logic wr_pulse_i,
    output logic wr_ready_o,
    input  logic rd_clk_i,
    input  logic rd_rst_i,
    output logic rd_pulse_o
);
  logic sent_q, back, arrived, seen_q;

  assign wr_ready_o = sent_q == back;
  assign rd_pulse_o = arrived != seen_q;

  always_ff @(posedge wr_clk_i) begin
    if (wr_rst_i) sent_q <= 1'b0;
    else if (wr_pulse_i && wr_ready_o) sent_q <= !sent_q;
  end

  always_ff @(posedge rd_clk_i) begin
    if (rd_rst_i) seen_q <= 1'b0;
    else seen_q <= arrived;
  end

  tw_level_sync #(
      .Stages(Stages)
  ) there (
      .clk_i  (rd_clk_i),
      .rst_i  (rd_rst_i),
      .level_i(sent_q),
      .level_o(arrived)
  );

  tw_level_sync #(
      .Stages(Stages)
  ) here (
      .clk_i  (wr_clk_i),
      .rst_i  (wr_rst_i),
      .level_i(seen_q),
      .level_o(back)
  );
endmodule
