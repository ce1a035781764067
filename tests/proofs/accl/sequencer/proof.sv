// SPDX-License-Identifier: Apache-2.0
// Environment: calls of any programs whose moves end at any time. Only active moves end, and only an inactive call is loaded.
module sequencer_proof
  import tw_accl_programs_pkg::*;
  import tw_sequencer_pkg::*;
#(
    parameter int unsigned Calls = 2,
    localparam int unsigned CallBits = $clog2(Calls)
) (
    input logic                     clk_i,
    input logic                     rst_i,
    input logic                     load_valid_i,
    input logic      [CallBits-1:0] load_call_i,
    input register_e                load_register_i,
    input value_t                   load_data_i,
    input logic                     load_begins_i,
    input program_e                 load_program_i,
    input logic                     move_ready_i,
    input logic                     ended_valid_i,
    input logic      [CallBits-1:0] ended_call_i,
    input logic                     ended_background_i,
    input logic                     ended_stops_i,
    input logic                     end_ready_i
);
  logic load_ready, move_valid, end_valid;
  logic [CallBits-1:0] move_call, end_call;
  program_move_t move;

  tw_reset_first surroundings (.*);

  tw_sequencer #(
      .Calls(Calls)
  ) sequencer (
      .load_ready_o(load_ready),
      .move_valid_o(move_valid),
      .move_call_o (move_call),
      .move_data_o (move),
      .end_valid_o (end_valid),
      .end_call_o  (end_call),
      .*
  );

  localparam int unsigned Idle = 0, Data = 4, Offer = 12, Leave = 14;  // as in the block
  wire [31:0] state = 32'(sequencer.state_q);
  wire starts = move.operation == OpcodeStart;

  // Per call: it has begun and not ended; its move is active; its background move is active.
  logic [Calls-1:0] active_q, moves_q, background_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {active_q, moves_q, background_q} <= '0;
    end else begin
      if (load_valid_i && load_ready && load_begins_i) active_q[load_call_i] <= 1'b1;
      if (move_valid && move_ready_i && starts) background_q[move_call] <= 1'b1;
      if (move_valid && move_ready_i && !starts) moves_q[move_call] <= 1'b1;
      if (ended_valid_i && ended_background_i) background_q[ended_call_i] <= 1'b0;
      if (ended_valid_i && !ended_background_i) moves_q[ended_call_i] <= 1'b0;
      if (end_valid && end_ready_i) active_q[end_call] <= 1'b0;
    end
  end

  // State of each call: in the queue of turns, executing its turn, with an active or just ended move, or waiting for the
  // background move.
  logic [Calls-1:0] ends, has_turn;
  for (genvar c = 0; c < Calls; c++) begin : call
    logic [Calls-1:0] places;
    for (genvar k = 0; k < Calls; k++) begin : place
      wire [31:0] ahead = 32'(k) + (32'(k) < 32'(sequencer.turns.read_q) ? Calls : 0) - 32'(sequencer.turns.read_q);
      assign places[k] = ahead < 32'(sequencer.turns.count_q) && 32'(sequencer.turns.words_q[k]) == c;
    end
    assign ends[c] = sequencer.ended_q && 32'(sequencer.ended_call_q) == c;
    assign has_turn[c] = state != Idle && state != Leave && 32'(sequencer.call_q) == c;

    wire [3:0] sum = 4'($countones(places)) + 4'(has_turn[c]) + 4'(moves_q[c]) + 4'(ends[c] && !sequencer.ended_background_q) +
        4'(sequencer.blocked_q[c]);
    wire one_background = background_q[c] != (ends[c] && sequencer.ended_background_q);

    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        is_in_one_place : assert (sum == 4'(active_q[c]));
        lemma_background : assert (sequencer.background_q[c] ? one_background && active_q[c] : !background_q[c] && !(ends[c] && sequencer.ended_background_q));
        lemma_blocked : assert (!sequencer.blocked_q[c] || sequencer.background_q[c]);
      end
    end
  end

  wire begins_background = sequencer.operation == OpcodeStart && state >= Data && state <= Offer;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      loads_what_is_idle : assume (!load_valid_i || !active_q[load_call_i]);
      ends_what_is_under_way : assume (!ended_valid_i || (ended_background_i ? background_q[ended_call_i] : moves_q[ended_call_i]));

      one_move : assert (!move_valid || (starts ? !background_q[move_call] : !moves_q[move_call]));
      of_a_call : assert (!move_valid || active_q[move_call]);
      ends_when_moves_have : assert (!end_valid || (active_q[end_call] && !moves_q[end_call] && !background_q[end_call]));
      lemma_move_of_the_instruction : assert (!move_valid || move.operation == sequencer.operation);
      lemma_no_background : assert (!begins_background || !sequencer.background_q[sequencer.call_q]);
      lemma_state : assert (state <= Leave);
      lemma_end : assert (!end_valid || !sequencer.background_q[sequencer.call_q]);

      call_ends : cover (end_valid && end_ready_i);
      move_ends : cover (sequencer.ended_q && !sequencer.ended_background_q);
    end
  end
endmodule
