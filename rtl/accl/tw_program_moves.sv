// SPDX-License-Identifier: Apache-2.0
// Translates the moves of programs into commands of tw_move_engine: adds the addresses of operands and results, conversions, a rank's table entry, and the
// number of a message. Call k has two slots: 2 k for the moves of its program, and 2 k + 1 for its background move.
//
// call_i describes a call before its first move; the call's status frees its number. After a collective, a command to the move engine removes its
// messages. A move that was cancelled, or whose message has the wrong length, ends its call with a return code. A config call is executed at its end. A reset ends all other calls with
// a return code.
//
// Order: moves stay in order; a call's end follows its moves. Latency: 4 cycles from a move to its command, 6 more if it receives a message of
// a collective, and 7 more if it sends, if the exchange memory answers within 7; 4 cycles from a call's end to its status, plus the time of a config call; one from the end of a move. Throughput:
// one move or call end in flight. After a reset, and after clear_i, clearing the counts takes a cycle for each. Storage: a memory of Calls descriptions, one of
// 4 * Ranks counts for each call or communicator. Outputs depend only on registers. Critical path: from a call's description through an element's size.
module tw_program_moves
  import tw_spec_pkg::*;
  import tw_accl_spec_pkg::*;
  import tw_accl_pkg::*;
  import tw_mover_pkg::*;
  import tw_accl_programs_pkg::*;
  import tw_sequencer_pkg::*;
  import tw_call_pkg::*;
