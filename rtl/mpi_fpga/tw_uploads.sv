// SPDX-License-Identifier: Apache-2.0
// The host's packets for processes: the number available for each, and the processes that wait for one.
//
// The host announces one packet per cycle. It is visible in the next cycle, and a process that waits for it is woken at
// once: `early` if it has waited since an earlier cycle, `late` if it would begin to wait in this one, and then does
// not. Order: none. Latency: none. Throughput: a packet announced and one taken per cycle. Storage: two counts and two
// bits per process, each written by one side. Memories are cleared after reset, one process per cycle: for Processes
// cycles ready_o is low and no input is allowed. ready_o is a register, the other outputs depend on inputs. Critical
// path: from announce_process_i through the bits of waiting processes to early_valid_o.
module tw_uploads #(
    parameter int unsigned Processes = 4096,
    parameter int unsigned Packets = 64,      /// maximum number of packets per process
    localparam int unsigned ProcessWidth = Processes > 1 ? $clog2(Processes) : 1
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic ready_o,

    input  logic                    announce_valid_i,
    input  logic [ProcessWidth-1:0] announce_process_i,
    output logic                    early_valid_o,
    output logic                    late_valid_o,

    // The process that is tried takes a packet, waits for one, or neither.
    input  logic [ProcessWidth-1:0] tried_process_i,
    output logic                    there_o,
    input  logic                    take_i,
    input  logic                    wait_i
);
  if (Processes < 1 || Packets < 1) begin : check_sizes
    $error("tw_uploads: at least 1 process and packet");
  end

  localparam int unsigned CountWidth = $clog2(Packets + 1);

  (* ram_style = "distributed" *) logic [CountWidth-1:0] announced_q[Processes];
  (* ram_style = "distributed" *) logic [CountWidth-1:0] taken_q[Processes];
  (* ram_style = "distributed" *) logic begun_q[Processes];  // a process waits if they differ
  (* ram_style = "distributed" *) logic ended_q[Processes];

  logic ready_q;
  logic [ProcessWidth-1:0] clear_q;

  assign ready_o = ready_q;
  assign there_o = ready_q && announced_q[tried_process_i] != taken_q[tried_process_i];
  assign early_valid_o = ready_q && announce_valid_i && begun_q[announce_process_i] != ended_q[announce_process_i];
  assign late_valid_o = ready_q && announce_valid_i && wait_i && tried_process_i == announce_process_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      ready_q <= 1'b0;
      clear_q <= '0;
    end else if (!ready_q) begin
      ready_q <= clear_q == ProcessWidth'(Processes - 1);
      clear_q <= clear_q + 1'b1;
    end

    if (!ready_q) announced_q[clear_q] <= '0;
    else if (announce_valid_i) announced_q[announce_process_i] <= announced_q[announce_process_i] + 1'b1;
    if (!ready_q) taken_q[clear_q] <= '0;
    else if (take_i) taken_q[tried_process_i] <= taken_q[tried_process_i] + 1'b1;
    if (!ready_q) begun_q[clear_q] <= 1'b0;
    else if (wait_i && !late_valid_o) begun_q[tried_process_i] <= !ended_q[tried_process_i];
    if (!ready_q) ended_q[clear_q] <= 1'b0;
    else if (early_valid_o) ended_q[announce_process_i] <= begun_q[announce_process_i];
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i && ready_q) begin
      takes_what_is_there : assert (!take_i || there_o);
      waits_once : assert (!wait_i || begun_q[tried_process_i] == ended_q[tried_process_i]);
    end
  end
`endif
endmodule
