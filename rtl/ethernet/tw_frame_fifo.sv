// SPDX-License-Identifier: Apache-2.0
// FIFO of whole frames: words are output only after their frame has been committed, so a reader sees no gap in it, and never a word
// of a dropped frame.
//
// A frame's words are committed or dropped with its last one or later, before the next frame's first one. The writer must respect room_o: while
// it is set, Room words fit from this cycle on.
//
// Order: kept. Latency: a word is at the output three cycles after its commit. Throughput: one word per cycle in and out. Storage: Depth words
// in a memory with a registered output, which can be block RAM, and one more at the output. All outputs are registers. Critical path: from
// out_ready_i to the enables of both output registers and the read pointer; the carry chains of the pointers.
module tw_frame_fifo #(
    parameter int unsigned Width = 32,  /// bits of a word, at least 1
    parameter int unsigned Depth = 256,  /// words in memory, a power of two, at least 4
    parameter int unsigned Room  = 64    /// words, at least 1, at most Depth - 2
) (
    input  logic             clk_i,
    input  logic             rst_i,
    input  logic             in_valid_i,
    input  logic [Width-1:0] in_data_i,
    input  logic             in_commit_i,  /// words so far, including that of this cycle
    input  logic             in_drop_i,    /// the same words; not both
    output logic             room_o,
    output logic             out_valid_o,
    input  logic             out_ready_i,
    output logic [Width-1:0] out_data_o
);
  if (Depth < 4 || 2 ** $clog2(Depth) != Depth) begin : check_depth
    $error("tw_frame_fifo: Depth must be a power of two, at least 4");
  end
  if (Room < 1 || Room > Depth - 2) begin : check_room
    $error("tw_frame_fifo: Room must be 1 to Depth - 2");
  end

  localparam int unsigned IndexBits = $clog2(Depth);
  typedef logic [IndexBits:0] pointer_t;

  logic [Width-1:0] words_q[Depth];
  pointer_t write_q, kept_q, read_q, used_q;
  logic room_q, next_valid_q, out_valid_q;
  logic [Width-1:0] next_q, out_q;

  wire pointer_t written = write_q + pointer_t'(in_valid_i);
  wire shift = !out_valid_q || out_ready_i;
  wire load = !next_valid_q || shift;
  wire there = read_q != kept_q;

  assign room_o = room_q;
  assign out_valid_o = out_valid_q;
  assign out_data_o = out_q;

  always_ff @(posedge clk_i) begin
    if (in_valid_i) words_q[write_q[IndexBits-1:0]] <= in_data_i;
    if (load) next_q <= words_q[read_q[IndexBits-1:0]];
    if (shift) out_q <= next_q;
    used_q <= write_q - read_q;
    // Two words may have been written since the count.
    room_q <= 32'(used_q) <= Depth - Room - 2;
    if (rst_i) begin
      write_q <= '0;
      kept_q <= '0;
      read_q <= '0;
      used_q <= '0;
      room_q <= 1'b0;
      next_valid_q <= 1'b0;
      out_valid_q <= 1'b0;
    end else begin
      write_q <= in_drop_i ? kept_q : written;
      if (in_commit_i) kept_q <= written;
      if (load) read_q <= read_q + pointer_t'(there);
      if (load) next_valid_q <= there;
      if (shift) out_valid_q <= next_valid_q;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      finds_a_place : assert (!in_valid_i || pointer_t'(write_q - read_q) != pointer_t'(Depth));
      kept_or_dropped : assert (!in_commit_i || !in_drop_i);
    end
  end
`endif
endmodule
