// SPDX-License-Identifier: Apache-2.0
// Encodes datagrams as frames for the MAC: Ethernet II, IPv4 without options or fragments, UDP without a checksum. Their words are shifted
// by the headers, of HeaderBytes; a short frame is padded with zeros to the minimum length.
//
// A datagram is a stream of at least one word. With its first word it gives its destination and its number of bytes; its last word
// contains the last of these. Bytes of the last word after them are ignored. Its frame is offered when it is complete, so it has no gaps,
// even if its words come with gaps.
//
// Order: kept. Latency: ten cycles from a datagram's last word to the frame's first one. Throughput: a word per cycle; one cycle more for a frame whose last word
// has only part of the last data word. Storage: Words words in block RAM, and those in flight before it, whose
// delays are shift registers. in_ready_o and tx_valid_o are registers; tx_keep_o is one logic level behind them. Critical path: from in_bytes_i through the
// decision whether the frame is a word longer than the data to in_ready_o.
module tw_udp_sender
  import tw_ethernet_pkg::*;
#(
    parameter int unsigned MostBytes = 8972,  /// of a datagram; 8972 fit into an IPv4 packet of 9000 bytes
    parameter int unsigned Words     = 256,   /// of waiting frames, a power of two
    localparam int unsigned FrameWords = (HeaderBytes + MostBytes + WordBytes - 1) / WordBytes
) (
    input logic     clk_i,
    input logic     rst_i,
    input udp_end_t own_i, /// constant

    input  logic                in_valid_i,
    output logic                in_ready_o,
    input  logic [WordBits-1:0] in_data_i,
    input  logic                in_last_i,
    input  udp_end_t            in_to_i,     /// with the first word
    input  logic         [15:0] in_bytes_i,  /// with the first word

    output logic                 tx_valid_o,
    input  logic                 tx_ready_i,
    output logic [ WordBits-1:0] tx_data_o,
    output logic [WordBytes-1:0] tx_keep_o,
    output logic                 tx_last_o
);
  localparam int unsigned FrontBits = WordBits - HeaderBits;  // part of a data word in one MAC word
  localparam int unsigned Shortest = 60;  // minimum bytes of a frame without FCS
  // Maximum number of words after the cycle in which there was room, in flight between port and FIFO.
  localparam int unsigned Room = 12;
  // Cycles from the input to the checksum.
  localparam int unsigned Sums = 6;

  if (Words < FrameWords + Room + 1) begin : check_words
    $error("tw_udp_sender: Words must have room for a frame of MostBytes and 13 words more");
  end
  if (MostBytes > 65535 - 28) begin : check_bytes
    $error("tw_udp_sender: MostBytes must be at most 65507");
  end

  typedef struct packed {
    logic last;
    logic [IndexBits-1:0] index;  // of the frame's last byte
    logic [WordBits-1:0] data;
  } word_t;

  // Input, and an additional word if the last one has bytes beyond FrontBits.
  logic inside_q, ready_q, room, longer_q, more_q;
  wire first = !inside_q;
  wire accept = in_valid_i && ready_q;
  wire [IndexBits-1:0] over = in_bytes_i[IndexBits-1:0];
  wire longer = first ? 32'(over) > FrontBits / 8 || (over == 0 && in_bytes_i[15:IndexBits] != 0) : longer_q;
  wire more = accept && in_last_i && longer;

  assign in_ready_o = ready_q;

  // Pipeline up to the checksum.
  logic [Sums:1] valid_q, first_q, last_q;
  logic [Sums-1:0][WordBits-1:0] data_q;  // one cycle after the input, and so on
  udp_end_t [Sums-1:0] to_q;
  logic [Sums-1:0][15:0] bytes_q;

  always_ff @(posedge clk_i) begin
    data_q  <= {data_q[Sums-2:0], in_data_i};
    to_q    <= {to_q[Sums-2:0], in_to_i};
    bytes_q <= {bytes_q[Sums-2:0], in_bytes_i};
    first_q <= {first_q[Sums-1:1], first && !more_q};
    last_q  <= {last_q[Sums-1:1], more_q || (in_last_i && !longer)};
    if (accept) longer_q <= longer;
    if (rst_i) begin
      inside_q <= 1'b0;
      ready_q  <= 1'b0;
      more_q   <= 1'b0;
      valid_q  <= '0;
    end else begin
      if (accept) inside_q <= !in_last_i;
      ready_q <= room && !more;
      more_q  <= more;
      valid_q <= {valid_q[Sums-1:1], accept || more_q};
    end
  end

  // IPv4's checksum of the fields that are not zero, and the index of the datagram's last byte in the frame's last word.
  logic [16:0] to_2q, own_2q, rest_2q, rest_3q, folded_5q;
  logic [17:0] ends_3q;
  logic [18:0] sum_4q;
  logic [15:0] checksum_6q, total_6q;
  logic [IndexBits-1:0] index_5q, index_6q;
  logic short_5q;
  logic [WordBytes-1:0] bytes_6q;  // bytes of the word that belong to the frame
  localparam logic [15:0] Version = 16'h4500, Fragment = 16'h4000, Hops = 16'h4011;
  localparam logic [16:0] Fixed = 17'(Version) + 17'(Fragment) + 17'(Hops) + 17'd28;

  always_ff @(posedge clk_i) begin
    to_2q <= 17'(to_q[0].ip[31:16]) + 17'(to_q[0].ip[15:0]);
    own_2q <= 17'(own_i.ip[31:16]) + 17'(own_i.ip[15:0]);
    rest_2q <= 17'(bytes_q[0]) + Fixed;
    ends_3q <= 18'(to_2q) + 18'(own_2q);
    rest_3q <= rest_2q;
    sum_4q <= 19'(ends_3q) + 19'(rest_3q);
    folded_5q <= folded(21'(sum_4q));
    checksum_6q <= ~(folded_5q[15:0] + 16'(folded_5q[16]));
    total_6q <= bytes_q[4] + 16'd28;
    if (first_q[4]) begin
      index_5q <= bytes_q[3][IndexBits-1:0] + IndexBits'(HeaderBytes - 1);
      short_5q <= bytes_q[3] < 16'(Shortest - HeaderBytes);
    end
    index_6q <= short_5q ? IndexBits'(Shortest - 1) : index_5q;
    bytes_6q <= last_q[5] ? up_to(index_5q) : '1;
  end

  // The frame's words.
  udp_header_t header;
  logic valid_7q;
  logic [HeaderBits-1:0] rest_q;  // rest of the previous word, for the next one
  word_t word_7q;
  wire udp_end_t to = to_q[Sums-1];
  wire [WordBits-1:0] data = data_q[Sums-1];
  always_comb begin
    header = '0;
    header.destination = to.address;
    header.source = own_i.address;
    header.ethertype = 16'h0800;
    {header.version, header.service} = Version;
    header.total = total_6q;
    header.fragment = Fragment;
    {header.hops, header.protocol} = Hops;
    header.checksum = checksum_6q;
    header.from = own_i.ip;
    header.to = to.ip;
    header.source_port = own_i.port;
    header.destination_port = to.port;
    header.bytes = bytes_q[Sums-1] + 16'd8;
  end

  always_ff @(posedge clk_i) begin
    if (valid_q[Sums]) rest_q <= data[WordBits-1:FrontBits];
    word_7q <= '{
        last: last_q[Sums],
        index: index_6q,
        data: {data[FrontBits-1:0], first_q[Sums] ? reversed(header) : rest_q} & bits_of(bytes_6q)
    };
    valid_7q <= !rst_i && valid_q[Sums];
  end

  word_t front;
  assign tx_data_o = front.data;
  assign tx_last_o = front.last;
  assign tx_keep_o = front.last ? up_to(front.index) : '1;

  tw_frame_fifo #(
      .Width($bits(word_t)),
      .Depth(Words),
      .Room (Room)
  ) fifo (
      .clk_i,
      .rst_i,
      .in_valid_i (valid_7q),
      .in_data_i  (word_7q),
      .in_commit_i(valid_7q && word_7q.last),
      .in_drop_i  (1'b0),
      .room_o     (room),
      .out_valid_o(tx_valid_o),
      .out_ready_i(tx_ready_i),
      .out_data_o (front)
  );

`ifndef SYNTHESIS
  logic [15:0] left_q;  // remaining bytes
  always_ff @(posedge clk_i) begin
    if (accept) left_q <= (first ? in_bytes_i : left_q) - 16'(WordBytes);
    if (!rst_i) begin
      datagram_fits : assert (!accept || !first || 32'(in_bytes_i) <= MostBytes);
      last_has_the_last_byte : assert (!accept || in_last_i == (32'(first ? in_bytes_i : left_q) <= WordBytes));
    end
  end
`endif
endmodule
