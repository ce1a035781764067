// SPDX-License-Identifier: Apache-2.0
// Types shared by the blocks of ACCL's move engine: moves, and their pieces. A piece is at most a packet, or
// 8 KiB of received messages on the path to memory.
package tw_mover_pkg;
  import tw_spec_pkg::*;
  import tw_accl_spec_pkg::*;
  import tw_accl_pkg::*;

  localparam int unsigned AddressBits = 48;
  localparam int unsigned PieceBits = 15;  // of a piece's bytes: a packet's payload or 8 KiB, doubled if widened
  localparam int unsigned PieceWords = PieceBits - 6;  // of a piece's words

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

  // Elements in memory: address, and log2 of their size in bytes.
  typedef struct packed {
    logic host;  // in host memory, not the board's
    address_t at;
    logic [1:0] size;
    conversion_e conversion;  // of an operand before combining, of the result after it
  } place_t;

  typedef struct packed {
    source_e x_source, y_source;  // at most one of the two is a message, at most one a stream; y: FromNothing if the move does not combine
    target_e target;
    place_t x, y, z;  // a stream uses only size and conversion
    operator_e operation;
    datatype_e datatype;
    logic [1:0] wire_size;  // log2 of an element's bytes in messages
    logic [39:0] elements;  // 0: a message without data

    // The message that the move receives.
    logic [15:0] from_communicator;  // the board's index of it
    logic [15:0] from;  // rank
    logic from_collective;
    logic [31:0] from_tag, from_number;  // collective's number and message's number in it, or a tag

    // Header fields of the packets or stream that the move sends.
    logic [7:0] to;  // index in the table of ends
    logic [31:0] to_communicator;
    logic [15:0] own_rank;
    message_kind_e kind;
    logic [7:0] stream;
    logic [31:0] to_tag, to_number;
  } move_t;

  typedef enum logic [1:0] {
    BeginMove,
    CancelMove,  // in a slot
    EndCollective,  // later packets of it are Repeated; `data` has from_communicator and from_tag
    ClearAll  // empties all receive buffers and resets the counts of messages; no move may be active
  } command_e;

  // Settings by the control plane, while no move is active.
  typedef enum logic [1:0] {
    SetBuffer,  // address of a receive buffer
    SetSizes,  // the matcher's settings_t
    SetCommunicator,  // a valid bit, and the identity
    SetEnd  // UDP address of a session
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

  // A piece of an operand to read.
  typedef struct packed {
    source_e source;
    logic host;
    address_t at;
    logic [PieceBits-1:0] bytes;  // at least 1
    logic releases;  // release the receive buffer after the read
    logic [7:0] buffer;
  } operand_t;

  // Destination of a piece's result.
  typedef struct packed {
    target_e target;
    logic host;
    address_t at;
    logic [PieceBits-1:0] bytes;  // 0: only a packet's header, or nothing
    logic last;  // of the move
    logic [7:0] slot, to;
    accl_packet_t header;
  } result_t;

  typedef struct packed {
    logic [7:0] slot;
    logic last;
  } done_t;

  // Outcome of a received packet.
  typedef struct packed {
    logic kept;  // in a receive buffer
    logic passed;  // to a kernel
    logic repeated;
    logic malformed;
    logic stray;  // unknown communicator or kind
    logic behind;  // after a missing packet of a message to a kernel
  } taken_t;

  function automatic logic [PieceWords:0] words_of(logic [PieceBits-1:0] bytes);
    return (PieceWords + 1)'((16'(bytes) + 16'd63) >> 6);
  endfunction
endpackage
