// SPDX-License-Identifier: Apache-2.0
// A board's network port: sends and receives datagrams in Ethernet frames, and replies to ARP requests and ICMP echo requests. Both kinds of
// frames are sent round-robin. A board must know the addresses of others, as it sends no ARP requests.
//
// Order: kept for datagrams, and for replies. Latency: eleven cycles from a datagram's last word to its frame's first one, eight or nine from the MAC to a data word, 24 from the end of a
// request to its reply. Throughput: a word per cycle in each direction. Storage: that of tw_udp_sender, tw_udp_receiver and tw_answers, and two words before the MAC. All
// outputs are registers. Critical path: those of its blocks.
module tw_udp_port
  import tw_ethernet_pkg::*;
#(
    parameter int unsigned MostBytes   = 8972,  /// maximum of a sent datagram
    parameter int unsigned SendWords   = 256,   /// of waiting frames, a power of two
    parameter int unsigned AskWords    = 24,    /// of the longest reply's frame
    parameter int unsigned AnswerWords = 64,    /// of waiting replies, a power of two
    parameter int unsigned CountBits   = 32     /// of the counter of each outcome, even, at least 2
) (
    input logic     clk_i,
    input logic     rst_i,
    input udp_end_t own_i, /// constant

    input  logic                in_valid_i,  /// datagrams, as in tw_udp_sender
    output logic                in_ready_o,
    input  logic [WordBits-1:0] in_data_i,
    input  logic                in_last_i,
    input  udp_end_t            in_to_i,
    input  logic         [15:0] in_bytes_i,

    output logic                out_valid_o,  /// as in tw_udp_receiver
    output logic [WordBits-1:0] out_data_o,
    output logic                out_first_o,
    output logic                out_last_o,
    output udp_end_t            out_from_o,
    output logic         [15:0] out_bytes_o,
    output logic                commit_o,
    output logic                drop_o,

    output logic                 tx_valid_o,
    input  logic                 tx_ready_i,
    output logic [ WordBits-1:0] tx_data_o,
    output logic [WordBytes-1:0] tx_keep_o,
    output logic                 tx_last_o,
    input  logic                 rx_valid_i,
    input  logic [ WordBits-1:0] rx_data_i,
    input  logic [WordBytes-1:0] rx_keep_i,
    input  logic                 rx_last_i,
    input  logic                 rx_error_i,

    output logic [$bits(received_t)-1:0][CountBits-1:0] received_o,
    output logic [$bits(answered_t)-1:0][CountBits-1:0] answered_o
);
  // Frames of datagrams, and of replies.
  logic [1:0] valid, ready, last;
  logic [1:0][WordBits-1:0] data;
  logic [1:0][WordBytes-1:0] keep;

  logic ask_valid, ask_first, ask_last, ask_arp, ask_commit, ask_drop;
  logic [WordBits-1:0] ask_data;

  tw_udp_receiver #(
      .CountBits(CountBits)
  ) receiver (
      .clk_i,
      .rst_i,
      .own_i,
      .rx_valid_i,
      .rx_data_i,
      .rx_keep_i,
      .rx_last_i,
      .rx_error_i,
      .out_valid_o,
      .out_data_o,
      .out_first_o,
      .out_last_o,
      .out_from_o,
      .out_bytes_o,
      .commit_o,
      .drop_o,
      .ask_valid_o (ask_valid),
      .ask_data_o  (ask_data),
      .ask_first_o (ask_first),
      .ask_last_o  (ask_last),
      .ask_arp_o   (ask_arp),
      .ask_commit_o(ask_commit),
      .ask_drop_o  (ask_drop),
      .counts_o    (received_o)
  );

  tw_answers #(
      .FrameWords(AskWords),
      .Words     (AnswerWords),
      .CountBits (CountBits)
  ) answers (
      .clk_i,
      .rst_i,
      .own_i,
      .ask_valid_i (ask_valid),
      .ask_data_i  (ask_data),
      .ask_first_i (ask_first),
      .ask_last_i  (ask_last),
      .ask_arp_i   (ask_arp),
      .ask_commit_i(ask_commit),
      .ask_drop_i  (ask_drop),
      .tx_valid_o  (valid[1]),
      .tx_ready_i  (ready[1]),
      .tx_data_o   (data[1]),
      .tx_keep_o   (keep[1]),
      .tx_last_o   (last[1]),
      .counts_o    (answered_o)
  );

  tw_udp_sender #(
      .MostBytes(MostBytes),
      .Words    (SendWords)
  ) sender (
      .clk_i,
      .rst_i,
      .own_i,
      .in_valid_i,
      .in_ready_o,
      .in_data_i,
      .in_last_i,
      .in_to_i,
      .in_bytes_i,
      .tx_valid_o(valid[0]),
      .tx_ready_i(ready[0]),
      .tx_data_o (data[0]),
      .tx_keep_o (keep[0]),
      .tx_last_o (last[0])
  );

  tw_frame_arbiter #(
      .Inputs(2)
  ) arbiter (
      .clk_i,
      .rst_i,
      .in_valid_i(valid),
      .in_ready_o(ready),
      .in_data_i (data),
      .in_keep_i (keep),
      .in_last_i (last),
      .tx_valid_o,
      .tx_ready_i,
      .tx_data_o,
      .tx_keep_o,
      .tx_last_o
  );
endmodule
