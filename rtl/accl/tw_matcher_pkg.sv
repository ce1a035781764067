// SPDX-License-Identifier: Apache-2.0
// What the matcher of receive buffers is asked, and what it answers.
package tw_matcher_pkg;
  typedef enum logic [2:0] {
    Arrive,  // a packet has come
    Find,  // what a move waits for
    Take,  // the move will read bytes of what was found
    Finish,  // the move has ended, or was given up
    End,  // a collective has ended
    Clear  // everything is empty
  } operation_e;

  // Fields that an operation does not name are free.
  typedef struct packed {
    operation_e operation;
    logic [7:0] slot;  // of a move's operand: Find, Take, Finish
    logic [31:0] communicator;  // of Arrive its id, of Find and End its index
    logic [15:0] source;  // rank: Arrive, Find
    logic collective;  // the message's kind: Arrive, Find
    logic [31:0] tag;  // Arrive, Find; of a collective its number: Arrive, Find, End
    logic [31:0] number;  // of the message: Arrive, Find of a collective
    logic [63:0] length;  // bytes of the message: Arrive
    logic [63:0] segment;  // where the segment begins in it: Arrive
    logic [31:0] segment_length;  // bytes: Arrive
    logic [63:0] offset;  // of the payload in the message: Arrive
    logic [31:0] bytes;  // of the payload, at most 65,535: Arrive; that are taken: Take
    logic reserves;  // the last free buffer is for messages that a slot waits for: Arrive
  } request_t;

  typedef enum logic [2:0] {
    Kept,
    Repeated,  // it has come before, or nobody wants it anymore
    Malformed,
    NoRoom,
    Stray  // of no known communicator or rank
  } verdict_e;

  // Fields that an answer does not have are 0.
  typedef struct packed {
    operation_e operation;
    verdict_e verdict;  // Arrive
    logic claimed;  // the slot has a message: Find
    logic found;  // and more of it is there: Find
    logic [63:0] length;  // of the claimed message
    logic [7:0] buffer;  // of Kept, and where something was found
    logic [31:0] offset;  // in the buffer: Arrive, where the payload goes to; Find, of what was not taken
    logic [31:0] bytes;  // from there to the segment's end: Find
  } answer_t;

  // Constant while anything is in the table.
  typedef struct packed {
    logic [7:0] last_buffer;  // buffers 0 to this one are in use
    logic [15:0] buffer_words;  // bytes of each by 64, at most MostPackets times packet_words
    logic [7:0] packet_words;  // bytes of a packet's payload by 64, at least 1; the last one of a segment has what is left
  } settings_t;
endpackage
