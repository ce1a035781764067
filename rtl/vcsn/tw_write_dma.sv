// SPDX-License-Identifier: Apache-2.0
// DMA engine from a node's crossbar to its memory: a packet is written to a transfer's segments, and ends the transfer. Words beyond the segments'
// end, and words without a packet's start, are dropped. A packet start within a packet, whose end was lost, ends that packet; if its word is a whole packet, no word
// is accepted in the next cycle.
//
// Words are accepted if there is a transfer for their packet, and written in bursts of Burst words that end with a segment, or with the packet. A burst begins
// when ready_i is set, at least two cycles after the previous one, and its words follow in consecutive cycles; the memory reports each written burst, in order, at most one per cycle. Each
// segment except a transfer's last one consists of whole words. At most Segments of them may be queued, which the source ensures.
//
// Order: kept. Latency: a burst begins in the cycle after its last word arrived. Throughput: a word per cycle in bursts of at least two. Storage: Buffer words in a memory with a
// registered output, which can be block RAM, one beside it, and as many
// descriptors and Segments in LUTRAM. in_ready_o depends only on registers, and so does the memory's side except for ready_i. Critical path: from ready_i and the burst at the head through its words to
// the remaining words of the segment.
module tw_write_dma
  import tw_vcsn_pkg::*;
