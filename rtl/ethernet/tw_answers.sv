// SPDX-License-Identifier: Apache-2.0
// Replies to ARP requests, and to ICMP echo requests with a correct checksum. tw_udp_receiver passes requests with correct addresses and headers, and
// zeros after the request's end. Checksums of replies are updated from those of requests (RFC 1624).
//
// Replies wait in a FIFO. A request is refused and counted if at its first word there is no room for the longest reply, or if it is longer.
//
// Order: kept. Latency: 13 cycles from a request's commit to its reply's first word. Throughput: a word per cycle. Storage: Words words in block
// RAM, and ten in flight before it, whose delays are shift registers. tx_valid_o is a register; tx_keep_o is one logic level behind one. Critical path:
// from the FIFO's room through the decision to keep a request to its write pointer and the counts.
module tw_answers
  import tw_ethernet_pkg::*;
#(
    parameter int unsigned FrameWords = 24,  /// of the longest reply, at least 1; 24 are 1536 bytes
    parameter int unsigned Words      = 64,  /// of waiting replies, a power of two, at least FrameWords + 2
    parameter int unsigned CountBits  = 32   /// of the counter of each outcome, even, at least 2
) (
    input logic     clk_i,
    input logic     rst_i,
      // verilator lint_off UNUSEDSIGNAL
    input udp_end_t own_i, /// constant; its port is ignored
    // verilator lint_on UNUSEDSIGNAL

    input logic                ask_valid_i,   /// as in tw_udp_receiver
    input logic [WordBits-1:0] ask_data_i,
    input logic                ask_first_i,
    input logic                ask_last_i,
    input logic                ask_arp_i,
    input logic                ask_commit_i,
    input logic                ask_drop_i,

    output logic                 tx_valid_o,
    input  logic                 tx_ready_i,
    output logic [ WordBits-1:0] tx_data_o,
    output logic [WordBytes-1:0] tx_keep_o,
    output logic                 tx_last_o,

    output logic [$bits(answered_t)-1:0][CountBits-1:0] counts_o  /// requests, from the last field of answered_t on
);
  localparam int unsigned Shortest = 60;  // minimum bytes of a frame without FCS
  localparam int unsigned WordsBits = $clog2(FrameWords + 1);
  localparam int unsigned Sums = 10;  // cycles up to the decision on the checksum

  if (FrameWords < 1 || Words < FrameWords + 2) begin : check_words
    $error("tw_answers: FrameWords must be at least 1, and Words at least FrameWords + 2");
  end

  typedef struct packed {
    logic last;
    logic [IndexBits-1:0] index;  // of the frame's last byte
    logic [WordBits-1:0] data;
  } word_t;

  logic [Sums:1] valid_q, first_q, last_q, arp_q, commit_q, drop_q;
  logic [5:1][WordBits-1:0] data_q;

  always_ff @(posedge clk_i) begin
    data_q  <= {data_q[4:1], ask_data_i};
    first_q <= {first_q[Sums-1:1], ask_first_i};
    last_q  <= {last_q[Sums-1:1], ask_last_i};
    arp_q   <= {arp_q[Sums-1:1], ask_arp_i};
    if (rst_i) begin
      valid_q  <= '0;
      commit_q <= '0;
      drop_q   <= '0;
    end else begin
      valid_q  <= {valid_q[Sums-1:1], ask_valid_i};
      commit_q <= {commit_q[Sums-1:1], ask_commit_i};
      drop_q   <= {drop_q[Sums-1:1], ask_drop_i};
    end
  end

  logic right_10q;  // ICMP's checksum is correct so far

  tw_echo_sum sum (
      .clk_i,
      .valid_i(ask_valid_i),
      .first_i(ask_first_i),
      .data_i (ask_data_i),
      .right_o(right_10q)
  );

  // Checksums of the reply: IPv4's with a new hop limit, ICMP's with type 0 instead of 8.
  localparam logic [7:0] Hops = 64;
  // verilator lint_off UNUSEDSIGNAL
  wire udp_header_t header_1 = udp_header_t'(reversed(data_q[1][HeaderBits-1:0]));  // some of its fields
  // verilator lint_on UNUSEDSIGNAL
  logic [16:0] hops_2q, type_2q, sum_4q;
  logic [15:0] checksum_2q, ip_5q;
  logic [17:0] sum_3q;
  logic [5:3][15:0] icmp_q;

  always_ff @(posedge clk_i) begin
    hops_2q <= 17'({~header_1.hops, 8'hFF}) + 17'({Hops, 8'h00});
    checksum_2q <= ~header_1.checksum;
    sum_3q <= 18'(hops_2q) + 18'(checksum_2q);
    sum_4q <= folded(21'(sum_3q));
    ip_5q <= ~(sum_4q[15:0] + 16'(sum_4q[16]));
    type_2q <= 17'(header_1.destination_port) + 17'h00800;
    icmp_q <= {icmp_q[4:3], type_2q[15:0] + 16'(type_2q[16])};
  end

  // The reply.
  wire udp_header_t echo_5 = udp_header_t'(reversed(data_q[5][HeaderBits-1:0]));
  wire arp_header_t arp_5 = arp_header_t'(echo_5);
  udp_header_t echo;
  arp_header_t arp_reply;
  logic [Sums:6][WordBits-1:0] answer_q;
  logic [Sums:6][IndexBits-1:0] index_q;

  always_comb begin
    echo = echo_5;
    echo.destination = echo_5.source;
    echo.source = own_i.address;
    echo.hops = Hops;
    echo.checksum = ip_5q;
    echo.from = own_i.ip;
    echo.to = echo_5.from;
    echo.source_port = 16'h0000;
    echo.destination_port = icmp_q[5];

    arp_reply = arp_5;
    arp_reply.destination = arp_5.source;
    arp_reply.source = own_i.address;
    arp_reply.operation = 16'h0002;
    arp_reply.sender = own_i.address;
    arp_reply.sender_ip = own_i.ip;
    arp_reply.target = arp_5.sender;
    arp_reply.target_ip = arp_5.sender_ip;
  end

  always_ff @(posedge clk_i) begin
    answer_q <= {answer_q[Sums-1:6], data_q[5]};
    if (first_q[5]) answer_q[6][HeaderBits-1:0] <= reversed(arp_q[5] ? arp_reply : echo);
    index_q[Sums:7] <= index_q[Sums-1:6];
    if (first_q[5]) index_q[6] <= arp_q[5] || echo_5.total < 16'(Shortest - 14) ? IndexBits'(Shortest - 1) : echo_5.total[IndexBits-1:0] + IndexBits'(13);
  end

  // Decision to keep a request.
  logic room, keeps_q, full_q, about_arp_q;
  logic [WordsBits-1:0] words_q;  // words of the reply written so far
  wire here = valid_q[Sums];
  wire first = first_q[Sums];
  wire keeps = !here ? keeps_q : first ? room : keeps_q && !full_q;
  wire right = right_10q || (here ? arp_q[Sums] : about_arp_q);
  wire answered = commit_q[Sums] && right && keeps;
  answered_t outcome;
  word_t word, front;
  assign outcome = '{answered: answered, refused: commit_q[Sums] && right && !keeps, wrong: commit_q[Sums] && !right};
  assign word = '{last: last_q[Sums], index: index_q[Sums], data: answer_q[Sums]};

  always_ff @(posedge clk_i) begin
    if (here) begin
      about_arp_q <= arp_q[Sums];
      keeps_q <= keeps;
      words_q <= first ? WordsBits'(1) : words_q + 1'b1;
      full_q <= first ? FrameWords == 1 : 32'(words_q) == FrameWords - 1;
    end
    if (rst_i) keeps_q <= 1'b0;
  end

  assign tx_data_o = front.data;
  assign tx_last_o = front.last;
  assign tx_keep_o = front.last ? up_to(front.index) : '1;

  tw_frame_fifo #(
      .Width($bits(word_t)),
      .Depth(Words),
      .Room (FrameWords)
  ) fifo (
      .clk_i,
      .rst_i,
      .in_valid_i (here && keeps),
      .in_data_i  (word),
      .in_commit_i(answered),
      .in_drop_i  ((commit_q[Sums] || drop_q[Sums]) && !answered),
      .room_o     (room),
      .out_valid_o(tx_valid_o),
      .out_ready_i(tx_ready_i),
      .out_data_o (front)
  );

  for (genvar i = 0; i < $bits(answered_t); i++) begin : count
    tw_counter #(
        .Bits(CountBits)
    ) counter (
        .clk_i,
        .rst_i,
        .counts_i(outcome[i]),
        .count_o (counts_o[i])
    );
  end
endmodule