#(
    parameter int unsigned Calls         = 8,   /// active at once; a power of two, 2 to 64
    parameter int unsigned Communicators = 8,   /// a power of two, 2 to 16
    parameter int unsigned Ranks         = 64,  /// a power of two, 2 to 64
    localparam int unsigned CallBits     = $clog2(Calls),
    localparam int unsigned IndexBits    = $clog2(Communicators)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                 set_valid_i,     /// sets a communicator's identity, for packets
    input logic [IndexBits-1:0] set_index_i,
    input logic [         31:0] set_identity_i,
    input logic                 clear_i,         /// resets the counts of messages; while no call is active

    input logic  call_valid_i,  /// a call is accepted
    // verilator lint_off UNUSEDSIGNAL
    input call_t call_i,

    input  logic                         move_valid_i,  /// as in tw_sequencer
    output logic                         move_ready_o,
    input  logic          [CallBits-1:0] move_call_i,
    input  program_move_t                move_data_i,
    // verilator lint_on UNUSEDSIGNAL
    input  logic                         end_valid_i,
    output logic                         end_ready_o,
    input  logic          [CallBits-1:0] end_call_i,
    output logic                         program_valid_o,   /// a move has ended
    output logic          [CallBits-1:0] program_call_o,
    output logic                         program_beside_o,
    output logic                         program_stops_o,

    output logic        access_valid_o,  /// reads of the exchange memory, as in tw_exchange_ports
    input  logic        access_ready_i,
    output logic [31:0] access_at_o,
    input  logic        answer_valid_i,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [31:0] answer_data_i,

    output logic           command_valid_o,  /// as in tw_mover
    input  logic           command_ready_i,
    output command_e       command_kind_o,
    output logic     [7:0] command_slot_o,
    output move_t          command_move_o,
    input  logic           ended_valid_i,
    input  logic     [7:0] ended_slot_i,
    // verilator lint_on UNUSEDSIGNAL
    input  end_e           ended_how_i,

    input  logic        resets_i,
    output logic        config_valid_o,    /// as in tw_configuration
    output logic [ 7:0] config_setting_o,
    output logic [31:0] config_count_o,
    input  logic        config_done_i,
    input  logic [31:0] config_code_i,

    output logic                status_valid_o,
    input  logic                status_ready_i,
    output logic [         1:0] status_port_o,
    output logic [CallBits-1:0] status_call_o,   /// this number becomes free
    output logic [        31:0] status_code_o
);
  if (Calls < 2 || Calls > 64 || (Calls & (Calls - 1)) != 0) begin : check_calls
    $error("tw_program_moves: Calls must be a power of two, 2 to 64");
  end
  if (Communicators < 2 || Communicators > 16 || (Communicators & (Communicators - 1)) != 0) begin : check_communicators
    $error("tw_program_moves: Communicators must be a power of two, 2 to 16");
  end
  if (Ranks < 2 || Ranks > 64 || (Ranks & (Ranks - 1)) != 0) begin : check_ranks
    $error("tw_program_moves: Ranks must be a power of two, 2 to 64");
  end

  localparam int unsigned RankBits = $clog2(Ranks);
  localparam int unsigned OwnerBits = CallBits > IndexBits ? CallBits : IndexBits;

  typedef logic [CallBits-1:0] call_number_t;
  typedef logic [1:0] size_t;  // log2 of an element's bytes
  typedef struct packed {
    logic [1:0] what;
    logic [OwnerBits-1:0] owner;
    logic [RankBits-1:0] rank;
  } entry_t;
  // Count of a collective's messages, with the collective's communicator and number; both are 0 for other messages.
  typedef struct packed {
    logic [3:0] communicator;
    logic [31:0] number, count;
  } counted_t;
  typedef enum logic [3:0] {
    Idle,
    Context,
    Operands,
    Convert,
    Entry,  // of the counts
    Word,
    Copy,
    Same,
    Count,
    Store,
    Session,  // of the destination rank
    Offer,
    Configure,
    Status,
    Forget
  } state_e;

  state_e state_q;
  call_number_t call_q;
  logic ends_q;
  // verilator lint_off UNUSEDSIGNAL
  program_move_t given_q;
  // verilator lint_on UNUSEDSIGNAL
  call_t context_q;
  move_t move_q;
  logic there_q;
  logic [7:0] session_q;
  logic [31:0] count_q, code_q;

  // Descriptions.
  localparam int unsigned DescriptionBits = $bits(call_t);
  logic [DescriptionBits-1:0] descriptions_q[Calls];
  logic [Communicators-1:0][31:0] identity_q;

  always_ff @(posedge clk_i) begin
    if (call_valid_i) descriptions_q[call_i.number[CallBits-1:0]] <= call_i;
    context_q <= descriptions_q[call_q];
    if (set_valid_i) identity_q[set_index_i] <= set_identity_i;
  end

  // Ends of moves.
  logic [Calls-1:0] differs_q, cancelled_q;
  wire call_number_t ended_call = ended_slot_i[CallBits:1];

  always_ff @(posedge clk_i) begin
    program_call_o   <= ended_call;
    program_beside_o <= ended_slot_i[0];
    program_stops_o  <= ended_how_i != Moved;
    program_valid_o  <= ended_valid_i && !rst_i;
    if (call_valid_i) begin
      differs_q[call_i.number[CallBits-1:0]]   <= 1'b0;
      cancelled_q[call_i.number[CallBits-1:0]] <= 1'b0;
    end
    if (ended_valid_i && ended_how_i == Differs) differs_q[ended_call] <= 1'b1;
    if (ended_valid_i && ended_how_i == Cancelled) cancelled_q[ended_call] <= 1'b1;
  end

  // Operands and result.
  // verilator lint_off UNUSEDSIGNAL
  function automatic size_t size_of_operand(operand_kind_e operand, call_t of);
    unique case (operand)
      OperandOp0: return of.x_size;
      OperandOp1: return of.y_size;
      OperandRes: return of.z_size;
      default:  return of.wire_size;
    endcase
  endfunction
  function automatic logic in_memory(operand_kind_e operand);
    return operand inside {OperandOp0, OperandOp1, OperandRes};
  endfunction
  function automatic logic in_host(operand_kind_e operand, call_t of);
    return operand == OperandOp0 ? of.host[0] : operand == OperandOp1 ? of.host[1] : of.host[2];
  endfunction
  function automatic logic is_stream(operand_kind_e operand, call_t of);
    return operand == OperandOp0 ? of.streams[0] : operand == OperandRes && of.streams[1];
  endfunction
  // verilator lint_on UNUSEDSIGNAL
  function automatic source_e source_of(operand_kind_e operand, call_t of);
    return operand == OperandNone ? FromNothing : !in_memory(operand) ? FromMessage : is_stream(operand, of) ? FromStream : FromMemory;
  endfunction
  function automatic conversion_e conversion(size_t from, size_t to);
    return from == to ? ConvertNot : from > to ? Narrow : Widen;
  endfunction

  wire operand_kind_e x_kind = given_q.operation == OpcodeAwait ? OperandRecv : given_q.x;
  wire combined = given_q.y != OperandNone;
  wire x_message = !in_memory(x_kind) && x_kind != OperandNone;
  wire y_message = !in_memory(given_q.y) && given_q.y != OperandNone;
  wire configures = context_q.scenario == CallConfig;
  wire sends = given_q.operation == OpcodeSignal || given_q.z inside {OperandSend, OperandGive, OperandPut};
  wire message_kind_e kind = given_q.z == OperandPut ? MessageKindStream : context_q.collective ? MessageKindCollective : MessageKindMessage;
  logic takes_q, sends_q, combined_q, second_q;
  size_t stored_q;
  entry_t take_q, send_q;
  logic [10:0] member_q;

  always_ff @(posedge clk_i) begin
    if (state_q == Operands) begin
      move_q <= '0;
      move_q.x_source <= source_of(x_kind, context_q);
      move_q.y_source <= source_of(given_q.y, context_q);
      move_q.wire_size <= context_q.wire_size;
      move_q.elements <= given_q.elements[39:0];
      if (x_kind != OperandNone) move_q.x.size <= size_of_operand(x_kind, context_q);
      if (in_memory(x_kind)) begin
        move_q.x.host <= in_host(x_kind, context_q);
        move_q.x.at   <= given_q.x_at;
      end
      if (combined) begin
        move_q.y.size <= size_of_operand(given_q.y, context_q);
        move_q.operation <= context_q.operation;
        move_q.datatype <= context_q.datatype;
      end
      if (in_memory(given_q.y)) begin
        move_q.y.host <= in_host(given_q.y, context_q);
        move_q.y.at   <= given_q.y_at;
      end
      if (x_message || y_message) begin
        move_q.from_communicator <= 16'(context_q.communicator);
        move_q.from <= x_message ? given_q.x_at[15:0] : given_q.y_at[15:0];
        move_q.from_collective <= context_q.collective;
        move_q.from_tag <= context_q.collective ? context_q.collective_number : context_q.tag;
      end
      move_q.z.size <= size_of_operand(given_q.z, context_q);
      if (in_memory(given_q.z)) begin
        move_q.target <= is_stream(given_q.z, context_q) ? ToStream : ToMemory;
        move_q.z.host <= in_host(given_q.z, context_q);
        move_q.z.at <= given_q.z_at;
        move_q.stream <= context_q.tag == '1 ? '0 : context_q.tag[7:0];
      end else if (sends) begin
        move_q.target <= ToRank;
        move_q.to_communicator <= identity_q[context_q.communicator[IndexBits-1:0]];
        move_q.own_rank <= 16'(context_q.rank);
        move_q.kind <= kind;
        move_q.stream <= kind == MessageKindStream ? context_q.tag[7:0] : '0;
        move_q.to_tag <= context_q.collective ? context_q.collective_number : context_q.tag;
      end
    end
    if (state_q == Convert) begin
      if (combined_q) begin
        move_q.x.conversion <= conversion(move_q.x.size, context_q.combined_size);
        move_q.y.conversion <= conversion(move_q.y.size, context_q.combined_size);
      end
      move_q.z.conversion <= conversion(stored_q, move_q.z.size);
    end
    if (state_q == Store) begin
      if (second_q) move_q.to_number <= count_q;
      else move_q.from_number <= count_q;
    end
    if (state_q == Session && there_q) move_q.to <= session_q;
    if (ends_q && state_q == Status) begin
      move_q <= '0;
      move_q.from_communicator <= 16'(context_q.communicator);
      move_q.from_tag <= context_q.collective_number;
    end
    takes_q <= (x_message || y_message) && context_q.collective;
    sends_q <= sends;
    combined_q <= combined;
    stored_q <= combined ? context_q.combined_size : size_of_operand(x_kind, context_q);
    take_q <= '{what: 2'd0, owner: OwnerBits'(call_q), rank: x_message ? given_q.x_at[RankBits-1:0] : given_q.y_at[RankBits-1:0]};
    send_q.rank <= given_q.z_at[RankBits-1:0];
    send_q.what <= kind == MessageKindCollective ? 2'd1 : kind == MessageKindStream ? 2'd2 : 2'd3;
    send_q.owner <= kind == MessageKindCollective ? OwnerBits'(call_q) : OwnerBits'(context_q.communicator);
    member_q <= {given_q.z_at[6:0], 4'd0} + 11'({given_q.z_at[6:0], 3'd0});
  end

  // Counts.
  counted_t counts_q[1<<$bits(entry_t)];
  entry_t entry_q;
  counted_t word_q, copy_q;
  logic same_q, clearing_q, upper_q;
  logic [15:0] low_q;
  logic [3:0] owner_q;
  logic [31:0] collective_q;
  wire of_collective = !second_q || send_q.what == 2'd1;
  wire stores = state_q == Store || clearing_q;

  always_ff @(posedge clk_i) begin
    word_q <= counts_q[entry_q];
    copy_q <= word_q;
    owner_q <= of_collective ? context_q.communicator[3:0] : '0;
    collective_q <= of_collective ? context_q.collective_number : '0;
    same_q <= copy_q.communicator == owner_q && copy_q.number == collective_q;
    if (state_q == Same) count_q <= copy_q.count;
    if (state_q == Count) begin
      if (!same_q) count_q <= '0;
      {upper_q, low_q} <= same_q ? 17'(count_q[15:0]) + 17'd1 : 17'd1;
    end
    if (stores) counts_q[entry_q] <= clearing_q ? '0 : '{owner_q, collective_q, {count_q[31:16] + 16'(upper_q), low_q}};
    if (state_q == Entry) entry_q <= second_q ? send_q : take_q;
    if (rst_i || clear_i) entry_q <= '0;
    else if (clearing_q) entry_q <= entry_q + 1'b1;
    if (rst_i || clear_i) clearing_q <= 1'b1;
    else if (entry_q == '1) clearing_q <= 1'b0;
  end

  // The rank's session, in the exchange memory.
  logic access_q;
  logic [13:0] access_at_q;

  assign access_valid_o = access_q;
  assign access_at_o = 32'(access_at_q);

  always_ff @(posedge clk_i) begin
    if (state_q == Convert) access_at_q <= 14'(context_q.communicator_at) + 14'(member_q) + 14'd24;
    if (answer_valid_i) session_q <= answer_data_i[7:0];
    if (rst_i) begin
      access_q <= 1'b0;
      there_q  <= 1'b0;
    end else begin
      if (state_q == Convert && sends_q) access_q <= 1'b1;
      else if (access_ready_i) access_q <= 1'b0;
      if (state_q == Idle) there_q <= 1'b0;
      else if (answer_valid_i) there_q <= 1'b1;
    end
  end

  // Steps.
  assign move_ready_o = state_q == Idle && !clearing_q;
  assign end_ready_o = move_ready_o;
  assign command_valid_o = state_q == Offer || state_q == Forget;
  assign command_kind_o = state_q == Forget ? EndCollective : BeginMove;
  assign command_slot_o = state_q == Forget ? '0 : 8'({call_q, given_q.operation == OpcodeStart});
  assign command_move_o = move_q;
  assign status_valid_o = state_q == Status;
  assign status_port_o = context_q.port;
  assign status_call_o = call_q;
  assign status_code_o = code_q;
  assign config_valid_o = state_q == Configure && configures;
  assign config_setting_o = context_q.setting;
  assign config_count_o = context_q.count;

  always_ff @(posedge clk_i) begin
    if (state_q == Configure)
      code_q <= configures ? config_code_i : context_q.code | (differs_q[call_q] ? CodeSize : '0)
          | (!cancelled_q[call_q] || resets_i ? '0 : CodeTimeOut) | (resets_i ? CodeNotReady : '0);
    if (state_q == Idle) begin
      ends_q  <= end_valid_i;
      call_q  <= end_valid_i ? end_call_i : move_call_i;
      given_q <= move_data_i;
    end
    if (state_q == Convert) second_q <= !takes_q;
    else if (state_q == Store) second_q <= 1'b1;
    if (rst_i) state_q <= Idle;
    else
      unique case (state_q)
        Idle: if ((end_valid_i || move_valid_i) && !clearing_q) state_q <= Context;
        Context: state_q <= ends_q ? Configure : Operands;
        Operands: state_q <= Convert;
        Convert: state_q <= takes_q || sends_q ? Entry : Offer;
        Entry: state_q <= Word;
        Word: state_q <= Copy;
        Copy: state_q <= Same;
        Same: state_q <= Count;
        Count: state_q <= Store;
        Store: state_q <= second_q ? Session : sends_q ? Entry : Offer;
        Session: if (there_q) state_q <= Offer;
        Offer: if (command_ready_i) state_q <= Idle;
        Configure: if (!configures || config_done_i) state_q <= Status;
        Status: if (status_ready_i) state_q <= context_q.collective ? Forget : Idle;
        default: if (command_ready_i) state_q <= Idle;
      endcase
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) if (!rst_i) one_at_a_time : assert (!(end_valid_i && move_valid_i));
`endif
endmodule
