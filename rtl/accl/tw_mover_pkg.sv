// SPDX-License-Identifier: Apache-2.0
// What the blocks of ACCL's move engine share: moves, and what becomes of a piece of one, which is at most a packet, or
// 8 KiB of what other ranks have sent, on its way to memory.
package tw_mover_pkg;
  import tw_spec_pkg::*;
  import tw_accl_spec_pkg::*;
  import tw_accl_pkg::*;

  localparam int unsigned AddressBits = 48;
  localparam int unsigned PieceBits = 15;  // of a piece's bytes: a packet's payload or 8 KiB, twice where it is widened
  localparam int unsigned PieceWords = PieceBits - 6;  // bits of its words

  typedef logic [AddressBits-1:0] address_t;

  typedef enum logic [1:0] {
    FromNothing,
    FromMemory,
    FromStream,  // of a kernel
    FromMessage  // of another rank, in receive buffers
  } source_e;
  typedef enum logic [1:0] {
    ToNothing,
    ToMemory,
    ToStream,  // of a kernel
    ToRank  // as packets
  } target_e;

  // Elements in memory: where, and the logarithm of their bytes.
  typedef struct packed {
    logic host;  // the host's memory, not the board's
    address_t at;
    logic [1:0] size;
    conversion_e conversion;  // of an operand before it is combined, of the result after that
  } place_t;

  typedef struct packed {
    source_e x_source, y_source;  // of the two at most one is a message, and at most one a stream. y: none, where the move does not combine
    target_e target;
    place_t x, y, z;  // a stream has the size and conversion alone
    operator_e operation;
    datatype_e datatype;
    logic [1:0] wire_size;  // logarithm of an element's bytes in messages
    logic [39:0] elements;  // 0: a message without data

    // The message that it takes.
    logic [15:0] from_communicator;  // the board's number of it
    logic [15:0] from;  // rank
    logic from_collective;
    logic [31:0] from_tag, from_number;  // a collective's number and the message's number in it; or a tag

    // Of its packets, or its stream.
    logic [7:0] to;  // of the table of ends
    logic [31:0] to_communicator;
    logic [15:0] own_rank;
    message_kind_e kind;
    logic [7:0] stream;
    logic [31:0] to_tag, to_number;
  } move_t;

  typedef enum logic [1:0] {
    BeginMove,
    CancelMove,  // in a slot
    EndCollective,  // what still comes for it has come before; `data` has from_communicator and from_tag
    ClearAll  // all receive buffers are empty, and no message has come; no move is under way
  } command_e;

  // What the control plane sets while nothing moves.
  typedef enum logic [1:0] {
    SetBuffer,  // address of a receive buffer
    SetSizes,  // matcher's settings_t
    SetCommunicator,  // a bit whether there is this one, and its identity
    SetEnd  // an end of UDP
  } setting_e;
  typedef struct packed {
    setting_e kind;
    logic [7:0] index;
    logic [95:0] value;
  } setting_t;

  typedef enum logic [1:0] {
    Moved,
    Differs,  // the message has another length
    Cancelled
  } end_e;

  // What an operand's reader does for a piece.
  typedef struct packed {
    source_e source;
    logic host;
    address_t at;
    logic [PieceBits-1:0] bytes;  // at least 1
    logic releases;  // a receive buffer, when its data have been read
    logic [7:0] buffer;
  } operand_t;

  // What becomes of a piece's result.
  typedef struct packed {
    target_e target;
    logic host;
    address_t at;
    logic [PieceBits-1:0] bytes;  // 0: a packet's header alone, or nothing
    logic last;  // of the move
    logic [7:0] slot, to;
    accl_packet_t header;
  } result_t;

  typedef struct packed {
    logic [7:0] slot;
    logic last;
  } done_t;

  // What became of a packet.
  typedef struct packed {
    logic kept;  // in a receive buffer
    logic passed;  // to a kernel
    logic repeated;
    logic malformed;
    logic stray;  // of a communicator that the board is not in, or of another kind
    logic behind;  // one that is missing, on its way to a kernel
  } taken_t;

  function automatic logic [PieceWords:0] words_of(logic [PieceBits-1:0] bytes);
    return (PieceWords + 1)'((16'(bytes) + 16'd63) >> 6);
  endfunction
endpackage
