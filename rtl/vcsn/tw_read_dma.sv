// SPDX-License-Identifier: Apache-2.0
// DMA engine from a node's memory to its crossbar: a transfer's segments form one packet of words. Bursts are requested as far ahead as the
// buffer has free entries for their words. Bytes of the last word beyond the transfer's end are zero.
//
// A request is accepted in its cycle, and the next one follows after as many cycles as it has words. The memory answers in order, from the next cycle on. Each segment
// except a transfer's last one consists of whole words. At most Segments of them may be queued, which the source ensures.
//
// Order: kept. Latency: a request three cycles after a transfer's last segment arrived; a word is at the output two cycles after the memory's answer.
// Throughput: a word per cycle. Storage: Buffer words in a memory with a registered output, which can be block RAM, one beside it, and as
// many descriptors; Segments in LUTRAM. Outputs are registers, or depend only on registers. Critical path: from the buffer's free entries through the request to the remaining words of the segment.
module tw_read_dma
  import tw_vcsn_pkg::*;
#(
    parameter  int unsigned Burst       = 16,                /// maximum words of a request, a power of two, at least 2
    parameter  int unsigned Buffer      = 128,               /// words, a power of two, at least Burst
    parameter  int unsigned Segments    = 32,                /// in the queue, a power of two, at least 2
    parameter  int unsigned AddressBits = 40,                /// of bytes
    parameter  int unsigned LengthBits  = 26,                /// of the words of a segment
    localparam int unsigned BurstBits   = $clog2(Burst + 1)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                   segment_valid_i,
    input logic [AddressBits-1:0] segment_address_i,
    input logic [ LengthBits-1:0] segment_words_i,    /// at least 1
    input logic [            5:0] segment_tail_i,     /// bytes of its last word; 0: all 64
    input logic                   segment_last_i,     /// of the transfer
    input logic [            7:0] segment_channel_i,  /// of the transfer

    output logic                   request_valid_o,
    output logic [AddressBits-1:0] request_address_o,
    output logic [  BurstBits-1:0] request_words_o,
    input  logic                   answer_valid_i,     /// a word
    input  logic [   WordBits-1:0] answer_data_i,

    output logic                out_valid_o,
    input  logic                out_ready_i,
    output logic [WordBits-1:0] out_data_o,
    output logic                out_first_o,    /// of a packet
    output logic                out_last_o,
    output logic [         7:0] out_channel_o,

    output logic ended_o  /// a transfer's last word left in the previous cycle
);
  if (Burst < 2 || (Burst & (Burst - 1)) != 0 || Buffer < Burst || (Buffer & (Buffer - 1)) != 0) begin : check_sizes
    $error("tw_read_dma: Burst and Buffer must be powers of two, Burst at least 2, Buffer not less");
  end

  localparam int unsigned PlacesBits = $clog2(Buffer + 1);

  typedef struct packed {
    logic [BurstBits-1:0] more;  // words after the first one
    logic first, last;
    logic [5:0] tail;
    logic [7:0] channel;
  } burst_t;
  typedef struct packed {
    logic first, last;
    logic [7:0] channel;
    logic [WordBits-1:0] data;
  } word_t;

  // Requests.
  logic there, few, first, last;
  logic [5:0] tail;
  logic [7:0] channel;
  logic [PlacesBits-1:0] places_q;  // free entries of the buffer that are not reserved
  logic [BurstBits-1:0] pause_q;  // cycles until the next request
  logic paused_q;

  wire request = there && !paused_q && places_q >= PlacesBits'(request_words_o);
  wire taken = out_valid_o && out_ready_i;

  assign request_valid_o = request;

  tw_segments #(
      .Segments   (Segments),
      .Burst      (Burst),
      .AddressBits(AddressBits),
      .LengthBits (LengthBits)
  ) segments (
      .clk_i,
      .rst_i,
      .in_valid_i  (segment_valid_i),
      .in_address_i(segment_address_i),
      .in_words_i  (segment_words_i),
      .in_tail_i   (segment_tail_i),
      .in_last_i   (segment_last_i),
      .in_channel_i(segment_channel_i),
      .valid_o     (there),
      .address_o   (request_address_o),
      .room_o      (request_words_o),
      .few_o       (few),
      .tail_o      (tail),
      .kept_o      (),
      .first_o     (first),
      .last_o      (last),
      .channel_o   (channel),
      .advance_i   (request),
      .by_i        (request_words_o),
      .end_i       (1'b0)
  );

  always_ff @(posedge clk_i) begin
    if (request || paused_q) pause_q <= request ? request_words_o - 1'b1 : pause_q - 1'b1;
    if (rst_i) begin
      places_q <= PlacesBits'(Buffer);
      paused_q <= 1'b0;
    end else begin
      places_q <= places_q + PlacesBits'(taken) - (request ? PlacesBits'(request_words_o) : '0);
      paused_q <= request ? request_words_o != 1 : paused_q && pause_q != 1;
    end
  end

  // Answers.
  burst_t burst;
  logic [BurstBits-1:0] answered_q;  // words of the burst at the head
  word_t word_1q, word, out;  // as answered; with zeros beyond the transfer's end
  logic [WordBytes-1:0] beyond_1q;  // bytes
  logic valid_1q;

  wire burst_ends = answered_q == burst.more;
  always_comb begin
    word = word_1q;
    for (int unsigned i = 0; i < WordBytes; i++) if (word_1q.last && beyond_1q[i]) word.data[8*i+:8] = '0;
  end

  always_ff @(posedge clk_i) begin
    word_1q <= '{
        first: burst.first && answered_q == 0,
        last: burst.last && burst_ends,
        channel: burst.channel,
        data: answer_data_i
    };
    beyond_1q <= burst.tail == 0 ? '0 : '1 << burst.tail;
    valid_1q <= !rst_i && answer_valid_i;
  end

  logic asked;
  tw_word_buffer #(
      .Width($bits(burst_t)),
      .Depth(Buffer)
  ) bursts (
      .clk_i,
      .rst_i,
      .in_valid_i (request),
      .in_data_i  ({request_words_o - 1'b1, first, last && few, tail, channel}),
      .out_valid_o(asked),
      .out_ready_i(answer_valid_i && burst_ends),
      .out_data_o (burst)
  );

  tw_word_buffer #(
      .Width($bits(word_t)),
      .Depth(Buffer)
  ) buffer (
      .clk_i,
      .rst_i,
      .in_valid_i (valid_1q),
      .in_data_i  (word),
      .out_valid_o(out_valid_o),
      .out_ready_i(out_ready_i),
      .out_data_o (out)
  );
  assign {out_first_o, out_last_o, out_channel_o, out_data_o} = out;

  logic ended_q;
  assign ended_o = ended_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      answered_q <= '0;
      ended_q <= 1'b0;
    end else begin
      if (answer_valid_i) answered_q <= burst_ends ? '0 : answered_q + 1'b1;
      ended_q <= taken && out.last;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) answers_what_was_asked : assert (!answer_valid_i || asked);
  end
`endif
endmodule
