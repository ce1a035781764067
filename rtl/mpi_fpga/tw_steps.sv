// SPDX-License-Identifier: Apache-2.0
// The current and next steps of processes.
//
// Each process has two entries, used in turn, for its current step and the one after it; the first step is in entry 0.
// Collective control's answers arrive at any time; a process whose step has not arrived cannot be tried.
//
// Order: none. Latency: an arriving step can be requested in the same cycle; a request is answered in the next.
// Throughput: per cycle a step arrives, one is requested, and one is left. Storage: two steps and six bits per process,
// each bit written by one side. All outputs depend only on registers and memories. Critical path: from the requested
// process through the bits of its position to the selection of its step.
module tw_steps #(
    parameter int unsigned Processes = 4096,
    parameter int unsigned Width = 120,       /// bits of a step
    localparam int unsigned ProcessWidth = Processes > 1 ? $clog2(Processes) : 1
) (
    input logic clk_i,
    input logic rst_i,

    input logic                    arriving_valid_i,
    input logic [ProcessWidth-1:0] arriving_process_i,
    input logic                    arriving_start_i,    /// first step of the process
    input logic                    arriving_entry_i,    /// otherwise, its entry
    input logic [       Width-1:0] arriving_step_i,

    input logic                    request_valid_i,
    input logic [ProcessWidth-1:0] request_process_i,

    // The requested process.
    output logic             at_valid_o,
    output logic             at_entry_o,
    output logic             step_valid_o,  /// its step had arrived at the request
    output logic [Width-1:0] step_data_o,
    input  logic             leave_i        /// it advances to the next step: this entry is free
);
  if (Processes < 1 || Width < 1) begin : check_sizes
    $error("tw_steps: at least 1 process and bit");
  end

  (* ram_style = "distributed" *) logic begun_q[Processes];  // the entry is 1 if they differ
  (* ram_style = "distributed" *) logic left_q[Processes];
  logic [ProcessWidth-1:0] process_q;
  logic passed_q;  // the step that arrived in the cycle of the request
  logic passed_entry_q;
  logic [Width-1:0] passed_step_q;

  wire arriving_entry = !arriving_start_i && arriving_entry_i;
  wire entry = begun_q[process_q] != left_q[process_q];
  logic [1:0] known;
  logic [1:0][Width-1:0] step;

  for (genvar p = 0; p < 2; p++) begin : entries
    logic [Width-1:0] steps_q[Processes];
    (* ram_style = "distributed" *) logic filled_q[Processes];  // a step is present if they differ
    (* ram_style = "distributed" *) logic emptied_q[Processes];

    assign known[p] = filled_q[process_q] != emptied_q[process_q];

    always_ff @(posedge clk_i) begin
      step[p] <= steps_q[request_process_i];
      if (arriving_valid_i && arriving_entry == 1'(p)) steps_q[arriving_process_i] <= arriving_step_i;
      if (arriving_valid_i && (arriving_start_i || arriving_entry == 1'(p)))
        filled_q[arriving_process_i] <= emptied_q[arriving_process_i] ^ (arriving_entry == 1'(p));
      if (leave_i && entry == 1'(p)) emptied_q[process_q] <= filled_q[process_q];
    end
  end

  always_ff @(posedge clk_i) begin
    at_valid_o <= !rst_i && request_valid_i;
    process_q <= request_process_i;
    passed_q <= arriving_valid_i && arriving_process_i == request_process_i;
    passed_entry_q <= arriving_entry;
    passed_step_q <= arriving_step_i;
    if (arriving_valid_i && arriving_start_i) begun_q[arriving_process_i] <= left_q[arriving_process_i];
    if (leave_i) left_q[process_q] <= !left_q[process_q];
  end

  assign step_valid_o = at_valid_o && known[entry];
  assign at_entry_o = entry;
  assign step_data_o = passed_q && passed_entry_q == entry ? passed_step_q : step[entry];

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) leaves_what_is_known : assert (!leave_i || step_valid_o);
  end
`endif
endmodule
