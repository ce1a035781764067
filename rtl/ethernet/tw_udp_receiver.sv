// SPDX-License-Identifier: Apache-2.0
// Receives frames from the MAC. Datagrams for this endpoint, in UDP over IPv4 without options or fragments, are output word by word, with
// their source and length. ARP requests for its address, and ICMP echo requests to it, are passed on to be answered. All others are
// counted as strays, or as damaged if their FCS is wrong.
//
// The header is checked before a datagram's first word is output: types, addresses, the port, IPv4's checksum, and that both lengths agree. At the frame's end
// its length and FCS are known: then commit_o or drop_o is set, with the last word or later, before the next
// frame's first one. Of a truncated frame some words, or all, are missing. Words have zeros after the datagram's end; the frame's bytes
// after it are ignored. A datagram without data is one word.
//
// Requests are output as frames, up to the end in their headers, with zeros after it. ask_commit_o or ask_drop_o comes with the last word or later.
//
// Order: kept. Latency: a data word is output eight cycles after the MAC word with its end, or nine if that word contains all of it, as is the end of a
// frame. Throughput: a word per cycle. Storage: seven MAC words, in shift registers where possible. All outputs are registers. Critical path:
// from a frame's addresses and types through their comparisons; from its length through the position of the end in a word.
module tw_udp_receiver
  import tw_ethernet_pkg::*;
