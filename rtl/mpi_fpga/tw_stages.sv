// SPDX-License-Identifier: Apache-2.0
// Buffers between processes of a collective operation.
//
// A stage is a ring of SlotFlits flits, filled by one process and emptied by another, in the bank of the unit whose
// results fill it. A bank has Entries rings per operation; a process fills one or two neighbouring rings. A stage keeps
// its ring from its first packet in the operation until another stage takes the ring in a later operation. A step takes
// a packet from each of at most two stages, which the banks deliver from the next cycle on (tw_slot_bank), and reserves
// room in at most two for its result, which its unit delivers later. A result is complete with its last flit, and
// visible in the next cycle; a process that waits for it is woken in the same cycle (tw_slot_waits). Of two stages the
// lower one is written as the flits arrive, the higher one a cycle later, so the flits must have pauses between them.
// Takes of a step, and room that becomes free, are visible in the next cycle; a ring from which a packet is read slowly
// has no room until nothing can overtake the read (tw_slow_reads). An operation leaves its stages empty.
//
// Order: packets of a stage in the order in which they were reserved; results of a unit in the order of its steps.
// Latency: one cycle from a result's last flit until it is visible, and from a step to the first flit that it takes.
// Throughput: per cycle a step, a process that begins to wait, and a flit of each unit. Storage: the banks; per unit
// the destinations of Pending results; the ring of each stage; and, since every memory has one writer, the position up
// to which a ring's packets are complete, written by the unit, and the positions up to which a stage's packets and room
// were taken, written by the step. A stage that moves to another ring begins at the end of the complete packets there.
// Memories are cleared after reset, one operation per cycle: for Operations cycles status_valid_o is low and no input
// is allowed. Status and wakes depend on inputs, read data are a memory's output. Critical path: from operation_i
// through the ring of the lowest stage to the bank's address; similarly to status_free_o.
module tw_stages #(
    parameter int unsigned Operations = 32,
    parameter int unsigned Stages = 16,       /// per operation, 2 to 64
    parameter int unsigned Units = 6,
    parameter int unsigned Entries = 4,        /// rings of an operation in a unit's bank, at least 2
    parameter int unsigned SlotFlits = 64,    /// at most 65535
    parameter int unsigned Pending = 32,      /// maximum number of outstanding results per unit
    parameter int unsigned ProcessBits = 12,
    parameter int unsigned OperandWidth = 3,
    localparam int unsigned OperationWidth = Operations > 1 ? $clog2(Operations) : 1,
    localparam int unsigned UnitWidth = Units > 1 ? $clog2(Units) : 1,
    localparam int unsigned EntryWidth = $clog2(Entries)
) (
    input logic clk_i,
    input logic rst_i,

    // Status for the process that is tried.
    input  logic [OperationWidth-1:0] operation_i,
    input  logic [        Stages-1:0] from_i,          /// at most two
    input  logic [        Stages-1:0] to_i,            /// at most two others
    input  logic [     UnitWidth-1:0] own_i,           /// the unit that fills them
    input  logic [    EntryWidth-1:0] place_i,         /// ring in its bank for the lower stage; the higher one's is the next
    input  logic [               2:0] size_i,          /// log2 of a packet's flits
    output logic                      status_valid_o,
    output logic                      status_there_o,  /// each has a packet
    output logic                      status_room_o,   /// each has room for a packet
    output logic                      status_free_o,   /// the banks can be read
    output logic                      freed_o,         /// a stage has more room from the next cycle on

    // Its step.
    input logic                    step_valid_i,
    input logic [   UnitWidth-1:0] step_unit_i,     /// own_i if it fills stages; which has read its previous packet
    input logic [             3:0] step_pace_i,
    input logic [OperandWidth-1:0] step_operand_i,  /// of the lower stage's packet; the higher one's is the next

    // Or it waits for a packet in the lowest stage that has none.
    input logic                   wait_valid_i,
    input logic [ProcessBits-1:0] wait_process_i,

    output logic [Units-1:0]                  early_valid_o,    /// a process that already waits for the packet
    output logic [Units-1:0][ProcessBits-1:0] early_process_o,
    output logic [Units-1:0]                  late_valid_o,     /// a process that begins to wait for it

    // Results of units, from the cycle after their step on.
    input logic [Units-1:0]        result_valid_i,
    input logic [Units-1:0][255:0] result_data_i,
    input logic [Units-1:0]        result_last_i,
    input logic [Units-1:0]        result_staged_i,  /// for stages

    // Two read ports of each bank.
    output logic [2*Units-1:0]                   read_valid_o,
    output logic [2*Units-1:0][           255:0] read_data_o,
    output logic [2*Units-1:0][   UnitWidth-1:0] read_unit_o,
    output logic [2*Units-1:0][OperandWidth-1:0] read_operand_o,
    output logic [2*Units-1:0]                   read_head_o,
    output logic [2*Units-1:0]                   read_tail_o
);
  if (Operations < 1 || Stages < 2 || Stages > 64 || Units < 1) begin : check_sizes
    $error("tw_stages: an operation, 2 to 64 stages of each, and a unit");
  end
  if (SlotFlits < 1 || SlotFlits > 65535 || Pending < 1 || Entries < 2) begin : check_slots
    $error("tw_stages: a stage has 1 to 65535 flits, a bank two places, and a result is to come");
  end

  localparam int unsigned StageWidth = $clog2(Stages);
  localparam int unsigned BankFlits = Operations * Entries * SlotFlits;
  localparam int unsigned AddressWidth = BankFlits > 2 ? $clog2(BankFlits) : 1;
  localparam int unsigned OffsetWidth = SlotFlits > 1 ? $clog2(SlotFlits) : 1;
  localparam int unsigned CountWidth = $clog2(SlotFlits + 1);

  typedef logic [CountWidth-1:0] count_t;
  typedef logic [OperationWidth-1:0] operation_t;
  typedef logic [StageWidth-1:0] stage_t;
  typedef logic [EntryWidth-1:0] place_t;
  typedef logic [Units-1:0][Entries-1:0] places_t;

  // Location of a stage.
  typedef struct packed {
    logic                 known;
    logic [UnitWidth-1:0] bank;
    place_t               place;
  } home_t;

  // A position in a stage, and the parity of the lap: a stage whose two positions are equal is empty.
  typedef struct packed {
    logic                   lap;
    logic [OffsetWidth-1:0] offset;
  } position_t;

  function automatic position_t after(position_t at, count_t flits);
    automatic logic [CountWidth:0] sum = (CountWidth + 1)'(at.offset) + (CountWidth + 1)'(flits);
    automatic logic wraps = sum >= (CountWidth + 1)'(SlotFlits);
    return '{at.lap ^ wraps, OffsetWidth'(wraps ? sum - (CountWidth + 1)'(SlotFlits) : sum)};
  endfunction

  function automatic count_t distance(position_t from, position_t to);
    return count_t'(to.offset) - count_t'(from.offset) + (from.lap != to.lap ? count_t'(SlotFlits) : '0);
  endfunction

  function automatic logic [AddressWidth-1:0] base(operation_t operation, place_t place);
    return AddressWidth'((32'(operation) * Entries + 32'(place)) * SlotFlits);
  endfunction

  // --- Clearing

  logic ready_q;
  operation_t clear_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      ready_q <= 1'b0;
      clear_q <= '0;
    end else if (!ready_q) begin
      ready_q <= clear_q == operation_t'(Operations - 1);
      clear_q <= clear_q + 1;
    end
  end
  assign status_valid_o = ready_q;

  // --- Stages of the operation that is tried, and its step

  wire count_t flits = count_t'(64'd1 << size_i);

  position_t [Units-1:0][Entries-1:0] whole;  // end of a unit's complete packets
  position_t [Stages-1:0] taken, room_from;
  home_t [Stages-1:0] home;
  logic [Stages-1:0] there, room;
  places_t reads_from, held;

  function automatic stage_t lowest(logic [Stages-1:0] stages);
    lowest = '0;
    for (int s = Stages - 1; s >= 0; s--) if (stages[s]) lowest = stage_t'(s);
  endfunction

  function automatic stage_t highest(logic [Stages-1:0] stages);
    highest = '0;
    for (int s = 0; s < Stages; s++) if (stages[s]) highest = stage_t'(s);
  endfunction

  wire stage_t from_low = lowest(from_i), from_high = highest(from_i);
  wire stage_t to_low = lowest(to_i), to_high = highest(to_i);
  wire from_two = from_low != from_high, to_two = to_low != to_high;
  wire place_t next_entry = place_i + place_t'(1);

  always_comb begin
    reads_from = '0;
    if (from_i != '0) reads_from[home[from_low].bank][home[from_low].place] = 1'b1;
    if (from_two) reads_from[home[from_high].bank][home[from_high].place] = 1'b1;
  end

  tw_slow_reads #(
      .Units(Units),
      .Entries(Operations),
      .Members(Units * Entries),
      .Queries(1)
  ) slow (
      .clk_i,
      .rst_i,
      .step_valid_i,
      .step_unit_i,
      .step_entry_i   (operation_i),
      .step_members_i (reads_from),
      .step_size_i    (size_i),
      .step_pace_i,
      .request_entry_i(operation_i),
      .held_o         (held),
      .freed_o
  );

  for (genvar s = 0; s < Stages; s++) begin : stage
    (* ram_style = "distributed" *) home_t home_q[Operations];
    (* ram_style = "distributed" *) position_t taken_q[Operations], reserved_q[Operations];

    assign home[s] = home_q[operation_i];
    assign taken[s] = taken_q[operation_i];
    wire position_t reserved = reserved_q[operation_i];

    assign there[s] = home[s].known && whole[home[s].bank][home[s].place] != taken[s];
    assign room[s] = 32'(distance(taken[s], reserved)) + (32'd1 << size_i) <= SlotFlits;

    wire takes = step_valid_i && from_i[s];
    wire fills = step_valid_i && to_i[s];
    wire home_t arrives_to = '{1'b1, step_unit_i, to_low == stage_t'(s) ? place_i : next_entry};
    wire moves = fills && home[s] != arrives_to;
    wire goes = step_valid_i && to_i != '0 && home[s].bank == step_unit_i
        && (home[s].place == place_i || (to_two && home[s].place == next_entry));  // another stage takes its ring
    assign room_from[s] = moves ? whole[step_unit_i][arrives_to.place] : reserved;

    always_ff @(posedge clk_i) begin
      if (!ready_q) home_q[clear_q] <= '0;
      else if (fills || goes) home_q[operation_i] <= fills ? arrives_to : '{1'b0, home[s].bank, home[s].place};
      if (!ready_q) taken_q[clear_q] <= '0;
      else if (takes || moves) taken_q[operation_i] <= takes ? after(taken[s], flits) : room_from[s];
      if (!ready_q) reserved_q[clear_q] <= '0;
      else if (fills) reserved_q[operation_i] <= after(room_from[s], flits);
    end

