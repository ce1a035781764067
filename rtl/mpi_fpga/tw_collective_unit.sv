// SPDX-License-Identifier: Apache-2.0
// The collective unit of a node, put together: what comes over the links waits in slots, processes of the operations in flight take
// packets from there, from the host and from each other, aggregation units join them, and results leave by the local ports, to the
// host and to other processes. docs/unit.md has its drawing and a packet's cycles.
//
// One process is tried in a cycle: it was picked in the one before, in which the memories were addressed with its number. It takes its
// packets, or waits where what it lacks will come. All-to-alls pass by all this, through the relay, whose lanes are the ports.
//
// Order: of each block; results of a step leave in the order of steps. Latency: a packet's result two cycles and the lanes after the
// step. Throughput: a step a cycle, of as many packets at a time as there are units. Storage: that of the blocks, constants of each operation, an exchange
// for each row. take_* and ended_* depend on the process that is tried; all other outputs are those of blocks. Critical path: from
// the process's step over the slots' credits to what becomes of it.
module tw_collective_unit
  import tw_spec_pkg::*, tw_mpi_fpga_spec_pkg::*, tw_network_pkg::*, tw_node_pkg::*, tw_reduce_pkg::*;
#(
    parameter int unsigned Links = 6,
    parameter int unsigned Ports = 6,           /// local ports: edge k is sent by port k modulo Ports
    parameter int unsigned Units = 6,
    parameter int unsigned Rows = 32,
    parameter int unsigned Places = 4,          /// operations of a row in flight
    parameter int unsigned Edges = 6,           /// of a row
    parameter int unsigned Roots = 1,           /// labels that can have a tree of their own
    parameter int unsigned Stages = 16,         /// buffers between the processes of an operation
    parameter int unsigned StagePlaces = 4,     /// for them in the bank of a unit: two for each process of its own that fills some
    parameter int unsigned Vcs = 4,
    parameter bit Credits = 1'b1,               /// flow control of the router's local ports; otherwise stop by margin
    parameter int unsigned PeerFlits = 16,      /// of their buffers; with credits
    parameter int unsigned BankFlits = 4096,    /// of a link's slots
    parameter int unsigned SlotFlits = 64,
    parameter int unsigned SlotPackets = 4,     /// of ordinary length
    parameter int unsigned Batch = 16,          /// flits of a slot that are told at a time
    parameter int unsigned ShortestSize = 2,    /// log2 of a packet's flits: of short streams,
    parameter int unsigned PacketSize = 4,      /// ordinary,
    parameter int unsigned LongestSize = 4,     /// and of long streams
    parameter int unsigned Words = 106,         /// of a queue between unit and port
    parameter int unsigned HostPackets = 64,    /// that the host has for a process, at most
    parameter int unsigned Latency = 14,        /// cycles of a lane, of the user's operators as well
    parameter pairs_t Pairs = all_pairs(),      /// as of tw_lane, and also
    parameter logic [2:0][31:0] UserBytes = {3{32'd8}},
    parameter int unsigned Classes = 2,         /// route classes
    parameter int unsigned Nodes = 64,          /// in the relay's table
    parameter int unsigned RelayFlits = 1024,   /// of the relay's buffers
    parameter int unsigned RoomBits = 9,        /// of room_i
    localparam int unsigned Operations = Rows * Places,
    localparam int unsigned RowWidth = Rows > 1 ? $clog2(Rows) : 1,
    localparam int unsigned OperationWidth = Operations > 1 ? $clog2(Operations) : 1,
    localparam int unsigned ProcessBits = OperationWidth + 5,
    localparam int unsigned EdgeWidth = Edges > 1 ? $clog2(Edges) : 1,
    localparam int unsigned LinkWidth = Links > 1 ? $clog2(Links) : 1,
    localparam int unsigned UnitWidth = Units > 1 ? $clog2(Units) : 1,
    localparam int unsigned RootWidth = Roots > 1 ? $clog2(Roots) : 1,
    localparam int unsigned AddressWidth = $clog2(BankFlits)
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic ready_o,  /// memories have been cleared: before, nothing may come

    // Rows of the communicator table. A row's last word is its vertex: with it the row is there.
    input logic                       vertex_valid_i,
    input logic      [RowWidth-1:0]   vertex_row_i,
    input vertex_t                    vertex_i,
    input exchange_t                  exchange_i,
    input logic                       edge_valid_i,
    input logic      [RowWidth-1:0]   edge_row_i,
    input logic      [EdgeWidth-1:0]  edge_index_i,
    input tree_edge_t                 edge_i,
    input logic      [3:0]            edge_vc_i,     /// virtual channel to its far end
    input logic                       place_valid_i, /// where its packets come, and are kept
    input logic      [RowWidth-1:0]   place_row_i,
    input logic      [EdgeWidth-1:0]  place_edge_i,
    input logic      [LinkWidth-1:0]  place_link_i,
    input logic      [AddressWidth-1:0] place_base_i,
    output logic                      place_settled_o,  /// all room that is free in the slots of that row was told
    input logic                       branch_valid_i,
    input logic      [RowWidth-1:0]   branch_row_i,
    input logic      [RootWidth-1:0]  branch_label_i,
    input logic      [Edges-1:0]      branch_up_i,
    input logic      [Edges-1:0]      branch_down_i,
    input logic                       unload_valid_i,
    input logic      [RowWidth-1:0]   unload_row_i,

    // An operation of the host, in the place whose turn it is in its row.
    input logic                            start_valid_i,
    input logic       [OperationWidth-1:0] start_operation_i,  /// row * Places + place
    input operation_t                      start_constants_i,
    input logic                            start_asks_i,       /// it has processes here

    // What the host has for processes, and what is taken of it: its flits come from the next cycle on, one in pace cycles.
    input  logic                         announce_valid_i,
    input  logic [ProcessBits-1:0]       announce_process_i,
    output logic                         take_valid_o,
    output logic [ProcessBits-1:0]       take_process_o,
    output logic [UnitWidth-1:0]         take_unit_o,
    output logic [2:0]                   take_size_o,     /// log2 of its flits
    output logic [3:0]                   take_pace_o,
    input  logic [Units-1:0]             host_valid_i,
    input  logic [Units-1:0][255:0]      host_data_i,

    // Results for the host, of each unit.
    output logic    [Units-1:0]        result_valid_o,
    input  logic    [Units-1:0]        result_ready_i,
    output logic    [Units-1:0][255:0] result_data_o,
    output logic    [Units-1:0]        result_last_o,
    output result_t [Units-1:0]        result_tag_o,

    output logic                   ended_valid_o,  /// a process is done
    output logic [ProcessBits-1:0] ended_process_o,

    // What is ejected at the links.
    input logic  [Links-1:0] in_valid_i,
    input flit_t [Links-1:0] in_flit_i,

    // All-to-alls: the ways of the relay's packets, the own host's for others, those that come for it, and ranks that announce
    // themselves to it (tw_relay).
    input  logic [15:0]              self_i,
    input  logic                     table_valid_i,
    input  logic [15:0]              table_index_i,
    input  route_entry_t             table_entry_i,
    input  logic [3:0]               table_layer_i,
    input  logic                     peer_valid_i,
    input  logic [5:0]               peer_link_i,
    input  logic [15:0]              peer_node_i,
    input  logic [7:0]               peer_port_i,
    input  logic [3:0]               peer_vc_i,
    input  logic [Ports-1:0]         own_valid_i,
    input  logic [Ports-1:0][255:0]  own_data_i,
    input  logic [Ports-1:0]         own_last_i,
    output logic [Ports-1:0]         own_ready_o,  /// a word goes out in this cycle
    input  logic [Ports-1:0][RoomBits-1:0] room_i, /// of the host, in flits, less what has come up to the cycle before
    output logic [Ports-1:0]         came_valid_o,
    output logic [Ports-1:0][255:0]  came_data_o,
    output logic [Ports-1:0]         came_last_o,
    output logic [Links-1:0]         announced_valid_o,
    output logic [Links-1:0][4:0]    announced_context_o,
    output logic [Links-1:0][1:0]    announced_sequence_o,
    output logic [Links-1:0][15:0]   announced_source_o,

    output logic  [Ports-1:0]          out_valid_o,
    output flit_t [Ports-1:0]          out_flit_o,
    input  logic  [Ports-1:0][Vcs-1:0] out_back_i
);
  if (Operations < 2 || Edges < 2 || Links < 1 || Ports < 1 || Ports > Edges || Units < 1) begin : check_sizes
    $error("tw_collective_unit: at least 2 operations and edges, a link and a unit, and no more ports than edges");
  end

  localparam int unsigned PlaceWidth = Places > 1 ? $clog2(Places) : 1;
  localparam int unsigned Processes = Operations * 32;
  localparam int unsigned Inputs = Edges + 1;  // of a join: the edges' packets, and the host's or a stage's
  localparam int unsigned OperandWidth = $clog2(Inputs);
  localparam int unsigned CountWidth = $clog2(Inputs + 1);
  localparam int unsigned CreditWidth = $clog2(SlotFlits + 1);
  localparam int unsigned Lanes = Ports < Links ? Ports : Links;  // of the relay
  localparam int unsigned VcWidth = Vcs > 1 ? $clog2(Vcs) : 1;
  localparam int unsigned RoomWidth = $clog2(Words + 1);
  localparam int unsigned TimeBits = $clog2(64 * 16 + 2 + (Inputs + 1) / 2 * Latency + 64);
  localparam int unsigned Queues = Links + Units + 3;

  // A step, and the process that it is of, as far as they matter here.
  typedef struct packed {
    logic [Edges-1:0]        from_edges;
    logic [Edges-1:0]        to_edges;
    logic [Stages-1:0]       from_stages;
    logic [Stages-1:0]       to_stages;
    logic                    from_host;
    logic                    to_host;
    logic [OperandWidth-1:0] place;
    logic [15:0]             streams;
    logic [6:0]              steps;
    turns_e                  turns;
    logic [15:0]             rounds;
  } held_t;

  // verilator lint_off UNUSEDSIGNAL
  function automatic held_t held_of(step_t step, process_t of);
    return '{step.from_edges[Edges-1:0], step.to_edges[Edges-1:0], step.from_stages[Stages-1:0],
             step.to_stages[Stages-1:0], step.from_host, step.to_host, OperandWidth'(step.place), step.streams, of.steps,
             of.turns, of.rounds};
  endfunction
  // verilator lint_on UNUSEDSIGNAL

  function automatic logic [RowWidth-1:0] row_of(logic [OperationWidth-1:0] operation);
    return RowWidth'(32'(operation) / Places);
  endfunction
  function automatic logic [PlaceWidth-1:0] place_of(logic [OperationWidth-1:0] operation);
    return PlaceWidth'(32'(operation) % Places);
  endfunction

  // --- The process that is tried

  logic tried_valid, pick_valid;
  logic [ProcessBits-1:0] tried, pick;
  wire [OperationWidth-1:0] tried_operation = tried[ProcessBits-1:5];
  wire [RowWidth-1:0] tried_row = row_of(tried_operation);
  wire [PlaceWidth-1:0] tried_place = place_of(tried_operation);

  wire [UnitWidth-1:0] own_unit = UnitWidth'(32'(tried) % Units);  // that whose bank has the stages that it fills

  operation_t constants_q[Operations];
  wire operation_t constants = constants_q[tried_operation];
  wire alone = constants.collective == CollectiveBarrier;  // a descriptor is all of its stream

  logic known, step_place;
  held_t step;
  logic [6:0] at_step;
  logic [15:0] at_round, at_stream;
  logic at_descriptor, at_last, next_step, over;
  logic [2:0] at_size;
  logic [10:0] at_elements;
  logic [47:0] at_first;

  // verilator lint_off UNUSEDSIGNAL
  wire [6:0] flits = 7'd1 << at_size;  // of short slots and queues, the lower bits
  // verilator lint_on UNUSEDSIGNAL

  // --- What it lacks

  logic [Edges-1:0] held_reading, held_writing, there;
  logic [Edges-1:0][CreditWidth-1:0] credits;
  logic upload_there, staged_there, stage_room, slots_free, stages_free, choice_room, choice_valid;
  logic [3:0] pace_read;
  logic [UnitWidth-1:0] unit;

  logic [Edges-1:0] lacking_packets, lacking_credits;
  always_comb begin
    lacking_packets = step.from_edges & ~there;
    for (int unsigned k = 0; k < Edges; k++)
      lacking_credits[k] = step.to_edges[k] && credits[k] < CreditWidth'(flits);
  end

  function automatic logic [EdgeWidth-1:0] lowest(logic [Edges-1:0] set);
    lowest = '0;
    for (int unsigned k = Edges; k > 0; k--) if (set[k-1]) lowest = EdgeWidth'(k - 1);
  endfunction

  typedef enum logic [3:0] {
    Nobody, Unknown, Turn, Upload, Staged, Packet, Credit, StageRoom, Time, QueueRoom, Goes
  } fate_e;
  fate_e fate;

  always_comb begin
    if (!tried_valid) fate = Nobody;
    else if (!known) fate = Unknown;
    else if ((step.from_edges & held_reading) != '0 || (step.to_edges & held_writing) != '0) fate = Turn;
    else if (step.from_host && !upload_there) fate = Upload;
    else if (!staged_there) fate = Staged;
    else if (lacking_packets != '0) fate = Packet;
    else if (lacking_credits != '0) fate = Credit;
    else if (!stage_room) fate = StageRoom;
    else if (choice_valid && slots_free && stages_free) fate = Goes;
    else fate = choice_room ? Time : QueueRoom;
  end
  wire goes = fate == Goes;
  wire ends = goes && over;

  // --- Its step

  logic [CountWidth-1:0] edge_operands, operands;
  logic [Edges-1:0][OperandWidth-1:0] edge_operand;
  wire [1:0] own_operands = 2'(step.from_host) + 2'($countones(step.from_stages));
  always_comb begin
    edge_operands = '0;
    for (int unsigned k = 0; k < Edges; k++) begin
      edge_operand[k] = OperandWidth'(edge_operands) + (edge_operands >= CountWidth'(step.place) ? OperandWidth'(own_operands) : '0);
      edge_operands += CountWidth'(step.from_edges[k]);
    end
    operands = edge_operands + CountWidth'(own_operands);
  end
  wire [OperandWidth-1:0] own_operand = edge_operands < CountWidth'(step.place) ? OperandWidth'(edge_operands) : step.place;
  wire [OperandWidth-1:0] stage_operand = own_operand + OperandWidth'(step.from_host);

  // Lanes on the longest way through the join.
  wire [CountWidth-1:0] depth = at_descriptor || operands < 2 ? '0 : (operands + 1'b1) >> 1;
  wire [TimeBits-1:0] latency = TimeBits'(2 + 32'(depth) * Latency);
  wire [3:0] written = $countones(step.to_stages) > 1 ? 4'd2 : 4'd1;
  wire [3:0] pace = pace_read > written ? pace_read : written;
  wire [TimeBits-1:0] read = TimeBits'(pace) << at_size;
  wire [TimeBits-1:0] last_flit = read + latency - TimeBits'(1) - TimeBits'(pace - pace_read);

  logic [11:0] packet_bytes;
  always_comb begin
    packet_bytes = 12'd8 + (12'(at_elements) << constants.size);
    if (constants.size == 3'd4 && at_elements > 11'd1) packet_bytes = 12'd16 + (12'(at_elements) << 4);
  end

  // Where turns go through many streams, a turn that fills a slot comes again only when all of its credits are back.
  wire fills = step.turns == TurnsPacket && 32'(step.streams) * 2 > SlotPackets;
  wire final_ = (at_last || fills) && 16'(at_stream + 16'd1) == step.streams;

  logic [Ports-1:0] to_ports;
  always_comb begin
    to_ports = '0;
    for (int unsigned k = 0; k < Edges; k++) if (step.to_edges[k]) to_ports[k%Ports] = 1'b1;
  end

  logic [Units-1:0][Ports:0][RoomWidth-1:0] room;
  logic [Units-1:0] unit_room;
  always_comb begin
    for (int unsigned u = 0; u < Units; u++) begin
      unit_room[u] = !step.to_host || room[u][Ports] >= RoomWidth'(flits);
      for (int unsigned p = 0; p < Ports; p++)
        if (to_ports[p] && room[u][p] < RoomWidth'(flits)) unit_room[u] = 1'b0;
    end
  end

  assign take_valid_o = goes && step.from_host;
  assign take_process_o = tried;
  assign take_unit_o = unit;
  assign take_size_o = at_size;
  assign take_pace_o = pace;
  assign ended_valid_o = ends;
  assign ended_process_o = tried;

  // A process is tried again two cycles later at the earliest, three after a descriptor, whose contents it needs.
  localparam int unsigned CycleBits = TimeBits;
  wire [CycleBits-1:0] least = at_descriptor ? CycleBits'(2) : CycleBits'(1);
  wire [CycleBits-1:0] again_in = CycleBits'(read) - CycleBits'(1) > least ? CycleBits'(read) - CycleBits'(1) : least;

  // What a descriptor says is out of the memories in the next cycle.
  logic described_q;
  logic [UnitWidth-1:0] described_unit_q;
  // verilator lint_off UNUSEDSIGNAL
  operation_t described_constants_q;
  descriptor_t descriptor;
  // verilator lint_on UNUSEDSIGNAL
  always_ff @(posedge clk_i) begin
    described_q <= !rst_i && goes && at_descriptor;
    described_unit_q <= unit;
    described_constants_q <= constants;
  end

  // --- The table

  logic look_starter, look_running_q;
  logic [OperationWidth-1:0] look_operation, running_operation_q;
  operation_t running_constants_q, look_constants;
  // verilator lint_off UNUSEDSIGNAL
  operation_t asked_constants_q;
  // verilator lint_on UNUSEDSIGNAL
  logic asked_at_root;

  wire [RowWidth-1:0] look_row = row_of(look_running_q ? running_operation_q : look_operation);
  wire [15:0] look_label = look_running_q ? running_constants_q.root : look_constants.root;

  vertex_t vertex;
  logic [Edges-1:0] towards, away;
  logic [Edges-1:0][15:0] behind, last;
  // verilator lint_off UNUSEDSIGNAL
  logic table_valid;
  logic table_far_valid;
  logic [15:0] table_neighbour;
  logic [4:0] table_there;
  // verilator lint_on UNUSEDSIGNAL

  tw_context_table #(
      .Rows(Rows),
      .Edges(Edges),
      .Roots(Roots),
      .Ends(1)
  ) table_ (
      .clk_i,
      .rst_i,
      .vertex_valid_i,
      .vertex_row_i,
      .vertex_i,
      .edge_valid_i,
      .edge_row_i,
      .edge_index_i,
      .edge_i,
      .branch_valid_i,
      .branch_row_i,
      .branch_label_i,
      .branch_up_i,
      .branch_down_i,
      .lookup_valid_i  (look_starter || look_running_q),
      .lookup_row_i    (look_row),
      .lookup_label_i  (look_label),
      .answer_valid_o  (table_valid),
      .answer_vertex_o (vertex),
      .answer_towards_o(towards),
      .answer_away_o   (away),
      .answer_behind_o (behind),
      .answer_last_o   (last),
      .end_valid_i     (1'b0),
      .end_row_i       ('0),
      .end_index_i     ('0),
      .far_valid_o     (table_far_valid),
      .far_neighbour_o (table_neighbour),
      .far_there_o     (table_there)
  );

  exchange_t exchanges_q[Rows];
  exchange_t exchange;
  always_ff @(posedge clk_i) begin
    if (vertex_valid_i) exchanges_q[vertex_row_i] <= exchange_i;
    exchange <= exchanges_q[look_row];
    asked_constants_q <= look_running_q ? running_constants_q : look_constants;
  end
  assign asked_at_root = vertex.has_rank && vertex.label == asked_constants_q.root;

  // --- Collective control: operations that begin, and running processes, which ask for the step after the next one

  typedef struct packed {
    logic                   valid;
    logic                   running;  // otherwise the starter's
    logic                   first;    // step, with which the process starts
    logic                   second;   // the next one
    logic                   place;    // of a running process's step
    logic [ProcessBits-1:0] process_number;
  } question_t;

  logic starter_idle, starter_asks, starter_tree, starter_answered;
  logic [OperationWidth-1:0] starter_operation;
  logic [4:0] starter_process;
  logic [6:0] starter_step;
  logic begins_valid, begins_tree;
  logic [OperationWidth-1:0] begins_operation;
  operation_t begins_constants;

  logic [ProcessBits-1:0] running_process_q, asking_process_q;
  logic [6:0] running_step_q, asking_step_q;
  logic running_place_q, asking_place_q, asking_q;
  wire [6:0] after_next = at_step + 7'd2;  // modulo the steps

  always_ff @(posedge clk_i) begin
    look_running_q <= !rst_i && goes && next_step;
    running_operation_q <= tried_operation;
    running_constants_q <= constants;
    running_process_q <= tried;
    running_place_q <= step_place;
    running_step_q <= after_next < step.steps ? after_next : after_next - step.steps;
    asking_q <= !rst_i && look_running_q;
    asking_process_q <= running_process_q;
    asking_place_q <= running_place_q;
    asking_step_q <= running_step_q;
  end

  question_t asked;
  question_t [2:0] asked_q;
  assign asked.valid = asking_q || (starter_asks && !starter_tree);
  assign asked.running = asking_q;
  assign asked.first = starter_step == 7'd0;
  assign asked.second = starter_step == 7'd1;
  assign asked.place = asking_place_q;
  assign asked.process_number = asking_q ? asking_process_q : {starter_operation, starter_process};
  always_ff @(posedge clk_i) asked_q <= rst_i ? '0 : {asked_q[1:0], asked};
  wire question_t question = asked_q[2];
  wire answered_running = question.valid && question.running;
  assign starter_answered = question.valid && !question.running;

  logic tree_valid, answer_valid;
  logic [5:0] tree_processes, answer_processes;
  step_t tree_step, answer_step;
  process_t answer_process;

  tw_collective_control #(
      .Edges(Edges)
  ) control (
      .clk_i,
      .rst_i,
      .ask_valid_i       (asking_q || starter_asks),
      .ask_collective_i  (asked_constants_q.collective),
      .ask_algorithm_i   (asked_constants_q.algorithm),
      .ask_process_i     (asking_q ? asking_process_q[4:0] : starter_process),
      .ask_step_i        (asking_q ? asking_step_q : starter_step),
      .ask_at_root_i     (asked_at_root),
      .ask_vertex_i      (vertex),
      .ask_exchange_i    (exchange),
      .ask_towards_i     (towards),
      .ask_away_i        (away),
      .ask_behind_i      (behind),
      .ask_last_i        (last),
      .tree_valid_o      (tree_valid),
      .tree_processes_o  (tree_processes),
      .tree_step_o       (tree_step),
      .answer_valid_o    (answer_valid),
      .answer_processes_o(answer_processes),
      .answer_process_o  (answer_process),
      .answer_step_o     (answer_step)
  );

  tw_starter #(
      .Operations(Operations)
  ) starter (
      .clk_i,
      .rst_i,
      .add_valid_i       (begins_valid),
      .add_operation_i   (begins_operation),
      .add_along_tree_i  (begins_tree),
      .idle_o            (starter_idle),
      .busy_i            (look_running_q),
      .come_i            (asked_q[1].valid && asked_q[1].running),
      .look_valid_o      (look_starter),
      .look_operation_o  (look_operation),
      .ask_valid_o       (starter_asks),
      .ask_operation_o   (starter_operation),
      .ask_along_tree_o  (starter_tree),
      .ask_process_o     (starter_process),
      .ask_step_o        (starter_step),
      .answer_valid_i    (starter_answered),
      .answer_processes_i(answer_processes),
      .answer_steps_i    (answer_process.steps)
  );

  always_ff @(posedge clk_i) begin
    if (begins_valid) constants_q[begins_operation] <= begins_constants;
  end
  assign look_constants = begins_valid && look_operation == begins_operation ? begins_constants : constants_q[look_operation];

  // --- Steps that come: of a process that begins along a tree, or as collective control answers

  wire tree_asks = starter_asks && starter_tree;
  wire tree_starts = tree_asks && 6'(starter_process) < tree_processes;
  wire answer_starts = starter_answered && question.first;
  wire come_valid = tree_starts || answered_running || (starter_answered && (question.first || question.second));
  wire come_starts = tree_starts || answer_starts;
  wire [ProcessBits-1:0] come_process = tree_asks ? {starter_operation, starter_process} : question.process_number;
  localparam process_t TreeProcess = '{steps: 7'd1, turns: TurnsStream, rounds: 16'd1, reversed: 5'd0};
  wire held_t come_step = tree_asks ? held_of(tree_step, TreeProcess) : held_of(answer_step, answer_process);
  // verilator lint_off UNUSEDSIGNAL
  logic steps_valid, progress_valid;
  // verilator lint_on UNUSEDSIGNAL

  tw_steps #(
      .Processes(Processes),
      .Width($bits(held_t))
  ) steps (
      .clk_i,
      .rst_i,
      .come_valid_i  (come_valid),
      .come_process_i(come_process),
      .come_start_i  (come_starts),
      .come_place_i  (answered_running ? question.place : 1'b1),
      .come_step_i   (come_step),
      .ask_valid_i   (pick_valid),
      .ask_process_i (pick),
      .at_valid_o    (steps_valid),
      .at_place_o    (step_place),
      .step_valid_o  (known),
      .step_data_o   (step),
      .leave_i       (goes && next_step)
  );

  tw_progress #(
      .Processes(Processes)
  ) progress (
      .clk_i,
      .rst_i,
      .start_valid_i  (come_starts),
      .start_process_i(come_process),
      .ask_valid_i    (pick_valid),
      .ask_process_i  (pick),
      .at_valid_o     (progress_valid),
      .at_step_o      (at_step),
      .at_round_o     (at_round),
      .at_stream_o    (at_stream),
      .at_descriptor_o(at_descriptor),
      .size_i         (constants.size),
      .alone_i        (alone),
      .at_size_o      (at_size),
      .at_elements_o  (at_elements),
      .at_first_o     (at_first),
      .at_last_o      (at_last),
      .go_i           (goes),
      .steps_i        (step.steps),
      .rounds_i       (step.rounds),
      .streams_i      (step.streams),
      .packets_i      (step.turns == TurnsStream ? 16'd0 : step.turns == TurnsPacket ? 16'd1 : constants.burst),
      .at_next_step_o (next_step),
      .at_over_o      (over),
      .describe_i     (described_q),
      .count_i        (descriptor.count),
      .count_size_i   (described_constants_q.size),
      .shortest_i     (described_constants_q.shortest),
      .longest_i      (described_constants_q.longest),
      .ring_i         (described_constants_q.ring),
      .together_i     (described_constants_q.together)
  );

  logic [RowWidth-1:0] reading_row;
  logic [Edges-1:0] reading;
  logic begin_valid;
  logic [RowWidth-1:0] begin_row;

  tw_precedence #(
      .Rows(Rows),
      .Places(Places),
      .Edges(Edges)
  ) precedence (
      .clk_i,
      .rst_i,
      .load_valid_i  (vertex_valid_i),
      .load_row_i    (vertex_row_i),
      .begin_valid_i (begin_valid),
      .begin_row_i   (begin_row),
      .add_valid_i   (tree_starts || starter_answered),
      .add_row_i     (row_of(come_process[ProcessBits-1:5])),
      .add_place_i   (place_of(come_process[ProcessBits-1:5])),
      .add_process_i (come_process[4:0]),
      .add_first_i   (come_starts),
      .add_reading_i (come_step.from_edges),
      .add_writing_i (come_step.to_edges),
      .end_valid_i   (ends),
      .end_row_i     (tried_row),
      .end_place_i   (tried_place),
      .end_process_i (tried[4:0]),
      .held_row_i    (tried_row),
      .held_place_i  (tried_place),
      .held_reading_o(held_reading),
      .held_writing_o(held_writing),
      .reading_row_i (reading_row),
      .reading_o     (reading)
  );

  // --- Where packets come from

  logic slots_ready, uploads_ready, stages_ready;
  logic [Links-1:0] slots_early, slots_late, arrives_empty;
  logic [Links-1:0][ProcessBits-1:0] slots_early_process;
  logic [2*Links-1:0] slots_read;
  logic [2*Links-1:0][255:0] slots_data;
  logic [2*Links-1:0][UnitWidth-1:0] slots_unit;
  logic [2*Links-1:0][OperandWidth-1:0] slots_operand;
  logic [Ports-1:0] credit_valid, credit_ready;
  logic [Ports-1:0][RowWidth-1:0] credit_row;
  logic [Ports-1:0][EdgeWidth-1:0] credit_edge;
  logic [Ports-1:0][15:0] credit_count;
  logic [EdgeWidth-1:0] head_edge;
  logic [RowWidth-1:0] head_row;
  logic head_valid;
  head_t head;

  tw_slots #(
      .Links(Links),
      .Ports(Ports),
      .Rows(Rows),
      .Edges(Edges),
      .Vcs(Vcs),
      .BankFlits(BankFlits),
      .SlotFlits(SlotFlits),
      .Batch(Batch),
      .Units(Units),
      .ProcessBits(ProcessBits)
  ) slots (
      .clk_i,
      .rst_i,
      .load_valid_i    (place_valid_i),
      .load_row_i      (place_row_i),
      .load_edge_i     (place_edge_i),
      .load_link_i     (place_link_i),
      .load_base_i     (place_base_i),
      .load_settled_o  (place_settled_o),
      .in_valid_i,
      .in_flit_i,
      .row_i           (tried_row),
      .from_i          (step.from_edges),
      .status_valid_o  (slots_ready),
      .status_there_o  (there),
      .status_credits_o(credits),
      .status_free_o   (slots_free),
      .status_pace_o   (pace_read),
      .step_valid_i    (goes),
      .step_to_i       (step.to_edges),
      .step_size_i     (at_size),
      .step_final_i    (final_),
      .step_pace_i     (pace),
      .step_unit_i     (unit),
      .step_operand_i  (edge_operand),
      .wait_valid_i    (fate == Packet || fate == Credit),
      .wait_credits_i  (fate == Credit),
      .wait_edge_i     (lowest(fate == Credit ? lacking_credits : lacking_packets)),
      .wait_process_i  (tried),
      .early_valid_o   (slots_early),
      .early_process_o (slots_early_process),
      .late_valid_o    (slots_late),
      .arrives_empty_o (arrives_empty),
      .head_row_i      (head_row),
      .head_edge_i     (head_edge),
      .head_valid_o    (head_valid),
      .head_packet_o   (head),
      .read_valid_o    (slots_read),
      .read_data_o     (slots_data),
      .read_unit_o     (slots_unit),
      .read_operand_o  (slots_operand),
      .read_head_o     (),
      .read_tail_o     (),
      .credit_valid_o  (credit_valid),
      .credit_ready_i  (credit_ready),
      .credit_row_o    (credit_row),
      .credit_edge_o   (credit_edge),
      .credit_count_o  (credit_count)
  );

  logic upload_early, upload_late;

  tw_uploads #(
      .Processes(Processes),
      .Packets(HostPackets)
  ) uploads (
      .clk_i,
      .rst_i,
      .ready_o           (uploads_ready),
      .announce_valid_i,
      .announce_process_i,
      .early_valid_o     (upload_early),
      .late_valid_o      (upload_late),
      .tried_process_i   (tried),
      .there_o           (upload_there),
      .take_i            (take_valid_o),
      .wait_i            (fate == Upload)
  );

  logic [Units-1:0] result_valid, result_last, result_staged;
  logic [Units-1:0][255:0] result_data;
  logic [Units-1:0] stages_early, stages_late;
  logic [Units-1:0][ProcessBits-1:0] stages_early_process;
  logic stages_freed;
  logic [2*Units-1:0] stages_read;
  logic [2*Units-1:0][255:0] stages_data;
  logic [2*Units-1:0][UnitWidth-1:0] stages_unit;
  logic [2*Units-1:0][OperandWidth-1:0] stages_operand;

  tw_stages #(
      .Operations(Operations),
      .Stages(Stages),
      .Units(Units),
      .Places(StagePlaces),
      .SlotFlits(SlotFlits),
      .Pending(2 + (Inputs + 1) / 2 * Latency),
      .ProcessBits(ProcessBits),
      .OperandWidth(OperandWidth)
  ) staged (
      .clk_i,
      .rst_i,
      .operation_i    (tried_operation),
      .from_i         (step.from_stages),
      .to_i           (step.to_stages),
      .own_i          (own_unit),
      .place_i        (($clog2(StagePlaces))'(32'(tried[4:0]) / Units * 2)),
      .size_i         (at_size),
      .status_valid_o (stages_ready),
      .status_there_o (staged_there),
      .status_room_o  (stage_room),
      .status_free_o  (stages_free),
      .freed_o        (stages_freed),
      .step_valid_i   (goes),
      .step_unit_i    (unit),
      .step_pace_i    (pace),
      .step_operand_i (stage_operand),
      .wait_valid_i   (fate == Staged),
      .wait_process_i (tried),
      .result_valid_i (result_valid),
      .result_data_i  (result_data),
      .result_last_i  (result_last),
      .result_staged_i(result_staged),
      .early_valid_o  (stages_early),
      .early_process_o(stages_early_process),
      .late_valid_o   (stages_late),
      .read_valid_o   (stages_read),
      .read_data_o    (stages_data),
      .read_unit_o    (stages_unit),
      .read_operand_o (stages_operand),
      .read_head_o    (),
      .read_tail_o    ()
  );

  assign ready_o = slots_ready && uploads_ready && stages_ready;

  // --- Who is tried next, and where

  logic [Queues-1:0] early_valid, late_valid;
  logic [Queues-1:0][ProcessBits-1:0] early_process;
  assign early_valid = {answer_starts, tree_starts, upload_early, stages_early, slots_early};
  assign early_process = {come_process, come_process, announce_process_i, stages_early_process, slots_early_process};
  assign late_valid = {2'b00, upload_late, stages_late, slots_late};

  logic [Ports-1:0] leaves;  // a packet has been sent to an edge
  logic [Units-1:0] host_taken, kept;

  tw_pick #(
      .Links(Links),
      .Units(Units),
      .ProcessBits(ProcessBits),
      .Depth(Processes),
      .CycleBits(CycleBits)
  ) pick_ (
      .clk_i,
      .rst_i,
      .early_valid_i  (early_valid),
      .early_process_i(early_process),
      .late_valid_i   (late_valid),
      .tried_valid_o  (tried_valid),
      .tried_process_o(tried),
      .tried_time_i   (fate == Unknown || fate == Time),
      .tried_room_i   (fate == StageRoom || fate == QueueRoom),
      .tried_turn_i   (fate == Turn),
      .tried_goes_i   (goes && !over),
      .tried_unit_i   (unit),
      .tried_cycles_i (again_in),
      .room_freed_i   (leaves != '0 || host_taken != '0 || stages_freed),
      .process_ended_i(ends),
      .kept_o         (kept),
      .pick_valid_o   (pick_valid),
      .pick_process_o (pick)
  );

  logic [Ports-1:0][UnitWidth-1:0] left_unit;
  logic [Ports-1:0][RowWidth-1:0] left_row;
  logic [Ports-1:0][EdgeWidth-1:0] left_edge;
  logic [Ports-1:0] left_done;

  tw_dispatch #(
      .Units(Units),
      .Ports(Ports),
      .Rows(Rows),
      .Edges(Edges),
      .Words(Words),
      .TimeBits(TimeBits)
  ) dispatch (
      .clk_i,
      .rst_i,
      .step_row_i      (tried_row),
      .step_to_edges_i (step.to_edges),
      .step_to_stages_i(step.to_stages != '0),
      .step_own_i      (own_unit),
      .step_room_i     (unit_room),
      .step_kept_i     (kept),
      .step_latency_i  (latency),
      .choice_valid_o  (choice_valid),
      .choice_unit_o   (unit),
      .choice_room_o   (choice_room),
      .take_i          (goes),
      .take_ports_i    (($clog2(Ports + 1))'($countones(to_ports))),
      .take_read_i     (read),
      .take_left_i     (last_flit + TimeBits'(written)),
      .sent_valid_i    (leaves),
      .sent_unit_i     (left_unit),
      .sent_row_i      (left_row),
      .sent_edge_i     (left_edge),
      .sent_done_i     (left_done)
  );

  // --- Aggregation units

  typedef struct packed {
    logic                urgent;
    logic                staged;
    logic [RowWidth-1:0] row;
    logic [Edges-1:0]    edges;
  } tag_t;
  // The upwards way of a short stream goes first.
  wire tag_t tag = '{constants.upwards_first && tried[4:0] == 5'd0, step.to_stages != '0, tried_row, step.to_edges};

  localparam int unsigned Sources = 2 * Links + 3;  // slots, the host, two stages
  logic [Units-1:0][Ports:0] queued, taken, again, queued_last;
  logic [Units-1:0][Ports:0][255:0] queued_data;
  tag_t [Units-1:0][Ports:0] queued_tag;
  logic [Units-1:0] describes;
  logic [Units-1:0][255:0] described;

  for (genvar u = 0; u < Units; u++) begin : unit_
    logic [OperandWidth-1:0] own_operand_q, stage_operand_q;
    logic [Sources-1:0] source_valid;
    logic [Sources-1:0][OperandWidth-1:0] source_place;
    logic [Sources-1:0][255:0] source_data;
    // verilator lint_off UNUSEDSIGNAL
    tag_t result_tag;
    // verilator lint_on UNUSEDSIGNAL
    wire here = goes && 32'(unit) == u;

    always_ff @(posedge clk_i) begin
      if (here) own_operand_q <= own_operand;
      if (here) stage_operand_q <= stage_operand;
    end

    always_comb begin
      for (int unsigned s = 0; s < 2 * Links; s++) begin
        source_valid[s] = slots_read[s] && 32'(slots_unit[s]) == u;
        source_place[s] = slots_operand[s];
        source_data[s] = slots_data[s];
      end
      source_valid[2*Links+:3] = {2'b00, host_valid_i[u]};
      source_place[2*Links] = own_operand_q;
      source_data[2*Links] = host_data_i[u];
      for (int unsigned i = 0; i < 2; i++) begin
        source_place[2*Links+1+i] = stage_operand_q + OperandWidth'(i);
        source_data[2*Links+1+i] = '0;
        for (int unsigned s = 0; s < 2 * Units; s++) begin
          if (stages_read[s] && 32'(stages_unit[s]) == u && stages_operand[s] == stage_operand_q + OperandWidth'(i)) begin
            source_valid[2*Links+1+i] = 1'b1;
            source_data[2*Links+1+i] |= stages_data[s];
          end
        end
      end
      describes[u] = 1'b0;
      described[u] = '0;
      for (int unsigned s = 0; s < Sources; s++) begin
        if (source_valid[s] && source_place[s] == '0) begin
          describes[u] = 1'b1;
          described[u] |= source_data[s];
        end
      end
    end

    tw_aggregation_unit #(
        .Inputs(Inputs),
        .Sources(Sources),
        .Outputs(Ports + 1),
        .Words(Words),
        .TagBits($bits(tag_t)),
        .Latency(Latency),
        .Pairs(Pairs),
        .UserBytes(UserBytes)
    ) aggregation (
        .clk_i,
        .rst_i,
        .begin_valid_i     (here),
        .begin_count_i     (operands),
        .begin_descriptor_i(at_descriptor),
        .begin_size_i      (at_size),
        .begin_bytes_i     (packet_bytes),
        .begin_operation_i (constants.operation),
        .begin_datatype_i  (constants.type_),
        .begin_paced_i     (pace != 4'd1),
        .begin_outputs_i   ({step.to_host, to_ports}),
        .begin_tag_i       (tag),
        .room_o            (room[u]),
        .source_valid_i    (source_valid),
        .source_place_i    (source_place),
        .source_data_i     (source_data),
        .result_valid_o    (result_valid[u]),
        .result_data_o     (result_data[u]),
        .result_last_o     (result_last[u]),
        .result_tag_o      (result_tag),
        .out_valid_o       (queued[u]),
        .out_data_o        (queued_data[u]),
        .out_last_o        (queued_last[u]),
        .out_tag_o         (queued_tag[u]),
        .out_ready_i       (taken[u]),
        .out_again_i       (again[u])
    );
    assign result_staged[u] = result_tag.staged;

    // What the host is told of its packets, in their order.
    wire result_t told = '{16'(tried), at_step, at_round, at_stream, at_first, at_elements, at_descriptor};
    // verilator lint_off UNUSEDSIGNAL
    logic told_valid;
    // verilator lint_on UNUSEDSIGNAL

    tw_fifo #(
        .Width($bits(result_t)),
        .Depth(Words)
    ) results (
        .clk_i,
        .rst_i,
        .in_valid_i (here && step.to_host),
        .in_ready_o (),
        .in_data_i  (told),
        .out_valid_o(told_valid),
        .out_ready_i(host_taken[u]),
        .out_data_o (result_tag_o[u]),
        .count_o    ()
    );

    assign result_valid_o[u] = queued[u][Ports];
    assign result_data_o[u] = queued_data[u][Ports];
    assign result_last_o[u] = queued_last[u][Ports];
    assign taken[u][Ports] = result_ready_i[u];
    assign again[u][Ports] = 1'b0;
    assign host_taken[u] = queued[u][Ports] && result_ready_i[u] && queued_last[u][Ports];
  end

  assign descriptor = descriptor_t'(described[described_unit_q]);

  // --- All-to-alls

  logic [Ports-1:0] relay_valid, relay_ready, relay_last, relay_own, single_valid, single_ready;
  logic [Ports-1:0][255:0] relay_data, single_data;
  logic [Ports-1:0][3:0] relay_vc, single_vc;
  logic [Links-1:0] relay_comes;
  for (genvar p = Lanes; p < Ports; p++) begin : no_lane
    assign relay_valid[p] = 1'b0;
    assign relay_last[p] = 1'b0;
    assign relay_own[p] = 1'b0;
    assign relay_data[p] = '0;
    assign relay_vc[p] = '0;
    assign single_valid[p] = 1'b0;
    assign single_data[p] = '0;
    assign single_vc[p] = '0;
    assign came_valid_o[p] = 1'b0;
    assign came_data_o[p] = '0;
    assign came_last_o[p] = 1'b0;
  end
  for (genvar l = 0; l < Links; l++) begin : personal
    logic [Vcs-1:0] relays_q;  // the packet that comes on a channel is of an all-to-all
    // verilator lint_off UNUSEDSIGNAL
    wire network_header_t header = network_header_t'(in_flit_i[l].data[47:0]);
    // verilator lint_on UNUSEDSIGNAL
    wire relays = in_flit_i[l].head ? header.collective == CollectiveAlltoall : relays_q[VcWidth'(in_flit_i[l].vc)];
    assign relay_comes[l] = in_valid_i[l] && relays;
    always_ff @(posedge clk_i) if (in_valid_i[l]) relays_q[VcWidth'(in_flit_i[l].vc)] <= relays;
  end

  tw_relay #(
      .Links(Links),
      .Lanes(Lanes),
      .Classes(Classes),
      .Nodes(Nodes),
      .Flits(RelayFlits),
      .Vcs(Vcs),
      .RoomBits(RoomBits)
  ) relay (
      .clk_i,
      .rst_i,
      .self_i,
      .table_valid_i,
      .table_index_i,
      .table_entry_i,
      .table_layer_i,
      .peer_valid_i,
      .peer_link_i,
      .peer_node_i,
      .peer_port_i,
      .peer_vc_i,
      .in_valid_i         (relay_comes),
      .in_flit_i,
      .own_valid_i        (own_valid_i[Lanes-1:0]),
      .own_data_i         (own_data_i[Lanes-1:0]),
      .own_last_i         (own_last_i[Lanes-1:0]),
      .own_turn_o         (relay_own[Lanes-1:0]),
      .src_valid_o        (relay_valid[Lanes-1:0]),
      .src_ready_i        (relay_ready[Lanes-1:0]),
      .src_data_o         (relay_data[Lanes-1:0]),
      .src_last_o         (relay_last[Lanes-1:0]),
      .src_vc_o           (relay_vc[Lanes-1:0]),
      .single_valid_o     (single_valid[Lanes-1:0]),
      .single_ready_i     (single_ready[Lanes-1:0]),
      .single_data_o      (single_data[Lanes-1:0]),
      .single_vc_o        (single_vc[Lanes-1:0]),
      .host_room_i        (room_i[Lanes-1:0]),
      .host_valid_o       (came_valid_o[Lanes-1:0]),
      .host_data_o        (came_data_o[Lanes-1:0]),
      .host_last_o        (came_last_o[Lanes-1:0]),
      .announce_valid_o   (announced_valid_o),
      .announce_context_o (announced_context_o),
      .announce_sequence_o(announced_sequence_o),
      .announce_source_o  (announced_source_o)
  );
  assign own_ready_o = relay_own & relay_ready & own_valid_i;

  // --- Local ports

  for (genvar p = 0; p < Ports; p++) begin : port
    logic [Units:0] valid, ready, more, lasts, urgent;
    logic [Units:0][255:0] data;
    logic [Units:0][RowWidth-1:0] row;
    logic [Units:0][Edges-1:0] edges;
    logic [Units:0][3:0] vc;
    logic [EdgeWidth-1:0] sent_edge;
    logic [Edges-1:0] own;
    for (genvar k = 0; k < Edges; k++) begin : edge_
      assign own[k] = k % Ports == p;
    end

    always_comb begin
      for (int unsigned u = 0; u < Units; u++) begin
        valid[u] = queued[u][p];
        data[u] = queued_data[u][p];
        lasts[u] = queued_last[u][p];
        urgent[u] = queued_tag[u][p].urgent;
        row[u] = queued_tag[u][p].row;
        edges[u] = queued_tag[u][p].edges & own;
        vc[u] = '0;
      end
      valid[Units] = relay_valid[p];
      data[Units] = relay_data[p];
      lasts[Units] = relay_last[p];
      urgent[Units] = 1'b0;
      row[Units] = '0;
      edges[Units] = '0;
      vc[Units] = relay_vc[p];
    end
    for (genvar u = 0; u < Units; u++) begin : source
      assign taken[u][p] = ready[u];
      assign again[u][p] = more[u];
    end
    assign relay_ready[p] = ready[Units];

    tw_injector #(
        .Sources(Units + 1),
        .Rows(Rows),
        .Edges(Edges),
        .Vcs(Vcs),
        .Credits(Credits),
        .PeerFlits(PeerFlits)
    ) injector (
        .clk_i,
        .rst_i,
        .edge_valid_i,
        .edge_row_i,
        .edge_index_i,
        .edge_neighbour_i(edge_i.neighbour),
        .edge_there_i    (edge_i.there),
        .edge_vc_i,
        .credit_valid_i  (credit_valid[p]),
        .credit_ready_o  (credit_ready[p]),
        .credit_row_i    (credit_row[p]),
        .credit_edge_i   (credit_edge[p]),
        .credit_count_i  (credit_count[p]),
        .single_valid_i  (single_valid[p]),
        .single_ready_o  (single_ready[p]),
        .single_data_i   (single_data[p]),
        .single_vc_i     (single_vc[p]),
        .src_valid_i     (valid),
        .src_ready_o     (ready),
        .src_again_o     (more),
        .src_edge_o      (sent_edge),
        .src_data_i      (data),
        .src_last_i      (lasts),
        .src_urgent_i    (urgent),
        .src_row_i       (row),
        .src_edges_i     (edges),
        .src_vc_i        (vc),
        .out_valid_o     (out_valid_o[p]),
        .out_flit_o      (out_flit_o[p]),
        .out_back_i      (out_back_i[p])
    );

    wire [Units:0] sends = valid & ready & lasts;
    always_comb begin
      leaves[p] = sends[Units-1:0] != '0;
      left_unit[p] = '0;
      left_row[p] = '0;
      left_done[p] = 1'b0;
      for (int unsigned u = 0; u < Units; u++) begin
        if (sends[u]) begin
          left_unit[p] |= UnitWidth'(u);
          left_row[p] |= row[u];
          left_done[p] |= !more[u];
        end
      end
      left_edge[p] = sent_edge;
    end
  end

  // --- Operations begin: the host's, and at a vertex without a rank those that arrive

  logic [Rows-1:0][Places-1:0] active_q;
  logic [Operations-1:0][5:0] total_q, done_q;
  logic [15:0] ranks_q[Rows];

  logic bare_begins;
  logic [RowWidth-1:0] bare_row;
  logic [PlaceWidth-1:0] bare_place;
  // verilator lint_off UNUSEDSIGNAL
  head_t bare_opening;
  // verilator lint_on UNUSEDSIGNAL

  tw_openings #(
      .Links(Links),
      .Rows(Rows),
      .Places(Places),
      .Edges(Edges)
  ) openings (
      .clk_i,
      .rst_i,
      .row_valid_i   (vertex_valid_i),
      .row_i         (vertex_row_i),
      .row_has_rank_i(vertex_i.has_rank),
      .row_tree_i    (vertex_i.up[Edges-1:0] | vertex_i.down[Edges-1:0]),
      .unload_valid_i,
      .unload_row_i,
      .in_valid_i,
      .in_flit_i,
      .in_to_empty_i (arrives_empty),
      .look_row_o    (head_row),
      .look_edge_o   (head_edge),
      .front_valid_i (head_valid),
      .front_i       (head),
      .reading_row_o (reading_row),
      .reading_i     (reading),
      .taken_i       (active_q),
      .idle_i        (starter_idle && !starter_asks && !start_valid_i),
      .ended_valid_i (ends),
      .ended_row_i   (tried_row),
      .begin_valid_o (bare_begins),
      .begin_row_o   (bare_row),
      .begin_place_o (bare_place),
      .begin_head_o  (bare_opening)
  );

  function automatic logic vectors(collective_e collective);
    return collective inside {CollectiveGather, CollectiveAllgather, CollectiveScatter, CollectiveReduceScatter};
  endfunction
  function automatic logic [2:0] log2_size(datatype_e type_);
    automatic logic [4:0] size = size_of(type_);
    log2_size = '0;
    for (int unsigned i = 0; i < 5; i++) if (size[i]) log2_size = 3'(i);
  endfunction

  operation_t bare_constants;
  always_comb begin
    bare_constants = '0;
    bare_constants.collective = bare_opening.collective;
    bare_constants.algorithm = bare_opening.algorithm;
    bare_constants.operation = bare_opening.operation;
    bare_constants.type_ = bare_opening.type_;
    bare_constants.root = bare_opening.root;
    bare_constants.size = log2_size(bare_opening.type_);
    bare_constants.shortest = vectors(bare_opening.collective) || bare_opening.collective == CollectiveBarrier
        ? 3'(PacketSize) : 3'(ShortestSize);
    bare_constants.longest = 3'(LongestSize);
    bare_constants.together = vectors(bare_opening.collective) ? ranks_q[bare_row] : 16'd1;
  end

  assign begin_valid = start_valid_i || bare_begins;
  assign begin_row = start_valid_i ? row_of(start_operation_i) : bare_row;
  assign begins_valid = (start_valid_i && start_asks_i) || bare_begins;
  assign begins_operation = start_valid_i ? start_operation_i
      : OperationWidth'(32'(bare_row) * Places + 32'(bare_place));
  assign begins_constants = start_valid_i ? start_constants_i : bare_constants;
  assign begins_tree = begins_constants.algorithm != AlgorithmExchange && !vectors(begins_constants.collective);

  wire ends_operation = ends && 6'(done_q[tried_operation] + 6'd1) == total_q[tried_operation];

  always_ff @(posedge clk_i) begin
    if (vertex_valid_i) ranks_q[vertex_row_i] <= vertex_i.ranks;
    for (int unsigned o = 0; o < Operations; o++) begin
      if (begins_valid && 32'(begins_operation) == o) begin
        active_q[o/Places][o%Places] <= 1'b1;
        done_q[o] <= '0;
      end else if (ends && 32'(tried_operation) == o) begin
        active_q[o/Places][o%Places] <= !ends_operation;
        done_q[o] <= done_q[o] + 6'd1;
      end
      if (tree_starts && 32'(starter_operation) == o) total_q[o] <= tree_processes;
      if (answer_starts && 32'(question.process_number >> 5) == o) total_q[o] <= answer_processes;
    end
    if (rst_i) active_q <= '0;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      control_answers : assert (!question.valid || answer_valid);
      tree_is_known : assert (!tree_asks || tree_valid);
      one_comes : assert (!(tree_asks && question.valid && (question.running || question.first || question.second)));
      descriptor_comes : assert (!described_q || describes[described_unit_q]);
    end
  end
`endif
endmodule
