// SPDX-License-Identifier: Apache-2.0
// FIFO with a latency of one cycle: if it is empty, a written word is at the output in the next cycle. The writer ensures that there
// is room.
//
// Order: kept. Latency: a cycle. Throughput: one word per cycle in and out. Storage: Depth words in a memory, and one. With block RAM the output is
// one of two registers, with LUTRAM it is a register. Critical path: from out_ready_i to the enables of the output.
module tw_word_buffer #(
    parameter int unsigned Width = 512,  /// bits of a word, at least 1
    parameter int unsigned Depth = 128,  /// capacity without the word at the output, a power of two, at least 2
    parameter bit          Block = 1'b1  /// the memory can be block RAM; otherwise LUTRAM
) (
    input  logic             clk_i,
    input  logic             rst_i,
    input  logic             in_valid_i,
    input  logic [Width-1:0] in_data_i,
    output logic             out_valid_o,
    input  logic             out_ready_i,
    output logic [Width-1:0] out_data_o
);
  if (Width < 1) begin : check_width
    $error("tw_word_buffer: Width must be at least 1");
  end
  if (Depth < 2 || (Depth & (Depth - 1)) != 0) begin : check_depth
    $error("tw_word_buffer: Depth must be a power of two, at least 2");
  end

  localparam int unsigned IndexBits = $clog2(Depth);
  typedef logic [IndexBits:0] pointer_t;  // with a wrap bit, to distinguish full from empty

  logic [Width-1:0] words_q[Depth];
  logic valid_q;
  pointer_t write_q, read_q;

  wire load = !valid_q || out_ready_i;
  wire empty = write_q == read_q;

  assign out_valid_o = valid_q;
  if (Block) begin : block
    logic [Width-1:0] stored_q, passed_q;
    logic passes_q;  // the word at the output bypassed the memory

    assign out_data_o = passes_q ? passed_q : stored_q;
    always_ff @(posedge clk_i) begin
      if (load) begin
        stored_q <= words_q[read_q[IndexBits-1:0]];
        passed_q <= in_data_i;
        passes_q <= empty;
      end
    end
  end else begin : luts
    logic [Width-1:0] front_q;

    assign out_data_o = front_q;
    always_ff @(posedge clk_i) if (load) front_q <= empty ? in_data_i : words_q[read_q[IndexBits-1:0]];
  end

  always_ff @(posedge clk_i) begin
    if (in_valid_i) words_q[write_q[IndexBits-1:0]] <= in_data_i;
    if (rst_i) begin
      valid_q <= 1'b0;
      write_q <= '0;
      read_q  <= '0;
    end else begin
      if (load) valid_q <= !empty || in_valid_i;
      if (in_valid_i && !(load && empty)) write_q <= write_q + 1'b1;
      if (load && !empty) read_q <= read_q + 1'b1;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) has_room : assert (!in_valid_i || load || write_q != (read_q ^ pointer_t'(Depth)));
  end
`endif
endmodule
