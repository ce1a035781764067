// SPDX-License-Identifier: Apache-2.0
// Runs the programs of calls (spec/accl/programs.txt): one call's program up to its next move or its end, then the next call's. A background move (`start`) is
// offered without such a change.
//
// The registers of an inactive call, except RegisterZero, are loaded one by one; the last load starts the call at load_program_i. Each offered move
// ends once. After a move that stops its call, the call executes no more instructions, and ends when its moves have. The receiver of moves has room for two per
// call.
//
// Order: calls resume in the order in which they have begun or their moves have ended. Latency: if no other call runs, 4 cycles from a move's end,
// or 3 from a call's last register, to its next instruction. An instruction takes 4 cycles; a jump 5; call, return and join 2; a product 5 plus one for each bit of
// its second factor, at least one; a quotient 52; a move without elements 7. A move is offered after 7, a call's end after 2. Throughput: one instruction in
// flight; 4 cycles from an accepted move to the next call's first instruction, one to the instruction after a `start`. Storage: a memory of Calls * 32 registers
// with two read ports, three flags and two instruction addresses per call, a queue of Calls. Outputs are registers; load_ready_o depends only on registers.
// Critical path: the 16-bit carry chain of a sum.
module tw_sequencer
  import tw_accl_programs_pkg::*;
  import tw_sequencer_pkg::*;
