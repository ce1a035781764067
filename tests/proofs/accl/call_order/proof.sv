// SPDX-License-Identifier: Apache-2.0
// Environment: any calls with any memory ranges, streams and messages. A call takes the number offered to it and is held until it
// is accepted. It ends at any time after its program has begun.
//
// Two calls conflict if one must not begin before the other has ended. Only three address bits may be 1, one in each piece that
// the block compares. The derivation of the addresses from a call's registers is compared only with the C++ model
// (tests/blocks/accl/call_order).
module call_order_proof
  import tw_accl_programs_pkg::*;
  import tw_sequencer_pkg::*;
  import tw_call_pkg::*;
#(
    parameter int unsigned Calls = 2,
    localparam int unsigned CallBits = $clog2(Calls)
) (
    input logic                     clk_i,
    input logic                     rst_i,
    input logic                     number_ready_i,
    input logic                     load_valid_i,
    input register_e                load_register_i,
    input value_t                   load_data_i,
    input logic                     call_valid_i,
    input call_t                    call_i,
    input logic                     begin_ready_i,
    input logic                     ended_valid_i,
    input logic      [CallBits-1:0] ended_call_i
);
  logic number_valid, call_ready, begin_valid;
  logic [CallBits-1:0] number, begin_call;
  program_e begin_at;

  tw_reset_first surroundings (.*);

  tw_call_order #(
      .Calls(Calls)
  ) order (
      .number_valid_o(number_valid),
      .number_data_o(number),
      .call_ready_o(call_ready),
      .begin_valid_o(begin_valid),
      .begin_call_o(begin_call),
      .begin_at_o(begin_at),
      .*
  );

  localparam int unsigned Idle = 0, Prepare = 1, High = 3, Scan = 4, Judge = 5, Enter = 6;  // as in the block
  wire [31:0] state = 32'(order.state_q);
  wire enters = call_valid_i && call_ready;
  wire begins = begin_valid && begin_ready_i;

  // Per number: assigned to a call that has not entered; its call has entered but not begun; its call has begun but not ended.
  logic [Calls-1:0] given_q, entered_q, begun_q;
  logic [Calls-1:0][Calls-1:0] before_q;  // the second call entered before the first, and neither has ended
  program_e [Calls-1:0] program_q;
  wire [CallBits-1:0] own = call_i.number[CallBits-1:0];
  wire [Calls-1:0] under_way = entered_q | begun_q;

  logic stalled_q, waits_q;
  logic [CallBits-1:0] stalled_call_q, waiting_number_q, offered_q;
  program_e stalled_program_q, waiting_program_q;
  logic offered_valid_q;

  always_ff @(posedge clk_i) begin
    stalled_q <= !rst_i && begin_valid && !begin_ready_i;
    stalled_call_q <= begin_call;
    stalled_program_q <= begin_at;
    offered_valid_q <= !rst_i && number_valid && !number_ready_i;
    offered_q <= number;
    waits_q <= !rst_i && call_valid_i && !call_ready;
    waiting_number_q <= own;
    waiting_program_q <= call_i.begin_at;
    if (rst_i) begin
      {given_q, entered_q, begun_q} <= '0;
      before_q <= '0;
    end else begin
      if (number_valid && number_ready_i) given_q[number] <= 1'b1;
      for (int unsigned i = 0; i < Calls; i++) if (ended_valid_i) before_q[i][ended_call_i] <= 1'b0;
      if (enters) begin
        given_q[own]   <= 1'b0;
        entered_q[own] <= 1'b1;
        program_q[own] <= call_i.begin_at;
        before_q[own]  <= under_way & ~(ended_valid_i ? Calls'(1) << ended_call_i : '0);
      end
      if (begins) begin
        entered_q[begin_call] <= 1'b0;
        begun_q[begin_call]   <= 1'b1;
      end
      if (ended_valid_i) begin
        begun_q[ended_call_i]  <= 1'b0;
        before_q[ended_call_i] <= '0;
      end
    end
  end

  // Copies of the block's stored state of each call.
  typedef struct packed {
    logic there, host, writes;
    logic [50:0] first, behind;
  } range_t;
  typedef struct packed {
    scenario_e scenario;
    logic [1:0] streams;
    logic [12:0] communicator_at;
    logic [7:0] root;
    logic [31:0] tag;
  } messages_t;
  range_t [Calls-1:0][2:0] rows;
  messages_t [Calls-1:0] messages;
  range_t [2:0] ranges;  // of the call that is being compared with the others
  for (genvar c = 0; c < Calls; c++) begin : stored
    assign messages[c] = order.others_q[c];
    for (genvar k = 0; k < 3; k++) assign rows[c][k] = order.rows_q[4*c+k];
  end
  assign ranges = order.ranges_q;

  // Compares piece by piece, as the block does.
  function automatic logic less(logic [50:0] one, logic [50:0] other);
    return one[50:34] < other[50:34] || (one[50:34] == other[50:34] && (one[33:17] < other[33:17] ||
        (one[33:17] == other[33:17] && one[16:0] < other[16:0])));
  endfunction
  function automatic logic overlap(range_t [2:0] own, range_t other);
    overlap = 1'b0;
    for (int unsigned k = 0; k < 3; k++)
      overlap |= own[k].there && other.there && own[k].host == other.host && (own[k].writes || other.writes) &&
          less(own[k].first, other.behind) && less(other.first, own[k].behind);
  endfunction
  // True if the two calls have messages that could be confused, share a kernel's stream, or include a config call.
  function automatic logic share(messages_t one, messages_t other);
    return one.scenario == CallConfig || other.scenario == CallConfig || (one.streams & other.streams) != 0 ||
        (one.scenario == other.scenario && one.scenario inside {CallSend, CallRecv} &&
         one.communicator_at == other.communicator_at && one.root == other.root &&
         (one.tag == other.tag || one.tag == '1 || other.tag == '1));
  endfunction

  // The scan over the active calls, row by row, and its two pipeline stages.
  logic [1:0] row_1q, row_2q;
  logic reset_1q, reset_2q;  // one and two cycles ago
  always_ff @(posedge clk_i) begin
    reset_1q <= rst_i;
    reset_2q <= reset_1q;
    row_1q <= order.row_at_q;
    row_2q <= row_1q;
  end

  wire scanning = state == Scan || state == Judge || state == Enter;
  for (genvar o = 0; o < Calls; o++) begin : other
    wire [1:0] at = order.row_at_q;
    wire rests = order.rest_q[o];
    for (genvar r = 0; r < 3; r++) begin : row
      wire read = !rests || (32'(order.scanned) == o && r < 32'(at));
      wire stage_1 = order.scans_q && 32'(order.scanned_q) == o && 32'(row_1q) == r;
      wire stage_2 = order.judges_q && 32'(order.judged_q) == o && 32'(row_2q) == r;
      wire conflict = overlap(ranges, rows[o][r]) || share(order.messages_q, messages[o]);
      wire judged = order.overlaps || order.config_q || order.streams_q ||
          (order.kind_q && order.communicator_q && order.root_q && (order.tag_q || order.any_q));
      always_ff @(posedge clk_i) begin
        if (!rst_i && scanning && under_way[o]) begin
          lemma_stage_1 : assert (!stage_1 || (order.row_q == rows[o][r] && order.other_q == messages[o]));
          lemma_stage_2 : assert (!stage_2 || judged || !conflict);
          lemma_judged : assert (!read || stage_1 || stage_2 || !conflict || order.conflicts_q[o]);
        end
      end
    end
    for (genvar c = 0; c < Calls; c++) begin : call
      logic conflict;
      always_comb begin
        conflict = share(messages[c], messages[o]);
        for (int unsigned r = 0; r < 3; r++) conflict |= overlap(rows[c], rows[o][r]);
      end
      always_ff @(posedge clk_i) begin
        if (!rst_i) begin
          lemma_waits : assert (!entered_q[c] || !before_q[c][o] || !conflict || order.waits_q[c][o]);
          lemma_one_is_first : assert (!before_q[c][o] || (c != o && !before_q[o][c] && under_way[c] && under_way[o]));
        end
      end
    end
  end

  // State per call number.
  logic [Calls-1:0] offered, chosen;
  always_comb begin
    offered = '0;
    chosen  = '0;
    if (order.offers_q) offered[order.offered_q] = 1'b1;
    if (order.begins_q) chosen[order.begin_q] = 1'b1;
  end
  for (genvar c = 0; c < Calls; c++) begin : call
    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        is_in_one_place : assert (2'(order.waiting_q[c]) + 2'(chosen[c]) == 2'(entered_q[c]));
        waits_for_earlier_calls : assert (!entered_q[c] || (order.waits_q[c] & ~before_q[c]) == '0);
        lemma_state : assert (2'(given_q[c]) + 2'(entered_q[c]) + 2'(begun_q[c]) + 2'(offered[c]) == 2'(order.taken_q[c]));
        lemma_bits : assert (!under_way[c] || ((rows[c][0].first | rows[c][0].behind | rows[c][1].first | rows[c][1].behind | rows[c][2].first | rows[c][2].behind) & ~Bits) == 0);
        lemma_ready : assert (!order.ready_q[c] || (order.waiting_q[c] && order.waits_q[c] == '0));
        lemma_program : assert (!order.waiting_q[c] || order.programs_q[c] == program_q[c]);
      end
    end
  end

  localparam logic [50:0] Bits = {3{17'd1}};
  for (genvar k = 0; k < 3; k++) begin : range
    always_ff @(posedge clk_i) begin
      if (!rst_i) lemma_ranges : assert (state == Idle || k >= 32'(order.which_q) || ranges[3-32'(order.which_q)+k] == rows[order.number_q][k]);
      if (!rst_i) lemma_bits : assert (state == Idle || k >= 32'(order.which_q) || ((ranges[3-32'(order.which_q)+k].first | ranges[3-32'(order.which_q)+k].behind) & ~Bits) == 0);
    end
  end

  // Cycles for a call to enter while no other call has its turn: upper bounds by state, with operands and results in blocks.
  localparam int unsigned Bound = 40 + 3 * (Calls - 1);
  logic [7:0] elapsed_q;
  logic [31:0] before_operand, adds, bound;
  always_comb begin
    before_operand = order.which_q == 2'd0 ? 1 : order.which_q == 2'd1 ? 18 : order.which_q == 2'd2 ? 21 : 38;
    adds = order.which_q == 2'd1 ? 1 : 8;
    bound = 0;
    unique case (state)
      Prepare: bound = before_operand;
      2: bound = before_operand + 1 + 2 * (adds - 32'(order.adds_q));
      High: bound = before_operand + 2 + 2 * (adds - 32'(order.adds_q));
      Scan: bound = 38 + 3 * (Calls - 1 - $countones(order.rest_q)) + 32'(order.row_at_q);
      Judge: bound = Bound - 1;
      Enter: bound = Bound;
      default: ;
    endcase
  end

  always_ff @(posedge clk_i) begin
    elapsed_q <= rst_i || state == Enter || (state == Idle && !call_valid_i) ? 8'd0 : elapsed_q + 8'd1;
    if (!rst_i) begin
      call_has_a_number : assume (!call_valid_i || given_q[own]);
      few_bits : assume (((order.first_q | order.selected) & ~Bits) == 0);
      call_waits : assume (!waits_q || (call_valid_i && own == waiting_number_q && call_i.begin_at == waiting_program_q));
      ends_what_has_begun : assume (!ended_valid_i || begun_q[ended_call_i]);

      number_is_free : assert (!number_valid || !(given_q[number] || under_way[number]));
      number_waits_for_ready : assert (!offered_valid_q || (number_valid && number == offered_q));
      begins_once : assert (!begin_valid || (entered_q[begin_call] && begin_at == program_q[begin_call]));
      begin_waits_for_ready : assert (!stalled_q || (begin_valid && begin_call == stalled_call_q && begin_at == stalled_program_q));
      enters_in_time : assert (32'(elapsed_q) <= Bound);
      lemma_under_way : assert (order.under_way_q == under_way);
      lemma_begins : assert (!begin_valid || order.waits_q[begin_call] == '0);
      lemma_number : assert (state == Idle || (waits_q && order.number_q == waiting_number_q && order.begin_at_q == waiting_program_q && given_q[order.number_q]));
      lemma_rest : assert (state == Idle || !order.rest_q[order.number_q]);
      lemma_before_scan : assert (state == Idle || scanning || ((under_way & ~order.rest_q) == '0 && order.row_at_q == 0));
      lemma_stages : assert (state == Scan || ((!order.scans_q || reset_1q) && (state == Judge || !order.judges_q || reset_1q || reset_2q)));
      lemma_rows : assert (state == Idle || (order.row_at_q <= 2'd2 && (state < Judge || order.rest_q == 0) && (state != Scan || order.rest_q != 0 || order.row_at_q == 0)));
      lemma_row_1 : assert (!order.scans_q || reset_1q || row_1q <= 2'd2);
      lemma_operands : assert (state == Idle || (state < Scan ? order.which_q <= 2'd2 : order.which_q == 2'd3) && state <= Enter);
      lemma_adds : assert ((state != 2 && state != High) || (order.adds_q >= 1 && 32'(order.adds_q) <= adds));
      lemma_elapsed : assert (32'(elapsed_q) <= bound);
      lemma_reset : assert ((!reset_1q || (state == Idle && under_way == '0)) && (!reset_2q || state <= Prepare));
      lemma_rest_size : assert (state == Idle || $countones(order.rest_q) < Calls);

      second_waits : cover (entered_q == '1 && order.waits_q != '0);
      all_begun : cover (begun_q == '1);
    end
  end

  // The earlier calls that begin_call must not overtake.
  logic [Calls-1:0] passes;
  for (genvar o = 0; o < Calls; o++) begin : earlier
    logic [Calls-1:0] conflicts;
    for (genvar c = 0; c < Calls; c++) assign conflicts[c] = other[o].call[c].conflict;
    assign passes[o] = before_q[begin_call][o] && conflicts[begin_call];
  end
  always_ff @(posedge clk_i) if (!rst_i) begins_behind_conflicts : assert (!begin_valid || passes == '0);
endmodule
