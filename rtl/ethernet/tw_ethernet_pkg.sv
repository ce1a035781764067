// SPDX-License-Identifier: Apache-2.0
// Common types of the UDP stack's blocks: words of a MAC's stream, headers, and UDP endpoints.
package tw_ethernet_pkg;
  localparam int unsigned WordBytes = 64;
  localparam int unsigned WordBits = 8 * WordBytes;
  localparam int unsigned IndexBits = $clog2(WordBytes);  // of a byte in a word

  // The first byte sent is the highest.
  typedef logic [47:0] address_t;
  typedef logic [31:0] ip_t;

  // A UDP endpoint.
  typedef struct packed {
    address_t address;
    ip_t ip;
    logic [15:0] port;
  } udp_end_t;

  // A frame's first 42 bytes. Bit 0 of a struct is the last on the wire.
  typedef struct packed {
    address_t destination, source;
    logic [15:0] ethertype;
    logic [7:0] version, service;
    logic [15:0] total, identification, fragment;
    logic [7:0] hops, protocol;
    logic [15:0] checksum;
    ip_t from, to;
    logic [15:0] source_port, destination_port;  // for ICMP: type and code, checksum
    logic [15:0] bytes, udp_checksum;
  } udp_header_t;
  typedef struct packed {
    address_t destination, source;
    logic [15:0] ethertype, hardware, protocol, sizes, operation;
    address_t sender;
    ip_t sender_ip;
    address_t target;
    ip_t target_ip;
  } arp_header_t;
  localparam int unsigned HeaderBits = $bits(udp_header_t);
  localparam int unsigned HeaderBytes = HeaderBits / 8;

  // Converts a header from and to bus order: the first byte on the wire in bits 7 to 0.
  function automatic logic [HeaderBits-1:0] reversed(logic [HeaderBits-1:0] bytes);
    for (int unsigned i = 0; i < HeaderBytes; i++) reversed[8*i+:8] = bytes[HeaderBits-8*(i+1)+:8];
  endfunction

  // Mask of a word's bytes up to this index.
  function automatic logic [WordBytes-1:0] up_to(logic [IndexBits-1:0] index);
    for (int unsigned i = 0; i < WordBytes; i++) up_to[i] = IndexBits'(i) <= index;
  endfunction
  function automatic logic [WordBits-1:0] bits_of(logic [WordBytes-1:0] bytes);
    for (int unsigned i = 0; i < WordBytes; i++) bits_of[8*i+:8] = {8{bytes[i]}};
  endfunction

  // The end-around carry of a sum of 16-bit words (RFC 1071).
  function automatic logic [16:0] folded(logic [20:0] sum);
    return 17'(sum[15:0]) + 17'(sum[20:16]);
  endfunction

  // Outcome of a received frame.
  typedef struct packed {
    logic taken;
    logic asked;  // passed on to be answered
    logic damaged;  // its FCS was wrong
    logic stray;  // all others
  } received_t;

  // Outcome of a request.
  typedef struct packed {
    logic answered;
    logic refused;  // no room, or too long
    logic wrong;  // its checksum was wrong
  } answered_t;
endpackage
