// SPDX-License-Identifier: Apache-2.0
// First in, first out, of a depth that is worth block RAM: the memory's output register is the word at the front.
//
// Order: kept. Latency: a word is at the output two cycles after it came in. Throughput: one word a cycle in and out; a full
// memory takes a word only in the cycle after one has left it. Storage: Depth words in a memory with a registered output, which
// can be block RAM, and one at the output. The output is a register, in_ready_o depends on registers alone. Critical path: from
// out_ready_i to the enables of the output and of the count.
module tw_ram_fifo #(
    parameter int unsigned Width = 32,   /// bits of a word, at least 1
    parameter int unsigned Depth = 512,  /// words in memory, at least 2, any number
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
    output logic [CountWidth-1:0] count_o       /// words in memory
);
  if (Width < 1) begin : check_width
    $error("tw_ram_fifo: Width must be at least 1");
  end
  if (Depth < 2) begin : check_depth
    $error("tw_ram_fifo: Depth must be at least 2");
  end

  localparam int unsigned IndexWidth = $clog2(Depth);
  localparam logic [IndexWidth-1:0] Last = IndexWidth'(Depth - 1);

  logic [Width-1:0] words_q[Depth];
  logic [Width-1:0] data_q;
  logic [IndexWidth-1:0] read_q, write_q;
  logic [CountWidth-1:0] count_q;
  logic valid_q;

  wire push = in_valid_i && in_ready_o;
  wire load = count_q != 0 && (!valid_q || out_ready_i);

  assign in_ready_o  = count_q != CountWidth'(Depth);
  assign out_valid_o = valid_q;
  assign out_data_o  = data_q;
  assign count_o     = count_q;

  always_ff @(posedge clk_i) begin
    if (push) words_q[write_q] <= in_data_i;
    if (load) data_q <= words_q[read_q];
    if (rst_i) begin
      read_q  <= 0;
      write_q <= 0;
      count_q <= 0;
      valid_q <= 1'b0;
    end else begin
      if (push) write_q <= write_q == Last ? 0 : write_q + 1;
      if (load) read_q <= read_q == Last ? 0 : read_q + 1;
      count_q <= count_q + CountWidth'(push) - CountWidth'(load);
      valid_q <= load || (valid_q && !out_ready_i);
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
