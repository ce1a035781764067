// SPDX-License-Identifier: Apache-2.0
module async_fifo_proof #(
    parameter int unsigned Width  = 1,
    parameter int unsigned Depth  = 2,
    parameter int unsigned Stages = 2
) (
    input logic             clk_i,
    input logic             wr_clk_i,
    input logic             wr_rst_i,
    input logic             rd_clk_i,
    input logic             rd_rst_i,
    input logic             watch_i,
    input logic             wr_valid_i,
    input logic [Width-1:0] wr_data_i,
    input logic             rd_ready_i
);
  logic wr_ready, rd_valid, rst;
  logic [Width-1:0] rd_data;
  logic [$clog2(Depth+3)-1:0] held;

  tw_resets_together surroundings (
      .rst_o(rst),
      .*
  );

  tw_async_fifo #(
      .Width (Width),
      .Depth (Depth),
      .Stages(Stages)
  ) fifo (
      .wr_ready_o(wr_ready),
      .rd_valid_o(rd_valid),
      .rd_data_o (rd_data),
      .*
  );

  tw_queue_properties #(
      .Width (Width),
      .Depth (Depth + 1),
      .Prompt(1'b0)
  ) queue (
      .rst_i(rst),
      .in_valid_i(wr_clk_i && wr_valid_i && !wr_rst_i),
      .in_ready_i(wr_ready),
      .in_data_i(wr_data_i),
      .out_valid_i(rd_valid),
      .out_ready_i(rd_clk_i && rd_ready_i && !rd_rst_i),
      .out_data_i(rd_data),
      .held_o(held),
      .*
  );

  // The other side's pointer along the synchronizer: from the current value (0) to the visible one (Stages + 1).
  localparam int unsigned Bits = $clog2(Depth) + 1;
  typedef logic [Bits-1:0] pointer_t;
  pointer_t written[Stages+2], read[Stages+2];

  function automatic pointer_t number(pointer_t gray);
    for (int unsigned bit_ = Bits - 1; bit_ > 0; bit_--) gray[bit_-1] ^= gray[bit_];
    return gray;
  endfunction

  always_comb begin
    written[0] = fifo.write_q;
    written[1] = number(fifo.write_sync.before_q);
    read[0] = fifo.read_q;
    read[1] = number(fifo.read_sync.before_q);
    for (int unsigned i = 0; i < Stages; i++) begin
      written[i+2] = number(fifo.write_sync.stages_q[i]);
      read[i+2] = number(fifo.read_sync.stages_q[i]);
    end
  end

  logic in_order;  // no side sees more than exists, or less than it saw before
  always_comb begin
    in_order = 1'b1;
    for (int unsigned i = 0; i <= Stages; i++) begin
      in_order &= pointer_t'(written[i+1] - fifo.read_q) <= pointer_t'(written[i] - fifo.read_q);
      in_order &= pointer_t'(fifo.write_q - read[i]) <= pointer_t'(fifo.write_q - read[i+1]);
    end
  end

  // Edges in which a side has not yet seen the other's pointer: those of the synchronizer, and one if its first flip-flop
  // took the old value.
  logic [$clog2(Stages+4)-1:0] rd_waits_q, wr_waits_q;
  pointer_t stored;
  logic seen;
  assign stored = fifo.write_q - fifo.read_q;

  always_ff @(posedge clk_i) begin
    if (rst || held == 0 || rd_valid) rd_waits_q <= 0;
    else if (rd_clk_i && !rd_rst_i) rd_waits_q <= rd_waits_q + 1;
    if (rst || stored == pointer_t'(Depth) || wr_ready) wr_waits_q <= 0;
    else if (wr_clk_i && !wr_rst_i) wr_waits_q <= wr_waits_q + 1;
  end

  always_comb begin
    seen = 1'b1;
    for (int unsigned i = 1; i < Stages + 2; i++) begin
      seen &= 32'(rd_waits_q) < i || rd_valid || written[i] != fifo.read_q;
      seen &= 32'(wr_waits_q) < i || wr_ready || pointer_t'(fifo.write_q - read[i]) != pointer_t'(Depth);
    end
  end

  pointer_t place;
  assign place = fifo.read_q + pointer_t'(queue.ahead_q) - pointer_t'(rd_valid);

  always_ff @(posedge clk_i) begin
    if (surroundings.resetting_q ? surroundings.wr_done_q : !surroundings.wr_live_q) begin
      lemma_wr_reset : assert (fifo.write_q == 0 && fifo.write_gray_q == 0 && fifo.read_sync.stages_q == 0);
    end
    if (surroundings.resetting_q ? surroundings.rd_done_q : !surroundings.rd_live_q) begin
      lemma_rd_reset :
      assert (fifo.read_q == 0 && fifo.read_gray_q == 0 && fifo.write_sync.stages_q == 0 && !rd_valid);
    end
    if (surroundings.resetting_q) begin
      lemma_forgotten :
      assert (!(surroundings.wr_done_q && surroundings.rd_done_q) ||
              (held == 0 && !queue.watched_q && !queue.stalled_q && rd_waits_q == 0 && wr_waits_q == 0));
    end else begin
      lemma_gray : assert (number(fifo.write_gray_q) == fifo.write_q && number(fifo.read_gray_q) == fifo.read_q);
      lemma_held : assert (32'(held) == 32'(stored) + 32'(rd_valid));
      lemma_in_place :
      assert (!queue.watched_q || (rd_valid && queue.ahead_q == 0) ||
              fifo.words_q[place[Bits-2:0]] == queue.word_q);
      lemma_depth : assert (stored <= pointer_t'(Depth));
      lemma_wr_step : assert (pointer_t'(written[0] - written[1]) <= 1);
      lemma_rd_step : assert (pointer_t'(read[0] - read[1]) <= 1);
      lemma_order : assert (in_order);
      lemma_room : assert (pointer_t'(fifo.write_q - read[Stages+1]) <= pointer_t'(Depth));
      lemma_seen : assert (seen);
    end
    if (!rst) begin
      arrives : assert (32'(rd_waits_q) < Stages + 2 || rd_valid);
      returns : assert (32'(wr_waits_q) < Stages + 1 || wr_ready);
    end
  end
endmodule
