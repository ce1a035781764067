// SPDX-License-Identifier: Apache-2.0
// Combines two streams of words element by element, or passes the words of x. The operation of a packet of x accompanies each of
// its words. A combined packet takes one packet of y with the same number of words.
//
// The lanes cannot be stalled, so a FIFO entry is reserved for a result before its operands enter the lanes.
// Passed words go around the lanes with the same delay.
//
// Order: that of x. Latency: Latency + 2 cycles; one if nothing can be combined. Throughput: a word per cycle. Storage: Latency + 3
// words in distributed RAM, one at the output, those of the lanes, and a shift register for passed words. x_ready_o and y_ready_o
// depend on both inputs' valid signals, out_data_o is a register. Critical path: that of tw_lane, or from the valid signals through
// the FIFO's credit count.
module tw_combiner
  import tw_spec_pkg::*, tw_reduce_pkg::*, tw_accl_pkg::*;
#(
    parameter int unsigned Latency = 14,  /// of the lanes, in cycles, at least 1
    /// Supported pairs, bit [datatype][operator]. If there are none, x_combines_i is 0 and y is never read.
    parameter pairs_t Pairs = accl_pairs()
) (
    input logic clk_i,
    input logic rst_i,

    input  logic      x_valid_i,
    output logic      x_ready_o,
    input  word_t     x_data_i,
    input  logic      x_last_i,
    input  logic      x_combines_i,   /// constant within a packet
    input  operator_e x_operation_i,  /// if it combines; constant within a packet
    input  datatype_e x_datatype_i,   /// constant within a packet

    input  logic  y_valid_i,
    output logic  y_ready_o,
    input  word_t y_data_i,
    input  logic  y_last_i,   /// with the word that is combined with the last word of x

    output logic  out_valid_o,
    input  logic  out_ready_i,
    output word_t out_data_o,
    output logic  out_last_o
);
  if (Pairs == '0) begin : passes
    wire unused = &{1'b0, x_combines_i, x_operation_i, x_datatype_i, y_valid_i, y_data_i, y_last_i};
    assign y_ready_o = 1'b0;
    tw_skid #(
        .Width(WordBits + 1)
    ) skid (
        .clk_i,
        .rst_i,
        .in_valid_i (x_valid_i),
        .in_ready_o (x_ready_o),
        .in_data_i  ({x_last_i, x_data_i}),
        .out_valid_o,
        .out_ready_i,
        .out_data_o ({out_last_o, out_data_o})
    );

`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      if (!rst_i) combines_nothing : assert (!x_valid_i || !x_combines_i);
    end
`endif
  end else begin : combines
    localparam int unsigned LaneBits = 256;
    localparam int unsigned Lanes = WordBits / LaneBits;

    logic room;
    wire take = x_valid_i && x_ready_o;
    assign x_ready_o = room && (!x_combines_i || y_valid_i);
    assign y_ready_o = room && x_combines_i && x_valid_i;

    logic [Lanes-1:0] combined, combined_last;
    word_t result, passed;
    logic passed_last;
    for (genvar i = 0; i < Lanes; i++) begin : lanes
      tw_lane #(
          .Latency(Latency),
          .Pairs  (Pairs)
      ) lane (
          .clk_i,
          .rst_i,
          .in_valid_i    (take && x_combines_i),
          .in_operation_i(x_operation_i),
          .in_datatype_i (x_datatype_i),
          .in_head_i     (1'b0),
          .in_bytes_i    (6'(LaneBits / 8)),
          .in_a_i        (x_data_i[LaneBits*i+:LaneBits]),
          .in_b_i        (y_data_i[LaneBits*i+:LaneBits]),
          .in_tag_i      (x_last_i),
          .out_valid_o   (combined[i]),
          .out_data_o    (result[LaneBits*i+:LaneBits]),
          .out_tag_o     (combined_last[i])
      );
    end
    tw_delay #(
        .Width (WordBits + 1),
        .Stages(Latency)
    ) background (
        .clk_i,
        .in_i ({x_last_i, x_data_i}),
        .out_o({passed_last, passed})
    );
    wire unused_alike = &{1'b0, combined[Lanes-1:1], combined_last[Lanes-1:1]};

    logic [Latency-1:0] passes_q;
    always_ff @(posedge clk_i) passes_q <= rst_i ? '0 : Latency'({passes_q, take && !x_combines_i});

    tw_credited_fifo #(
        .Width(WordBits + 1),
        .Depth(Latency + 3)
    ) fifo (
        .clk_i,
        .rst_i,
        .room_o     (room),
        .take_i     (take),
        .in_valid_i (combined[0] || passes_q[Latency-1]),
        .in_data_i  (combined[0] ? {combined_last[0], result} : {passed_last, passed}),
        .out_valid_o,
        .out_ready_i,
        .out_data_o ({out_last_o, out_data_o})
    );

`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      if (!rst_i) as_long_as_x : assert (!take || !x_combines_i || x_last_i == y_last_i);
    end
`endif
  end
endmodule
