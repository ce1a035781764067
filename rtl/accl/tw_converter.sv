// SPDX-License-Identifier: Apache-2.0
// Converts the elements of packets from float32 to float16 or back, or passes them unchanged. Elements are dense from byte 0 of a
// packet's first word: two words become one, or one becomes two. In a converted packet, the bytes after the last element are derived
// from the corresponding input bytes and have no meaning.
//
// The conversion of a packet accompanies each of its words. in_half_i applies to the last word of a packet to be widened: that word
// becomes one word if its elements fill at most half of it (tw_accl_pkg::fill_half).
//
// Order: kept. Latency: seven cycles from the word that completes a result to the result; one without conversions.
// Throughput: a word per cycle on the longer of the two streams. Storage: eight words in distributed RAM, one at the output,
// two halves, and the pipeline, whose delays are shift registers. in_ready_o depends only on registers, out_data_o is a register.
// Critical path: from the FIFO's output through its counts, or that of tw_narrow.
module tw_converter
  import tw_accl_pkg::*;
#(
    parameter bit Conversions = 1'b1  /// built in; otherwise in_conversion_i is ConvertNot
) (
    input logic clk_i,
    input logic rst_i,

    input  logic        in_valid_i,
    output logic        in_ready_o,
    input  word_t       in_data_i,
    input  logic        in_last_i,
    input  conversion_e in_conversion_i,  /// constant within a packet
    input  logic        in_half_i,

    output logic  out_valid_o,
    input  logic  out_ready_i,
    output word_t out_data_o,
    output logic  out_last_o
);
  localparam int unsigned HalfBits = WordBits / 2;
  localparam int unsigned Lanes = HalfBits / 16;
  localparam int unsigned Cycles = 5;  // of the pipeline

  if (!Conversions) begin : passes
    wire unused = &{1'b0, in_conversion_i, in_half_i};
    tw_skid #(
        .Width(WordBits + 1)
    ) skid (
        .clk_i,
        .rst_i,
        .in_valid_i,
        .in_ready_o,
        .in_data_i ({in_last_i, in_data_i}),
        .out_valid_o,
        .out_ready_i,
        .out_data_o({out_last_o, out_data_o})
    );

`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      if (!rst_i) converts_nothing : assert (!in_valid_i || in_conversion_i == ConvertNot);
    end
`endif
  end else begin : converts
    typedef logic [HalfBits-1:0] half_t;
    typedef struct packed {
      logic narrows;
      logic widens;
      logic second;  // of two words that become one
      logic last;
    } step_t;

    // Input of the pipeline: a word, or the upper half of the previous one.
    logic room, second_q, upper_valid_q, upper_last_q;
    half_t upper_q;
    wire accept = in_valid_i && in_ready_o;
    wire narrows = in_conversion_i == Narrow;
    wire widens = in_conversion_i == Widen;
    wire rest = upper_valid_q && room;
    wire first = narrows && !second_q && !in_last_i;  // of two words
    wire more = widens && !(in_last_i && in_half_i);
    wire makes = rest || (accept && !first);
    wire half_t to_widen = upper_valid_q ? upper_q : in_data_i[HalfBits-1:0];

    assign in_ready_o = room && !upper_valid_q;

    always_ff @(posedge clk_i) begin
      if (accept) begin
        upper_q <= in_data_i[WordBits-1:HalfBits];
        upper_last_q <= in_last_i;
      end
      if (rst_i) begin
        second_q <= 1'b0;
        upper_valid_q <= 1'b0;
      end else begin
        if (accept) second_q <= first;
        if (accept) upper_valid_q <= more;
        else if (rest) upper_valid_q <= 1'b0;
      end
    end

    half_t narrowed_4q;
    word_t widened_2q, passed_2q;
    for (genvar i = 0; i < Lanes; i++) begin : lanes
      tw_narrow narrow (
          .clk_i,
          .wide_i  (in_data_i[32*i+:32]),
          .narrow_o(narrowed_4q[16*i+:16])
      );
      tw_widen widen (
          .clk_i,
          .narrow_i(to_widen[16*i+:16]),
          .wide_o  (widened_2q[32*i+:32])
      );
    end
    tw_delay #(
        .Width (WordBits),
        .Stages(2)
    ) passed (
        .clk_i,
        .in_i (in_data_i),
        .out_o(passed_2q)
    );

    // Output of the pipeline.
    logic [Cycles:1] valid_q;
    step_t [Cycles-1:1] step_q;
    logic last_5q;
    word_t wide_3q, wide_4q, word_5q;
    half_t before_q;  // the first of two words that become one
    wire step_t step = '{
        narrows: accept && narrows,
        widens: widens || upper_valid_q,
        second: second_q,
        last: rest ? upper_last_q : in_last_i && !more
    };

    always_ff @(posedge clk_i) begin
      step_q <= {step_q[Cycles-2:1], step};
      last_5q <= step_q[4].last;
      valid_q <= rst_i ? '0 : {valid_q[Cycles-1:1], makes};
      wide_3q <= step_q[2].widens ? widened_2q : passed_2q;
      wide_4q <= wide_3q;
      word_5q <= wide_4q;
      if (step_q[4].narrows) begin
        word_5q <= {narrowed_4q, step_q[4].second ? before_q : narrowed_4q};
        if (!step_q[4].second) before_q <= narrowed_4q;
      end
    end

    tw_credited_fifo #(
        .Width(WordBits + 1),
        .Depth(Cycles + 3)
    ) fifo (
        .clk_i,
        .rst_i,
        .room_o    (room),
        .take_i    (makes),
        .in_valid_i(valid_q[Cycles]),
        .in_data_i ({last_5q, word_5q}),
        .out_valid_o,
        .out_ready_i,
        .out_data_o({out_last_o, out_data_o})
    );
  end
endmodule
