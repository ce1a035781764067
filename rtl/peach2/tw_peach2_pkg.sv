// SPDX-License-Identifier: Apache-2.0
// Common types of a hub's blocks: words, ports and windows.
//
// A packet is a header in the lowest bytes of its first word, then the 32-byte lines that contain its data, each byte at the offset
// of its address.
package tw_peach2_pkg;
  import tw_spec_pkg::*;

  localparam int unsigned WordBits = 256;
  localparam int unsigned AddressBits = 39;  // 512 GByte
  localparam int unsigned PageBits = AddressBits - 12;
  localparam int unsigned BaseBits = AddressBits - 30;  // of a hub's 1 GByte
  localparam int unsigned MaxDwords = 64;  // of a packet: 256 bytes
  localparam int unsigned UnitsBits = 5;  // of flow control: 16 bytes

  // North is the host, west and east the ring, south the other ring; the others are inside. The DMA controller has two channels:
  // Engine for the chains that are started by a write, Results for those that the calculator starts. Bus and Side are the bus's two
  // lanes; Side serves Results alone.
  localparam int unsigned Ports = 8;
  localparam logic [2:0] North = 3'd0, East = 3'd1, West = 3'd2, South = 3'd3, Bus = 3'd4, Engine = 3'd5, Results = 3'd6, Side = 3'd7;

  typedef struct packed {
    logic used;
    logic [2:0] to;
    logic [PageBits-1:0] mask, lower, upper;  // of pages: lower <= (page & mask) <= upper
  } window_t;

  typedef enum logic [2:0] {
    RefusedNot,
    RefusedOutside,    // no window
    RefusedBack,       // out of the port that it came in by, or into none
    RefusedCrosses,    // from page to page
    RefusedMalformed,  // no packet of ours, or of a length that is none
    RefusedRead,       // where writes alone go, or an answer that nobody asked for
    RefusedLed,        // after MostCables cables: windows lead it round
    RefusedLocked      // a register, by somebody whom the host does not let write it
  } refusal_e;

  // A write says in its header's tag how many cables it has come by, and in its requester who wrote it: the bus's number is the
  // node, the function's the port by which it came into the node's hub.
  localparam int unsigned MostCables = 16;  // a way between two of 16 nodes has 15 at most
  localparam int unsigned NodeBits = 4;
  typedef struct packed {
    logic [NodeBits-1:0] node;
    logic [2:0] port;
  } source_t;
  typedef struct packed {
    logic [2:0] reason;  // refusal_e, or of a channel chain_fault_e
    logic was_read;
    source_t source;
    logic [AddressBits-1:0] address;
  } note_t;

  typedef enum logic [2:0] {
    ChainRight,
    ChainMalformed,  // its start is no multiple of 32, or a descriptor is none
    ChainRefused,    // a read was refused
    ChainFailed,     // an answer has failed, or is not the one that is due
    ChainTooLong,    // as one that leads round
    ChainAborted,    // by the host
    ChainLate        // a read has had no answer in time
  } chain_fault_e;

  // What happens at the packets' clock and is counted in the registers: packets refused, by their port; then, of each channel,
  // chains that ended, and faults.
  localparam int unsigned Channels = 2;
  localparam int unsigned Sources = Ports + 2 * Channels;
  localparam int unsigned Finished = Ports, Faults = Ports + Channels;

  typedef logic [WordBits-1:0] word_t;

  function automatic logic is_write(word_t header);
    return header[7:0] == 8'h60;
  endfunction
  function automatic logic is_read(word_t header);
    return header[7:0] == 8'h20;
  endfunction
  function automatic logic is_completion(word_t header);
    return header[7:0] == 8'h4A;
  endfunction

  // Lines that so many double words lie in, from one of a line's eight on.
  function automatic logic [3:0] lines(logic [2:0] first, logic [6:0] dwords);
    return 4'((8'(first) + 8'(dwords) + 8'd7) >> 3);
  endfunction
  // Units of 16 bytes that so many double words cost.
  function automatic logic [UnitsBits-1:0] units(logic [6:0] dwords);
    return UnitsBits'((8'(dwords) + 8'd3) >> 2);
  endfunction
endpackage