#(
    parameter int unsigned CountBits = 32  /// of the counter of each outcome, even, at least 2
) (
    input logic     clk_i,
    input logic     rst_i,
    input udp_end_t own_i, /// constant

    input logic                 rx_valid_i,
    input logic [ WordBits-1:0] rx_data_i,
    input logic [WordBytes-1:0] rx_keep_i,   /// all ones except in the last word
    input logic                 rx_last_i,
    input logic                 rx_error_i,  /// with the last word: the FCS is wrong

    output logic                out_valid_o,
    output logic [WordBits-1:0] out_data_o,
    output logic                out_first_o,
    output logic                out_last_o,
    output udp_end_t            out_from_o,
    output logic [15:0]         out_bytes_o,  /// of the datagram
    output logic                commit_o,     /// the datagram has ended, and is correct
    output logic                drop_o,       /// the datagram must be discarded

    output logic                ask_valid_o,
    output logic [WordBits-1:0] ask_data_o,
    output logic                ask_first_o,
    output logic                ask_last_o,
    output logic                ask_arp_o,     /// ARP; otherwise ICMP
    output logic                ask_commit_o,
    output logic                ask_drop_o,

    output logic [$bits(received_t)-1:0][CountBits-1:0] counts_o  /// frames, from the last field of received_t on
);
  localparam int unsigned FrontBits = WordBits - HeaderBits;  // part of a data word in one MAC word
  localparam int unsigned LeftBits = 11;  // of a frame's words, up to the end in its header

  // Cycles from the MAC to the decision.
  localparam int unsigned Decides = 7;
  logic [Decides:1] valid_q, first_q, last_q, error_q;
  logic inside_q;

  always_ff @(posedge clk_i) begin
    first_q <= {first_q[Decides-1:1], !inside_q};
    last_q  <= {last_q[Decides-1:1], rx_last_i};
    error_q <= {error_q[Decides-1:1], rx_error_i};
    if (rst_i) begin
      inside_q <= 1'b0;
      valid_q  <= '0;
    end else begin
      if (rx_valid_i) inside_q <= !rx_last_i;
      valid_q <= {valid_q[Decides-1:1], rx_valid_i};
    end
  end

  // One cycle after the MAC: the header.
  logic [WordBits-1:0] data_1q;
  wire udp_header_t header = udp_header_t'(reversed(data_1q[HeaderBits-1:0]));
  // verilator lint_off UNUSEDSIGNAL
  wire arp_header_t arp = arp_header_t'(header);  // some of its fields
  // verilator lint_on UNUSEDSIGNAL

  always_ff @(posedge clk_i) data_1q <= rx_data_i & bits_of(rx_keep_i);

  // Checks of the header; each part is compared in one cycle.
  typedef struct packed {
    logic [2:0] address;
    logic [1:0] ip;
    logic ipv4, version, whole, enough;  // not a fragment; at least as long as both headers
  } mine_t;
  typedef struct packed {
    logic ethertype, hardware, protocol, sizes, operation;
    logic [1:0] ip;
  } arp_t;
  mine_t mine_2q;
  arp_t arp_2q;
  logic udp_2q, port_2q, icmp_2q, echo_2q;
  logic mine_3q, udp_3q, same_3q, echo_3q, arp_3q;
  logic [6:4] for_udp_q, for_echo_q, for_arp_q;
  logic udp_7q, echo_7q, arp_7q;
  logic [15:0] total_2q;
  logic [16:0] bytes_2q;

  // IPv4's checksum: the sum of the whole header is 0xFFFF.
  logic [4:0][16:0] sums_2q;
  logic [2:0][17:0] sums_3q;
  logic [18:0] sum_4q, rest_4q;
  logic [19:0] sum_5q;
  logic [16:0] sum_6q;
  wire right = sum_6q == 17'h0FFFF;
  wire [9:0][15:0] words = {
    header.version, header.service, header.total, header.identification, header.fragment, header.hops, header.protocol, header.checksum,
    header.from, header.to
  };

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < 3; i++) mine_2q.address[i] <= header.destination[16*i+:16] == own_i.address[16*i+:16];
    for (int unsigned i = 0; i < 2; i++) begin
      mine_2q.ip[i] <= header.to[16*i+:16] == own_i.ip[16*i+:16];
      arp_2q.ip[i]  <= arp.target_ip[16*i+:16] == own_i.ip[16*i+:16];
    end
    mine_2q.ipv4 <= header.ethertype == 16'h0800;
    mine_2q.version <= header.version == 8'h45;
    mine_2q.whole <= (header.fragment & 16'hBFFF) == 0;
    mine_2q.enough <= header.total >= 28;
    udp_2q <= header.protocol == 17;
    icmp_2q <= header.protocol == 1;
    port_2q <= header.destination_port == own_i.port;
    echo_2q <= header.source_port == 16'h0800;
    arp_2q.ethertype <= arp.ethertype == 16'h0806;
    arp_2q.hardware <= arp.hardware == 16'h0001;
    arp_2q.protocol <= arp.protocol == 16'h0800;
    arp_2q.sizes <= arp.sizes == 16'h0604;
    arp_2q.operation <= arp.operation == 16'h0001;
    total_2q <= header.total;
    bytes_2q <= 17'(header.bytes) + 17'd20;

    mine_3q <= &mine_2q;
    udp_3q <= udp_2q && port_2q;
    same_3q <= bytes_2q == 17'(total_2q);
    echo_3q <= icmp_2q && echo_2q;
    arp_3q <= &arp_2q;

    for_udp_q <= {for_udp_q[5:4], mine_3q && udp_3q && same_3q};
    for_echo_q <= {for_echo_q[5:4], mine_3q && echo_3q};
    for_arp_q <= {for_arp_q[5:4], arp_3q};

    for (int unsigned i = 0; i < 5; i++) sums_2q[i] <= 17'(words[2*i]) + 17'(words[2*i+1]);
    sums_3q <= {18'(sums_2q[4]), 18'(sums_2q[3]) + 18'(sums_2q[2]), 18'(sums_2q[1]) + 18'(sums_2q[0])};
    sum_4q <= 19'(sums_3q[1]) + 19'(sums_3q[0]);
    rest_4q <= 19'(sums_3q[2]);
    sum_5q <= 20'(sum_4q) + 20'(rest_4q);
    sum_6q <= folded(21'(sum_5q));
    udp_7q <= for_udp_q[6] && right;
    echo_7q <= for_echo_q[6] && right;
    arp_7q <= for_arp_q[6];
  end

  // Position of the frame's last byte according to its header: the word, and the index in it.
  logic [16:0] end_2q;
  logic [LeftBits-1:0] left_3q;
  logic [IndexBits-1:0] index_3q, index_4q;
  logic [LeftBits-1:0] left_4q;
  logic at_4q, over_4q;  // the word has it; an earlier word had it
  logic tail_4q;  // that word has data that become a separate word
  logic [7:5] at_q, over_q, tail_q, reaches_q;
  logic [4:1][WordBytes-1:0] keep_q;
  logic [WordBytes-1:0] bytes_5q;  // bytes of the word before the end

  always_ff @(posedge clk_i) begin
    end_2q <= 17'(header.total) + 17'd13;
    {left_3q, index_3q} <= arp_2q.ethertype ? 17'(HeaderBytes - 1) : end_2q;
    if (valid_q[3]) begin
      if (first_q[3]) begin
        left_4q <= left_3q;
        at_4q <= left_3q == 0;
        over_4q <= 1'b0;
        index_4q <= index_3q;
        tail_4q <= left_3q == 0 || index_3q >= IndexBits'(HeaderBytes);
      end else begin
        left_4q <= left_4q - 1'b1;
        at_4q <= left_4q == 1 && !over_4q;
        over_4q <= at_4q || over_4q;
      end
    end
    keep_q <= {keep_q[3:1], rx_keep_i};
    bytes_5q <= over_4q ? '0 : at_4q ? up_to(index_4q) : '1;
    at_q <= {at_q[6:5], at_4q};
    over_q <= {over_q[6:5], over_4q};
    tail_q <= {tail_q[6:5], tail_4q};
    reaches_q <= {reaches_q[6:5], over_4q || (at_4q && keep_q[4][index_4q])};
  end

  // Words, and their output.
  logic [5:2][WordBits-1:0] data_q;
  logic [WordBits-1:0] data_6q, data_7q;
  logic [7:2][15:0] size_q;
  logic [FrontBits-1:0] front_q;  // part of a data word in the previous MAC word
  logic taking_q, asking_q, arp_q;  // the frame is a datagram for this end, or a request
  logic flush_q;  // the remaining data of the frame are in front_q
  logic begins_q;  // none of its words was output
  udp_end_t from_q;
  logic [15:0] bytes_q;

  // verilator lint_off UNUSEDSIGNAL
  wire udp_header_t header_7 = udp_header_t'(reversed(data_7q[HeaderBits-1:0]));  // its source
  // verilator lint_on UNUSEDSIGNAL
  wire here = valid_q[Decides];
  wire first = first_q[Decides];
  wire over = over_q[Decides];
  wire at = at_q[Decides];
  wire tail = tail_q[Decides];
  wire takes = first ? udp_7q : taking_q;
  wire asks = first ? echo_7q || arp_7q : asking_q;
  wire good = reaches_q[Decides] && !error_q[Decides];
  wire ends = here && last_q[Decides];
  wire gives = (here && !first && taking_q && !over) || flush_q;

  logic out_valid_q, out_first_q, out_last_q, commit_q, drop_q;
  logic [WordBits-1:0] out_data_q, ask_data_q;
  udp_end_t out_from_q;
  logic [15:0] out_bytes_q;
  logic ask_valid_q, ask_first_q, ask_last_q, ask_arp_q, ask_drop_q;
  received_t outcome_q;
  logic dropped_q;

  assign out_valid_o = out_valid_q;
  assign out_data_o = out_data_q;
  assign out_first_o = out_first_q;
  assign out_last_o = out_last_q;
  assign out_from_o = out_from_q;
  assign out_bytes_o = out_bytes_q;
  assign commit_o = commit_q;
  assign drop_o = drop_q;
  assign ask_valid_o = ask_valid_q;
  assign ask_data_o = ask_data_q;
  assign ask_first_o = ask_first_q;
  assign ask_last_o = ask_last_q;
  assign ask_arp_o = ask_arp_q;
  assign ask_commit_o = outcome_q.asked;
  assign ask_drop_o = ask_drop_q;

  always_ff @(posedge clk_i) begin
    data_q <= {data_q[4:2], data_1q};
    data_6q <= data_q[5] & bits_of(bytes_5q);
    data_7q <= data_6q;
    size_q <= {size_q[6:2], header.total - 16'd28};
    if (here) front_q <= data_7q[WordBits-1:HeaderBits];
    if (here && first) begin
      taking_q <= udp_7q;
      asking_q <= echo_7q || arp_7q;
      arp_q <= arp_7q;
      from_q <= '{address: header_7.source, ip: header_7.from, port: header_7.source_port};
      bytes_q <= size_q[7];
    end
    if (here && first) begins_q <= 1'b1;
    else if (gives) begins_q <= 1'b0;
    flush_q <= !rst_i && here && at && tail && takes;

    out_valid_q <= !rst_i && gives;
    out_data_q <= {flush_q ? HeaderBits'(0) : data_7q[HeaderBits-1:0], front_q};
    out_first_q <= begins_q;
    out_last_q <= flush_q || (at && !tail);
    out_from_q <= from_q;
    out_bytes_q <= bytes_q;
    dropped_q <= !rst_i && ends && takes && !good;
    commit_q <= !rst_i && outcome_q.taken;
    drop_q <= !rst_i && dropped_q;

    ask_valid_q <= !rst_i && here && asks && !over;
    ask_data_q <= data_7q;
    ask_first_q <= first;
    ask_last_q <= at;
    ask_arp_q <= first ? arp_7q : arp_q;
    ask_drop_q <= !rst_i && ends && asks && !good;

    outcome_q <= rst_i || !ends ? '0 : '{
        taken: takes && good,
        asked: asks && good,
        damaged: error_q[Decides],
        stray: !error_q[Decides] && !(reaches_q[Decides] && (takes || asks))
    };
  end

  for (genvar i = 0; i < $bits(received_t); i++) begin : count
    tw_counter #(
        .Bits(CountBits)
    ) counter (
        .clk_i,
        .rst_i,
        .counts_i(outcome_q[i]),
        .count_o (counts_o[i])
    );
  end
endmodule
