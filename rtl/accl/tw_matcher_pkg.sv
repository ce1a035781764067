// SPDX-License-Identifier: Apache-2.0
// Requests to the matcher of receive buffers, and its answers.
package tw_matcher_pkg;
  typedef enum logic [2:0] {
    Arrive,  // a packet has arrived
    Find,  // data for a move
    Take,  // a move will read bytes that were found
    Finish,  // a move has ended, or was cancelled
    End,  // a collective has ended
    Clear  // empties the table
  } operation_e;

  // Fields are don't-cares in operations that are not listed.
  typedef struct packed {
    operation_e operation;
    logic [7:0] slot;  // of a move's operand: Find, Take, Finish
    logic [31:0] communicator;  // Arrive: id; Find, End: index
    logic [15:0] source;  // rank: Arrive, Find
    logic collective;  // kind of message: Arrive, Find
    logic [31:0] tag;  // Arrive, Find; of a collective its number: Arrive, Find, End
    logic [31:0] number;  // of the message: Arrive, Find of a collective
    logic [63:0] length;  // bytes of the message: Arrive
    logic [63:0] segment;  // offset of the segment in the message: Arrive
    logic [31:0] segment_length;  // bytes: Arrive
    logic [63:0] offset;  // of the payload in the message: Arrive
    logic [31:0] bytes;  // payload, at most 65,535: Arrive; bytes taken: Take
    logic reserves;  // the last free buffer is reserved for messages that a slot waits for: Arrive
  } request_t;

  typedef enum logic [2:0] {
    Kept,
    Repeated,  // a duplicate, or its message is finished
    Malformed,
    NoRoom,
    Stray  // unknown communicator or rank
  } verdict_e;

  // Fields that do not apply to an answer are 0.
  typedef struct packed {
    operation_e operation;
    verdict_e verdict;  // Arrive
    logic claimed;  // the slot has claimed a message: Find
    logic found;  // the next data of it are available: Find
    logic [63:0] length;  // of the claimed message
    logic [7:0] buffer;  // if Kept, or found
    logic [31:0] offset;  // in the buffer; Arrive: destination of the payload; Find: first byte not taken
    logic [31:0] bytes;  // from offset to the segment's end: Find
  } answer_t;

  // Constant while the table is not empty.
  typedef struct packed {
    logic [7:0] last_buffer;  // buffers 0 to last_buffer are in use
    logic [15:0] buffer_words;  // bytes of a buffer / 64, at most MostPackets * packet_words
    logic [7:0] packet_words;  // bytes of a packet's payload / 64, at least 1; the last packet of a segment may be shorter
  } settings_t;
endpackage
