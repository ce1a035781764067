// SPDX-License-Identifier: Apache-2.0
// FIFO between two clock domains; its depth is a power of two.
//
// Each side has a pointer, and receives the other side's in Gray code through a synchronizer, so it sees the old or the
// new value. wr_rst_i and rd_rst_i are asserted together: each lasts until both clocks have had an edge in it.
//
// Order: kept. Latency: a word is at the output Stages + 1 cycles of rd_clk_i after its first edge later than the
// write; its entry is free for the writer Stages cycles of wr_clk_i after its first edge later than the one at which
// the word went to the output. Throughput: one word per cycle of the slower clock if Depth covers both 2 Stages + 4
// cycles of the faster clock and 3 of the slower; otherwise proportionally less. Storage: Depth words in a memory with
// two clocks, which can be block RAM, and one at the output. rd outputs are registers, wr_ready_o depends only on
// registers. Critical path: from the pointer through ready to the enables of the memory; at the output from rd_ready_i
// to the enables of the word.
module tw_async_fifo #(
    parameter int unsigned Width  = 32,  /// bits of a word, at least 1
    parameter int unsigned Depth  = 16,  /// words, a power of two, at least 2
    parameter int unsigned Stages = 2    /// flip-flops of each synchronizer, at least 2
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
  if (Width < 1) begin : check_width
    $error("tw_async_fifo: Width must be at least 1");
  end
  if (Depth < 2 || (Depth & (Depth - 1)) != 0) begin : check_depth
    $error("tw_async_fifo: Depth must be a power of two, at least 2");
  end

  localparam int unsigned IndexWidth = $clog2(Depth);
  typedef logic [IndexWidth:0] pointer_t;  // one bit more than an index: full differs from empty
  localparam pointer_t Turn = pointer_t'(3) << (IndexWidth - 1);  // adds Depth words in Gray code

  function automatic pointer_t gray(pointer_t number);
    return number ^ (number >> 1);
  endfunction

  logic [Width-1:0] words_q[Depth];
  logic [Width-1:0] data_q;
  logic valid_q;
  pointer_t write_q, write_gray_q, write_seen;
  pointer_t read_q, read_gray_q, read_seen;

  wire push = wr_valid_i && wr_ready_o;
  wire load = write_seen != read_gray_q && (!valid_q || rd_ready_i);
  wire pointer_t write_d = write_q + pointer_t'(1);  // computed in advance, so that a push is only an enable
  wire pointer_t read_d = read_q + pointer_t'(1);

  assign wr_ready_o = write_gray_q != (read_seen ^ Turn);
  assign rd_valid_o = valid_q;
  assign rd_data_o  = data_q;

  always_ff @(posedge wr_clk_i) begin
    if (push) words_q[write_q[IndexWidth-1:0]] <= wr_data_i;
    if (wr_rst_i) begin
      write_q <= '0;
      write_gray_q <= '0;
    end else if (push) begin
      write_q <= write_d;
      write_gray_q <= gray(write_d);
    end
  end

  always_ff @(posedge rd_clk_i) begin
    if (load) data_q <= words_q[read_q[IndexWidth-1:0]];
    if (rd_rst_i) begin
      read_q <= '0;
      read_gray_q <= '0;
      valid_q <= 1'b0;
    end else begin
      if (load) read_q <= read_d;
      if (load) read_gray_q <= gray(read_d);
      valid_q <= load || (valid_q && !rd_ready_i);
    end
  end

  tw_level_sync #(
      .Width (IndexWidth + 1),
      .Stages(Stages)
  ) write_sync (
      .clk_i  (rd_clk_i),
      .rst_i  (rd_rst_i),
      .level_i(write_gray_q),
      .level_o(write_seen)
  );

  tw_level_sync #(
      .Width (IndexWidth + 1),
      .Stages(Stages)
  ) read_sync (
      .clk_i  (wr_clk_i),
      .rst_i  (wr_rst_i),
      .level_i(read_gray_q),
      .level_o(read_seen)
  );
endmodule
