// SPDX-License-Identifier: Apache-2.0
// Cancels the moves of calls one of whose moves waits too long for a message or its kernel. During a reset it cancels all moves, repeatedly.
//
// A wait ends when a piece of its move begins, or the move ends. All waits are counted in common microseconds: a call's moves are cancelled after the time-out
// or at most a microsecond later.
//
// Order: by slots. Latency: 7 cycles for each slot, plus those in which the move engine accepts no command. Throughput: all slots within a microsecond. Storage: 32 bits and two
// flags per slot. Outputs depend only on registers. Critical path: a sum of 16 bits.
module tw_time_outs #(
    parameter int unsigned Slots       = 16,   /// of moves, a power of two, 2 to 128; a call has two consecutive ones
    parameter int unsigned CyclesPerUs = 250,  /// more than 7 * Slots
    localparam int unsigned SlotBits   = $clog2(Slots)
) (
    input logic clk_i,
    input logic rst_i,

    input logic [31:0] time_out_i,  /// microseconds; 0: none
    input logic        resets_i,

    input logic [Slots-1:0] waits_i,        /// as in tw_mover
    input logic             moves_i,
    // verilator lint_off UNUSEDSIGNAL
    input logic [      7:0] moves_slot_i,
    input logic             ended_valid_i,
    input logic [      7:0] ended_slot_i,
    // verilator lint_on UNUSEDSIGNAL

    output logic       cancel_valid_o,
    input  logic       cancel_ready_i,
    output logic [7:0] cancel_slot_o
);
  if (CyclesPerUs <= 7 * Slots || CyclesPerUs > 1023) begin : check_cycles
    $error("tw_time_outs: CyclesPerUs must be above 7 * Slots, and below 1024");
  end

  typedef logic [SlotBits-1:0] slot_t;
  typedef enum logic [2:0] {
    Idle,
    Read,
    Low,  // 16 bits of the sum
    High,
    Judge,
    Store,
    Cancel,
    Beside  // cancels the other move of the call
  } state_e;

  state_e state_q;
  slot_t slot_q;
  logic due_q;
  logic [9:0] cycle_q;
  wire ticks = cycle_q == 10'(CyclesPerUs - 1);
  wire scans = due_q || resets_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      cycle_q <= '0;
      due_q   <= 1'b0;
    end else begin
      cycle_q <= ticks ? '0 : cycle_q + 10'd1;
      if (ticks) due_q <= 1'b1;
      else if (state_q == Idle) due_q <= 1'b0;
    end
  end

  // Of each slot: its move waits; the wait was not counted yet.
  logic [Slots-1:0] waits_q, fresh_q, over;
  wire cancels = cancel_valid_o && cancel_ready_i;

  always_comb begin
    over = '0;
    if (moves_i) over[moves_slot_i[SlotBits-1:0]] = 1'b1;
    if (ended_valid_i) over[ended_slot_i[SlotBits-1:0]] = 1'b1;
    if (cancels) over[cancel_slot_o[SlotBits-1:0]] = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Slots; i++) begin
      waits_q[i] <= (waits_q[i] || waits_i[i]) && !over[i] && !rst_i;
      fresh_q[i] <= rst_i || over[i] || (fresh_q[i] && !(state_q == Store && slot_q == slot_t'(i) && waits_q[i]));
    end
  end

  logic [31:0] counts_q[Slots];
  logic [31:0] count_q;
  logic [15:0] low_q, high_q;
  logic carry_q, low_least_q, high_least_q, high_more_q, timed_q, counts, begins_q;
  wire reached = timed_q && counts && (high_more_q || (high_least_q && low_least_q));

  assign counts = waits_q[slot_q] && !begins_q;
  assign cancel_valid_o = (state_q == Cancel && (resets_i || waits_q[slot_q])) || state_q == Beside;
  assign cancel_slot_o = 8'({slot_q[SlotBits-1:1], slot_q[0] ^ (state_q == Beside)});

  always_ff @(posedge clk_i) begin
    count_q <= counts_q[slot_q];
    begins_q <= fresh_q[slot_q];
    timed_q <= time_out_i != 0;
    {carry_q, low_q} <= {1'b0, count_q[15:0]} + 17'd1;
    if (state_q == High) begin
      high_q <= count_q[31:16] + 16'(carry_q);
      low_least_q <= low_q >= time_out_i[15:0];
    end
    high_least_q <= high_q == time_out_i[31:16];
    high_more_q <= high_q > time_out_i[31:16];
    if (state_q == Store) counts_q[slot_q] <= counts ? {high_q, low_q} : '0;
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Idle || rst_i) slot_q <= '0;
    else if (state_q == Store && !reached && !resets_i || state_q == Beside && cancel_ready_i || state_q == Cancel && !cancel_valid_o)
      slot_q <= slot_q + slot_t'(1);
    if (rst_i) state_q <= Idle;
    else
      unique case (state_q)
        Idle: if (scans) state_q <= Read;
        Read: state_q <= Low;
        Low: state_q <= High;
        High: state_q <= Judge;
        Judge: state_q <= Store;
        Store: state_q <= reached || resets_i ? Cancel : slot_q == '1 ? Idle : Read;
        Cancel: state_q <= cancel_ready_i && cancel_valid_o ? Beside : !cancel_valid_o ? slot_q == '1 ? Idle : Read : Cancel;
        default: if (cancel_ready_i) state_q <= slot_q == '1 ? Idle : Read;
      endcase
  end
endmodule
