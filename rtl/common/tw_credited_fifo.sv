// SPDX-License-Identifier: Apache-2.0
// FIFO behind a pipeline that cannot stall. The sender reserves an entry (take_i) for each word that it puts into the
// pipeline, so a free entry exists when the word leaves it.
//
// Order: kept. Latency: a word is at the output two cycles after it entered. Throughput: one word per cycle, which
// behind a pipeline of n cycles requires n + 3 entries. Storage: Depth words in a memory, which can be distributed RAM,
// and one at the output. All outputs depend only on registers; out_data_o is a register. Critical path: from
// out_ready_i to the enables of the output and of the counts.
module tw_credited_fifo #(
    parameter int unsigned Width = 32,  /// bits of a word, at least 1
    parameter int unsigned Depth = 8,   /// entries, at least 2, any number
    localparam int unsigned CountWidth = $clog2(Depth + 1)
) (
    input  logic             clk_i,
    input  logic             rst_i,
    output logic             room_o,      /// an entry may be reserved
    input  logic             take_i,      /// only with room_o
    input  logic             in_valid_i,  /// only if an entry was reserved for it, in this cycle or before
    input  logic [Width-1:0] in_data_i,
    output logic             out_valid_o,
    input  logic             out_ready_i,
    output logic [Width-1:0] out_data_o
);
  logic [CountWidth-1:0] taken_q;
  logic memory_ready;

  assign room_o = taken_q != CountWidth'(Depth);

  tw_ram_fifo #(
      .Width(Width),
      .Depth(Depth)
  ) fifo (
      .clk_i,
      .rst_i,
      .in_valid_i,
      .in_ready_o(memory_ready),
      .in_data_i,
      .out_valid_o,
      .out_ready_i,
      .out_data_o,
      .count_o()
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) taken_q <= 0;
    else taken_q <= taken_q + CountWidth'(take_i) - CountWidth'(out_valid_o && out_ready_i);
  end

`ifdef SYNTHESIS
  wire unused_ready = memory_ready;
`else
  logic [CountWidth-1:0] under_way_q;  // words that have an entry and have not arrived

  always_ff @(posedge clk_i) begin
    under_way_q <= rst_i ? 0 : under_way_q + CountWidth'(take_i) - CountWidth'(in_valid_i);
    if (!rst_i) begin
      takes_what_is_there : assert (!take_i || room_o);
      has_a_place : assert (!in_valid_i || take_i || under_way_q != 0);
      finds_a_place : assert (!in_valid_i || memory_ready);
    end
  end
`endif
endmodule
