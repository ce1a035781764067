// SPDX-License-Identifier: Apache-2.0
// Requests the steps of a collective unit's processes from collective control: all steps of an operation that begins,
// and, while a process runs, the step after its next one. The communicator's row comes from the context table.
//
// Order: that of the requests; running processes have priority. Latency: five cycles from ask_valid_i to the step;
// processes along a tree start when the table has answered. Throughput: a step per cycle. Storage: that of the blocks,
// the exchange of each row, and the requests in flight. look_operation_o depends on add_*, the other outputs only on
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
    output logic [OperationWidth-1:0] look_operation_o,
    input  operation_t                look_constants_i,

    // A running process needs a step.
    input logic                   ask_valid_i,
    input logic [ProcessBits-1:0] ask_process_i,
    input logic [6:0]             ask_step_i,
    input logic                   ask_place_i,     /// entry of the step that it leaves
    // verilator lint_off UNUSEDSIGNAL
    input operation_t             ask_constants_i,
    // verilator lint_on UNUSEDSIGNAL

    // An arriving step; its process starts along a tree, or with an answer.
    output logic                   come_valid_o,
    output logic [ProcessBits-1:0] come_process_o,
    output logic                   come_place_o,
    output step_t                  come_step_o,
    output process_t               come_of_o,
    output logic [5:0]             come_processes_o,  /// processes of the operation
    output logic                   come_begins_o,        /// step of an operation that begins
    output logic                   tree_starts_o,
    output logic                   answer_starts_o
);
  // --- The table

  logic look_starter, look_running_q;
  logic [OperationWidth-1:0] running_operation_q;
  // verilator lint_off UNUSEDSIGNAL
  operation_t running_constants_q, asked_constants_q;
  // verilator lint_on UNUSEDSIGNAL
  wire [RowWidth-1:0] look_row = RowWidth'(32'(look_running_q ? running_operation_q : look_operation_o) / Entries);
  wire [15:0] look_label = look_running_q ? running_constants_q.root : look_constants_i.root;

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
    asked_constants_q <= look_running_q ? running_constants_q : look_constants_i;
  end
  wire asked_at_root = vertex.has_rank && vertex.label == asked_constants_q.root;

  // --- Requests

  typedef struct packed {
    logic                   valid;
    logic                   running;  // of a running process; otherwise of the starter
    logic                   first;    // first step, with which the process starts
    logic                   second;   // second step
    logic                   place;    // entry of a running process's step
    logic [ProcessBits-1:0] process_number;
  } question_t;

  logic starter_idle, starter_asks, starter_tree, starter_answered;
  logic [OperationWidth-1:0] starter_operation;
  logic [4:0] starter_process;
  logic [6:0] starter_step;

  logic [ProcessBits-1:0] running_process_q, asking_process_q;
  logic [6:0] running_step_q, asking_step_q;
  logic running_place_q, asking_place_q, asking_q;

  always_ff @(posedge clk_i) begin
    look_running_q <= !rst_i && ask_valid_i;
    running_operation_q <= ask_process_i[ProcessBits-1:5];
    running_constants_q <= ask_constants_i;
    running_process_q <= ask_process_i;
    running_place_q <= ask_place_i;
    running_step_q <= ask_step_i;
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
      .add_valid_i,
      .add_operation_i,
      .add_along_tree_i  (add_tree_i),
      .idle_o            (starter_idle),
      .busy_i            (look_running_q),
      .come_i            (asked_q[1].valid && asked_q[1].running),
      .look_valid_o      (look_starter),
      .look_operation_o,
      .ask_valid_o       (starter_asks),
      .ask_operation_o   (starter_operation),
      .ask_along_tree_o  (starter_tree),
      .ask_process_o     (starter_process),
      .ask_step_o        (starter_step),
      .answer_valid_i    (starter_answered),
      .answer_processes_i(answer_processes),
      .answer_steps_i    (answer_process.steps)
  );

  // --- Arriving steps: of a process that begins along a tree, or answers of collective control

  wire tree_asks = starter_asks && starter_tree;
  localparam process_t TreeProcess = '{steps: 7'd1, turns: TurnsStream, rounds: 16'd1, reversed: 5'd0};
  assign tree_starts_o = tree_asks && 6'(starter_process) < tree_processes;
  assign answer_starts_o = starter_answered && question.first;
  assign come_valid_o = tree_starts_o || answered_running || (starter_answered && (question.first || question.second));
  assign come_begins_o = tree_starts_o || starter_answered;
  assign come_process_o = tree_asks ? {starter_operation, starter_process} : question.process_number;
  assign come_place_o = answered_running ? question.place : 1'b1;
  assign come_step_o = tree_asks ? tree_step : answer_step;
  assign come_of_o = tree_asks ? TreeProcess : answer_process;
  assign come_processes_o = tree_asks ? tree_processes : answer_processes;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      control_answers : assert (!question.valid || answer_valid);
      tree_is_known : assert (!tree_asks || tree_valid);
      one_comes : assert (!(tree_asks && question.valid && (question.running || question.first || question.second)));
    end
  end
`endif
endmodule
