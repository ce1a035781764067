// SPDX-License-Identifier: Apache-2.0
// The control plane of ACCL's engine: takes calls, decides when they begin, runs their programs, and gives their moves to tw_mover. A host has the exchange memory
// beside it. Receive buffers and communicators are set by the host; a config call begins and ends as others do, and sets nothing. A move
// ends by itself or is cancelled from outside.
//
// Order: calls of a port are taken in order; ports take turns, call by call. Latency: that of its blocks, and a cycle before a call's first word. Throughput: one call, one instruction and one move at a time.
// Storage: that of its blocks. Outputs depend on registers alone; call_ready_o, too. Critical path: that of its blocks.
module tw_control_plane
  import tw_mover_pkg::*;
  import tw_accl_programs_pkg::*;
  import tw_sequencer_pkg::*;
  import tw_call_pkg::*;
#(
    parameter int unsigned Ports         = 3,     /// of calls, 2 to 4
    parameter int unsigned Calls         = 8,     /// under way at once, a power of two, 2 to 16
    parameter int unsigned Communicators = 8,     /// as of tw_call_port
    parameter int unsigned Ranks         = 64,    /// a power of two, 2 to 64
    parameter bit          Arithmetic    = 1'b1,
    parameter bit          Conversions   = 1'b1,
    localparam int unsigned IndexBits    = $clog2(Communicators)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                 set_valid_i,     /// a communicator, as of tw_call_port and tw_program_moves
    input logic [IndexBits-1:0] set_index_i,
    input logic                 set_known_i,
    input logic [         12:0] set_at_i,
    input logic [         31:0] set_identity_i,
    input logic                 clear_i,         /// messages and collectives are counted anew; while no call is under way
    input logic [          6:0] buffers_i,       /// as of tw_call_port
    input logic [          9:0] grains_i,

    input  logic [31:0] identity_i,       /// of the exchange memory, as of tw_exchange_ports
    input  logic        access_valid_i,   /// the host's
    output logic        access_ready_o,
    input  logic        access_write_i,
    input  logic [31:0] access_at_i,
    input  logic [31:0] access_data_i,
    output logic        answer_valid_o,
    output logic        answer_refused_o,
    output logic [31:0] answer_data_o,

    input  logic [Ports-1:0]       call_valid_i,  /// words of calls, 15 each
    output logic [Ports-1:0]       call_ready_o,
    input  logic [Ports-1:0][31:0] call_data_i,
    output logic                   status_valid_o,
    input  logic                   status_ready_i,
    output logic            [ 1:0] status_port_o,
    output logic            [31:0] status_code_o,  /// 0: all went well

    output logic           command_valid_o,  /// as of tw_mover
    input  logic           command_ready_i,
    output command_e       command_kind_o,
    output logic     [7:0] command_slot_o,
    output move_t          command_move_o,
    input  logic           ended_valid_i,
    input  logic     [7:0] ended_slot_i,
    input  end_e           ended_how_i
);
  if (Ports < 2 || Ports > 4) begin : check_ports
    $error("tw_control_plane: Ports must be 2 to 4");
  end

  localparam int unsigned CallBits = $clog2(Calls);
  localparam int unsigned MemoryCycles = 3;  // from a read to its answer
  localparam logic [3:0] LastWord = 4'd14;

  typedef logic [CallBits-1:0] number_t;

  // Ports take turns.
  logic inside_q, word_ready;
  logic [1:0] owner_q, next;
  logic [3:0] words_q;
  wire word_valid = inside_q && call_valid_i[owner_q[$clog2(Ports)-1:0]];

  always_comb begin
    next = owner_q;
    for (int unsigned i = Ports; i-- > 0;) if (call_valid_i[i] && 2'(i) <= owner_q) next = 2'(i);
    for (int unsigned i = Ports; i-- > 0;) if (call_valid_i[i] && 2'(i) > owner_q) next = 2'(i);
    for (int unsigned i = 0; i < Ports; i++) call_ready_o[i] = inside_q && word_ready && owner_q == 2'(i);
  end

  always_ff @(posedge clk_i) begin
    if (!inside_q) words_q <= '0;
    else if (word_valid && word_ready) words_q <= words_q + 4'd1;
    if (rst_i) begin
      inside_q <= 1'b0;
      owner_q  <= '0;
    end else if (!inside_q) begin
      inside_q <= call_valid_i != 0;
      owner_q  <= next;
    end else if (word_valid && word_ready && words_q == LastWord) begin
      inside_q <= 1'b0;
    end
  end

  // The exchange memory: its second port is the engine's, for the sessions of ranks first.
  // verilator lint_off UNUSEDSIGNAL
  logic [1:0] answer_refused;
  logic [7:0] load_call;
  // verilator lint_on UNUSEDSIGNAL
  logic [1:0] access_ready, answer_valid;
  logic [1:0][31:0] answer_data;
  logic port_access, port_access_ready, session_access;
  logic [31:0] port_access_at, session_at;
  logic [MemoryCycles-1:0] of_port_q;
  wire port_answers = answer_valid[1] && of_port_q[MemoryCycles-1];
  wire session_answers = answer_valid[1] && !of_port_q[MemoryCycles-1];

  assign access_ready_o = access_ready[0];
  assign answer_valid_o = answer_valid[0];
  assign answer_refused_o = answer_refused[0];
  assign answer_data_o = answer_data[0];
  assign port_access_ready = access_ready[1] && !session_access;

  always_ff @(posedge clk_i) of_port_q <= {of_port_q[MemoryCycles-2:0], !session_access};

  tw_exchange_ports exchange (
      .clk_i,
      .rst_i,
      .identity_i,
      .access_valid_i  ({port_access || session_access, access_valid_i}),
      .access_ready_o  (access_ready),
      .access_write_i  ({1'b0, access_write_i}),
      .access_at_i     ({session_access ? session_at : port_access_at, access_at_i}),
      .access_data_i   ({32'd0, access_data_i}),
      .answer_valid_o  (answer_valid),
      .answer_refused_o(answer_refused),
      .answer_data_o   (answer_data)
  );

  // Calls.
  logic number_valid, number_ready, load_valid, seq_load_ready, call_valid, call_ready;
  number_t number;
  register_e load_register;
  value_t load_data;
  call_t call;
  logic begin_valid, status_ends;
  number_t begin_call, status_call;
  program_e begin_at;
  wire load_ready = seq_load_ready && !begin_valid;

  tw_call_port #(
      .Communicators(Communicators),
      .Ranks        (Ranks),
      .Arithmetic   (Arithmetic),
      .Conversions  (Conversions)
  ) port (
      .clk_i,
      .rst_i,
      .set_valid_i,
      .set_index_i,
      .set_known_i,
      .set_at_i,
      .clear_i,
      .buffers_i,
      .grains_i,
      .word_valid_i   (word_valid),
      .word_ready_o   (word_ready),
      .word_data_i    (call_data_i[owner_q[$clog2(Ports)-1:0]]),
      .word_port_i    (owner_q),
      .number_valid_i (number_valid),
      .number_ready_o (number_ready),
      .number_data_i  (8'(number)),
      .access_valid_o (port_access),
      .access_ready_i (port_access_ready),
      .access_at_o    (port_access_at),
      .answer_valid_i (port_answers),
      .answer_data_i  (answer_data[1]),
      .load_valid_o   (load_valid),
      .load_ready_i   (load_ready),
      .load_call_o    (load_call),
      .load_register_o(load_register),
      .load_data_o    (load_data),
      .call_valid_o   (call_valid),
      .call_ready_i   (call_ready),
      .call_o         (call)
  );

  tw_call_order #(
      .Calls(Calls)
  ) order (
      .clk_i,
      .rst_i,
      .number_valid_o (number_valid),
      .number_ready_i (number_ready),
      .number_data_o  (number),
      .load_valid_i   (load_valid && load_ready),
      .load_register_i(load_register),
      .load_data_i    (load_data),
      .call_valid_i   (call_valid),
      .call_ready_o   (call_ready),
      .call_i         (call),
      .begin_valid_o  (begin_valid),
      .begin_ready_i  (seq_load_ready),
      .begin_call_o   (begin_call),
      .begin_at_o     (begin_at),
      .ended_valid_i  (status_ends),
      .ended_call_i   (status_call)
  );

  // Programs, and their moves.
  logic move_valid, move_ready, end_valid, end_ready, program_valid, program_beside, program_stops;
  number_t move_call, end_call, program_call;
  program_move_t move;

  tw_sequencer #(
      .Calls(Calls)
  ) sequencer (
      .clk_i,
      .rst_i,
      .load_valid_i   (begin_valid || load_valid),
      .load_ready_o   (seq_load_ready),
      .load_call_i    (begin_valid ? begin_call : load_call[CallBits-1:0]),
      .load_register_i(begin_valid ? RegisterZero : load_register),
      .load_data_i    (load_data),
      .load_begins_i  (begin_valid),
      .load_program_i (begin_at),
      .move_valid_o   (move_valid),
      .move_ready_i   (move_ready),
      .move_call_o    (move_call),
      .move_data_o    (move),
      .ended_valid_i  (program_valid),
      .ended_call_i   (program_call),
      .ended_beside_i (program_beside),
      .ended_stops_i  (program_stops),
      .end_valid_o    (end_valid),
      .end_ready_i    (end_ready),
      .end_call_o     (end_call)
  );

  assign status_ends = status_valid_o && status_ready_i;

  tw_program_moves #(
      .Calls        (Calls),
      .Communicators(Communicators),
      .Ranks        (Ranks)
  ) moves (
      .clk_i,
      .rst_i,
      .set_valid_i,
      .set_index_i,
      .set_identity_i,
      .clear_i,
      .call_valid_i    (call_valid && call_ready),
      .call_i          (call),
      .move_valid_i    (move_valid),
      .move_ready_o    (move_ready),
      .move_call_i     (move_call),
      .move_data_i     (move),
      .end_valid_i     (end_valid),
      .end_ready_o     (end_ready),
      .end_call_i      (end_call),
      .program_valid_o (program_valid),
      .program_call_o  (program_call),
      .program_beside_o(program_beside),
      .program_stops_o (program_stops),
      .access_valid_o  (session_access),
      .access_ready_i  (access_ready[1]),
      .access_at_o     (session_at),
      .answer_valid_i  (session_answers),
      .answer_data_i   (answer_data[1]),
      .command_valid_o,
      .command_ready_i,
      .command_kind_o,
      .command_slot_o,
      .command_move_o,
      .ended_valid_i,
      .ended_slot_i,
      .ended_how_i,
      .status_valid_o,
      .status_ready_i,
      .status_port_o,
      .status_call_o   (status_call),
      .status_code_o
  );
endmodule
