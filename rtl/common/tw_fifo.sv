// SPDX-License-Identifier: Apache-2.0
// FIFO of any depth.
//
// Order: kept. Latency: a word is at the output in the cycle after it entered. Throughput: one word per cycle in and
// out; a full FIFO can be read, but accepts a word only in the cycle after one has left. Storage: Depth words. All
// outputs depend only on registers. Critical path: from count_q through push to the write enables of the memory; with
// hundreds of words, the carry chain of the count.
module tw_fifo #(
    parameter int unsigned Width = 32,  /// bits of a word, at least 1
    parameter int unsigned Depth = 8,   /// words, at least 1, any number
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
    output logic [CountWidth-1:0] count_o
);
  if (Width < 1) begin : check_width
    $error("tw_fifo: Width must be at least 1");
  end
  if (Depth < 1) begin : check_depth
    $error("tw_fifo: Depth must be at least 1");
  end

  localparam int unsigned IndexWidth = Depth > 1 ? $clog2(Depth) : 1;
  localparam logic [IndexWidth-1:0] Last = IndexWidth'(Depth - 1);

  logic [Width-1:0] words_q[Depth];
  logic [IndexWidth-1:0] read_q, write_q;
  logic [CountWidth-1:0] count_q;

  wire push = in_valid_i && in_ready_o;
  wire pop = out_valid_o && out_ready_i;

  assign in_ready_o  = count_q != CountWidth'(Depth);
  assign out_valid_o = count_q != 0;
  assign out_data_o  = words_q[read_q];
  assign count_o     = count_q;

  always_ff @(posedge clk_i) begin
    if (push) words_q[write_q] <= in_data_i;
    if (rst_i) begin
      read_q  <= 0;
      write_q <= 0;
      count_q <= 0;
    end else begin
      if (push) write_q <= write_q == Last ? 0 : write_q + 1;
      if (pop) read_q <= read_q == Last ? 0 : read_q + 1;
      count_q <= count_q + CountWidth'(push) - CountWidth'(pop);
    end
  end

`ifndef SYNTHESIS
  wire [IndexWidth:0] ahead = {1'b0, write_q} + (write_q < read_q ? (IndexWidth + 1)'(Depth) : 0) - {1'b0, read_q};

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      bounded : assert (32'(count_q) <= Depth);
      pointers_agree : assert (32'(ahead) == 32'(count_q) % Depth);
    end
  end
`endif
endmodule
