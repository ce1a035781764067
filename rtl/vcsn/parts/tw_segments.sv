// SPDX-License-Identifier: Apache-2.0
// A DMA engine's position in its transfers: a queue of segments, with an offset in the first one. A transfer begins when all of its
// segments have arrived; if it ends early, its remaining segments are skipped, one per cycle. The source ensures that there is room.
//
// Order: kept. Latency: two cycles from a transfer's last segment to its first one at the output. Throughput: a segment per cycle. Storage: Segments in
// LUTRAM, and one. Outputs are registers. Critical path: from by_i through the remaining words to few_o.
module tw_segments #(
    parameter  int unsigned Segments    = 32,                /// in the queue, a power of two, at least 2
    parameter  int unsigned Burst       = 16,                /// maximum advance in words, a power of two
    parameter  int unsigned AddressBits = 40,                /// of bytes
    parameter  int unsigned LengthBits  = 26,                /// of the words of a segment
    localparam int unsigned BurstBits   = $clog2(Burst + 1)
) (
    input logic                   clk_i,
    input logic                   rst_i,
    input logic                   in_valid_i,
    input logic [AddressBits-1:0] in_address_i,
    input logic [ LengthBits-1:0] in_words_i,    /// at least 1
    input logic [            5:0] in_tail_i,     /// bytes of its last word; 0: all 64
    input logic                   in_last_i,     /// of the transfer
    input logic [            7:0] in_channel_i,  /// of the transfer

    output logic                   valid_o,
    output logic [AddressBits-1:0] address_o,  /// of the next word
    output logic [  BurstBits-1:0] room_o,     /// maximum advance, within the segment
    output logic                   few_o,      /// room_o is all that is left of it
    output logic [            5:0] tail_o,     /// of the segment
    output logic [           63:0] kept_o,     /// the same as a byte mask
    output logic                   first_o,    /// the transfer has not advanced yet
    output logic                   last_o,     /// the segment is the transfer's last one
    output logic [            7:0] channel_o,
    input  logic                   advance_i,
    input  logic [  BurstBits-1:0] by_i,       /// words, at least one
    input  logic                   end_i       /// ends the transfer
);
  if (Segments < 2 || (Segments & (Segments - 1)) != 0) begin : check_segments
    $error("tw_segments: Segments must be a power of two, at least 2");
  end

  typedef struct packed {
    logic [AddressBits-1:0] address;
    logic [LengthBits-1:0] words;
    logic [5:0] tail;
    logic last;
    logic [7:0] channel;
  } segment_t;
  localparam int unsigned IndexBits = $clog2(Segments);
  typedef logic [IndexBits:0] pointer_t;  // with a wrap bit, to distinguish full from empty

  segment_t segments_q[Segments];
  segment_t front, segment_q;
  logic valid_q, skips_q, few_q, first_q;
  pointer_t write_q, whole_q, read_q;  // next segment to write; after the last complete transfer; next segment to load

  logic [BurstBits-1:0] room_q;
  logic [63:0] kept_q;
  wire [BurstBits:0] low = segment_q.words[BurstBits:0];
  wire [BurstBits-1:0] after = low[BurstBits-1:0] - by_i;  // if few are left
  wire few = 32'(segment_q.words) <= 2 * Burst && 32'(low) <= Burst + 32'(by_i);
  wire ends = (advance_i && few_q && by_i == room_q) || end_i || skips_q;
  wire loads = whole_q != read_q && (!valid_q || ends);

  assign front   = segments_q[read_q[IndexBits-1:0]];
  assign valid_o = valid_q && !skips_q;
  assign address_o = segment_q.address;
  assign room_o = room_q;
  assign few_o = few_q;
  assign tail_o = segment_q.tail;
  assign kept_o = kept_q;
  assign first_o = first_q;
  assign last_o = segment_q.last;
  assign channel_o = segment_q.channel;

  always_ff @(posedge clk_i) begin
    if (in_valid_i) begin
      segments_q[write_q[IndexBits-1:0]] <= '{
          address: in_address_i,
          words: in_words_i,
          tail: in_tail_i,
          last: in_last_i,
          channel: in_channel_i
      };
    end
    if (loads) begin
      segment_q <= front;
      kept_q <= front.tail == 0 ? '1 : ~(64'hFFFF_FFFF_FFFF_FFFF << front.tail);
      few_q <= 32'(front.words) <= Burst;
      room_q <= 32'(front.words) <= Burst ? front.words[BurstBits-1:0] : BurstBits'(Burst);
    end else if (advance_i) begin
      segment_q.address <= segment_q.address + AddressBits'({by_i, 6'd0});
      segment_q.words <= segment_q.words - LengthBits'(by_i);
      few_q <= few;
      room_q <= few ? after : BurstBits'(Burst);
    end
    if (rst_i) begin
      valid_q <= 1'b0;
      skips_q <= 1'b0;
      first_q <= 1'b1;
      write_q <= '0;
      whole_q <= '0;
      read_q  <= '0;
    end else begin
      valid_q <= loads || (valid_q && !ends);
      skips_q <= (end_i || skips_q) && !segment_q.last;
      if (end_i || advance_i) first_q <= end_i || (ends && segment_q.last);
      if (in_valid_i) write_q <= write_q + 1'b1;
      if (in_valid_i && in_last_i) whole_q <= write_q + 1'b1;
      if (loads) read_q <= read_q + 1'b1;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      has_room : assert (!in_valid_i || write_q != (read_q ^ pointer_t'(Segments)));
      has_words : assert (!in_valid_i || in_words_i != 0);
      advances_within : assert (!advance_i || (valid_o && by_i != 0 && by_i <= room_q));
      ends_where_it_is : assert (!end_i || valid_o);
    end
  end
`endif
endmodule
