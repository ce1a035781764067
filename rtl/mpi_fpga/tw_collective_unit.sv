// SPDX-License-Identifier: Apache-2.0
// The collective unit of a node, composed of blocks and parts. Packets from the links wait in slots. Processes of the
// operations in flight take packets from slots, from the host and from other processes; aggregation units join them;
// results leave through the local ports, to the host and to other processes. All-to-alls bypass these blocks through
// the relay, whose lanes are the ports. docs/unit.md has a diagram and a packet's cycles.
//
// One process is tried per cycle. It was picked in the cycle before, in which the memories were addressed with its
// number. It takes its packets, or waits at the block where the missing packet, credit or room will arrive.
//
// Order: that of each block; results of a step leave in the order of steps. Latency: from a step to its result two
// cycles and the lanes. Throughput: a step per cycle, and one packet in progress per unit. Storage: that of the blocks
// and parts. take_* and ended_* depend on the process that is tried; the other outputs are those of blocks. Critical
// path: from the process's step through the slots' credits to attempt.
module tw_collective_unit
  import tw_spec_pkg::*, tw_mpi_fpga_spec_pkg::*, tw_network_pkg::*, tw_node_pkg::*, tw_reduce_pkg::*;
#(
    parameter int unsigned Links = 6,
    parameter int unsigned Ports = 6,           /// local ports: edge k is sent by port k modulo Ports
    parameter int unsigned Units = 6,
    parameter int unsigned Rows = 32,
    parameter int unsigned Entries = 4,          /// operations of a row in flight
    parameter int unsigned Edges = 6,           /// edges per row
    parameter int unsigned Roots = 1,           /// labels that can have their own tree
    parameter int unsigned Stages = 16,         /// buffers between the processes of an operation
    parameter int unsigned StageEntries = 4,     /// for stages in a unit's bank: two for each process of the unit that fills some
    parameter int unsigned Vcs = 4,
    parameter bit Credits = 1'b1,               /// flow control of the router's local ports: credits, or stop bits
    parameter int unsigned PeerFlits = 16,      /// depth of their buffers; with credits
    parameter int unsigned BankFlits = 4096,    /// flits of a link's slots
    parameter int unsigned SlotFlits = 64,
    parameter int unsigned SlotPackets = 4,     /// packets of ordinary length per slot
    parameter int unsigned Batch = 16,          /// flits of a slot per credit packet
    parameter int unsigned ShortestSize = 2,    /// log2 of a packet's flits: in short streams,
    parameter int unsigned PacketSize = 4,      /// ordinary,
    parameter int unsigned LongestSize = 4,     /// and in long streams
    parameter int unsigned Words = 106,         /// depth of a queue between unit and port
    parameter int unsigned HostPackets = 64,    /// maximum number of the host's packets per process
    parameter int unsigned Latency = 14,        /// of a lane in cycles, also for user operators
    parameter pairs_t Pairs = all_pairs(),      /// as in tw_lane, like UserBytes
    parameter logic [2:0][31:0] UserBytes = {3{32'd8}},
    parameter int unsigned Classes = 2,         /// route classes
    parameter int unsigned Nodes = 64,          /// entries of the relay's table
    parameter int unsigned RelayFlits = 1024,   /// depth of the relay's buffers
    parameter int unsigned RoomBits = 9,        /// width of room_i
    localparam int unsigned Operations = Rows * Entries,
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
    output logic ready_o,  /// memories are cleared; no input is allowed before

    // Rows of the communicator table. The vertex is written last and makes its row valid.
    input logic                       vertex_valid_i,
    input logic      [RowWidth-1:0]   vertex_row_i,
    input vertex_t                    vertex_i,
    input exchange_t                  exchange_i,
    input logic                       edge_valid_i,
    input logic      [RowWidth-1:0]   edge_row_i,
    input logic      [EdgeWidth-1:0]  edge_index_i,
    input tree_edge_t                 edge_i,
    input logic      [3:0]            edge_vc_i,     /// virtual channel to its far end
    input logic                       place_valid_i, /// link and base address of its slot
    input logic      [RowWidth-1:0]   place_row_i,
    input logic      [EdgeWidth-1:0]  place_edge_i,
    input logic      [LinkWidth-1:0]  place_link_i,
    input logic      [AddressWidth-1:0] place_base_i,
    output logic                      place_settled_o,  /// credits for all free space in the slots of that row have been returned
    input logic                       branch_valid_i,
    input logic      [RowWidth-1:0]   branch_row_i,
    input logic      [RootWidth-1:0]  branch_label_i,
    input logic      [Edges-1:0]      branch_up_i,
    input logic      [Edges-1:0]      branch_down_i,
    input logic                       unload_valid_i,
    input logic      [RowWidth-1:0]   unload_row_i,

    // An operation of the host, for the next entry of its row.
    input logic                            start_valid_i,
    input logic       [OperationWidth-1:0] start_operation_i,  /// row * Entries + entry
    input operation_t                      start_constants_i,
    input logic                            start_asks_i,       /// it has processes at this node

    // Packets that the host has for processes, and takes: flits follow from the next cycle on, one per take_pace_o
    // cycles.
    input  logic                         announce_valid_i,
    input  logic [ProcessBits-1:0]       announce_process_i,
    output logic                         take_valid_o,
    output logic [ProcessBits-1:0]       take_process_o,
    output logic [UnitWidth-1:0]         take_unit_o,
    output logic [2:0]                   take_size_o,     /// log2 of its flits
    output logic [3:0]                   take_pace_o,
    input  logic [Units-1:0]             host_valid_i,
    input  logic [Units-1:0][255:0]      host_data_i,

    // Results for the host, per unit.
    output logic    [Units-1:0]        result_valid_o,
    input  logic    [Units-1:0]        result_ready_i,
    output logic    [Units-1:0][255:0] result_data_o,
    output logic    [Units-1:0]        result_last_o,
    output result_t [Units-1:0]        result_tag_o,

    output logic                   ended_valid_o,  /// a process has ended
    output logic [ProcessBits-1:0] ended_process_o,

    // Flits ejected at the links.
    input logic  [Links-1:0] in_valid_i,
    input flit_t [Links-1:0] in_flit_i,

    // All-to-alls (tw_relay): routes of the relay's packets, packets from and to the own host, and ranks that announce
    // themselves to it.
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
    output logic [Ports-1:0]         own_ready_o,  /// the word is sent in this cycle
    input  logic [Ports-1:0][RoomBits-1:0] room_i, /// free flits at the host, after arrivals up to the cycle before
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

  localparam int unsigned Processes = Operations * 32;
  localparam int unsigned Inputs = Edges + 1;  // operands of a join: one per edge, and the host's or a stage's
  localparam int unsigned OperandWidth = $clog2(Inputs);
  localparam int unsigned CountWidth = $clog2(Inputs + 1);
  localparam int unsigned PortCountWidth = $clog2(Ports + 1);
  localparam int unsigned CreditWidth = $clog2(SlotFlits + 1);
  localparam int unsigned RoomWidth = $clog2(Words + 1);
  localparam int unsigned TimeBits = $clog2(64 * 16 + 2 + (Inputs + 1) / 2 * Latency + 64);
  localparam int unsigned Queues = Links + Units + 3;  // queues of processes that can be tried

  // --- Start of operations, and steps of their processes

  logic starter_idle, begins, adds, adds_tree;
  logic [RowWidth-1:0] begins_row, head_row, reading_row;
  logic [EdgeWidth-1:0] head_edge;
  logic head_valid;
  head_t head;
  logic [Edges-1:0] reading;
  logic [Links-1:0] arrives_empty;
  logic [OperationWidth-1:0] adds_operation, lookup_operation;
  operation_t lookup_constants, constants;

  logic arriving_valid, arriving_entry, arriving_begins, tree_starts, answer_starts;
  logic [ProcessBits-1:0] arriving_process;
  step_t arriving_step;
  process_t arriving_parameters;
  logic [5:0] arriving_processes;
  wire arriving_starts = tree_starts || answer_starts;

  logic [ProcessBits-1:0] tried;
  wire [OperationWidth-1:0] tried_operation = tried[ProcessBits-1:5];
  wire [RowWidth-1:0] tried_row = RowWidth'(32'(tried_operation) / Entries);
  logic advances, ends;

  logic asks, asks_entry;
  logic [6:0] asks_step;

  tw_collective_unit_starts #(
      .Links(Links),
      .Rows(Rows),
      .Entries(Entries),
      .Edges(Edges),
      .ShortestSize(ShortestSize),
      .PacketSize(PacketSize),
      .LongestSize(LongestSize)
  ) starts (
      .clk_i,
      .rst_i,
      .row_valid_i         (vertex_valid_i),
      .row_i               (vertex_row_i),
      .row_has_rank_i      (vertex_i.has_rank),
      .row_ranks_i         (vertex_i.ranks),
      .row_tree_i          (vertex_i.up[Edges-1:0] | vertex_i.down[Edges-1:0]),
      .unload_valid_i,
      .unload_row_i,
      .start_valid_i,
      .start_operation_i,
      .start_constants_i,
      .start_asks_i,
      .in_valid_i,
      .in_flit_i,
      .in_to_empty_i       (arrives_empty),
      .head_row_o          (head_row),
      .head_edge_o         (head_edge),
      .head_valid_i        (head_valid),
      .head_i              (head),
      .reading_row_o       (reading_row),
      .reading_i           (reading),
      .idle_i              (starter_idle),
      .begin_valid_o       (begins),
      .begin_row_o         (begins_row),
      .add_valid_o         (adds),
      .add_operation_o     (adds_operation),
      .add_tree_o          (adds_tree),
      .lookup_operation_i  (lookup_operation),
      .lookup_constants_o  (lookup_constants),
      .tried_operation_i   (tried_operation),
      .constants_o         (constants),
      .arriving_valid_i    (arriving_starts),
      .arriving_operation_i(arriving_process[ProcessBits-1:5]),
      .arriving_processes_i(arriving_processes),
      .ends_i              (ends)
  );

  tw_collective_unit_control #(
      .Rows(Rows),
      .Entries(Entries),
      .Edges(Edges),
      .Roots(Roots)
  ) control (
      .clk_i,
      .rst_i,
      .vertex_valid_i,
      .vertex_row_i,
      .vertex_i,
      .exchange_i,
      .edge_valid_i,
      .edge_row_i,
      .edge_index_i,
      .edge_i,
      .branch_valid_i,
      .branch_row_i,
      .branch_label_i,
      .branch_up_i,
      .branch_down_i,
      .add_valid_i          (adds),
      .add_operation_i      (adds_operation),
      .add_tree_i           (adds_tree),
      .idle_o               (starter_idle),
      .lookup_operation_o   (lookup_operation),
      .lookup_constants_i   (lookup_constants),
      .request_valid_i      (asks),
      .request_process_i    (tried),
      .request_step_i       (asks_step),
      .request_entry_i      (asks_entry),
      .request_constants_i  (constants),
      .arriving_valid_o     (arriving_valid),
      .arriving_process_o   (arriving_process),
      .arriving_entry_o     (arriving_entry),
      .arriving_step_o      (arriving_step),
      .arriving_parameters_o(arriving_parameters),
      .arriving_processes_o (arriving_processes),
      .arriving_begins_o    (arriving_begins),
      .tree_starts_o        (tree_starts),
      .answer_starts_o      (answer_starts)
  );

  // --- The process that is tried, and the resources of its step

  logic pick_valid, tried_valid, known, final_, over, from_host, to_host;
  logic [ProcessBits-1:0] pick;
  logic [Edges-1:0] from_edges, to_edges, held_reading, held_writing;
  logic [Stages-1:0] from_stages, to_stages;
  logic [OperandWidth-1:0] place;
  part_t part;
  logic [UnitWidth-1:0] unit;
  logic [Units-1:0] describes;
  logic [Units-1:0][255:0] described;

  tw_collective_unit_processes #(
      .Rows(Rows),
      .Entries(Entries),
      .Edges(Edges),
      .Stages(Stages),
      .SlotPackets(SlotPackets),
      .Units(Units)
  ) processes (
      .clk_i,
      .rst_i,
      .load_valid_i         (vertex_valid_i),
      .load_row_i           (vertex_row_i),
      .begin_valid_i        (begins),
      .begin_row_i          (begins_row),
      .arriving_valid_i     (arriving_valid),
      .arriving_process_i   (arriving_process),
      .arriving_start_i     (arriving_starts),
      .arriving_begins_i    (arriving_begins),
      .arriving_entry_i     (arriving_entry),
      .arriving_step_i      (arriving_step),
      .arriving_parameters_i(arriving_parameters),
      .pick_valid_i         (pick_valid),
      .pick_process_i       (pick),
      .tried_i              (tried),
      .constants_i          (constants),
      .known_o              (known),
      .from_edges_o         (from_edges),
      .to_edges_o           (to_edges),
      .from_stages_o        (from_stages),
      .to_stages_o          (to_stages),
      .from_host_o          (from_host),
      .to_host_o            (to_host),
      .place_o              (place),
      .part_o               (part),
      .final_o              (final_),
      .held_reading_o       (held_reading),
      .held_writing_o       (held_writing),
      .advances_i           (advances),
      .unit_i               (unit),
      .over_o               (over),
      .ends_o               (ends),
      .request_valid_o      (asks),
      .request_step_o       (asks_step),
      .request_entry_o      (asks_entry),
      .describes_i          (describes),
      .described_i          (described),
      .reading_row_i        (reading_row),
      .reading_o            (reading)
  );

  wire [UnitWidth-1:0] own_unit = UnitWidth'(32'(tried) % Units);  // whose bank has the stages that it fills

  logic [Edges-1:0] there;
  logic [Edges-1:0][CreditWidth-1:0] credits;
  logic upload_there, staged_there, stage_room, slots_free, stages_free, choice_room, choice_valid;
  logic [EdgeWidth-1:0] lacking_edge;
  attempt_e attempt;
  assign advances = attempt == AttemptGoes;

  tw_collective_unit_attempt #(
      .Edges(Edges),
      .SlotFlits(SlotFlits)
  ) attempts (
      .valid_i       (tried_valid),
      .known_i       (known),
      .from_edges_i  (from_edges),
      .to_edges_i    (to_edges),
      .from_host_i   (from_host),
      .size_i        (part.size),
      .held_reading_i(held_reading),
      .held_writing_i(held_writing),
      .upload_there_i(upload_there),
      .staged_there_i(staged_there),
      .there_i       (there),
      .credits_i     (credits),
      .stage_room_i  (stage_room),
      .slots_free_i  (slots_free),
      .stages_free_i (stages_free),
      .unit_valid_i  (choice_valid),
      .unit_room_i   (choice_room),
      .attempt_o     (attempt),
      .edge_o        (lacking_edge)
  );

  logic [CountWidth-1:0] operands;
  logic [Edges-1:0][OperandWidth-1:0] edge_operand;
  logic [OperandWidth-1:0] own_operand, stage_operand;
  logic [3:0] pace_read, pace;
  logic [TimeBits-1:0] latency, read, left, again_in;
  logic [11:0] packet_bytes;
  logic [Ports-1:0] to_ports;
  logic [PortCountWidth-1:0] port_count;
  logic [Units-1:0][Ports:0][RoomWidth-1:0] room;
  logic [Units-1:0] unit_room;

  tw_collective_unit_step #(
      .Ports(Ports),
      .Units(Units),
      .Edges(Edges),
      .Stages(Stages),
      .Words(Words),
      .Latency(Latency),
      .TimeBits(TimeBits)
  ) step (
      .from_edges_i   (from_edges),
      .to_edges_i     (to_edges),
      .from_stages_i  (from_stages),
      .to_stages_i    (to_stages),
      .from_host_i    (from_host),
      .to_host_i      (to_host),
      .place_i        (place),
      .descriptor_i   (part.descriptor),
      .size_i         (part.size),
      .elements_i     (part.elements),
      .element_size_i (constants.size),
      .operands_o     (operands),
      .edge_operand_o (edge_operand),
      .own_operand_o  (own_operand),
      .stage_operand_o(stage_operand),
      .pace_read_i    (pace_read),
      .pace_o         (pace),
      .latency_o      (latency),
      .read_o         (read),
      .left_o         (left),
      .again_o        (again_in),
      .bytes_o        (packet_bytes),
      .ports_o        (to_ports),
      .port_count_o   (port_count),
      .room_i         (room),
      .units_o        (unit_room)
  );

  assign take_valid_o = advances && from_host;
  assign take_process_o = tried;
  assign take_unit_o = unit;
  assign take_size_o = part.size;
  assign take_pace_o = pace;
  assign ended_valid_o = ends;
  assign ended_process_o = tried;

  // --- Sources of packets

  logic slots_ready, uploads_ready, stages_ready;
  logic [Links-1:0] slots_early, slots_late;
  logic [Links-1:0][ProcessBits-1:0] slots_early_process;
  logic [2*Links-1:0] slots_read;
  logic [2*Links-1:0][255:0] slots_data;
  logic [2*Links-1:0][UnitWidth-1:0] slots_unit;
  logic [2*Links-1:0][OperandWidth-1:0] slots_operand;
  logic [Ports-1:0] credit_valid, credit_ready;
  logic [Ports-1:0][RowWidth-1:0] credit_row;
  logic [Ports-1:0][EdgeWidth-1:0] credit_edge;
  logic [Ports-1:0][15:0] credit_count;

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
      .from_i          (from_edges),
      .status_valid_o  (slots_ready),
      .status_there_o  (there),
      .status_credits_o(credits),
      .status_free_o   (slots_free),
      .status_pace_o   (pace_read),
      .step_valid_i    (advances),
      .step_to_i       (to_edges),
      .step_size_i     (part.size),
      .step_final_i    (final_),
      .step_pace_i     (pace),
      .step_unit_i     (unit),
      .step_operand_i  (edge_operand),
      .wait_valid_i    (attempt == AttemptPacket || attempt == AttemptCredit),
      .wait_credits_i  (attempt == AttemptCredit),
      .wait_edge_i     (lacking_edge),
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
      .wait_i            (attempt == AttemptUpload)
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
      .Entries(StageEntries),
      .SlotFlits(SlotFlits),
      .Pending(2 + (Inputs + 1) / 2 * Latency),
      .ProcessBits(ProcessBits),
      .OperandWidth(OperandWidth)
  ) staged (
      .clk_i,
      .rst_i,
      .operation_i    (tried_operation),
      .from_i         (from_stages),
      .to_i           (to_stages),
      .own_i          (own_unit),
      .place_i        (($clog2(StageEntries))'(32'(tried[4:0]) / Units * 2)),
      .size_i         (part.size),
      .status_valid_o (stages_ready),
      .status_there_o (staged_there),
      .status_room_o  (stage_room),
      .status_free_o  (stages_free),
      .freed_o        (stages_freed),
      .step_valid_i   (advances),
      .step_unit_i    (unit),
      .step_pace_i    (pace),
      .step_operand_i (stage_operand),
      .wait_valid_i   (attempt == AttemptStaged),
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

  // --- Selection of the next process, and of the unit for its step

  logic [Queues-1:0] early_valid, late_valid;
  logic [Queues-1:0][ProcessBits-1:0] early_process;
  assign early_valid = {answer_starts, tree_starts, upload_early, stages_early, slots_early};
  assign early_process = {arriving_process, arriving_process, announce_process_i, stages_early_process, slots_early_process};
  assign late_valid = {2'b00, upload_late, stages_late, slots_late};

  logic [Ports-1:0] leaves;  // a packet has been sent to an edge
  logic [Units-1:0] host_taken, kept;

  tw_pick #(
      .Links(Links),
      .Units(Units),
      .ProcessBits(ProcessBits),
      .Depth(Processes),
      .CycleBits(TimeBits)
  ) pick_ (
      .clk_i,
      .rst_i,
      .early_valid_i   (early_valid),
      .early_process_i (early_process),
      .late_valid_i    (late_valid),
      .tried_valid_o   (tried_valid),
      .tried_process_o (tried),
      .tried_time_i    (attempt == AttemptUnknown || attempt == AttemptTime),
      .tried_room_i    (attempt == AttemptStageRoom || attempt == AttemptQueueRoom),
      .tried_turn_i    (attempt == AttemptTurn),
      .tried_advances_i(advances && !over),
      .tried_unit_i    (unit),
      .tried_cycles_i  (again_in),
      .room_freed_i    (leaves != '0 || host_taken != '0 || stages_freed),
      .process_ended_i (ends),
      .kept_o          (kept),
      .pick_valid_o    (pick_valid),
      .pick_process_o  (pick)
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
      .step_to_edges_i (to_edges),
      .step_to_stages_i(to_stages != '0),
      .step_own_i      (own_unit),
      .step_room_i     (unit_room),
      .step_kept_i     (kept),
      .step_latency_i  (latency),
      .choice_valid_o  (choice_valid),
      .choice_unit_o   (unit),
      .choice_room_o   (choice_room),
      .take_i          (advances),
      .take_ports_i    (port_count),
      .take_read_i     (read),
      .take_left_i     (left),
      .sent_valid_i    (leaves),
      .sent_unit_i     (left_unit),
      .sent_row_i      (left_row),
      .sent_edge_i     (left_edge),
      .sent_done_i     (left_done)
  );

  // --- Aggregation units

  // Packets up the tree of a short stream have priority.
  wire urgent = constants.upwards_first && tried[4:0] == 5'd0;
  wire result_t host_result = '{16'(tried), part.step, part.round, part.stream, part.first, part.elements, part.descriptor};

  logic [Units-1:0][Ports-1:0] queued, taken, again, queued_last, queued_urgent;
  logic [Units-1:0][Ports-1:0][255:0] queued_data;
  logic [Units-1:0][Ports-1:0][RowWidth-1:0] queued_row;
  logic [Units-1:0][Ports-1:0][Edges-1:0] queued_edges;

  for (genvar u = 0; u < Units; u++) begin : units
    tw_collective_unit_aggregation #(
        .Unit(u),
        .Links(Links),
        .Ports(Ports),
        .Units(Units),
        .Rows(Rows),
        .Edges(Edges),
        .Words(Words),
        .Latency(Latency),
        .Pairs(Pairs),
        .UserBytes(UserBytes)
    ) aggregation (
        .clk_i,
        .rst_i,
        .begin_valid_i        (advances && 32'(unit) == u),
        .begin_operation_i    (constants.operation),
        .begin_datatype_i     (constants.type_),
        .begin_paced_i        (pace != 4'd1),
        .begin_size_i         (part.size),
        .begin_bytes_i        (packet_bytes),
        .begin_operands_i     (operands),
        .begin_own_operand_i  (own_operand),
        .begin_stage_operand_i(stage_operand),
        .begin_row_i          (tried_row),
        .begin_to_edges_i     (to_edges),
        .begin_to_ports_i     (to_ports),
        .begin_to_host_i      (to_host),
        .begin_to_stages_i    (to_stages != '0),
        .begin_urgent_i       (urgent),
        .begin_result_i         (host_result),
        .room_o               (room[u]),
        .slots_valid_i        (slots_read),
        .slots_data_i         (slots_data),
        .slots_unit_i         (slots_unit),
        .slots_operand_i      (slots_operand),
        .stages_valid_i       (stages_read),
        .stages_data_i        (stages_data),
        .stages_unit_i        (stages_unit),
        .stages_operand_i     (stages_operand),
        .host_valid_i         (host_valid_i[u]),
        .host_data_i          (host_data_i[u]),
        .described_valid_o    (describes[u]),
        .described_o          (described[u]),
        .result_valid_o       (result_valid[u]),
        .result_data_o        (result_data[u]),
        .result_last_o        (result_last[u]),
        .result_staged_o      (result_staged[u]),
        .out_valid_o          (queued[u]),
        .out_data_o           (queued_data[u]),
        .out_last_o           (queued_last[u]),
        .out_urgent_o         (queued_urgent[u]),
        .out_row_o            (queued_row[u]),
        .out_edges_o          (queued_edges[u]),
        .out_ready_i          (taken[u]),
        .out_again_i          (again[u]),
        .host_valid_o         (result_valid_o[u]),
        .host_ready_i         (result_ready_i[u]),
        .host_data_o          (result_data_o[u]),
        .host_last_o          (result_last_o[u]),
        .host_result_o          (result_tag_o[u]),
        .host_taken_o         (host_taken[u])
    );
  end

  // --- All-to-alls

  logic [Ports-1:0] relay_valid, relay_ready, relay_last, single_valid, single_ready;
  logic [Ports-1:0][255:0] relay_data, single_data;
  logic [Ports-1:0][3:0] relay_vc, single_vc;

  tw_collective_unit_personal #(
      .Links(Links),
      .Ports(Ports),
      .Classes(Classes),
      .Nodes(Nodes),
      .Flits(RelayFlits),
      .Vcs(Vcs),
      .RoomBits(RoomBits)
  ) personal (
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
      .in_valid_i,
      .in_flit_i,
      .own_valid_i,
      .own_data_i,
      .own_last_i,
      .own_ready_o,
      .src_valid_o        (relay_valid),
      .src_ready_i        (relay_ready),
      .src_data_o         (relay_data),
      .src_last_o         (relay_last),
      .src_vc_o           (relay_vc),
      .single_valid_o     (single_valid),
      .single_ready_i     (single_ready),
      .single_data_o      (single_data),
      .single_vc_o        (single_vc),
      .host_room_i        (room_i),
      .host_valid_o       (came_valid_o),
      .host_data_o        (came_data_o),
      .host_last_o        (came_last_o),
      .announce_valid_o   (announced_valid_o),
      .announce_context_o (announced_context_o),
      .announce_sequence_o(announced_sequence_o),
      .announce_source_o  (announced_source_o)
  );

  // --- Local ports

  tw_collective_unit_ports #(
      .Ports(Ports),
      .Units(Units),
      .Rows(Rows),
      .Edges(Edges),
      .Vcs(Vcs),
      .Credits(Credits),
      .PeerFlits(PeerFlits)
  ) ports (
      .clk_i,
      .rst_i,
      .edge_valid_i,
      .edge_row_i,
      .edge_index_i,
      .edge_neighbour_i(edge_i.neighbour),
      .edge_there_i    (edge_i.there),
      .edge_vc_i,
      .unit_valid_i    (queued),
      .unit_ready_o    (taken),
      .unit_again_o    (again),
      .unit_data_i     (queued_data),
      .unit_last_i     (queued_last),
      .unit_urgent_i   (queued_urgent),
      .unit_row_i      (queued_row),
      .unit_edges_i    (queued_edges),
      .relay_valid_i   (relay_valid),
      .relay_ready_o   (relay_ready),
      .relay_data_i    (relay_data),
      .relay_last_i    (relay_last),
      .relay_vc_i      (relay_vc),
      .credit_valid_i  (credit_valid),
      .credit_ready_o  (credit_ready),
      .credit_row_i    (credit_row),
      .credit_edge_i   (credit_edge),
      .credit_count_i  (credit_count),
      .single_valid_i  (single_valid),
      .single_ready_o  (single_ready),
      .single_data_i   (single_data),
      .single_vc_i     (single_vc),
      .left_valid_o    (leaves),
      .left_unit_o     (left_unit),
      .left_row_o      (left_row),
      .left_edge_o     (left_edge),
      .left_done_o     (left_done),
      .out_valid_o,
      .out_flit_o,
      .out_back_i
  );
endmodule