#(
    parameter int unsigned Calls = 16,  /// active at once; a power of two, 2 to 64
    localparam int unsigned CallBits = $clog2(Calls)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                       load_valid_i,     /// loads a call's register
    output logic                       load_ready_o,
    input  logic      [  CallBits-1:0] load_call_i,
    input  register_e                  load_register_i,
    input  value_t                     load_data_i,
    input  logic                       load_begins_i,
    input  program_e                   load_program_i,

    output logic                         move_valid_o,
    input  logic                         move_ready_i,
    output logic          [CallBits-1:0] move_call_o,
    output program_move_t                move_data_o,
    input  logic                         ended_valid_i,  /// a move has ended
    input  logic          [CallBits-1:0] ended_call_i,
    input  logic                         ended_background_i, /// it was the background move
    input  logic                         ended_stops_i,

    output logic                end_valid_o,
    input  logic                end_ready_i,
    output logic [CallBits-1:0] end_call_o
);
  if (Calls < 2 || Calls > 64 || (Calls & (Calls - 1)) != 0) begin : check_calls
    $error("tw_sequencer: Calls must be a power of two, 2 to 64");
  end

  localparam int unsigned Chunk = 16;  // bits of a register that are added per cycle
  localparam int unsigned Chunks = RegisterBits / Chunk;
  localparam int unsigned CountBits = $clog2(RegisterBits);

  typedef logic [CallBits-1:0] call_t;
  typedef logic [InstructionBits-1:0] address_t;
  typedef enum logic [3:0] {
    Idle,
    Turn,  // a call is resumed
    Fetch,
    Read,
    Data,  // the registers are read
    Multiply,
    Carry,  // adds the remaining carries of a product
    Divide,
    Rest,  // remaining registers of a move
    Last,
    Add,
    Decide,
    Offer,
    End,
    Leave  // the call is suspended
  } state_e;

  state_e state_q;
  call_t call_q;
  address_t next_q, after_q, link_q;
  instruction_t instruction_q;
  logic write_q;

  wire opcode_e operation = instruction_q.operation;
  wire is_move = operation inside {OpcodeMove, OpcodeStart, OpcodeSignal, OpcodeAwait};
  wire has_data = operation inside {OpcodeMove, OpcodeStart};
  wire jumps = operation inside {OpcodeEq, OpcodeNe, OpcodeLt, OpcodeGe};

  // Moves that have ended.
  logic ended_q, ended_background_q, stop_q;
  call_t ended_call_q;

  always_ff @(posedge clk_i) begin
    ended_call_q <= ended_call_i;
    ended_background_q <= ended_background_i;
    stop_q <= ended_stops_i;
    ended_q <= ended_valid_i && !rst_i;
  end

  wire load = load_valid_i && load_ready_o;
  wire begins = load && load_begins_i;
  wire leaves = state_q == Leave;

  assign load_ready_o = !ended_q && !write_q && !leaves;

  // Per call: its background move is active; it waits for that move; it executes no more instructions.
  logic [Calls-1:0] background_q, blocked_q, stopped_q;
  wire ends_background = ended_q && ended_background_q && ended_call_q == call_q;
  wire waits = operation inside {OpcodeEnd, OpcodeJoin, OpcodeStart} && background_q[call_q] && !ends_background;

  always_ff @(posedge clk_i) begin
    if (begins) stopped_q[load_call_i] <= 1'b0;
    if (ended_q && stop_q) stopped_q[ended_call_q] <= 1'b1;
    if (rst_i) begin
      background_q <= '0;
      blocked_q <= '0;
    end else begin
      if (state_q == Offer && move_ready_i && operation == OpcodeStart) background_q[call_q] <= 1'b1;
      if (state_q == Read && waits) blocked_q[call_q] <= 1'b1;
      if (ended_q && ended_background_q) begin
        background_q[ended_call_q] <= 1'b0;
        blocked_q[ended_call_q] <= 1'b0;
      end
    end
  end

  // Calls that can resume.
  logic turn_valid, turns_ready;
  call_t turn;
  logic [$clog2(Calls+1)-1:0] unused_count;
  wire resumes = ended_q && (!ended_background_q || blocked_q[ended_call_q]);

  tw_fifo #(
      .Width(CallBits),
      .Depth(Calls)
  ) turns (
      .clk_i,
      .rst_i,
      .in_valid_i (resumes || begins),
      .in_ready_o (turns_ready),
      .in_data_i  (ended_q ? ended_call_q : load_call_i),
      .out_valid_o(turn_valid),
      .out_ready_i(state_q == Idle),
      .out_data_o (turn),
      .count_o    (unused_count)
  );

  // Program counters and return addresses.
  logic [2*InstructionBits-1:0] places_q[Calls];

  always_ff @(posedge clk_i) if (begins || leaves) places_q[leaves?call_q : load_call_i] <= leaves ? {next_q, link_q} : {load_program_i, address_t'('0)};

  // Registers.
  value_t first_registers_q[32*Calls], second_registers_q[32*Calls];
  value_t first_read_q, second_read_q, written;
  register_e first, second;
  logic first_zero_q, second_zero_q;
  wire [CallBits+4:0] write_at = write_q ? {call_q, instruction_q.d} : {load_call_i, load_register_i};
  wire value_t write_data = write_q ? written : load_data_i;

  always_comb begin
    first  = instruction_q.a;
    second = instruction_q.b;
    unique case (state_q)
      Data: first = instruction_q.d;
      Rest: begin
        first  = RegisterN;
        second = RegisterLeft;
      end
      default: ;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (write_q || load) first_registers_q[write_at] <= write_data;
    first_read_q <= first_registers_q[{call_q, first}];
    first_zero_q <= first == RegisterZero;
  end
  always_ff @(posedge clk_i) begin
    if (write_q || load) second_registers_q[write_at] <= write_data;
    second_read_q <= second_registers_q[{call_q, second}];
    second_zero_q <= second == RegisterZero;
  end

  // Operands of sums, comparisons, products and quotients.
  value_t a_q, b_q;
  logic subtracts_q, exclusive_q;
  logic [Chunks-1:0][Chunk-1:0] product_q;
  logic [Chunks-1:1] carries_q;
  wire [Chunks-1:0] carries = {carries_q, 1'b0};
  logic [Chunk-1:0] rest_q;
  logic [CountBits-1:0] count_q;
  wire [Chunk:0] shifted = {rest_q, a_q[RegisterBits-1]};
  wire [Chunk+1:0] difference = {1'b0, shifted} - {2'b0, b_q[Chunk-1:0]};
  wire fits = !difference[Chunk+1];
  wire divided = 32'(count_q) == RegisterBits - 1;
  wire multiplied = b_q[RegisterBits-1:1] == 0;

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      Data, Rest, Last: begin
        a_q <= first_zero_q ? '0 : first_read_q;
        b_q <= instruction_q.has_immediate ? value_t'(instruction_q.immediate) : second_zero_q ? '0 : second_read_q;
      end
      Multiply: begin
        a_q <= a_q << 1;
        b_q <= b_q >> 1;
      end
      Carry: begin
        a_q <= product_q;
        for (int unsigned i = 0; i < Chunks; i++) b_q[Chunk*i+:Chunk] <= Chunk'(carries[i]);
      end
      Divide: begin
        a_q <= {a_q[RegisterBits-2:0], fits};
        if (divided) b_q <= '0;
      end
      default: ;
    endcase
    rest_q  <= state_q != Divide ? '0 : fits ? difference[Chunk-1:0] : shifted[Chunk-1:0];
    count_q <= state_q != Divide ? '0 : count_q + 1'b1;
    if (state_q == Read) begin
      subtracts_q <= jumps || is_move || operation == OpcodeSub;
      exclusive_q <= operation == OpcodeXor;
    end
  end

  for (genvar i = 0; i < Chunks; i++) begin : factor
    wire [Chunk-1:0] addend = b_q[0] ? a_q[Chunk*i+:Chunk] : '0;
    localparam int unsigned Wide = i + 1 < Chunks ? Chunk + 1 : Chunk;
    wire [Wide-1:0] sum = Wide'(product_q[i]) + Wide'(addend) + Wide'(carries[i]);

    always_ff @(posedge clk_i) product_q[i] <= state_q == Multiply ? sum[Chunk-1:0] : '0;
    if (i + 1 < Chunks) begin : carry_out
      always_ff @(posedge clk_i) carries_q[i+1] <= state_q == Multiply && sum[Chunk];
    end
  end

  // Carry-select adder: the sum of each chunk without and with carry; the choice is made in the next cycle.
  logic [Chunks-1:0][Chunk:0] without_q, with_q;
  logic [Chunks-1:0] equal_q, empty_q;
  logic [Chunks-1:0] carry;

  for (genvar i = 0; i < Chunks; i++) begin : chunk
    wire [Chunk-1:0] a = a_q[Chunk*i+:Chunk];
    wire [Chunk-1:0] b = b_q[Chunk*i+:Chunk];
    wire [Chunk-1:0] addend = subtracts_q ? ~b : b;
    wire [Chunk:0] total = {1'b0, a} + {1'b0, addend};
    wire [Chunk:0] next_total = {1'b0, a} + {1'b0, addend} + (Chunk + 1)'(1);

    always_ff @(posedge clk_i) begin
      if (state_q == Add) begin
        without_q[i] <= exclusive_q ? {1'b0, a ^ b} : total;
        with_q[i] <= exclusive_q ? {1'b0, a ^ b} : next_total;
        equal_q[i] <= a == b;
        empty_q[i] <= a == 0;
      end
    end
    if (i == 0) begin : lowest
      assign carry[i] = subtracts_q ? with_q[i][Chunk] : without_q[i][Chunk];
      assign written[Chunk*i+:Chunk] = subtracts_q ? with_q[i][Chunk-1:0] : without_q[i][Chunk-1:0];
    end else begin : others
      assign carry[i] = carry[i-1] ? with_q[i][Chunk] : without_q[i][Chunk];
      assign written[Chunk*i+:Chunk] = carry[i-1] ? with_q[i][Chunk-1:0] : without_q[i][Chunk-1:0];
    end
  end
  wire less = !carry[Chunks-1];
  wire equal = &equal_q;
  wire empty = has_data && &empty_q;
  logic taken;

  always_comb begin
    unique case (operation)
      OpcodeEq: taken = equal;
      OpcodeNe: taken = !equal;
      OpcodeLt: taken = less;
      default:  taken = !less;
    endcase
  end

  // The move.
  program_move_t move_q;

  assign move_valid_o = state_q == Offer;
  assign move_call_o  = call_q;
  assign move_data_o  = move_q;
  assign end_valid_o  = state_q == End;
  assign end_call_o   = call_q;

  always_ff @(posedge clk_i) begin
    move_q.operation <= operation;
    move_q.x <= instruction_q.x;
    move_q.y <= instruction_q.y;
    move_q.z <= instruction_q.z;
    if (state_q == Rest) begin
      move_q.x_at <= a_q;
      move_q.y_at <= b_q;
    end
    if (state_q == Last) move_q.z_at <= a_q;
    if (state_q == Add) move_q.elements <= has_data ? a_q : '0;
    if (state_q == Decide) move_q.continues <= less;
  end

  // Steps.
  always_ff @(posedge clk_i) begin
    unique case (state_q)
      Idle: call_q <= turn;
      Turn: {next_q, link_q} <= places_q[call_q];
      Fetch: begin
        instruction_q <= instruction_at(next_q);
        after_q <= next_q + 1'b1;
        if (stopped_q[call_q]) instruction_q.operation <= OpcodeEnd;
      end
      Read:
      if (!waits)
        unique case (operation)
          OpcodeCall: begin
            next_q <= instruction_q.target;
            link_q <= after_q;
          end
          OpcodeReturn: next_q <= link_q;
          OpcodeJoin: next_q <= after_q;
          default: ;
        endcase
      Add: next_q <= after_q;
      Decide: if (jumps && taken) next_q <= instruction_q.target;
      default: ;
    endcase
    if (rst_i) begin
      state_q <= Idle;
      write_q <= 1'b0;
    end else begin
      write_q <= state_q == Add && !jumps && !is_move;
      unique case (state_q)
        Idle: if (turn_valid) state_q <= Turn;
        Turn: state_q <= Fetch;
        Fetch: state_q <= Read;
        Read:
        if (waits) state_q <= Leave;
        else if (operation == OpcodeEnd) state_q <= End;
        else state_q <= operation inside {OpcodeCall, OpcodeReturn, OpcodeJoin} ? Fetch : Data;
        Data: state_q <= is_move ? Rest : operation == OpcodeMul ? Multiply : operation == OpcodeDiv ? Divide : Add;
        Multiply: if (multiplied) state_q <= Carry;
        Carry: state_q <= Add;
        Divide: if (divided) state_q <= Add;
        Rest: state_q <= Last;
        Last: state_q <= Add;
        Add: state_q <= jumps || is_move ? Decide : Fetch;
        Decide: state_q <= is_move && !empty ? Offer : Fetch;
        Offer: if (move_ready_i) state_q <= operation == OpcodeStart ? Fetch : Leave;
        End: if (end_ready_i) state_q <= Leave;
        default: state_q <= Idle;
      endcase
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      turns_have_room : assert (!(resumes || begins) || turns_ready);
      begins_or_resumes : assert (!(resumes && begins));
    end
  end
`endif
endmodule
