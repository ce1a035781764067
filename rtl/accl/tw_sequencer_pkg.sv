// SPDX-License-Identifier: Apache-2.0
// Moves that the sequencer of ACCL's engine issues.
package tw_sequencer_pkg;
  import tw_accl_programs_pkg::*;

  typedef logic [RegisterBits-1:0] value_t;

  // A move or start of a call's program; or signal or await, which have no elements.
  typedef struct packed {
    opcode_e operation;
    operand_kind_e x, y, z;
    value_t x_at, y_at, z_at;  // an address or a rank
    value_t elements;
    logic continues;  // the next move's result continues the same packet of a kernel's stream
  } program_move_t;
endpackage
