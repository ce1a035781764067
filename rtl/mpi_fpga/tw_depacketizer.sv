// SPDX-License-Identifier: Apache-2.0
// Extracts a packet's elements as memory words, from the first element on: without the header, and without gaps.
//
// The head flit comes with the number of bytes; bytes behind them in the last word are zero. A packet without elements,
// such as a descriptor, gives one word without bytes, to mark the packet's end.
//
// Order: kept. Latency: a word is valid in the cycle after its last byte arrived. Throughput: a flit per cycle; a
// packet's last word may need one more cycle, without input. Storage: a skid register, and 32 bytes. All outputs depend
// only on registers. Critical path: from the remaining bytes through the number of held lanes, and a 7-way selection
// for each of the word's lanes, to the output register.
module tw_depacketizer (
    input logic clk_i,
    input logic rst_i,

    input  logic         in_valid_i,
    output logic         in_ready_o,
    input  logic [255:0] in_data_i,
    input  logic         in_head_i,
    input  logic         in_tail_i,
    input  logic         in_wide_i,   /// with the head flit: elements of 16 bytes
    input  logic [ 10:0] in_bytes_i,  /// with the head flit: bytes of all elements of the packet, at most its capacity

    output logic         out_valid_o,
    input  logic         out_ready_i,
    output logic [255:0] out_data_o,
    output logic [  5:0] out_bytes_o,  /// valid bytes; 32 except in a packet's last word
    output logic         out_last_o    /// last word of its packet
);
  logic [10:0] left_q;             // bytes of the packet not received yet
  logic [3:0][63:0] held_words_q;  // lanes of 8 bytes not sent yet: 4 if only padding follows
  logic [2:0] held_q;
  logic [5:0] held_bytes_q;
  logic draining_q;                // the tail is received, held lanes are sent

  logic advance;  // the output register accepts a word
  wire takes = in_valid_i && in_ready_o;
  assign in_ready_o = advance && !draining_q;

  // --- Input flit

  wire [10:0] due = in_head_i ? in_bytes_i : left_q;
  wire [5:0] room = !in_head_i ? 6'd32 : in_wide_i ? 6'd16 : 6'd24;
  wire [5:0] bytes = !takes ? 6'd0 : due < 11'(room) ? due[5:0] : room;
  wire [2:0] lanes = 3'((7'(bytes) + 7'd7) >> 3);
  wire [255:0] elements = in_head_i ? in_data_i >> 64 : in_data_i;

  logic [6:0][63:0] there;
  always_comb begin
    there = '0;
    for (int unsigned i = 0; i < 7; i++) begin
      if (i < 32'(held_q)) there[i] = held_words_q[i%4];
      else if (i < 32'(held_q) + 32'(lanes)) there[i] = elements[64*((i-32'(held_q))%4)+:64];
    end
  end

  // --- Output: a full word, or the rest with the tail

  wire [6:0] all_bytes = 7'(held_bytes_q) + 7'(bytes);
  wire ends = draining_q || (takes && in_tail_i);
  wire full = all_bytes >= 7'd32;
  wire transfer = advance && (full || ends);
  wire all_go = ends && all_bytes <= 7'd32;

  logic [255:0] word;
  always_comb begin
    for (int unsigned i = 0; i < 32; i++) word[8*i+:8] = i < 32'(all_bytes) ? there[i/8][8*(i%8)+:8] : 8'd0;
  end

  always_ff @(posedge clk_i) begin
    if (takes) left_q <= due - 11'(bytes);
    if (advance) begin
      draining_q  <= ends && !all_go;
      if (transfer) begin
        held_q <= all_go ? 3'd0 : held_q + lanes - 3'd4;
        held_bytes_q <= all_go ? 6'd0 : 6'(all_bytes - 7'd32);
        for (int unsigned i = 0; i < 3; i++) held_words_q[i] <= there[i+4];
      end else if (takes) begin
        held_q <= held_q + lanes;
        held_bytes_q <= 6'(all_bytes);
        for (int unsigned i = 0; i < 4; i++) held_words_q[i] <= there[i];
      end
    end
    if (rst_i) begin
      draining_q <= 1'b0;
      held_q <= '0;
      held_bytes_q <= '0;
    end
  end

  tw_skid #(
      .Width(263)
  ) out (
      .clk_i,
      .rst_i,
      .in_valid_i (transfer),
      .in_ready_o (advance),
      .in_data_i  ({all_go, full ? 6'd32 : 6'(all_bytes), word}),
      .out_valid_o,
      .out_ready_i,
      .out_data_o ({out_last_o, out_bytes_o, out_data_o})
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i && takes && in_tail_i) all_bytes_came : assert (due == 11'(bytes));
  end
`endif
endmodule
