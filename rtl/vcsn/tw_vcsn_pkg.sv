// SPDX-License-Identifier: Apache-2.0
// What the blocks of VCSN share: words, frames, rows of the circuit table.
package tw_vcsn_pkg;
  import tw_vcsn_spec_pkg::*;

  localparam int unsigned WordBytes = 64;
  localparam int unsigned WordBits = 8 * WordBytes;

  typedef logic [47:0] address_t;  // the byte that is sent first the highest

  // In front of a frame's words; bit 0 of a struct is the last on the wire.
  typedef struct packed {
    address_t destination, source;
    logic [15:0] ethertype;
    vcsn_header_t circuit;
  } header_t;
  localparam int unsigned HeaderBits = $bits(header_t);
  localparam int unsigned HeaderBytes = HeaderBits / 8;  // of a frame's last word, too
  localparam int unsigned FrontBits = WordBits - HeaderBits;  // of a word's data that are in one word of the MAC

  // Behind it, of frames of a session; and both.
  localparam int unsigned SequenceBits = $bits(vcsn_sequence_t);
  localparam int unsigned LongBits = HeaderBits + SequenceBits;
  localparam int unsigned LongBytes = LongBits / 8;

  // The bytes on a bus, the first on the wire in bits 7 to 0; and the header in them.
  function automatic logic [HeaderBits-1:0] reversed(logic [HeaderBits-1:0] bytes);
    for (int unsigned i = 0; i < HeaderBytes; i++) reversed[8*i+:8] = bytes[HeaderBits-8*(i+1)+:8];
  endfunction

  // The multicast address of what a virtual port sends.
  function automatic address_t group_of(address_t source, logic [7:0] port);
    return source | 48'(1) << 40 | 48'(port) << 24;
  endfunction

  // The other end of a virtual port's circuit.
  typedef struct packed {
    logic open;
    address_t address;  // of the external port
    logic [7:0] port;
  } circuit_t;

  typedef logic [15:0] session_t;  // its number; 0: none
  typedef struct packed {
    logic closing;  // the former one
    logic opening, open;
    logic refused, silent;  // it has ended, as the peer has begun another, or did not answer
  } session_state_t;

  // The slot of a session's frame, by the low bits of its number, of as many as the window has.
  function automatic logic [5:0] slot_of(logic [5:0] number, int unsigned window);
    return number & 6'(window - 1);
  endfunction

  // What became of a frame that was received.
  typedef struct packed {
    logic sequenced;  // of the virtual port's session, which knows what became of it
    logic taken;
    logic damaged;  // its FCS was wrong
    logic stray;  // to another address
    logic other;  // no VCSN frame
    logic foreign;  // not of the circuit that the virtual port has
    logic unformed;  // not of whole words, of none or of too many
    logic indication;
    logic credit;
    logic full;  // the virtual port had no room
    logic sessionless;  // with the header of a session, where the virtual port has none, or without, where it has one
  } outcome_t;
  localparam int unsigned Outcomes = $bits(outcome_t);

  // What a host writes: each command is a word of a stream.
  localparam int unsigned LevelBits = 3;
  localparam int unsigned PaceWidth = 20;
  localparam int unsigned MemoryBits = 40;  // of a node's memory, in bytes
  localparam int unsigned SegmentBits = 26;  // of a segment, in words
  localparam int unsigned TimerWidth = 24;  // of windows' and reactions' cycles
  localparam int unsigned WindowWidth = 15;  // of words in a window
  localparam int unsigned CreditsWidth = 15;  // of words under way
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
    SendWord,  // these three within programs alone
    AwaitWord,
    Finish
  } command_kind_e;
  function automatic logic is_of_shell(logic [7:0] kind);  // not for an external port or a sequencer
    return kind == SetCrossbar || kind == Read || kind == Write;
  endfunction
  typedef struct packed {
    logic [7:0] kind;
    logic [7:0] place;  // output of the crossbar; virtual port, counted over all external ones; engine; or sequencer
    logic [111:0] body;  // one of those below, in its lowest bits
  } command_t;
  typedef struct packed {
    logic [7:0] kind, place;
    logic [95:0] body;  // as of the command
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
