// SPDX-License-Identifier: Apache-2.0
// Decides when calls begin. A call waits for each earlier one that uses what it writes, writes what it uses, uses the same kernel's stream, or whose messages
// could match its own. Config calls wait for all other calls, and these for them. Also allocates the numbers of calls.
//
// Snoops the registers that tw_call_port loads. A call follows its registers, and is accepted when its dependences are known. A call without dependences is offered together with its program's start
// address.
//
// Order: calls are accepted in order. Latency: 15 cycles from a call to its start if no other call is starting, plus 3 for each active call and 14 for each
// operand or result with a block per rank. Throughput: one call in that time. Storage: 3 byte ranges per call, and
// Calls * Calls flags. Outputs depend only on registers. Critical path: a comparison of 17 bits.
module tw_call_order
  import tw_accl_programs_pkg::*;
  import tw_sequencer_pkg::*;
  import tw_call_pkg::*;
#(
    parameter int unsigned Calls     = 8,  /// active at once; a power of two, 2 to 16
    localparam int unsigned CallBits = $clog2(Calls)
) (
    input logic clk_i,
    input logic rst_i,

    output logic                number_valid_o,  /// a free call number
    input  logic                number_ready_i,
    output logic [CallBits-1:0] number_data_o,

    input logic      load_valid_i,     /// snoops a call's registers as they are loaded
    input register_e load_register_i,
    input value_t    load_data_i,

    input  logic  call_valid_i,
    output logic  call_ready_o,
    // verilator lint_off UNUSEDSIGNAL
    input  call_t call_i,
    // verilator lint_on UNUSEDSIGNAL

    output logic                begin_valid_o,
    input  logic                begin_ready_i,
    output logic [CallBits-1:0] begin_call_o,
    output program_e            begin_at_o,

    input logic                ended_valid_i,  /// a call has ended; its number becomes free
    input logic [CallBits-1:0] ended_call_i
);
  if (Calls < 2 || Calls > 16 || (Calls & (Calls - 1)) != 0) begin : check_calls
    $error("tw_call_order: Calls must be a power of two, 2 to 16");
  end

  localparam int unsigned Chunk = 17;
  localparam int unsigned Chunks = 3;
  localparam int unsigned Width = Chunk * Chunks;
  localparam int unsigned RankBits = 7;

  typedef logic [CallBits-1:0] number_t;
  typedef logic [Calls-1:0] flags_t;
  typedef logic [Chunks-1:0][Chunk-1:0] sum_t;
  typedef struct packed {
    logic there, host, writes;
    sum_t first, behind;  // first byte, and first byte after the end
  } range_t;
  typedef struct packed {
    scenario_e scenario;
    logic [1:0] streams;
    logic [12:0] communicator_at;
    logic [7:0] root;
    logic [31:0] tag;
  } messages_t;
  typedef enum logic [2:0] {
    Idle,
    Prepare,
    Low,  // half of a sum
    High,
    Scan,  // all active calls
    Judge,
    Enter
  } state_e;

  state_e state_q;
  number_t number_q;

  // Call numbers are allocated until their calls have ended.
  flags_t taken_q, under_way_q;
  logic offers_q, frees;
  number_t offered_q, free;

  function automatic number_t lowest(flags_t flags);
    lowest = '0;
    for (int unsigned i = Calls; i-- > 0;) if (flags[i]) lowest = number_t'(i);
  endfunction

  assign free = lowest(~taken_q);
  assign frees = taken_q != '1;
  assign number_valid_o = offers_q;
  assign number_data_o = offered_q;

  always_ff @(posedge clk_i) begin
    if (!offers_q) offered_q <= free;
    if (rst_i) begin
      offers_q <= 1'b0;
      taken_q  <= '0;
    end else begin
      offers_q <= offers_q ? !number_ready_i : frees;
      if (!offers_q && frees) taken_q[free] <= 1'b1;
      if (ended_valid_i) taken_q[ended_call_i] <= 1'b0;
    end
  end

  // Registers and fields of the call.
  logic [2:0][47:0] at_q;
  value_t spare_q, part_q, flat_q;
  logic [RankBits-1:0] size_q;
  logic [2:0] stores_q, host_q;  // elements have bytes; they are in host memory
  logic [2:0][1:0] sizes_q;
  logic [31:0] count_q;
  messages_t messages_q;
  logic is_root_q, is_straight_q, has_spare_q;
  program_e begin_at_q;

  assign call_ready_o = state_q == Enter;

  always_ff @(posedge clk_i) begin
    if (load_valid_i)
      unique case (load_register_i)
        RegisterOp0: at_q[0] <= load_data_i;
        RegisterOp1: at_q[1] <= load_data_i;
        RegisterRes: at_q[2] <= load_data_i;
        RegisterSpare: spare_q <= load_data_i;
        RegisterPart: part_q <= load_data_i;
        RegisterFlat: flat_q <= load_data_i;
        RegisterSize: size_q <= load_data_i[RankBits-1:0];
        RegisterE0: stores_q[0] <= load_data_i[3:0] != 0;
        RegisterE1: stores_q[1] <= load_data_i[3:0] != 0;
        RegisterEr: stores_q[2] <= load_data_i[3:0] != 0;
        default: ;
      endcase
    if (state_q == Idle) begin
      number_q <= call_i.number[CallBits-1:0];
      begin_at_q <= call_i.begin_at;
      messages_q <= '{call_i.scenario, call_i.streams, call_i.communicator_at, call_i.root, call_i.tag};
      host_q <= call_i.host;
      sizes_q <= {call_i.z_size, call_i.y_size, call_i.x_size};
      count_q <= call_i.count;
      is_root_q <= call_i.rank == call_i.root;
    end
    is_straight_q <= flat_q[47:32] != 0 || {flat_q[31:16], flat_q[15:0]} >= count_q;
    has_spare_q <= spare_q != 0;
  end

  // Byte ranges: operand 0, operand 1 or the spare buffer, the result.
  logic [1:0] which_q;
  logic [3:0] adds_q;
  logic there_q, writes_q;
  logic [RankBits-1:0] blocks_q;
  sum_t sum_q, value_q, first_q;
  logic [Chunks-1:0][Chunk:0] without_q, with_q;
  sum_t selected;
  logic [Chunks-1:0] carry;
  range_t [2:0] ranges_q;
  wire scenario_e scenario = messages_q.scenario;
  wire [2:0] used = uses(scenario, is_root_q) & stores_q & {!messages_q.streams[1], 1'b1, !messages_q.streams[0]};
  wire spares = scenario == CallBcast ? has_spare_q : scenario == CallReduce && is_root_q && size_q > 7'd2 && is_straight_q;
  wire many = which_q == 2'd0 ? scenario inside {CallScatter, CallReduceScatter, CallAlltoall}
      : which_q == 2'd2 && scenario inside {CallGather, CallAllgather, CallAlltoall};
  wire is_many = many && !(scenario == CallScatter && !is_root_q) && !(scenario == CallGather && !is_root_q);
  wire [47:0] elements = !stores_q[which_q] ? '0 : which_q == 2'd1 && scenario == CallBcast ? part_q : 48'(count_q);
  wire sum_t value = Width'({3'd0, elements} << sizes_q[which_q]);
  wire last_add = adds_q == 4'd1;
  wire sum_t augend = last_add ? sum_q : sum_t'(sum_q << 1);
  wire sum_t addend = last_add ? first_q : blocks_q[RankBits-1] ? value_q : '0;

  assign carry[0] = 1'b0;
  for (genvar i = 0; i < Chunks; i++) begin : chunk
    always_ff @(posedge clk_i) begin
      without_q[i] <= {1'b0, augend[i]} + {1'b0, addend[i]};
      with_q[i] <= {1'b0, augend[i]} + {1'b0, addend[i]} + (Chunk + 1)'(1);
    end
    assign selected[i] = carry[i] ? with_q[i][Chunk-1:0] : without_q[i][Chunk-1:0];
    if (i + 1 < Chunks) begin : next
      assign carry[i+1] = carry[i] ? with_q[i][Chunk] : without_q[i][Chunk];
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Idle) which_q <= '0;
    else if (state_q == High && last_add) which_q <= which_q + 2'd1;
    if (state_q == Prepare) begin
      value_q <= value;
      sum_q <= is_many ? '0 : value;
      adds_q <= is_many ? 4'd8 : 4'd1;
      blocks_q <= size_q;
      first_q <= Width'(which_q == 2'd1 && scenario != CallCombine ? spare_q : at_q[which_q]);
      there_q <= which_q == 2'd1 && scenario != CallCombine ? spares : used[which_q] && count_q != 0 && !(is_many && size_q == 0);
      writes_q <= which_q == 2'd2 || scenario != CallCombine;
    end
    if (state_q == High) begin
      sum_q <= selected;
      adds_q <= adds_q - 4'd1;
      blocks_q <= blocks_q << 1;
      if (last_add) ranges_q <= {range_t'{there_q, host_q[which_q], which_q != 2'd0 && writes_q, first_q, selected}, ranges_q[2:1]};
    end
  end

  // Ranges and messages of the active calls.
  localparam int unsigned RangeBits = $bits(range_t);
  localparam int unsigned MessagesBits = $bits(messages_t);
  logic [RangeBits-1:0] rows_q[4*Calls];
  logic [MessagesBits-1:0] others_q[Calls];
  flags_t rest_q, conflicts_q;
  logic [1:0] row_at_q;
  number_t scanned, scanned_q, judged_q;
  range_t row_q;
  messages_t other_q;
  logic scans_q, judges_q;
  logic [2:0][Chunks-1:0] below_q, under_q;
  logic [2:0][Chunks-1:1] equal_q, same_q;
  logic [2:0] may_q;
  logic config_q, streams_q, kind_q, communicator_q, root_q, tag_q, any_q;
  logic overlaps;

  assign scanned = lowest(rest_q);

  function automatic logic is_less(logic [Chunks-1:0] less, logic [Chunks-1:1] equal);
    return less[2] || (equal[2] && (less[1] || (equal[1] && less[0])));
  endfunction

  always_comb begin
    overlaps = 1'b0;
    for (int unsigned k = 0; k < 3; k++)
      overlaps |= may_q[k] && is_less(below_q[k], equal_q[k]) && is_less(under_q[k], same_q[k]);
  end

  always_ff @(posedge clk_i) begin
    if (state_q == High && last_add)
      rows_q[{number_q, which_q}] <= {there_q, host_q[which_q], which_q != 2'd0 && writes_q, first_q, selected};
    if (state_q == Enter) others_q[number_q] <= messages_q;
    row_q <= rows_q[{scanned, row_at_q}];
    other_q <= others_q[scanned];
    scanned_q <= scanned;
    scans_q <= state_q == Scan && rest_q != 0;
    judged_q <= scanned_q;
    judges_q <= scans_q;
    for (int unsigned k = 0; k < 3; k++) begin
      may_q[k] <= ranges_q[k].there && row_q.there && ranges_q[k].host == row_q.host && (ranges_q[k].writes || row_q.writes);
      for (int unsigned i = 0; i < Chunks; i++) begin
        below_q[k][i] <= ranges_q[k].first[i] < row_q.behind[i];
        under_q[k][i] <= row_q.first[i] < ranges_q[k].behind[i];
      end
      for (int unsigned i = 1; i < Chunks; i++) begin
        equal_q[k][i] <= ranges_q[k].first[i] == row_q.behind[i];
        same_q[k][i]  <= row_q.first[i] == ranges_q[k].behind[i];
      end
    end
    config_q <= scenario == CallConfig || other_q.scenario == CallConfig;
    streams_q <= (messages_q.streams & other_q.streams) != 0;
    kind_q <= scenario == other_q.scenario && scenario inside {CallSend, CallRecv};
    communicator_q <= messages_q.communicator_at == other_q.communicator_at;
    root_q <= messages_q.root == other_q.root;
    tag_q <= messages_q.tag == other_q.tag;
    any_q <= messages_q.tag == '1 || other_q.tag == '1;
    if (state_q == Idle) begin
      rest_q <= under_way_q;
      row_at_q <= '0;
      conflicts_q <= '0;
    end else begin
      if (state_q == Scan) begin
        row_at_q <= row_at_q == 2'd2 ? '0 : row_at_q + 2'd1;
        if (row_at_q == 2'd2) rest_q[scanned] <= 1'b0;
      end
      if (judges_q && (overlaps || config_q || streams_q || (kind_q && communicator_q && root_q && (tag_q || any_q)))) conflicts_q[judged_q] <= 1'b1;
    end
  end

  // Dependences of each call.
  flags_t [Calls-1:0] waits_q;
  flags_t waiting_q, ready_q, ended, entered, chosen;
  logic begins_q;
  number_t begin_q;
  logic [$bits(program_e)-1:0] programs_q[Calls];
  program_e program_q;

  assign ended = ended_valid_i ? flags_t'(1) << ended_call_i : '0;
  assign entered = state_q == Enter ? flags_t'(1) << number_q : '0;
  assign chosen = begins_q || ready_q == 0 ? '0 : flags_t'(1) << lowest(ready_q);
  assign begin_valid_o = begins_q;
  assign begin_call_o = begin_q;
  assign begin_at_o = program_q;

  always_ff @(posedge clk_i) begin
    if (state_q == Enter) programs_q[number_q] <= begin_at_q;
    if (!begins_q) begin
      begin_q   <= lowest(ready_q);
      program_q <= program_e'(programs_q[lowest(ready_q)]);
    end
    for (int unsigned i = 0; i < Calls; i++) waits_q[i] <= (entered[i] ? conflicts_q & under_way_q : waits_q[i]) & ~ended;
    if (rst_i) begin
      under_way_q <= '0;
      waiting_q <= '0;
      ready_q <= '0;
      begins_q <= 1'b0;
    end else begin
      under_way_q <= (under_way_q | entered) & ~ended;
      waiting_q <= (waiting_q | entered) & ~chosen;
      for (int unsigned i = 0; i < Calls; i++) ready_q[i] <= waiting_q[i] && waits_q[i] == 0 && !chosen[i];
      begins_q <= begins_q ? !begin_ready_i : ready_q != 0;
    end
  end

  // Steps.
  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Idle;
    else
      unique case (state_q)
        Idle: if (call_valid_i) state_q <= Prepare;
        Prepare: state_q <= Low;
        Low: state_q <= High;
        High: state_q <= !last_add ? Low : which_q == 2'd2 ? Scan : Prepare;
        Scan: if (rest_q == 0) state_q <= Judge;
        Judge: state_q <= Enter;
        default: state_q <= Idle;
      endcase
  end
endmodule
