// SPDX-License-Identifier: Apache-2.0
// Requests the steps of a collective unit's processes from collective control: all steps of an operation that begins,
// and, while a process runs, the step after its next one. The communicator's row comes from the context table.
//
// Order: that of the requests; running processes have priority. Latency: five cycles from request_valid_i to the step;
// processes along a tree start when the table has answered. Throughput: a step per cycle. Storage: that of the blocks,
// the exchange of each row, and the requests in flight. lookup_operation_o depends on add_*, the other outputs only on
// registers. Critical path: that of the blocks.
module tw_collective_unit_control
  import tw_spec_pkg::*, tw_mpi_fpga_spec_pkg::*, tw_node_pkg::*;
#(
    parameter int unsigned Rows = 32,
    parameter int unsigned Entries = 4,
    parameter int unsigned Edges = 6,
    parameter int unsigned Roots = 1,
    localparam int unsigned Operations = Rows * Entries,
    localparam int unsigned RowWidth = Rows > 1 ? $clog2(Rows) : 1,
    localparam int unsigned OperationWidth = Operations > 1 ? $clog2(Operations) : 1,
    localparam int unsigned ProcessBits = OperationWidth + 5,
    localparam int unsigned EdgeWidth = Edges > 1 ? $clog2(Edges) : 1,
    localparam int unsigned RootWidth = Roots > 1 ? $clog2(Roots) : 1
) (
    input logic clk_i,
    input logic rst_i,

    input logic                  vertex_valid_i,
    input logic [RowWidth-1:0]   vertex_row_i,
    input vertex_t               vertex_i,
    input exchange_t             exchange_i,
    input logic                  edge_valid_i,
    input logic [RowWidth-1:0]   edge_row_i,
    input logic [EdgeWidth-1:0]  edge_index_i,
    input tree_edge_t            edge_i,
    input logic                  branch_valid_i,
    input logic [RowWidth-1:0]   branch_row_i,
    input logic [RootWidth-1:0]  branch_label_i,
    input logic [Edges-1:0]      branch_up_i,
    input logic [Edges-1:0]      branch_down_i,

    // Operations that begin.
    input  logic                      add_valid_i,
    input  logic [OperationWidth-1:0] add_operation_i,
    input  logic                      add_tree_i,
    output logic                      idle_o,           /// no operation is being started
    output logic [OperationWidth-1:0] lookup_operation_o,
    input  operation_t                lookup_constants_i,

    // A running process needs a step.
    input logic                   request_valid_i,
    input logic [ProcessBits-1:0] request_process_i,
    input logic [6:0]             request_step_i,
    input logic                   request_entry_i,  /// entry of the step that it leaves
    // verilator lint_off UNUSEDSIGNAL
    input operation_t             request_constants_i,
    // verilator lint_on UNUSEDSIGNAL

    // An arriving step; its process starts along a tree, or with an answer.
    output logic                   arriving_valid_o,
    output logic [ProcessBits-1:0] arriving_process_o,
    output logic                   arriving_entry_o,
    output step_t                  arriving_step_o,
    output process_t               arriving_parameters_o,
    output logic [5:0]             arriving_processes_o,  /// processes of the operation
    output logic                   arriving_begins_o,        /// step of an operation that begins
    output logic                   tree_starts_o,
    output logic                   answer_starts_o
);
  // --- The table

  logic lookup_starter, lookup_running_q;
  logic [OperationWidth-1:0] running_operation_q;
  // verilator lint_off UNUSEDSIGNAL
  operation_t running_constants_q, requested_constants_q;
  // verilator lint_on UNUSEDSIGNAL
  wire [RowWidth-1:0] lookup_row = RowWidth'(32'(lookup_running_q ? running_operation_q : lookup_operation_o) / Entries);
  wire [15:0] lookup_label = lookup_running_q ? running_constants_q.root : lookup_constants_i.root;

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
      .lookup_valid_i  (lookup_starter || lookup_running_q),
      .lookup_row_i    (lookup_row),
      .lookup_label_i  (lookup_label),
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
    exchange <= exchanges_q[lookup_row];
    requested_constants_q <= lookup_running_q ? running_constants_q : lookup_constants_i;
  end
  wire requested_at_root = vertex.has_rank && vertex.label == requested_constants_q.root;

  // --- Requests

  typedef struct packed {
    logic                   valid;
    logic                   running;  // of a running process; otherwise of the starter
    logic                   first;    // first step, with which the process starts
    logic                   second;   // second step
    logic                   place;    // entry of a running process's step
    logic [ProcessBits-1:0] process_number;
  } request_t;

  logic starter_idle, starter_asks, starter_tree, starter_answered;
  logic [OperationWidth-1:0] starter_operation;
  logic [4:0] starter_process;
  logic [6:0] starter_step;

  logic [ProcessBits-1:0] running_process_q, requesting_process_q;
  logic [6:0] running_step_q, requesting_step_q;
  logic running_entry_q, requesting_entry_q, requesting_q;

  always_ff @(posedge clk_i) begin
    lookup_running_q <= !rst_i && request_valid_i;
    running_operation_q <= request_process_i[ProcessBits-1:5];
    running_constants_q <= request_constants_i;
    running_process_q <= request_process_i;
    running_entry_q <= request_entry_i;
    running_step_q <= request_step_i;
    requesting_q <= !rst_i && lookup_running_q;
    requesting_process_q <= running_process_q;
    requesting_entry_q <= running_entry_q;
    requesting_step_q <= running_step_q;
  end

  request_t requested;
  request_t [2:0] requested_q;
  assign requested.valid = requesting_q || (starter_asks && !starter_tree);
  assign requested.running = requesting_q;
  assign requested.first = starter_step == 7'd0;
  assign requested.second = starter_step == 7'd1;
  assign requested.place = requesting_entry_q;
  assign requested.process_number = requesting_q ? requesting_process_q : {starter_operation, starter_process};
  always_ff @(posedge clk_i) requested_q <= rst_i ? '0 : {requested_q[1:0], requested};
  wire request_t pending_request = requested_q[2];
  wire answered_running = pending_request.valid && pending_request.running;
  assign starter_answered = pending_request.valid && !pending_request.running;
  assign idle_o = starter_idle && !starter_asks;

  logic tree_valid, answer_valid;
  logic [5:0] tree_processes, answer_processes;
  step_t tree_step, answer_step;
  process_t answer_process;

  tw_collective_control #(
      .Edges(Edges)
  ) control (
      .clk_i,
      .rst_i,
      .request_valid_i     (requesting_q || starter_asks),
      .request_collective_i(requested_constants_q.collective),
      .request_algorithm_i (requested_constants_q.algorithm),
      .request_process_i   (requesting_q ? requesting_process_q[4:0] : starter_process),
      .request_step_i      (requesting_q ? requesting_step_q : starter_step),
      .request_at_root_i   (requested_at_root),
      .request_vertex_i    (vertex),
      .request_exchange_i  (exchange),
      .request_towards_i   (towards),
      .request_away_i      (away),
      .request_behind_i    (behind),
      .request_last_i      (last),
      .tree_valid_o        (tree_valid),
      .tree_processes_o    (tree_processes),
      .tree_step_o         (tree_step),
      .answer_valid_o      (answer_valid),
      .answer_processes_o  (answer_processes),
      .answer_process_o    (answer_process),
      .answer_step_o       (answer_step)
  );

  tw_starter #(
      .Operations(Operations)
  ) starter (
      .clk_i,
      .rst_i,
      .add_valid_i,
      .add_operation_i,
      .add_along_tree_i    (add_tree_i),
      .idle_o              (starter_idle),
      .busy_i              (lookup_running_q),
      .arriving_i          (requested_q[1].valid && requested_q[1].running),
      .lookup_valid_o      (lookup_starter),
      .lookup_operation_o,
      .request_valid_o     (starter_asks),
      .request_operation_o (starter_operation),
      .request_along_tree_o(starter_tree),
      .request_process_o   (starter_process),
      .request_step_o      (starter_step),
      .answer_valid_i      (starter_answered),
      .answer_processes_i  (answer_processes),
      .answer_steps_i      (answer_process.steps)
  );

  // --- Arriving steps: of a process that begins along a tree, or answers of collective control

  wire tree_asks = starter_asks && starter_tree;
  localparam process_t TreeProcess = '{steps: 7'd1, turns: TurnsStream, rounds: 16'd1, reversed: 5'd0};
  assign tree_starts_o = tree_asks && 6'(starter_process) < tree_processes;
  assign answer_starts_o = starter_answered && pending_request.first;
  assign arriving_valid_o = tree_starts_o || answered_running || (starter_answered && (pending_request.first || pending_request.second));
  assign arriving_begins_o = tree_starts_o || starter_answered;
  assign arriving_process_o = tree_asks ? {starter_operation, starter_process} : pending_request.process_number;
  assign arriving_entry_o = answered_running ? pending_request.place : 1'b1;
  assign arriving_step_o = tree_asks ? tree_step : answer_step;
  assign arriving_parameters_o = tree_asks ? TreeProcess : answer_process;
  assign arriving_processes_o = tree_asks ? tree_processes : answer_processes;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      control_answers : assert (!pending_request.valid || answer_valid);
      tree_is_known : assert (!tree_asks || tree_valid);
      one_arrives : assert (!(tree_asks && pending_request.valid && (pending_request.running || pending_request.first || pending_request.second)));
    end
  end
`endif
endmodule
