// SPDX-License-Identifier: Apache-2.0
// The control plane of ACCL's engine: accepts calls, decides when they begin, runs their programs, and sends their moves to tw_move_engine. The host also accesses the exchange memory,
// through which communicators are announced (tw_communicators). Config calls set receive buffers, time-out and limits (tw_configuration). Moves that wait too long are
// cancelled, and end their call with a return code (tw_time_outs).
//
// A reset (config call 0) ends all calls accepted before it. It must be accepted itself, so at most Calls - 1 other calls may be active. While a config call is active,
// no other call is accepted. access_ready_o is low for up to 2,500 cycles after the host has completed a communicator.
//
// Order: calls of a port are accepted in order, after communicators written before them, and may end out of order; ports are served round-robin, one call each. Latency: that of its blocks, and a cycle before a call's
// first word. Throughput: one call, one instruction and one move in flight. Storage: that of its blocks, and 8 accesses of the exchange memory. All outputs, including call_ready_o, depend only on
// registers. Critical path: that of its blocks.
module tw_control_plane
  import tw_mover_pkg::*;
  import tw_accl_programs_pkg::*;
  import tw_sequencer_pkg::*;
  import tw_call_pkg::*;
#(
    parameter int unsigned Ports         = 3,     /// for calls, 2 to 4
    parameter int unsigned Calls         = 8,     /// active at once; a power of two, 2 to 16
    parameter int unsigned Communicators = 8,     /// as in tw_call_port
    parameter int unsigned Ranks         = 64,    /// a power of two, 2 to 64
    parameter int unsigned Buffers       = 16,    /// as in tw_configuration
    parameter int unsigned MostPackets   = 64,
    parameter int unsigned PacketBytes   = 4096,
    parameter int unsigned CyclesPerUs   = 250,   /// as in tw_time_outs
    parameter bit          Arithmetic    = 1'b1,
    parameter bit          Conversions   = 1'b1,
    localparam int unsigned IndexBits    = $clog2(Communicators),
    localparam int unsigned Slots        = 2 * Calls
) (
    input logic clk_i,
    input logic rst_i,

    input  logic [31:0] identity_i,       /// of the exchange memory, as in tw_exchange_ports
    input  logic        access_valid_i,   /// from the host
    output logic        access_ready_o,
    input  logic        access_write_i,
    input  logic [31:0] access_at_i,
    input  logic [31:0] access_data_i,
    output logic        answer_valid_o,
    output logic        answer_refused_o,
    output logic [31:0] answer_data_o,

    input  logic [Ports-1:0]       call_valid_i,  /// words of calls, 15 per call
    output logic [Ports-1:0]       call_ready_o,
    input  logic [Ports-1:0][31:0] call_data_i,
    output logic                   status_valid_o,
    input  logic                   status_ready_i,
    output logic            [ 1:0] status_port_o,
    output logic            [ 7:0] status_count_o, /// earlier calls of that port, modulo 256
    output logic            [31:0] status_code_o,  /// 0: success

    output logic           set_valid_o,     /// to tw_move_engine
    output setting_t       set_o,
    output logic     [7:0] own_o,           /// this board's session
    output logic           command_valid_o,  /// as in tw_mover
    input  logic           command_ready_i,
    output command_e       command_kind_o,
    output logic     [7:0] command_slot_o,
    output logic           move_valid_o,     /// true if the command has a move
    output move_t          move_data_o,
    input  logic           ended_valid_i,
    input  logic     [7:0] ended_slot_i,
    input  end_e           ended_how_i,
    input  logic [Slots-1:0] waits_i,       /// the move in this slot waits for a message or its kernel
    input  logic           moves_i,
    input  logic     [7:0] moves_slot_i
);
  if (Ports < 2 || Ports > 4) begin : check_ports
    $error("tw_control_plane: Ports must be 2 to 4");
  end

  localparam int unsigned CallBits = $clog2(Calls);
  localparam logic [3:0] LastWord = 4'd14;

  typedef logic [CallBits-1:0] number_t;

  // Round-robin arbitration of the ports. After a config call no port is granted until that call has ended.
  logic inside_q, word_ready, configures_q, resets_q, host_ready;
  logic [1:0] owner_q, next;
  logic [3:0] words_q;
  wire may = inside_q && !configures_q && host_ready;  // announcing a communicator has priority
  wire word_valid = may && call_valid_i[owner_q[$clog2(Ports)-1:0]];

  always_comb begin
    next = owner_q;
    for (int unsigned i = Ports; i-- > 0;) if (call_valid_i[i] && 2'(i) <= owner_q) next = 2'(i);
    for (int unsigned i = Ports; i-- > 0;) if (call_valid_i[i] && 2'(i) > owner_q) next = 2'(i);
    for (int unsigned i = 0; i < Ports; i++) call_ready_o[i] = may && word_ready && owner_q == 2'(i);
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

  // The engine's port of the exchange memory, with fixed priority in the order of this list.
  typedef enum logic [2:0] {
    OfSession,  // of a rank
    OfCall,
    OfConfiguration,
    OfCommunicator,
    OfReport
  } user_e;
  localparam int unsigned Users = 5;
  // verilator lint_off UNUSEDSIGNAL
  logic [1:0] answer_refused;
  logic [7:0] load_call;
  logic [Users-1:0] answers;
  // verilator lint_on UNUSEDSIGNAL
  logic [1:0] access_ready, answer_valid;
  logic [1:0][31:0] answer_data;
  logic [Users-1:0] asks, takes;
  logic [Users-1:0][31:0] asks_at;
  logic [31:0] report_data;
  logic configuration_writes, users_ready, user_valid;
  logic [3:0] unused_count;
  user_e user, asker;
  wire host = access_valid_i && host_ready;

  assign access_ready_o = access_ready[0] && host_ready;
  assign answer_valid_o = answer_valid[0];
  assign answer_refused_o = answer_refused[0];
  assign answer_data_o = answer_data[0];

  always_comb begin
    user = OfSession;
    for (int unsigned i = Users; i-- > 0;) if (asks[i]) user = user_e'(3'(i));
    for (int unsigned i = 0; i < Users; i++) begin
      takes[i] = access_ready[1] && users_ready && user == user_e'(3'(i));
      answers[i] = answer_valid[1] && user_valid && asker == user_e'(3'(i));
    end
  end

  tw_fifo #(
      .Width(3),
      .Depth(8)
  ) users (
      .clk_i,
      .rst_i,
      .in_valid_i (asks != 0 && access_ready[1]),
      .in_ready_o (users_ready),
      .in_data_i  (user),
      .out_valid_o(user_valid),
      .out_ready_i(answer_valid[1]),
      .out_data_o ({asker}),
      .count_o    (unused_count)
  );

  tw_exchange_ports exchange (
      .clk_i,
      .rst_i,
      .identity_i,
      .access_valid_i  ({asks != 0 && users_ready, host}),
      .access_ready_o  (access_ready),
      .access_write_i  ({user == OfReport || (user == OfConfiguration && configuration_writes), access_write_i}),
      .access_at_i     ({asks_at[user], access_at_i}),
      .access_data_i   ({user == OfReport ? report_data : '0, access_data_i}),
      .answer_valid_o  (answer_valid),
      .answer_refused_o(answer_refused),
      .answer_data_o   (answer_data)
  );

  logic set_valid, set_ready;
  logic [IndexBits-1:0] set_index;
  logic [12:0] set_at;
  logic [31:0] set_identity;

  tw_communicators #(
      .Communicators(Communicators),
      .Ranks        (Ranks)
  ) communicators (
      .clk_i,
      .rst_i,
      .write_valid_i (host && access_ready[0] && access_write_i),
      .write_ready_o (host_ready),
      .write_at_i    (access_at_i),
      .write_data_i  (access_data_i),
      .access_valid_o(asks[OfCommunicator]),
      .access_ready_i(takes[OfCommunicator]),
      .access_at_o   (asks_at[OfCommunicator]),
      .answer_valid_i(answers[OfCommunicator]),
      .answer_data_i (answer_data[1]),
      .set_valid_o   (set_valid),
      .set_ready_i   (set_ready),
      .set_index_o   (set_index),
      .set_at_o      (set_at),
      .set_identity_o(set_identity),
      .own_o
  );

  logic config_valid, config_done, clear, empty_valid, empty_ready, config_sets;
  logic [7:0] config_setting;
  logic [31:0] config_count, config_code, time_out;
  logic [6:0] buffers;
  logic [9:0] grains;
  setting_t config_set;

  tw_configuration #(
      .Buffers    (Buffers),
      .MostPackets(MostPackets),
      .PacketBytes(PacketBytes)
  ) configuration (
      .clk_i,
      .rst_i,
      .config_valid_i  (config_valid),
      .config_setting_i(config_setting),
      .config_count_i  (config_count),
      .config_done_o   (config_done),
      .config_code_o   (config_code),
      .access_valid_o  (asks[OfConfiguration]),
      .access_ready_i  (takes[OfConfiguration]),
      .access_write_o  (configuration_writes),
      .access_at_o     (asks_at[OfConfiguration]),
      .answer_valid_i  (answers[OfConfiguration]),
      .answer_data_i   (answer_data[1]),
      .set_valid_o     (config_sets),
      .set_o           (config_set),
      .empty_valid_o   (empty_valid),
      .empty_ready_i   (empty_ready),
      .clear_o         (clear),
      .buffers_o       (buffers),
      .grains_o        (grains),
      .time_out_o      (time_out)
  );

  assign set_ready = !config_sets;
  assign set_valid_o = config_sets || set_valid;
  assign set_o = config_sets ? config_set : '{kind: SetCommunicator, index: 8'(set_index), value: {63'd0, 1'b1, set_identity}};

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
      .set_valid_i    (set_valid && set_ready),
      .set_index_i    (set_index),
      .set_known_i    (1'b1),
      .set_at_i       (set_at),
      .clear_i        (clear),
      .buffers_i      (buffers),
      .grains_i       (grains),
      .word_valid_i   (word_valid),
      .word_ready_o   (word_ready),
      .word_data_i    (call_data_i[owner_q[$clog2(Ports)-1:0]]),
      .word_port_i    (owner_q),
      .number_valid_i (number_valid),
      .number_ready_o (number_ready),
      .number_data_i  (8'(number)),
      .access_valid_o (asks[OfCall]),
      .access_ready_i (takes[OfCall]),
      .access_at_o    (asks_at[OfCall]),
      .answer_valid_i (answers[OfCall]),
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

  wire enters = call_valid && call_ready;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      configures_q <= 1'b0;
      resets_q <= 1'b0;
    end else if (!configures_q) begin
      configures_q <= enters && call.scenario == CallConfig;
      resets_q <= call_valid && call.scenario == CallConfig && call.setting == 8'd0;
    end else if (config_done) begin
      configures_q <= 1'b0;
      resets_q <= 1'b0;
    end
  end

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
  logic move_valid, move_ready, end_valid, end_ready, program_valid, program_background, program_stops;
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
      .ended_background_i (program_background),
      .ended_stops_i  (program_stops),
      .end_valid_o    (end_valid),
      .end_ready_i    (end_ready),
      .end_call_o     (end_call)
  );

  // Commands to the move engine.
  logic ends_valid, moves_command, cancel_valid;
  logic [1:0] ends_port;
  logic [7:0] cancel_slot, moves_slot;
  logic [31:0] ends_code;
  command_e moves_kind;
  wire moves_ready = command_ready_i && !cancel_valid && !empty_valid;

  assign empty_ready = command_ready_i && !cancel_valid;
  assign command_valid_o = cancel_valid || empty_valid || moves_command;
  assign command_kind_o = cancel_valid ? CancelMove : empty_valid ? ClearAll : moves_kind;
  assign command_slot_o = cancel_valid ? cancel_slot : empty_valid ? '0 : moves_slot;
  assign move_valid_o = moves_command && !cancel_valid && !empty_valid;

  tw_time_outs #(
      .Slots      (Slots),
      .CyclesPerUs(CyclesPerUs)
  ) time_outs (
      .clk_i,
      .rst_i,
      .time_out_i    (time_out),
      .resets_i      (resets_q),
      .waits_i,
      .moves_i,
      .moves_slot_i,
      .ended_valid_i,
      .ended_slot_i,
      .cancel_valid_o(cancel_valid),
      .cancel_ready_i(command_ready_i),
      .cancel_slot_o (cancel_slot)
  );

  tw_program_moves #(
      .Calls        (Calls),
      .Communicators(Communicators),
      .Ranks        (Ranks)
  ) moves (
      .clk_i,
      .rst_i,
      .set_valid_i     (set_valid && set_ready),
      .set_index_i     (set_index),
      .set_identity_i  (set_identity),
      .clear_i         (clear),
      .call_valid_i    (enters),
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
      .program_beside_o(program_background),
      .program_stops_o (program_stops),
      .access_valid_o  (asks[OfSession]),
      .access_ready_i  (takes[OfSession]),
      .access_at_o     (asks_at[OfSession]),
      .answer_valid_i  (answers[OfSession]),
      .answer_data_i   (answer_data[1]),
      .command_valid_o (moves_command),
      .command_ready_i (moves_ready),
      .command_kind_o  (moves_kind),
      .command_slot_o  (moves_slot),
      .command_move_o  (move_data_o),
      .ended_valid_i,
      .ended_slot_i,
      .ended_how_i,
      .resets_i        (resets_q),
      .config_valid_o  (config_valid),
      .config_setting_o(config_setting),
      .config_count_o  (config_count),
      .config_done_i   (config_done),
      .config_code_i   (config_code),
      .status_valid_o  (ends_valid),
      .status_ready_i  (status_ends),
      .status_port_o   (ends_port),
      .status_call_o   (status_call),
      .status_code_o   (ends_code)
  );

  tw_call_report #(
      .Ports(Ports),
      .Calls(Calls)
  ) report (
      .clk_i,
      .rst_i,
      .first_i       (word_valid && word_ready && words_q == 0),
      .call_valid_i  (enters),
      .call_number_i (call.number[CallBits-1:0]),
      .call_port_i   (call.port),
      .end_valid_i   (ends_valid),
      .end_ready_o   (status_ends),
      .end_number_i  (status_call),
      .end_port_i    (ends_port),
      .end_code_i    (ends_code),
      .access_valid_o(asks[OfReport]),
      .access_ready_i(takes[OfReport]),
      .access_at_o   (asks_at[OfReport]),
      .access_data_o (report_data),
      .status_valid_o,
      .status_ready_i,
      .status_port_o,
      .status_count_o,
      .status_code_o
  );
endmodule
