// SPDX-License-Identifier: Apache-2.0
// Builds the packets of a stream: its descriptor (alone for a barrier), then its elements, which arrive as memory words
// from the first element on; if it has none, one packet without elements.
//
// Elements are laid out as in sim/mpi_fpga/packetizer.hpp: behind the 8 bytes of the header, without gaps; elements of
// 16 bytes: one in the first flit, two in each other flit. All packets are full except the last, which has the smallest
// sufficient power of two of flits; bytes behind its elements are zero. If the stream ends within a word, the rest of
// the word is dropped.
//
// Order: kept. Latency: the descriptor is valid in the second cycle after the start, a flit in the cycle after its last
// word arrived. Throughput: a flit per cycle within a stream, and one cycle between streams. Storage: a skid register,
// and up to 24 bytes of received words. All outputs depend only on registers. Critical path: from the remaining bytes
// of a packet through the number of lanes of a flit, and a 7-way selection for each lane, to the output register.
module tw_packetizer
  import tw_spec_pkg::*, tw_mpi_fpga_spec_pkg::*;
(
    input logic clk_i,
    input logic rst_i,

    input  logic              start_valid_i,
    output logic              start_ready_o,
    input  descriptor_t       start_descriptor_i,  /// includes the header of all packets; its `last` is replaced
    input  logic        [2:0] start_size_i,        /// log2 of the flits of a full packet, at most 6

    input  logic         in_valid_i,
    output logic         in_ready_o,
    input  logic [255:0] in_data_i,

    output logic         out_valid_o,
    input  logic         out_ready_i,
    output logic [255:0] out_data_o,
    output logic         out_head_o,
    output logic         out_tail_o
);
  localparam int unsigned LeftBits = 52;  // of a stream: 48-bit count of elements of up to 16 bytes
  localparam int unsigned PacketBits = 11;

  typedef enum logic [1:0] {Idle, Descriptor, Data} state_e;

  state_e state_q;
  descriptor_t descriptor_q;
  logic [2:0] full_size_q, size_q;     // log2 of flits: of a full packet, of the current packet
  logic wide_q;                        // elements of 16 bytes
  logic [LeftBits-1:0] left_q;         // bytes of the stream after this packet
  logic [PacketBits-1:0] in_packet_q;  // bytes of this packet not sent yet
  logic [6:0] flits_q;                 // flits of this packet not sent yet
  logic head_q, last_q;
  logic [2:0][63:0] held_words_q;      // rest of a received word, in lanes of 8 bytes
  logic [1:0] held_q;

  function automatic logic [PacketBits-1:0] capacity(logic wide, logic [2:0] size);
    return PacketBits'((12'd32 << size) - (wide ? 12'd16 : 12'd8));
  endfunction

  // --- The next flit, from held lanes and a word

  logic advance;  // the output register accepts a flit
  wire [5:0] room = !head_q ? 6'd32 : wide_q ? 6'd16 : 6'd24;
  wire [5:0] bytes = in_packet_q < PacketBits'(room) ? in_packet_q[5:0] : room;
  wire [2:0] lanes = 3'((7'(bytes) + 7'd7) >> 3);
  wire takes_word = lanes > 3'(held_q);
  wire transfer = advance && (state_q == Descriptor || (state_q == Data && (!takes_word || in_valid_i)));

  assign start_ready_o = state_q == Idle;
  assign in_ready_o = state_q == Data && advance && takes_word;

  logic [6:0][63:0] there;  // in order
  always_comb begin
    there = '0;
    for (int unsigned i = 0; i < 7; i++) begin
      if (i < 32'(held_q)) there[i] = held_words_q[i%3];
      else if (i < 32'(held_q) + 4) there[i] = in_data_i[64*((i-32'(held_q))%4)+:64];
    end
  end

  logic [255:0] payload;
  always_comb begin
    for (int unsigned i = 0; i < 32; i++) payload[8*i+:8] = i < 32'(bytes) ? there[i/8][8*(i%8)+:8] : 8'd0;
  end

  network_header_t header;
  always_comb begin
    header = network_header_t'(descriptor_q[47:0]);
    header.kind = KindData;
    header.size = size_q;
    header.last = last_q;
  end

  // --- The next packet, from the remaining bytes

  wire all_left = left_q <= LeftBits'(capacity(wide_q, full_size_q));
  wire [PacketBits-1:0] next_bytes = all_left ? left_q[PacketBits-1:0] : capacity(wide_q, full_size_q);
  logic [2:0] next_size;
  always_comb begin
    next_size = full_size_q;
    for (int unsigned k = 7; k > 0; k--)
      if (3'(k - 1) < full_size_q && next_bytes <= capacity(wide_q, 3'(k - 1))) next_size = 3'(k - 1);
  end

  wire tail = state_q == Descriptor || flits_q == 7'd1;
  wire ends = tail && (state_q == Descriptor ? descriptor_q.last : last_q);

  always_ff @(posedge clk_i) begin
    if (state_q == Idle && start_valid_i) begin
      state_q <= Descriptor;
      descriptor_q <= start_descriptor_i;
      descriptor_q.last <= start_descriptor_i.collective == CollectiveBarrier;
      full_size_q <= start_size_i;
      wide_q <= size_of(start_descriptor_i.type_) == 5'd16;
      left_q <= '0;
      for (int unsigned k = 0; k < 5; k++)
        if (size_of(start_descriptor_i.type_)[k]) left_q <= LeftBits'(start_descriptor_i.count) << k;
      held_q <= '0;
    end

    if (transfer) begin
      if (state_q == Data) begin
        in_packet_q <= in_packet_q - PacketBits'(bytes);
        flits_q <= flits_q - 7'd1;
        head_q <= 1'b0;
        held_q <= 2'(3'(held_q) + (takes_word ? 3'd4 : 3'd0) - lanes);
        for (int unsigned i = 0; i < 3; i++) held_words_q[i] <= there[(i+32'(lanes))%7];
      end
      if (ends) begin
        state_q <= Idle;
      end else if (tail) begin
        state_q <= Data;
        left_q <= left_q - LeftBits'(next_bytes);
        in_packet_q <= next_bytes;
        flits_q <= 7'd1 << next_size;
        size_q <= next_size;
        head_q <= 1'b1;
        last_q <= all_left;
      end
    end

    if (rst_i) state_q <= Idle;
  end

  logic [255:0] data;
  always_comb begin
    if (state_q == Descriptor) data = descriptor_q;
    else if (head_q) data = {payload[191:0], 16'd0, header};
    else data = payload;
  end

  tw_skid #(
      .Width(258)
  ) out (
      .clk_i,
      .rst_i,
      .in_valid_i (transfer),
      .in_ready_o (advance),
      .in_data_i  ({state_q == Descriptor || head_q, tail, data}),
      .out_valid_o,
      .out_ready_i,
      .out_data_o ({out_head_o, out_tail_o, out_data_o})
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      packet_is_not_too_long : assert (!start_valid_i || start_size_i <= 3'd6);
      packet_ends_with_its_bytes : assert (state_q != Data || !transfer || flits_q != 7'd1 || in_packet_q <= PacketBits'(room));
    end
  end
`endif
endmodule
