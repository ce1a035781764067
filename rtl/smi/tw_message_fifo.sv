// SPDX-License-Identifier: Apache-2.0
// A FIFO of messages, which it outputs without gaps: a message is valid when all of it has arrived, or when the FIFO is full.
//
// Order: kept. Latency: a message is at the output in the cycle after its last word entered. Throughput: one word per
// cycle in and out; a full FIFO accepts a word only in the cycle after one has left. Storage: Depth words, and a bit
// for each. All outputs depend only on registers. Critical path: that of tw_fifo.
module tw_message_fifo #(
    parameter int unsigned Width = 32,  /// bits of a word, at least 1
    parameter int unsigned Depth = 8,   /// words, at least 1
    localparam int unsigned CountWidth = $clog2(Depth + 1)
) (
    input  logic             clk_i,
    input  logic             rst_i,
    input  logic             in_valid_i,
    output logic             in_ready_o,
    input  logic [Width-1:0] in_data_i,
    input  logic             in_last_i,    /// last word of its message
    output logic             out_valid_o,
    input  logic             out_ready_i,
    output logic [Width-1:0] out_data_o
);
  logic valid, last;
  logic [CountWidth-1:0] whole_q;  // messages whose last word is in the FIFO
  logic any_q;  // whole_q is above 0
  logic begun_q;  // words of the first message have already left

  wire push = in_valid_i && in_ready_o;
  wire pop = out_valid_o && out_ready_i;
  wire [CountWidth-1:0] whole_d = whole_q + CountWidth'(push && in_last_i) - CountWidth'(pop && last);

  assign out_valid_o = valid && (any_q || begun_q || !in_ready_o);

  tw_fifo #(
      .Width(Width + 1),
      .Depth(Depth)
  ) words (
      .clk_i,
      .rst_i,
      .in_valid_i,
      .in_ready_o,
      .in_data_i  ({in_last_i, in_data_i}),
      .out_valid_o(valid),
      .out_ready_i(pop),
      .out_data_o ({last, out_data_o}),
      .count_o    ()
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      whole_q <= 0;
      any_q   <= 1'b0;
      begun_q <= 1'b0;
    end else begin
      whole_q <= whole_d;
      any_q   <= whole_d != 0;
      if (pop) begun_q <= !last;
    end
  end
endmodule
