// SPDX-License-Identifier: Apache-2.0
// Sends the results of pieces to memory, to a kernel's stream, or to another rank as a packet; and reports when
// each has arrived.
//
// Order: kept; completions are in order among pieces for memory, and among the others. Latency: two cycles from a job to its first word, if
// that is available; a packet's header precedes it. Throughput: a word per cycle, plus two cycles between pieces. Storage: Writes pieces
// whose writes are outstanding. Critical path: the mask of a stream's last word.
module tw_result
  import tw_accl_spec_pkg::*;
  import tw_accl_pkg::*;
  import tw_mover_pkg::*;
#(
    parameter int unsigned Writes = 16  /// outstanding writes, at least 2
) (
    input logic clk_i,
    input logic rst_i,

    input  logic    job_valid_i,
    output logic    job_ready_o,
    input  result_t job_i,

    input  logic                in_valid_i,  /// words of pieces that have data
    output logic                in_ready_o,
    input  logic [WordBits-1:0] in_data_i,
    input  logic                in_last_i,

    output logic                 write_valid_o,  /// to the memory: requests and data
    input  logic                 write_ready_i,
    output logic                 write_host_o,
    output address_t             write_at_o,
    output logic [PieceBits-1:0] write_bytes_o,
    output logic                 data_valid_o,
    input  logic                 data_ready_i,
    output logic [ WordBits-1:0] data_o,
    output logic                 data_last_o,
    input  logic                 written_i,      /// the oldest outstanding write is complete

    output logic                stream_valid_o,
    input  logic                stream_ready_i,
    output logic [WordBits-1:0] stream_data_o,
    output logic                stream_last_o,
    output logic [         7:0] stream_number_o,

    output logic                packet_valid_o,
    input  logic                packet_ready_i,
    output logic [WordBits-1:0] packet_data_o,
    output logic                packet_last_o,
    output logic [         7:0] packet_to_o,
    output logic [        15:0] packet_bytes_o,

    output logic  [1:0] done_valid_o,  /// completed pieces; 0: for memory, 1: others
    input  logic  [1:0] done_ready_i,
    output done_t [1:0] done_o
);
  typedef enum logic [2:0] {
    Free,
    Ask,  // requests a write
    Header,
    Pass,
    Done
  } state_e;
  state_e state_q;
  result_t job_q;

  logic written_ready, done_ready;
  wire bare = job_q.bytes == 0;
  wire pass = in_valid_i && in_ready_o;
  wire asks = state_q == Ask && write_ready_i && written_ready;

  assign job_ready_o = state_q == Free;
  assign write_valid_o = state_q == Ask && written_ready;
  assign {write_host_o, write_at_o, write_bytes_o} = {job_q.host, job_q.at, job_q.bytes};
  assign data_valid_o = state_q == Pass && job_q.target == ToMemory && in_valid_i;
  assign data_o = in_data_i;
  assign data_last_o = in_last_i;

  // Bytes after a stream's last one are zero.
  logic [WordBytes-1:0] keep_q;
  always_comb begin
    stream_data_o = in_data_i;
    if (in_last_i)
      for (int unsigned i = 0; i < WordBytes; i++) if (!keep_q[i]) stream_data_o[8*i+:8] = 8'd0;
  end
  assign stream_valid_o = state_q == Pass && job_q.target == ToStream && in_valid_i;
  assign stream_last_o = in_last_i && job_q.last;
  assign stream_number_o = job_q.header.stream;

  wire head = state_q == Header;
  assign packet_valid_o = head || (state_q == Pass && job_q.target == ToRank && in_valid_i);
  assign packet_data_o = head ? WordBits'(job_q.header) : in_data_i;
  assign packet_last_o = head ? bare : in_last_i;
  assign packet_to_o = job_q.to;
  assign packet_bytes_o = 16'(job_q.bytes) + 16'(WordBytes);

  always_comb begin
    in_ready_o = 1'b0;
    if (state_q == Pass)
      unique case (job_q.target)
        ToMemory: in_ready_o = data_ready_i;
        ToStream: in_ready_o = stream_ready_i;
        default:  in_ready_o = packet_ready_i;
      endcase
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Free) begin
      job_q <= job_i;
      for (int unsigned i = 0; i < WordBytes; i++) keep_q[i] <= job_i.bytes[5:0] == 0 || 6'(i) < job_i.bytes[5:0];
    end
    if (rst_i) begin
      state_q <= Free;
    end else begin
      unique case (state_q)
        Free:
        if (job_valid_i)
          unique case (job_i.target)
            ToNothing: state_q <= Done;
            ToMemory:  state_q <= Ask;
            ToStream:  state_q <= Pass;
            default:   state_q <= Header;
          endcase
        Ask: if (asks) state_q <= Pass;
        Header: if (packet_ready_i) state_q <= bare ? Done : Pass;
        Pass: if (pass && in_last_i) state_q <= job_q.target == ToMemory ? Free : Done;
        default: if (done_ready) state_q <= Free;
      endcase
    end
  end

  // Outstanding writes, and the number of completed ones.
  localparam int unsigned CountBits = $clog2(Writes + 1);
  logic there, written;
  logic [CountBits-1:0] written_q;
  tw_fifo #(
      .Width($bits(done_t)),
      .Depth(Writes)
  ) writes (
      .clk_i,
      .rst_i,
      .in_valid_i (asks),
      .in_ready_o (written_ready),
      .in_data_i  ({job_q.slot, job_q.last}),
      .out_valid_o(there),
      .out_ready_i(written),
      .out_data_o (done_o[0]),
      .count_o    ()
  );
  assign done_valid_o[0] = there && written_q != 0;
  assign written = done_valid_o[0] && done_ready_i[0];
  always_ff @(posedge clk_i) written_q <= rst_i ? '0 : written_q + CountBits'(written_i) - CountBits'(written);

  tw_fifo #(
      .Width($bits(done_t)),
      .Depth(2)
  ) others (
      .clk_i,
      .rst_i,
      .in_valid_i (state_q == Done),
      .in_ready_o (done_ready),
      .in_data_i  ({job_q.slot, job_q.last}),
      .out_valid_o(done_valid_o[1]),
      .out_ready_i(done_ready_i[1]),
      .out_data_o (done_o[1]),
      .count_o    ()
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      was_being_written : assert (!written_i || 32'(written_q) < Writes);
      data_for_a_place : assert (!job_valid_i || job_i.bytes != 0 || job_i.target inside {ToNothing, ToRank});
    end
  end
`endif
endmodule
