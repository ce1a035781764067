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
  localparam int unsigned BaseBits = AddressBits - 30;  // number of a hub's 1 GByte
  localparam int unsigned MaxDwords = 64;  // of a packet: 256 bytes
  localparam int unsigned UnitsBits = 5;  // of flow-control units: 16 bytes

  // North is the host, west and east the ring, south the other ring; the others are inside. The DMA controller has two channels:
  // Engine for chains that are started by a write, Results for those that the calculator starts. Bus and Side are the bus's two
  // lanes; Side serves only Results.
  localparam int unsigned Ports = 8;
  localparam logic [2:0] North = 3'd0, East = 3'd1, West = 3'd2, South = 3'd3, Bus = 3'd4, Engine = 3'd5, Results = 3'd6, Side = 3'd7;

  typedef struct packed {
    logic used;
    logic [2:0] to;
    logic [PageBits-1:0] mask, lower, upper;  // of pages: lower <= (page & mask) <= upper; of a translation: tw_translate
  } window_t;

  // Registers of windows, and of each link's translations inbound and outbound, as they are loaded.
  localparam int unsigned LoadBits = 7;
  localparam logic [3:0] Translations = 4'b1100;  // number bits 6 to 3: 96 to 103

  typedef enum logic [2:0] {
    RefusedNot,
    RefusedOutside,    // no window
    RefusedBack,       // to the port that it came from, or to an invalid one
    RefusedCrosses,    // crosses a page boundary
    RefusedMalformed,  // unknown packet, or invalid length
    RefusedRead,       // a read where only writes are allowed, or an unexpected completion
    RefusedLed,        // after MostCables cables: the windows form a loop
    RefusedLocked      // a register that the host has not opened to the sender
  } refusal_e;

  // A write's header has the number of cables passed in its tag, and its source in its requester: the bus number is the
  // node, the function number the port where it entered the node's hub.
  localparam int unsigned MostCables = 16;  // a path between two of 16 nodes has at most 15
  localparam int unsigned NodeBits = 4;
  typedef struct packed {
    logic [NodeBits-1:0] node;
    logic [2:0] port;
  } source_t;
  typedef struct packed {
    logic [2:0] reason;  // refusal_e; for a channel chain_fault_e
    logic was_read;
    source_t source;
    logic [AddressBits-1:0] address;
  } note_t;

  typedef enum logic [2:0] {
    ChainRight,
    ChainMalformed,  // its start is not a multiple of 32, or a descriptor is invalid
    ChainRefused,    // a read's completion says Unsupported Request
    ChainFailed,     // a completion has another error, or is not the expected one
    ChainTooLong,    // too many descriptors, as in a loop
    ChainAborted,    // by the host
    ChainLate        // a read was not answered in time
  } chain_fault_e;

  // Events in the packets' clock domain that are counted in the registers: refused packets, by port; then, for each channel,
  // finished chains, and faults.
  localparam int unsigned Channels = 2;
  localparam int unsigned Sources = Ports + 2 * Channels;
  localparam int unsigned Finished = Ports, Faults = Ports + Channels;

  typedef logic [WordBits-1:0] word_t;

  // A request's header has four double words. At links it has three if its address is below 4 GByte.
  localparam int unsigned LongAt = 5;
  function automatic logic is_write(word_t header);
    return header[7:0] == 8'h60;
  endfunction
  function automatic logic is_read(word_t header);
    return header[7:0] == 8'h20;
  endfunction
  function automatic logic is_completion(word_t header);
    return header[7:0] == 8'h4A || header[7:0] == 8'h0A;
  endfunction
  function automatic logic has_data(word_t header);
    return header[6];
  endfunction

  // Status of a completion.
  localparam logic [2:0] Successful = 3'd0, UnsupportedRequest = 3'd1;

  // A DMA channel's tags: the channel; a descriptor's read, or the number of another one.
  localparam int unsigned SideAt = 7, FetchAt = 6, TagBits = 6;

  // Bytes of a read before the first and behind the last one that its enables ask for (PCI Express Base Specification 2.1, tables
  // 2-21 and 2-22); a read without any enabled byte asks for one.
  function automatic logic [1:0] leading(logic [3:0] first_enable);
    return first_enable[0] || first_enable == 0 ? 2'd0 : first_enable[1] ? 2'd1 : first_enable[2] ? 2'd2 : 2'd3;
  endfunction
  function automatic logic [1:0] trailing(logic [3:0] last_enable);
    return last_enable[3] ? 2'd0 : last_enable[2] ? 2'd1 : last_enable[1] ? 2'd2 : 2'd3;
  endfunction

  // Number of lines of `dwords` double words, the first at index `first` of its line.
  function automatic logic [3:0] lines(logic [2:0] first, logic [6:0] dwords);
    return 4'((8'(first) + 8'(dwords) + 8'd7) >> 3);
  endfunction
  // Flow-control units of 16 bytes for `dwords` double words.
  function automatic logic [UnitsBits-1:0] units(logic [6:0] dwords);
    return UnitsBits'((8'(dwords) + 8'd3) >> 2);
  endfunction
endpackage
