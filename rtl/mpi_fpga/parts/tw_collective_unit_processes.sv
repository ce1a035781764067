// SPDX-License-Identifier: Apache-2.0
// State of a collective unit's processes: the step and the next packet of each, and the edges that earlier operations
// still use. The picked process is tried in the next cycle; if it goes, it advances to its next packet.
//
// Order: that of the blocks. Latency: one cycle from pick to process. Throughput: a process per cycle. Storage: that of
// the blocks. The state depends on memories and constants_i; ends_o and request_valid_o also on advances_i. Critical
// path: from advances_i through the process's progress to the memories.
module tw_collective_unit_processes
  import tw_spec_pkg::*, tw_mpi_fpga_spec_pkg::*, tw_node_pkg::*;
#(
    parameter int unsigned Rows = 32,
    parameter int unsigned Entries = 4,
    parameter int unsigned Edges = 6,
    parameter int unsigned Stages = 16,
    parameter int unsigned SlotPackets = 4,
    parameter int unsigned Units = 6,
    localparam int unsigned Operations = Rows * Entries,
    localparam int unsigned RowWidth = Rows > 1 ? $clog2(Rows) : 1,
    localparam int unsigned OperationWidth = Operations > 1 ? $clog2(Operations) : 1,
    localparam int unsigned ProcessBits = OperationWidth + 5,
    localparam int unsigned OperandWidth = $clog2(Edges + 1),
    localparam int unsigned UnitWidth = Units > 1 ? $clog2(Units) : 1
) (
    input logic clk_i,
    input logic rst_i,

    input logic                load_valid_i,
    input logic [RowWidth-1:0] load_row_i,
    input logic                begin_valid_i,  /// an operation takes the next entry of its row
    input logic [RowWidth-1:0] begin_row_i,

    // An arriving step: one that its process executes next (valid), or whose edges its operation will use (begins).
    input logic                   arriving_valid_i,
    input logic [ProcessBits-1:0] arriving_process_i,
    input logic                   arriving_start_i,  /// first step of the process
    input logic                   arriving_begins_i,
    input logic                   arriving_entry_i,
    // verilator lint_off UNUSEDSIGNAL
    input step_t                  arriving_step_i,
    input process_t               arriving_parameters_i,
    // verilator lint_on UNUSEDSIGNAL

    input logic                   pick_valid_i,
    input logic [ProcessBits-1:0] pick_process_i,
    input logic [ProcessBits-1:0] tried_i,         /// picked in the cycle before
    input operation_t             constants_i,     /// of its operation

    // The process that is tried.
    output logic                    known_o,         /// its step is known
    output logic [Edges-1:0]        from_edges_o,
    output logic [Edges-1:0]        to_edges_o,
    output logic [Stages-1:0]       from_stages_o,
    output logic [Stages-1:0]       to_stages_o,
    output logic                    from_host_o,
    output logic                    to_host_o,
    output logic [OperandWidth-1:0] place_o,
    output part_t                   part_o,
    output logic                    final_o,         /// last packet of the step's streams, or of a turn that fills a slot
    output logic [Edges-1:0]        held_reading_o,
    output logic [Edges-1:0]        held_writing_o,

    input  logic                 advances_i,
    input  logic [UnitWidth-1:0] unit_i,      /// the unit that takes its packet
    output logic                 over_o,      /// this packet would be its last
    output logic                 ends_o,      /// and it is taken

    // The step after the next one is needed.
    output logic       request_valid_o,
    output logic [6:0] request_step_o,
    output logic       request_entry_o,

    // The descriptor that each unit reads.
    input logic [Units-1:0]        describes_i,
    input logic [Units-1:0][255:0] described_i,

    input  logic [RowWidth-1:0] reading_row_i,
    output logic [Edges-1:0]    reading_o       /// edges that operations of the row read
);
  localparam int unsigned EntryWidth = Entries > 1 ? $clog2(Entries) : 1;
  localparam int unsigned Processes = Operations * 32;

  function automatic logic [RowWidth-1:0] row_of(logic [OperationWidth-1:0] operation);
    return RowWidth'(32'(operation) / Entries);
  endfunction
  function automatic logic [EntryWidth-1:0] entry_of(logic [OperationWidth-1:0] operation);
    return EntryWidth'(32'(operation) % Entries);
  endfunction
  wire [OperationWidth-1:0] arriving_operation = arriving_process_i[ProcessBits-1:5];
  wire [OperationWidth-1:0] tried_operation = tried_i[ProcessBits-1:5];

  // Fields used here of a step and its process.
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

  held_t arriving, step;
  assign arriving = '{arriving_step_i.from_edges[Edges-1:0], arriving_step_i.to_edges[Edges-1:0], arriving_step_i.from_stages[Stages-1:0],
      arriving_step_i.to_stages[Stages-1:0], arriving_step_i.from_host, arriving_step_i.to_host, OperandWidth'(arriving_step_i.place),
      arriving_step_i.streams, arriving_parameters_i.steps, arriving_parameters_i.turns, arriving_parameters_i.rounds};
  assign from_edges_o = step.from_edges;
  assign to_edges_o = step.to_edges;
  assign from_stages_o = step.from_stages;
  assign to_stages_o = step.to_stages;
  assign from_host_o = step.from_host;
  assign to_host_o = step.to_host;
  assign place_o = step.place;

  logic next_step, step_entry, last;  // last packet of its stream
  // verilator lint_off UNUSEDSIGNAL
  logic steps_valid, progress_valid;
  // verilator lint_on UNUSEDSIGNAL

  tw_steps #(
      .Processes(Processes),
      .Width($bits(held_t))
  ) steps (
      .clk_i,
      .rst_i,
      .arriving_valid_i,
      .arriving_process_i,
      .arriving_start_i,
      .arriving_entry_i,
      .arriving_step_i  (arriving),
      .request_valid_i  (pick_valid_i),
      .request_process_i(pick_process_i),
      .at_valid_o       (steps_valid),
      .at_entry_o       (step_entry),
      .step_valid_o     (known_o),
      .step_data_o      (step),
      .leave_i          (request_valid_o)
  );

  // The memories deliver a descriptor one cycle after its address.
  logic described_q;
  logic [UnitWidth-1:0] described_unit_q;
  // verilator lint_off UNUSEDSIGNAL
  operation_t described_constants_q;
  wire descriptor_t descriptor = descriptor_t'(described_i[described_unit_q]);
  // verilator lint_on UNUSEDSIGNAL
  always_ff @(posedge clk_i) begin
    described_q <= !rst_i && advances_i && part_o.descriptor;
    described_unit_q <= unit_i;
    described_constants_q <= constants_i;
  end

  tw_progress #(
      .Processes(Processes)
  ) progress (
      .clk_i,
      .rst_i,
      .start_valid_i    (arriving_start_i),
      .start_process_i  (arriving_process_i),
      .request_valid_i  (pick_valid_i),
      .request_process_i(pick_process_i),
      .at_valid_o       (progress_valid),
      .at_step_o        (part_o.step),
      .at_round_o       (part_o.round),
      .at_stream_o      (part_o.stream),
      .at_descriptor_o  (part_o.descriptor),
      .size_i           (constants_i.size),
      .alone_i          (constants_i.collective == CollectiveBarrier),
      .at_size_o        (part_o.size),
      .at_elements_o    (part_o.elements),
      .at_first_o       (part_o.first),
      .at_last_o        (last),
      .go_i             (advances_i),
      .steps_i          (step.steps),
      .rounds_i         (step.rounds),
      .streams_i        (step.streams),
      .packets_i        (step.turns == TurnsStream ? 16'd0 : step.turns == TurnsPacket ? 16'd1 : constants_i.burst),
      .at_next_step_o   (next_step),
      .at_over_o        (over_o),
      .describe_i       (described_q),
      .count_i          (descriptor.count),
      .count_size_i     (described_constants_q.size),
      .shortest_i       (described_constants_q.shortest),
      .longest_i        (described_constants_q.longest),
      .ring_i           (described_constants_q.ring),
      .together_i       (described_constants_q.together)
  );

  assign ends_o = advances_i && over_o;

  // If turns include many streams, a turn that fills a slot repeats only after all of its credits have returned.
  wire fills = step.turns == TurnsPacket && 32'(step.streams) * 2 > SlotPackets;
  assign final_o = (last || fills) && 16'(part_o.stream + 16'd1) == step.streams;

  wire [6:0] after_next = part_o.step + 7'd2;  // modulo the number of steps
  assign request_valid_o = advances_i && next_step;
  assign request_step_o = after_next < step.steps ? after_next : after_next - step.steps;
  assign request_entry_o = step_entry;

  tw_precedence #(
      .Rows(Rows),
      .Entries(Entries),
      .Edges(Edges)
  ) precedence (
      .clk_i,
      .rst_i,
      .load_valid_i,
      .load_row_i,
      .begin_valid_i,
      .begin_row_i,
      .add_valid_i   (arriving_begins_i),
      .add_row_i     (row_of(arriving_operation)),
      .add_entry_i   (entry_of(arriving_operation)),
      .add_process_i (arriving_process_i[4:0]),
      .add_first_i   (arriving_start_i),
      .add_reading_i (arriving.from_edges),
      .add_writing_i (arriving.to_edges),
      .end_valid_i   (ends_o),
      .end_row_i     (row_of(tried_operation)),
      .end_entry_i   (entry_of(tried_operation)),
      .end_process_i (tried_i[4:0]),
      .held_row_i    (row_of(tried_operation)),
      .held_entry_i  (entry_of(tried_operation)),
      .held_reading_o,
      .held_writing_o,
      .reading_row_i,
      .reading_o
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) descriptor_arrives : assert (!described_q || describes_i[described_unit_q]);
  end
`endif
endmodule
