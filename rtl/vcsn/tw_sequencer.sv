// SPDX-License-Identifier: Apache-2.0
// Runs a program in an FPGA, so that transfers follow each other without a host: issues commands to the shell, waits for the ends of
// transfers, and exchanges words with other nodes' sequencers over circuits.
//
// A program is loaded instruction by instruction, and starts with Finish, its last one. Instructions are Spacing cycles apart,
// in which a command for an external port crosses into the MAC's clock domain. Any end of a transfer counts as that of the engine's last one: nothing
// else may use an engine of the program while it runs.
//
// Order: instructions are executed one after another. Latency: Spacing cycles per instruction, and its wait. Throughput: one instruction in that time. Storage: Words instructions in a memory
// with a registered output, which can be block RAM. All outputs are registers. Critical path: from the memory through the kind of the instruction.
module tw_sequencer
  import tw_vcsn_pkg::*;
#(
    parameter int unsigned Words   = 1024, /// instructions of a program, including Finish: a power of two, at least 2
    parameter int unsigned Dmas    = 2,    /// pairs of a read and a write engine, at least 1
    parameter int unsigned Spacing = 8     /// cycles, at least 4
) (
    input logic clk_i,
    input logic rst_i,

    input logic         program_valid_i,  /// not while the program runs
    input instruction_t program_data_i,

    output logic            command_valid_o,
    input  logic            command_ready_i,
    output command_t        command_data_o,
    input  logic [Dmas-1:0] read_ended_i,     /// an engine has finished a transfer
    input  logic [Dmas-1:0] write_ended_i,

    output logic out_valid_o,  /// a packet of one word
    input  logic out_ready_i,
    input  logic in_valid_i,   /// a word; its value is ignored
    output logic in_ready_o,

    output logic ended_o  /// the program has ended
);
  if (Words < 2 || (Words & (Words - 1)) != 0) begin : check_words
    $error("tw_sequencer: Words must be a power of two, at least 2");
  end
  if (Dmas < 1) begin : check_dmas
    $error("tw_sequencer: Dmas must be at least 1");
  end
  if (Spacing < 4) begin : check_spacing
    $error("tw_sequencer: Spacing must be at least 4");
  end

  localparam int unsigned IndexBits = $clog2(Words);
  localparam int unsigned SpacingBits = $clog2(Spacing);

  instruction_t memory_q[Words];
  instruction_t fetched_q, at_q;
  logic [IndexBits-1:0] write_q, next_q;
  logic [SpacingBits-1:0] left_q;  // cycles until the next instruction; 0: it is loaded, or there is none
  logic [Dmas-1:0] engine_q;
  logic commands_q, sends_q, receives_q, reads_q, writes_q, finishes_q, ended_q;  // current activity
  logic is_send_q, is_receive_q, is_finish_q;  // of the fetched instruction

  wire transfers = (at_q.kind == Read || at_q.kind == Write) && at_q.body[8];  // `last` of segment_t

  assign command_valid_o = commands_q;
  assign command_data_o = '{kind: at_q.kind, place: at_q.place, body: 112'(at_q.body)};
  assign out_valid_o = sends_q;
  assign in_ready_o = receives_q;
  assign ended_o = ended_q;

  wire given = commands_q && command_ready_i;
  wire begins = program_valid_i && program_data_i.kind == Finish;
  wire done = (given && !transfers) || (sends_q && out_ready_i) || (receives_q && in_valid_i) ||
      (reads_q && (read_ended_i & engine_q) != 0) || (writes_q && (write_ended_i & engine_q) != 0);
  wire loads = left_q == 1;

  always_ff @(posedge clk_i) begin
    if (program_valid_i) memory_q[write_q] <= program_data_i;
    fetched_q <= memory_q[next_q];
    is_send_q <= fetched_q.kind == SendWord;
    is_receive_q <= fetched_q.kind == AwaitWord;
    is_finish_q <= fetched_q.kind == Finish;
    if (loads) begin
      at_q <= fetched_q;
      for (int unsigned i = 0; i < Dmas; i++) engine_q[i] <= fetched_q.place == 8'(i);
    end
    if (begins) next_q <= '0;
    else if (loads) next_q <= next_q + 1'b1;

    if (rst_i) begin
      write_q <= '0;
      left_q <= '0;
      commands_q <= 1'b0;
      sends_q <= 1'b0;
      receives_q <= 1'b0;
      reads_q <= 1'b0;
      writes_q <= 1'b0;
      finishes_q <= 1'b0;
      ended_q <= 1'b0;
    end else begin
      if (program_valid_i) write_q <= begins ? '0 : write_q + 1'b1;
      if (begins || done) left_q <= SpacingBits'(Spacing - 1);
      else if (left_q != 0) left_q <= left_q - 1'b1;
      commands_q <= loads ? !is_send_q && !is_receive_q && !is_finish_q : commands_q && !given;
      sends_q <= loads ? is_send_q : sends_q && !out_ready_i;
      receives_q <= loads ? is_receive_q : receives_q && !in_valid_i;
      reads_q <= given ? transfers && at_q.kind == Read : reads_q && !done;
      writes_q <= given ? transfers && at_q.kind == Write : writes_q && !done;
      finishes_q <= loads && is_finish_q;
      ended_q <= finishes_q;
    end
  end

`ifndef SYNTHESIS
  logic runs_q;
  always_ff @(posedge clk_i) begin
    runs_q <= !rst_i && (begins || (runs_q && !finishes_q));
    if (!rst_i) begin
      loads_while_it_rests : assert (!program_valid_i || !runs_q);
    end
  end
`endif
endmodule
