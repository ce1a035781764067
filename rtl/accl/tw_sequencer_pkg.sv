// SPDX-License-Identifier: Apache-2.0
// What the sequencer of ACCL's engine offers to what carries out moves.
package tw_sequencer_pkg;
  import tw_accl_programs_pkg::*;

  typedef logic [RegisterBits-1:0] value_t;

  // Of a call's program: move or start; signal or await, which have no elements.
  typedef struct packed {
    opcode_e operation;
    operand_kind_e x, y, z;
    value_t x_at, y_at, z_at;  // an address or a rank
    value_t elements;
    logic continues;  // the next move's result goes into the same packet of a kernel's stream
  } program_move_t;
endpackage