#(
    parameter  int unsigned Burst       = 16,                /// maximum words of a burst, a power of two, at least 2
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

    input  logic                in_valid_i,
    output logic                in_ready_o,
    input  logic [WordBits-1:0] in_data_i,
    input  logic                in_first_i,  /// of a packet
    input  logic                in_last_i,

    input  logic                   ready_i,          /// a burst may begin
    output logic                   burst_valid_o,    /// a burst begins, with its first word in the same cycle
    output logic [AddressBits-1:0] burst_address_o,
    output logic [  BurstBits-1:0] burst_words_o,
    output logic                   word_valid_o,
    output logic [   WordBits-1:0] word_data_o,
    output logic [  WordBytes-1:0] word_keep_o,      /// bytes to write
    input  logic                   written_i,        /// a burst has been written

    output logic ended_o,     /// a transfer has ended, and its packet is in memory
    output logic overrun_o,   /// a word beyond the segments was dropped in the previous cycle
    output logic headless_o,  /// a word without a packet's start was dropped
    output logic broken_o     /// a packet without an end
);
  if (Burst < 2 || (Burst & (Burst - 1)) != 0 || Buffer < Burst || (Buffer & (Buffer - 1)) != 0) begin : check_sizes
    $error("tw_write_dma: Burst and Buffer must be powers of two, Burst at least 2, Buffer not less");
  end

  localparam int unsigned PlacesBits = $clog2(Buffer + 1);
  localparam int unsigned TransfersBits = $clog2(Segments + 1) + 1;
  localparam int unsigned NumberBits = 10;  // more than the outstanding bursts

  typedef logic [BurstBits-1:0] words_t;
  typedef logic [NumberBits-1:0] number_t;
  typedef struct packed {
    words_t words;
    logic last;  // it ends a packet
  } burst_t;

  // Input: words go to the buffer; a complete burst, or the end of a packet, to the queue of bursts.
  logic transfer_q;  // all segments of a transfer have arrived; its first one is available in the next cycle
  logic signed [TransfersBits-1:0] transfers_q;  // transfers whose packet has not ended
  logic [PlacesBits-1:0] places_q;
  logic room_q;  // places_q is not 0
  logic open_q, headless_q, broken_q;
  logic single_q;  // the last word was a whole packet, and ended another one
  words_t gathered_q;  // of the incomplete burst
  logic fills_q;  // the next word completes it

  assign in_ready_o = transfers_q > 0 && room_q && !single_q;

  wire take = in_valid_i && in_ready_o;
  wire breaks = take && in_first_i && open_q;
  wire keep = take && (in_first_i || open_q);
  wire words_t words = breaks ? words_t'(1) : gathered_q + 1'b1;
  wire leaves = single_q || breaks || (keep && in_last_i);  // a transfer's packet has ended; in the case of single_q the second one a cycle later
  wire whole = keep && (in_last_i || (fills_q && !breaks));

  logic burst_there, burst_goes;
  burst_t burst;

  tw_word_buffer #(
      .Width($bits(burst_t)),
      .Depth(Buffer),
      .Block(1'b0)
  ) bursts (
      .clk_i,
      .rst_i,
      .in_valid_i (breaks || whole || single_q),
      .in_data_i  ({single_q ? words_t'(1) : breaks ? gathered_q : gathered_q + 1'b1, breaks || single_q || in_last_i}),
      .out_valid_o(burst_there),
      .out_ready_i(burst_goes),
      .out_data_o (burst)
  );

  logic word_there, word_goes;

  tw_word_buffer #(
      .Width(WordBits),
      .Depth(Buffer)
  ) buffer (
      .clk_i,
      .rst_i,
      .in_valid_i (keep),
      .in_data_i  (in_data_i),
      .out_valid_o(word_there),
      .out_ready_i(word_goes),
      .out_data_o (word_data_o)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      transfer_q <= 1'b0;
      transfers_q <= '0;
      places_q <= PlacesBits'(Buffer);
      room_q <= 1'b1;
      open_q <= 1'b0;
      headless_q <= 1'b0;
      broken_q <= 1'b0;
      single_q <= 1'b0;
      gathered_q <= '0;
      fills_q <= 1'b0;
    end else begin
      transfer_q <= segment_valid_i && segment_last_i;
      if (transfer_q != leaves) transfers_q <= transfers_q + signed'({{TransfersBits - 1{leaves}}, 1'b1});
      if (word_goes != keep) places_q <= places_q + {{PlacesBits - 1{keep}}, 1'b1};
      if (take) open_q <= keep && !in_last_i;
      headless_q <= take && !keep;
      broken_q <= breaks;
      single_q <= breaks && in_last_i;
      room_q <= word_goes || places_q > 1 || (places_q == 1 && !keep);
      if (keep) begin
        gathered_q <= whole ? '0 : words;
        fills_q <= !whole && 32'(breaks ? '0 : gathered_q) == Burst - 2;
      end
    end
  end
  assign headless_o = headless_q;
  assign broken_o   = broken_q;

  // Output: the burst at the head, in pieces that end with a segment. Segments advance in the cycle after a piece begins.
  logic there, last, few, full_q;
  logic [WordBytes-1:0] kept, kept_q;  // bytes of the segment's last word
  words_t room, left_q, running_q;
  logic part_q;  // the burst has begun, and has left_q words left
  logic runs_q, drops_q, tails_q;  // words of a piece follow; they are dropped; the last one is the transfer's last
  logic begun_1q, advances_1q, ends_1q;  // in the previous cycle a piece began; with memory; as the end of a packet
  words_t by_1q;

  wire words_t all = part_q ? left_q : burst.words;
  wire fits = full_q || (part_q ? left_q <= room : burst.words <= room);
  wire words_t piece = fits ? all : room;
  wire begins = burst_there && !runs_q && !begun_1q && ready_i && (full_q || there);
  wire completes = begins && fits;
  wire ends = completes && burst.last;
  wire tails = few && !full_q && all >= room && last;  // the piece ends with the transfer
  wire exhausts = advances_1q && few && by_1q == room && last;  // no segment is left

  assign burst_valid_o = begins && !full_q && all != 0;
  assign burst_words_o = piece;
  assign burst_goes = completes;

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
      .in_channel_i('0),
      .valid_o     (there),
      .address_o   (burst_address_o),
      .room_o      (room),
      .few_o       (few),
      .tail_o      (),
      .kept_o      (kept),
      .first_o     (),
      .last_o      (last),
      .channel_o   (),
      .advance_i   (advances_1q),
      .by_i        (by_1q),
      .end_i       (ends_1q && !full_q)
  );

  // Words of the piece. Bytes beyond the transfer's end are not written.
  wire words_t running = begun_1q ? by_1q - 1'b1 : running_q;  // words left including this one, if any follow the first
  wire final_word = begun_1q ? by_1q == 2 : running_q == 1;
  wire word_tails = runs_q ? final_word && tails_q : few && !full_q && last && room == 1 && all != 0;
  assign word_goes = runs_q || (begins && all != 0);
  assign word_valid_o = runs_q ? !drops_q : burst_valid_o;
  assign word_keep_o  = !word_tails ? '1 : runs_q ? kept_q : kept;

  logic overrun_q;
  assign overrun_o = overrun_q;

  always_ff @(posedge clk_i) begin
    by_1q <= piece;
    if (begins) begin
      left_q <= all - room;
      kept_q <= kept;
      tails_q <= tails;
      drops_q <= full_q;
    end
    if (runs_q) running_q <= running - 1'b1;
    if (rst_i) begin
      part_q <= 1'b0;
      full_q <= 1'b0;
      begun_1q <= 1'b0;
      advances_1q <= 1'b0;
      ends_1q <= 1'b0;
      runs_q <= 1'b0;
      overrun_q <= 1'b0;
    end else begin
      if (begins) begin
        part_q <= !completes;
      end
      begun_1q <= begins;
      advances_1q <= burst_valid_o;
      ends_1q <= ends;
      if (ends_1q) full_q <= 1'b0;
      else if (exhausts) full_q <= 1'b1;
      runs_q <= begins ? all > 1 && (full_q || room > 1) : runs_q && !final_word;  // piece > 1, without the path through fits
      overrun_q <= word_goes && !word_valid_o;
    end
  end

  // A transfer's end waits until the bursts before it have been written.
  number_t begun_q, written_q, due;
  logic due_there;

  assign ended_o = due_there && due == written_q;

  tw_word_buffer #(
      .Width(NumberBits),
      .Depth(Segments),
      .Block(1'b0)
  ) ending (
      .clk_i,
      .rst_i,
      .in_valid_i (ends_1q),
      .in_data_i  (begun_q),
      .out_valid_o(due_there),
      .out_ready_i(ended_o),
      .out_data_o (due)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      begun_q   <= '0;
      written_q <= '0;
    end else begin
      if (burst_valid_o) begun_q <= begun_q + 1'b1;
      written_q <= written_q + number_t'(written_i);
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      words_are_there : assert (!word_goes || word_there);
      writes_what_began : assert (!written_i || begun_q != written_q);
    end
  end
`endif
endmodule
