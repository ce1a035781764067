// SPDX-License-Identifier: Apache-2.0
// Reads an operand's pieces from memory or from a kernel's stream. Memory requests run ahead of the words that are passed on.
//
// Order: kept. Latency: three cycles from a job to its request; a word passes in the cycle in which it is available. Throughput: a word per
// cycle. Storage: Ahead jobs. Requests are registers; words pass through a gate. Critical path: from the remaining words through out_last_o to the next job.
module tw_operand
  import tw_accl_pkg::*;
  import tw_mover_pkg::*;
#(
    parameter int unsigned Ahead = 8  /// jobs whose words have not passed, at least 2
) (
    input logic clk_i,
    input logic rst_i,

    input  logic     job_valid_i,
    output logic     job_ready_o,
    input  operand_t job_i,

    output logic                 request_valid_o,  /// to the memory, which answers in order
    input  logic                 request_ready_i,
    output logic                 request_host_o,
    output address_t             request_at_o,
    output logic [PieceBits-1:0] request_bytes_o,
    input  logic                 answer_valid_i,   /// words, dense from byte 0
    output logic                 answer_ready_o,
    input  logic [ WordBits-1:0] answer_data_i,
    input  logic                 stream_valid_i,   /// from the kernel
    output logic                 stream_ready_o,
    input  logic [ WordBits-1:0] stream_data_i,

    output logic                out_valid_o,
    input  logic                out_ready_i,
    output logic [WordBits-1:0] out_data_o,
    output logic                out_last_o,   /// of a piece

    output logic       release_o,  /// all words of this receive buffer have passed
    output logic [7:0] buffer_o
);
  typedef struct packed {
    logic stream;
    logic [PieceWords:0] more;  // after the first one
    logic releases;
    logic [7:0] buffer;
  } passing_t;

  // A job waits for its request to be accepted, and then for its words.
  logic waits_q, passing_ready;
  operand_t job_q;
  wire asks = job_q.source != FromStream;
  wire request_free = !request_valid_o || request_ready_i;
  wire leave = waits_q && passing_ready && (!asks || request_free);
  assign job_ready_o = !waits_q || leave;

  logic front_valid, front_ready, front_stream, front_releases;
  passing_t front;
  tw_fifo #(
      .Width($bits(passing_t)),
      .Depth(Ahead)
  ) passing (
      .clk_i,
      .rst_i,
      .in_valid_i (leave),
      .in_ready_o (passing_ready),
      .in_data_i  ({!asks, words_of(job_q.bytes) - (PieceWords + 1)'(1), job_q.releases, job_q.buffer}),
      .out_valid_o(front_valid),
      .out_ready_i(front_ready),
      .out_data_o (front),
      .count_o    ()
  );

  logic now_q;  // a piece is passing
  passing_t piece_q;
  wire comes = piece_q.stream ? stream_valid_i : answer_valid_i;
  wire pass = out_valid_o && out_ready_i;
  wire ends = pass && out_last_o;
  assign front_ready = !now_q || ends;
  assign out_valid_o = now_q && comes;
  assign out_data_o = piece_q.stream ? stream_data_i : answer_data_i;
  assign out_last_o = piece_q.more == 0;
  assign answer_ready_o = now_q && !piece_q.stream && out_ready_i;
  assign stream_ready_o = now_q && piece_q.stream && out_ready_i;
  assign {front_stream, front_releases} = {front.stream, front.releases};

  always_ff @(posedge clk_i) begin
    if (job_valid_i && job_ready_o) job_q <= job_i;
    if (leave && asks) begin
      request_host_o  <= job_q.host;
      request_at_o    <= job_q.at;
      request_bytes_o <= job_q.bytes;
    end
    if (pass) piece_q.more <= piece_q.more - 1'b1;
    if (front_ready) piece_q <= front;
    buffer_o <= piece_q.buffer;
    if (rst_i) begin
      waits_q <= 1'b0;
      request_valid_o <= 1'b0;
      now_q <= 1'b0;
      release_o <= 1'b0;
    end else begin
      waits_q <= (job_valid_i && job_ready_o) || (waits_q && !leave);
      request_valid_o <= (leave && asks) || (request_valid_o && !request_ready_i);
      if (front_ready) now_q <= front_valid;
      release_o <= ends && piece_q.releases;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      has_data : assert (!job_valid_i || job_i.bytes != 0 && job_i.source != FromNothing);
      streams_hold_no_buffer : assert (!front_valid || !front_stream || !front_releases);
    end
  end
`endif
endmodule
