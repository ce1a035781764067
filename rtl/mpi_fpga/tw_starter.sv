// SPDX-License-Identifier: Apache-2.0
// Starts operations: selects the operation, process and step that collective control computes next.
//
// Operations start one after another. Those along a tree have up to two processes of one step, which depend only on the
// row: they are looked up in two cycles. For others every step of every process is requested, each after the previous
// answer. Requests of running processes have priority (busy_i), and so have their answers over steps that depend only
// on the row (arriving_i).
//
// Order: as added. Latency: none from an operation to its first lookup if no other is being started; a request follows
// its lookup by one cycle. Throughput: a lookup per cycle. Storage: Operations operations. idle_o and ask_* are
// registers; look_* depend on add_*, busy_i, arriving_i and the answer in the same cycle. Critical path: from the
// answer through the next process or step to look_*.
module tw_starter #(
    parameter int unsigned Operations = 128,
    localparam int unsigned OperationWidth = Operations > 1 ? $clog2(Operations) : 1
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                      add_valid_i,       /// at most Operations in flight
    input  logic [OperationWidth-1:0] add_operation_i,
    input  logic                      add_along_tree_i,
    output logic                      idle_o,

    input logic busy_i,  /// the row of a running process is looked up in this cycle
  input logic arriving_i,  /// the step of a running process arrives in the next cycle

    // The row is looked up, and collective control is asked in the next cycle.
    output logic                      lookup_valid_o,
    output logic [OperationWidth-1:0] lookup_operation_o,
    output logic                      request_valid_o,
    output logic [OperationWidth-1:0] request_operation_o,
    output logic                      request_along_tree_o,
    output logic [               4:0] request_process_o,
    output logic [               6:0] request_step_o,

    // Its answer to the last request, except along a tree: at least one process and step.
    input logic       answer_valid_i,
    input logic [5:0] answer_processes_i,  /// of the operation
    input logic [6:0] answer_steps_i       /// of the process
);
  if (Operations < 1) begin : check_operations
    $error("tw_starter: at least 1 operation");
  end

  logic queued, along_tree, ends;
  logic [OperationWidth-1:0] queued_operation;
  logic queued_along_tree;

  tw_fifo #(
      .Width(OperationWidth + 1),
      .Depth(Operations)
  ) operations (
      .clk_i,
      .rst_i,
      .in_valid_i (add_valid_i),
      .in_ready_o (),
      .in_data_i  ({add_along_tree_i, add_operation_i}),
      .out_valid_o(queued),
      .out_ready_i(ends),
      .out_data_o ({queued_along_tree, queued_operation}),
      .count_o    ()
  );

  assign idle_o = !queued;
  assign lookup_operation_o = queued ? queued_operation : add_operation_i;
  assign along_tree = queued ? queued_along_tree : add_along_tree_i;

  // The next request, for the first operation.
  logic waiting_q;  // for an answer
  logic [4:0] process_q, process_d;
  logic [6:0] step_q, step_d;

  wire same_process = 7'(step_q + 7'd1) < answer_steps_i;
  wire answered = waiting_q && answer_valid_i;
  wire over = answered && !same_process && 6'(process_q + 5'd1) == answer_processes_i;

  always_comb begin
    process_d = process_q;
    step_d = step_q;
    if (answered) begin
      process_d = same_process ? process_q : process_q + 5'd1;
      step_d = same_process ? step_q + 7'd1 : '0;
    end
  end

  assign lookup_valid_o = (queued || add_valid_i) && !busy_i && !(along_tree && arriving_i) && (!waiting_q || answered) && !over;
  assign ends = over || (lookup_valid_o && along_tree && process_d == 5'd1);

  always_ff @(posedge clk_i) begin
    process_q <= ends ? '0 : lookup_valid_o && along_tree ? process_d + 5'd1 : process_d;
    step_q <= ends ? '0 : step_d;
    waiting_q <= (lookup_valid_o && !along_tree) || (waiting_q && !answer_valid_i);
    request_valid_o <= lookup_valid_o;
    request_operation_o <= lookup_operation_o;
    request_along_tree_o <= along_tree;
    request_process_o <= process_d;
    request_step_o <= step_d;
    if (rst_i) begin
      process_q <= '0;
      step_q <= '0;
      waiting_q <= 1'b0;
      request_valid_o <= 1'b0;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) answer_is_awaited : assert (!answer_valid_i || waiting_q);
  end
`endif
endmodule
