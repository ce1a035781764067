// SPDX-License-Identifier: Apache-2.0
// Shared by the blocks of VCSN: words, frames, rows of the circuit table.
package tw_vcsn_pkg;
  import tw_vcsn_spec_pkg::*;

  localparam int unsigned WordBytes = 64;
  localparam int unsigned WordBits = 8 * WordBytes;

  typedef logic [47:0] address_t;  // the first byte sent is the highest

  // Frame header, before the words; bit 0 of the struct is the last on the wire.
  typedef struct packed {
    address_t destination, source;
    logic [15:0] ethertype;
    vcsn_header_t circuit;
  } header_t;
  localparam int unsigned HeaderBits = $bits(header_t);
  localparam int unsigned HeaderBytes = HeaderBits / 8;  // also the bytes of a frame's last word
  localparam int unsigned FrontBits = WordBits - HeaderBits;  // part of a data word in the first of its two MAC words

  // The session header that may follow it; and both together.
  localparam int unsigned SequenceBits = $bits(vcsn_sequence_t);
  localparam int unsigned LongBits = HeaderBits + SequenceBits;
  localparam int unsigned LongBytes = LongBits / 8;

  // Reverses the order of bytes between header_t and the bus, which has the first byte on the wire in bits 7 to 0.
  function automatic logic [HeaderBits-1:0] reversed(logic [HeaderBits-1:0] bytes);
    for (int unsigned i = 0; i < HeaderBytes; i++) reversed[8*i+:8] = bytes[HeaderBits-8*(i+1)+:8];
  endfunction

  // Multicast address of the frames that a virtual port sends.
  function automatic address_t group_of(address_t source, logic [7:0] port);
    return source | 48'(1) << 40 | 48'(port) << 24;
  endfunction

  // The other end of a virtual port's circuit.
  typedef struct packed {
    logic open;
    address_t address;  // of the external port
    logic [7:0] port;
  } circuit_t;

  typedef logic [15:0] session_t;  // session number; 0: none
  typedef struct packed {
    logic closing;  // the previous session
    logic opening, open;
    logic refused, silent;  // ended: the peer has begun another session; the peer did not answer
  } session_state_t;

  // Slot of a session's frame in a window: the low bits of its number.
  function automatic logic [5:0] slot_of(logic [5:0] number, int unsigned window);
    return number & 6'(window - 1);
  endfunction

  // Outcome of a received frame.
  typedef struct packed {
    logic sequenced;  // of the virtual port's session, which decides on it
    logic taken;
    logic damaged;  // its FCS was wrong
    logic stray;  // to another address
    logic other;  // not a VCSN frame
    logic foreign;  // not from the virtual port's circuit
    logic unformed;  // not whole words, no words, or too many
    logic indication;
    logic credit;
    logic full;  // no room in the virtual port
    logic sessionless;  // session header without a session of the virtual port, or vice versa
  } outcome_t;
  localparam int unsigned Outcomes = $bits(outcome_t);

  // Host commands, one stream word each.
  localparam int unsigned LevelBits = 3;
  localparam int unsigned PaceWidth = 20;
  localparam int unsigned MemoryBits = 40;  // of a node's memory, in bytes
  localparam int unsigned SegmentBits = 26;  // of a segment, in words
  localparam int unsigned TimerWidth = 24;  // of windows and reactions, in cycles
  localparam int unsigned WindowWidth = 15;  // of words in a window
  localparam int unsigned CreditsWidth = 15;  // of outstanding words
  typedef enum logic [7:0] {
    SetCrossbar,
    SetCircuit,
    SetPace,
    Read,
    Write,
    SetMonitor,
    SetReaction,
    SetCredits,
    SetSession,
    Program,  // an instruction of a sequencer's program
    SendWord,  // from here on only in programs
    AwaitWord,
    Finish
  } command_kind_e;
  function automatic logic is_of_shell(logic [7:0] kind);  // neither for an external port nor for a sequencer
    return kind == SetCrossbar || kind == Read || kind == Write;
  endfunction
  typedef struct packed {
    logic [7:0] kind;
    logic [7:0] place;  // crossbar output; virtual port, numbered over all external ports; engine; or sequencer
    logic [111:0] body;  // one of the structs below, in the lowest bits
  } command_t;
  typedef struct packed {
    logic [7:0] kind, place;
    logic [95:0] body;  // as in the command
  } instruction_t;
  typedef struct packed {
    logic open;
    logic [7:0] in;
  } crossing_t;
  typedef struct packed {
    logic [LevelBits-1:0] level;
    logic [PaceWidth-1:0] pace;
  } pace_t;
  typedef struct packed {
    logic [TimerWidth-1:0] cycles;
    logic [WindowWidth-1:0] words;
  } monitor_t;
  typedef struct packed {
    logic [TimerWidth-1:0] cycles;
    logic stops;
    logic [PaceWidth-1:0] pace;
  } reaction_t;
  typedef struct packed {
    logic [CreditsWidth-1:0] words;
    logic [CreditsWidth-1:0] report;
  } credits_t;
  typedef struct packed {
    logic [MemoryBits-1:0] address;
    logic [SegmentBits-1:0] words;
    logic [5:0] tail;
    logic last;
    logic [7:0] channel;
  } segment_t;
endpackage