`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      if (!rst_i && ready_q) begin
        packet_is_there : assert (!takes || there[s]);
        room_is_there : assert (!fills || room[s]);
        empty_when_moved : assert (!(moves || (goes && !fills)) || !home[s].known || taken[s] == reserved);
      end
    end
`endif
  end

  assign status_there_o = &(there | ~from_i);
  assign status_room_o = &(room | ~to_i) && (to_i == '0 || !held[own_i][place_i]) && !(to_two && held[own_i][next_entry]);

  // --- Results

  // Destination of a step's result.
  typedef struct packed {
    operation_t operation;
    stage_t     low, high;  // equal if there is one stage
    place_t     place;      // of the lower one
    position_t  low_at, high_at;
  } result_t;

  typedef struct packed {
    logic       valid;
    logic       last;
    operation_t operation;
    stage_t     stage;
    place_t     place;
    position_t  at;
  } write_t;

  logic [Units-1:0] ends;
  operation_t [Units-1:0] end_operation;
  stage_t [Units-1:0] end_stage;

  wire result_t stepped = '{operation_i, to_low, to_high, place_i, room_from[to_low], room_from[to_high]};
  logic [Units-1:0] free;

  for (genvar u = 0; u < Units; u++) begin : unit
    result_t arriving;
    logic known, room_for_it;
    count_t flit_q;  // of the result
    write_t now, later_q, write;
    logic [255:0] later_data_q;

    wire queues = step_valid_i && to_i != '0 && step_unit_i == UnitWidth'(u);
    wire arrives = result_valid_i[u] && result_staged_i[u];
    wire two = arriving.low != arriving.high;

    tw_fifo #(
        .Width($bits(result_t)),
        .Depth(Pending)
    ) queue (
        .clk_i,
        .rst_i,
        .in_valid_i (queues),
        .in_ready_o (room_for_it),
        .in_data_i  (stepped),
        .out_valid_o(known),
        .out_ready_i(arrives && result_last_i[u]),
        .out_data_o (arriving),
        .count_o    ()
    );

    assign now = '{arrives, result_last_i[u], arriving.operation, arriving.low, arriving.place, after(arriving.low_at, flit_q)};
    assign write = later_q.valid ? later_q : now;
    wire position_t next = after(write.at, 1);

    always_ff @(posedge clk_i) begin
      if (arrives) flit_q <= result_last_i[u] ? '0 : flit_q + 1;
      if (arrives) later_data_q <= result_data_i[u];
      later_q <= '{arrives && two, result_last_i[u], arriving.operation, arriving.high, arriving.place + place_t'(1),
                  after(arriving.high_at, flit_q)};
      if (rst_i) begin
        flit_q <= '0;
        later_q.valid <= 1'b0;
      end
    end

    assign ends[u] = write.valid && write.last;
    assign end_operation[u] = write.operation;
    assign end_stage[u] = write.stage;

    for (genvar s = 0; s < Entries; s++) begin : place
      (* ram_style = "distributed" *) position_t whole_q[Operations];

      assign whole[u][s] = whole_q[operation_i];
      always_ff @(posedge clk_i) begin
        if (!ready_q) whole_q[clear_q] <= '0;
        else if (ends[u] && write.place == place_t'(s)) whole_q[write.operation] <= next;
      end
    end

    wire [1:0] from_bank = {from_two && home[from_high].bank == UnitWidth'(u),
                            from_i != '0 && home[from_low].bank == UnitWidth'(u)};

    tw_slot_bank #(
        .Edges(2),
        .Flits(BankFlits),
        .SlotFlits(SlotFlits),
        .OperandWidth(OperandWidth),
        .UnitWidth(UnitWidth)
    ) words (
        .clk_i,
        .rst_i,
        .write_valid_i  (write.valid),
        .write_address_i(base(write.operation, write.place) + AddressWidth'(write.at.offset)),
        .write_data_i   (later_q.valid ? later_data_q : result_data_i[u]),
        .from_i         (from_bank),
        .base_i         ({base(operation_i, home[from_high].place), base(operation_i, home[from_low].place)}),
        .offset_i       ({taken[from_high].offset, taken[from_low].offset}),
        .operand_i      ({step_operand_i + OperandWidth'(1), step_operand_i}),
        .packets_o      (),
        .free_o         (free[u]),
        .step_i         (step_valid_i),
        .size_i         (size_i),
        .pace_i         (step_pace_i),
        .unit_i         (step_unit_i),
        .out_valid_o    (read_valid_o[2*u+:2]),
        .out_data_o     (read_data_o[2*u+:2]),
        .out_unit_o     (read_unit_o[2*u+:2]),
        .out_operand_o  (read_operand_o[2*u+:2]),
        .out_head_o     (read_head_o[2*u+:2]),
        .out_tail_o     (read_tail_o[2*u+:2])
    );

`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        results_fit : assert (room_for_it || !queues);
        result_is_known : assert (known || !arrives);
        pause_after_two : assert (!later_q.valid || !arrives);
      end
    end
`endif
  end
  assign status_free_o = &free;

  // --- Waiting processes

  tw_slot_waits #(
      .Links(Units),
      .Rows(Operations),
      .Edges(Stages),
      .ProcessBits(ProcessBits)
  ) waits (
      .clk_i,
      .rst_i,
      .clear_i          (!ready_q),
      .clear_row_i      (clear_q),
      .wait_valid_i,
      .wait_credits_i   (1'b0),
      .wait_row_i       (operation_i),
      .wait_edge_i      (lowest(from_i & ~there)),
      .wait_process_i,
      .arrival_valid_i  (ends),
      .arrival_credits_i('0),
      .arrival_row_i    (end_operation),
      .arrival_edge_i   (end_stage),
      .early_valid_o,
      .early_process_o,
      .late_valid_o
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      two_stages : assert (!step_valid_i || ($countones(from_i) <= 2 && $countones(to_i) <= 2 && (from_i & to_i) == '0));
      own_entry : assert (!step_valid_i || to_i == '0 || (step_unit_i == own_i && 32'(place_i) + 32'(to_two) < Entries));
      waits_for_a_packet : assert (!wait_valid_i || !status_there_o);
      nothing_before_ready : assert (ready_q || !(step_valid_i || wait_valid_i || (result_valid_i & result_staged_i) != '0));
    end
  end
`endif
endmodule
