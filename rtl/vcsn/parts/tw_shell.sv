// SPDX-License-Identifier: Apache-2.0
// The blocks of a node in the shell's clock domain: DMA engines, and the crossbar between them and streams, first those of external virtual ports, then of user
// logic. Host commands set the crossbar, and give segments to engines; those for external ports and sequencers are passed on.
//
// Order: of commands and of each stream, kept. Latency: a command takes effect two cycles after its arrival; that of tw_crossbar and the engines. Throughput: a command per
// cycle while set_ready_i is set; a word per cycle for each stream. Storage: that of the engines and the crossbar. Critical path: that of tw_crossbar, after that of the engines'
// outputs.
module tw_shell
  import tw_vcsn_pkg::*;
#(
    parameter  int unsigned Dmas      = 2,               /// pairs of a read and a write engine, at least 1
    parameter  int unsigned Streams   = 4,               /// in each direction, at least 1
    localparam int unsigned Entries    = Dmas + Streams,
    localparam int unsigned EntryBits = $clog2(Entries),
    localparam int unsigned BurstBits = 5
) (
    input logic clk_i,
    input logic rst_i,

    input  logic     command_valid_i,
    output logic     command_ready_o,
    input  command_t command_data_i,
    output logic     set_valid_o,      /// a command for an external port or a sequencer
    output command_t set_data_o,
    input  logic     set_ready_i,      /// there is room for two more

    input  logic [Streams-1:0]               in_valid_i,
    output logic [Streams-1:0]               in_ready_o,
    input  logic [Streams-1:0][WordBits-1:0] in_data_i,
    input  logic [Streams-1:0]               in_first_i,
    input  logic [Streams-1:0]               in_last_i,
    input  logic [Streams-1:0][         7:0] in_channel_i,
    output logic [Streams-1:0]               out_valid_o,
    input  logic [Streams-1:0]               out_ready_i,
    output logic [Streams-1:0][WordBits-1:0] out_data_o,
    output logic [Streams-1:0]               out_first_o,
    output logic [Streams-1:0]               out_last_o,
    output logic [Streams-1:0][         7:0] out_channel_o,

    output logic [Dmas-1:0]                  request_valid_o,
    output logic [Dmas-1:0][MemoryBits-1:0] request_address_o,
    output logic [Dmas-1:0][  BurstBits-1:0] request_words_o,
    input  logic [Dmas-1:0]                  answer_valid_i,
    input  logic [Dmas-1:0][   WordBits-1:0] answer_data_i,
    input  logic [Dmas-1:0]                  write_ready_i,
    output logic [Dmas-1:0]                  burst_valid_o,
    output logic [Dmas-1:0][MemoryBits-1:0] burst_address_o,
    output logic [Dmas-1:0][  BurstBits-1:0] burst_words_o,
    output logic [Dmas-1:0]                  word_valid_o,
    output logic [Dmas-1:0][   WordBits-1:0] word_data_o,
    output logic [Dmas-1:0][  WordBytes-1:0] word_keep_o,
    input  logic [Dmas-1:0]                  written_i,

    output logic            refused_o,     /// the setting of the crossbar, as in tw_crossbar
    output logic [Dmas-1:0] read_ended_o,
    output logic [Dmas-1:0] write_ended_o,
    output logic [Dmas-1:0] overrun_o,
    output logic [Dmas-1:0] headless_o,
    output logic [Dmas-1:0] broken_o
);
  logic command_valid_q, ready_q;
  command_t command_q;

  assign command_ready_o = ready_q;
  assign set_data_o = command_q;
  assign set_valid_o = command_valid_q && !is_of_shell(command_q.kind);

  always_ff @(posedge clk_i) begin
    command_q <= command_data_i;
    command_valid_q <= !rst_i && command_valid_i && ready_q;
    ready_q <= !rst_i && set_ready_i;
  end

  crossing_t crossing;
  segment_t  segment;
  assign crossing = crossing_t'(command_q.body[$bits(crossing_t)-1:0]);
  assign segment  = segment_t'(command_q.body[$bits(segment_t)-1:0]);

  // Engines come first at the crossbar.
  logic [Entries-1:0] from_valid, from_ready, from_first, from_last, to_valid, to_ready, to_first, to_last;
  logic [Entries-1:0][WordBits-1:0] from_data, to_data;
  logic [Entries-1:0][7:0] from_channel;
  // verilator lint_off UNUSEDSIGNAL
  logic [Entries-1:0][7:0] to_channel;  // unused by write engines
  // verilator lint_on UNUSEDSIGNAL

  assign from_valid[Entries-1:Dmas] = in_valid_i;
  assign in_ready_o = from_ready[Entries-1:Dmas];
  assign from_data[Entries-1:Dmas] = in_data_i;
  assign from_first[Entries-1:Dmas] = in_first_i;
  assign from_last[Entries-1:Dmas] = in_last_i;
  assign from_channel[Entries-1:Dmas] = in_channel_i;
  assign out_valid_o = to_valid[Entries-1:Dmas];
  assign to_ready[Entries-1:Dmas] = out_ready_i;
  assign out_data_o = to_data[Entries-1:Dmas];
  assign out_first_o = to_first[Entries-1:Dmas];
  assign out_last_o = to_last[Entries-1:Dmas];
  assign out_channel_o = to_channel[Entries-1:Dmas];

  tw_crossbar #(
      .Inputs (Entries),
      .Outputs(Entries)
  ) crossbar (
      .clk_i,
      .rst_i,
      .set_valid_i  (command_valid_q && command_q.kind == SetCrossbar),
      .set_output_i (EntryBits'(command_q.place)),
      .set_open_i   (crossing.open),
      .set_input_i  (EntryBits'(crossing.in)),
      .refused_o,
      .in_valid_i   (from_valid),
      .in_ready_o   (from_ready),
      .in_data_i    (from_data),
      .in_first_i   (from_first),
      .in_last_i    (from_last),
      .in_channel_i (from_channel),
      .out_valid_o  (to_valid),
      .out_ready_i  (to_ready),
      .out_data_o   (to_data),
      .out_first_o  (to_first),
      .out_last_o   (to_last),
      .out_channel_o(to_channel)
  );

  for (genvar i = 0; i < Dmas; i++) begin : dma
    wire mine = command_valid_q && command_q.place == 8'(i);

    tw_read_dma #(
        .AddressBits(MemoryBits),
        .LengthBits (SegmentBits)
    ) read (
        .clk_i,
        .rst_i,
        .segment_valid_i  (mine && command_q.kind == Read),
        .segment_address_i(segment.address),
        .segment_words_i  (segment.words),
        .segment_tail_i   (segment.tail),
        .segment_last_i   (segment.last),
        .segment_channel_i(segment.channel),
        .request_valid_o  (request_valid_o[i]),
        .request_address_o(request_address_o[i]),
        .request_words_o  (request_words_o[i]),
        .answer_valid_i   (answer_valid_i[i]),
        .answer_data_i    (answer_data_i[i]),
        .out_valid_o      (from_valid[i]),
        .out_ready_i      (from_ready[i]),
        .out_data_o       (from_data[i]),
        .out_first_o      (from_first[i]),
        .out_last_o       (from_last[i]),
        .out_channel_o    (from_channel[i]),
        .ended_o          (read_ended_o[i])
    );

    tw_write_dma #(
        .AddressBits(MemoryBits),
        .LengthBits (SegmentBits)
    ) write (
        .clk_i,
        .rst_i,
        .segment_valid_i  (mine && command_q.kind == Write),
        .segment_address_i(segment.address),
        .segment_words_i  (segment.words),
        .segment_tail_i   (segment.tail),
        .segment_last_i   (segment.last),
        .in_valid_i       (to_valid[i]),
        .in_ready_o       (to_ready[i]),
        .in_data_i        (to_data[i]),
        .in_first_i       (to_first[i]),
        .in_last_i        (to_last[i]),
        .ready_i          (write_ready_i[i]),
        .burst_valid_o    (burst_valid_o[i]),
        .burst_address_o  (burst_address_o[i]),
        .burst_words_o    (burst_words_o[i]),
        .word_valid_o     (word_valid_o[i]),
        .word_data_o      (word_data_o[i]),
        .word_keep_o      (word_keep_o[i]),
        .written_i        (written_i[i]),
        .ended_o          (write_ended_o[i]),
        .overrun_o        (overrun_o[i]),
        .headless_o       (headless_o[i]),
        .broken_o         (broken_o[i])
    );
  end
endmodule
