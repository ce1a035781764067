// SPDX-License-Identifier: Apache-2.0
// ACCL's data path: executes moves between a board's memory, its kernels and other ranks. A control plane divides operations into moves; packets
// and memory words are streams.
//
// Order: that of its blocks. Latency: that of its blocks, and of the memory. Throughput: a word per cycle within a piece. Storage: that of its blocks, and
// Room words of each stream. Critical path: that of its blocks.
module tw_move_engine
  import tw_accl_pkg::*;
  import tw_matcher_pkg::*;
  import tw_mover_pkg::*;
  import tw_reduce_pkg::pairs_t;
#(
    parameter int unsigned Slots         = 16,  /// active moves, a power of two, at least 2, at most 128
    parameter int unsigned Buffers       = 16,  /// as in tw_matcher
    parameter int unsigned Communicators = 8,
    parameter int unsigned Ranks         = 64,
    parameter int unsigned MostPackets   = 64,
    parameter int unsigned Room          = 512, /// words of the FIFOs from and to kernels
    parameter bit Conversions            = 1'b1,  /// can convert between float16 and float32
    parameter pairs_t Pairs              = accl_pairs()  /// supported pairs to combine
) (
    input logic clk_i,
    input logic rst_i,

    input  logic       set_valid_i,
    input  setting_t   set_i,
    input  logic       command_valid_i,  /// as in tw_mover
    output logic       command_ready_o,
    input  command_e   command_kind_i,
    input  logic [7:0] command_slot_i,
    input  move_t      command_move_i,

    output logic             ended_valid_o,
    input  logic             ended_ready_i,
    output logic [      7:0] ended_slot_o,
    output end_e             ended_how_o,
    output logic [     63:0] ended_length_o,
    output logic [Slots-1:0] message_waits_o,
    output logic [Slots-1:0] kernel_waits_o,
    output logic             moves_o,
    output logic [      7:0] moves_slot_o,

    output logic [1:0]                request_valid_o,  /// operands, as in tw_operand
    input  logic [1:0]                request_ready_i,
    output logic [1:0]                request_host_o,
    output address_t [1:0]            request_at_o,
    output logic [1:0][PieceBits-1:0] request_bytes_o,
    input  logic [1:0]                answer_valid_i,
    output logic [1:0]                answer_ready_o,
    input  logic [1:0][ WordBits-1:0] answer_data_i,

    output logic [1:0]                write_valid_o,  /// 0: results, as in tw_result; 1: received packets
    input  logic [1:0]                write_ready_i,
    output logic [1:0]                write_host_o,
    output address_t [1:0]            write_at_o,
    output logic [1:0][PieceBits-1:0] write_bytes_o,
    output logic [1:0]                data_valid_o,
    input  logic [1:0]                data_ready_i,
    output logic [1:0][ WordBits-1:0] data_o,
    output logic [1:0]                data_last_o,
    input  logic [1:0]                written_i,

    input  logic                from_kernel_valid_i,
    output logic                from_kernel_ready_o,
    input  logic [WordBits-1:0] from_kernel_data_i,
    output logic                to_kernel_valid_o,
    input  logic                to_kernel_ready_i,
    output logic [WordBits-1:0] to_kernel_data_o,
    output logic                to_kernel_last_o,    /// of a message
    output logic [         7:0] to_kernel_number_o,

    output logic                packet_valid_o,  /// as in tw_result
    input  logic                packet_ready_i,
    output logic [WordBits-1:0] packet_data_o,
    output logic                packet_last_o,
    output logic [         7:0] packet_to_o,
    output logic [        15:0] packet_bytes_o,
    input  logic [1:0]               in_valid_i,  /// packets, as in tw_receiver
    output logic [1:0]               in_ready_o,
    input  logic [1:0][WordBits-1:0] in_data_i,
    input  logic [1:0]               in_last_i,
    input  logic [1:0][        15:0] in_bytes_i,

    output logic [$bits(taken_t)-1:0][31:0] counts_o
);
  // Settings.
  settings_t sizes_q;
  logic [Communicators-1:0] communicator_valid_q;
  logic [Communicators-1:0][31:0] communicator_id_q;
  localparam int unsigned CommunicatorBits = $clog2(Communicators);
  always_ff @(posedge clk_i) begin
    if (set_valid_i && set_i.kind == SetCommunicator)
      communicator_id_q[set_i.index[CommunicatorBits-1:0]] <= set_i.value[31:0];
    if (rst_i) begin
      sizes_q <= '{last_buffer: '0, buffer_words: '0, packet_words: 8'd64};
      communicator_valid_q <= '0;
    end else if (set_valid_i && set_i.kind == SetCommunicator) begin
      communicator_valid_q[set_i.index[CommunicatorBits-1:0]] <= set_i.value[32];
    end else if (set_valid_i && set_i.kind == SetSizes) begin
      sizes_q <= set_i.value[$bits(settings_t)-1:0];
    end
  end

  // Round-robin arbitration of mover and receiver for the matcher.
  logic [1:0] ask_valid, ask_ready;
  request_t [1:0] ask;
  logic match_ready, match_answers, match_news, owner_q;
  answer_t match_answer;
  wire asker = ask_valid[!owner_q] ? !owner_q : owner_q;
  wire asks = ask_valid != 0;
  assign ask_ready = {asks && match_ready && asker, asks && match_ready && !asker};
  always_ff @(posedge clk_i) begin
    if (rst_i) owner_q <= 1'b0;
    else if (asks && match_ready) owner_q <= asker;
  end
  logic written_valid, release_valid;
  logic [7:0] written_buffer, release_buffer;
  logic [1:0] releases;
  logic [1:0][7:0] released;
  // At most one of the two operands is a message.
  assign release_valid = releases != 0;
  assign release_buffer = releases[0] ? released[0] : released[1];

  tw_matcher #(
      .Buffers      (Buffers),
      .Slots        (Slots),
      .Communicators(Communicators),
      .Ranks        (Ranks),
      .MostPackets  (MostPackets)
  ) matcher (
      .clk_i,
      .rst_i,
      .settings_i          (sizes_q),
      .communicator_valid_i(communicator_valid_q),
      .communicator_id_i   (communicator_id_q),
      .request_valid_i     (asks),
      .request_ready_o     (match_ready),
      .request_data_i      (ask[asker]),
      .answer_valid_o      (match_answers),
      .answer_data_o       (match_answer),
      .news_o              (match_news),
      .written_valid_i     (written_valid),
      .written_buffer_i    (written_buffer),
      .release_valid_i     (release_valid),
      .release_buffer_i    (release_buffer)
  );

  // Moves.
  logic [1:0] job_valid, job_ready, word_valid, word_ready, word_last, takes_stream;
  operand_t [1:0] job;
  logic [1:0][WordBits-1:0] word;
  logic plugin_valid, plugin_ready, result_valid, result_ready;
  plugin_job_t plugin;
  result_t result;
  logic [1:0] done_valid, done_ready;
  done_t [1:0] done;
  logic held_valid, held_ready;
  logic [WordBits-1:0] held;
  logic out_valid, out_ready, out_last;
  logic [WordBits-1:0] out;
  logic kernel_valid, kernel_ready, kernel_last, queued_valid, queued_ready, queued_last;
  logic [WordBits-1:0] kernel_data, queued_data;
  logic [7:0] kernel_number, queued_number;

  tw_mover #(
      .Slots  (Slots),
      .Buffers(Buffers),
      .Room   (Room)
  ) mover (
      .clk_i,
      .rst_i,
      .set_valid_i,
      .set_i,
      .sizes_i        (sizes_q),
      .command_valid_i,
      .command_ready_o,
      .command_i      (command_kind_i),
      .command_slot_i,
      .command_data_i (command_move_i),
      .ended_valid_o,
      .ended_ready_i,
      .ended_slot_o,
      .ended_how_o,
      .ended_length_o,
      .message_waits_o,
      .kernel_waits_o,
      .moves_o,
      .moves_slot_o,
      .ask_valid_o    (ask_valid[0]),
      .ask_ready_i    (ask_ready[0]),
      .ask_o          (ask[0]),
      .answer_valid_i (match_answers && !owner_q),
      .answer_i       (match_answer),
      .news_i         (match_news),
      .stream_came_i  (from_kernel_valid_i && from_kernel_ready_o),
      .stream_left_i  (queued_valid && queued_ready),
      .x_valid_o      (job_valid[0]),
      .x_ready_i      (job_ready[0]),
      .x_o            (job[0]),
      .y_valid_o      (job_valid[1]),
      .y_ready_i      (job_ready[1]),
      .y_o            (job[1]),
      .plugin_valid_o (plugin_valid),
      .plugin_ready_i (plugin_ready),
      .plugin_o       (plugin),
      .result_valid_o (result_valid),
      .result_ready_i (result_ready),
      .result_o       (result),
      .done_valid_i   (done_valid),
      .done_ready_o   (done_ready),
      .done_i         (done)
  );

  tw_ram_fifo #(
      .Width(WordBits),
      .Depth(Room)
  ) from_kernel (
      .clk_i,
      .rst_i,
      .in_valid_i (from_kernel_valid_i),
      .in_ready_o (from_kernel_ready_o),
      .in_data_i  (from_kernel_data_i),
      .out_valid_o(held_valid),
      .out_ready_i(held_ready),
      .out_data_o (held),
      .count_o    ()
  );
  assign held_ready = takes_stream != 0;
  for (genvar k = 0; k < 2; k++) begin : operands
    tw_operand operand (
        .clk_i,
        .rst_i,
        .job_valid_i    (job_valid[k]),
        .job_ready_o    (job_ready[k]),
        .job_i          (job[k]),
        .request_valid_o(request_valid_o[k]),
        .request_ready_i(request_ready_i[k]),
        .request_host_o (request_host_o[k]),
        .request_at_o   (request_at_o[k]),
        .request_bytes_o(request_bytes_o[k]),
        .answer_valid_i (answer_valid_i[k]),
        .answer_ready_o (answer_ready_o[k]),
        .answer_data_i  (answer_data_i[k]),
        .stream_valid_i (held_valid),
        .stream_ready_o (takes_stream[k]),
        .stream_data_i  (held),
        .out_valid_o    (word_valid[k]),
        .out_ready_i    (word_ready[k]),
        .out_data_o     (word[k]),
        .out_last_o     (word_last[k]),
        .release_o      (releases[k]),
        .buffer_o       (released[k])
    );
  end

  tw_plugins #(
      .Conversions(Conversions),
      .Pairs      (Pairs)
  ) plugins (
      .clk_i,
      .rst_i,
      .job_valid_i(plugin_valid),
      .job_ready_o(plugin_ready),
      .job_i      (plugin),
      .x_valid_i  (word_valid[0]),
      .x_ready_o  (word_ready[0]),
      .x_data_i   (word[0]),
      .x_last_i   (word_last[0]),
      .y_valid_i  (word_valid[1]),
      .y_ready_o  (word_ready[1]),
      .y_data_i   (word[1]),
      .y_last_i   (word_last[1]),
      .out_valid_o(out_valid),
      .out_ready_i(out_ready),
      .out_data_o (out),
      .out_last_o (out_last)
  );

  // One entry for each piece between the operands and the result.
  logic next_valid, next_ready;
  result_t next;
  tw_fifo #(
      .Width($bits(result_t)),
      .Depth(16)
  ) results (
      .clk_i,
      .rst_i,
      .in_valid_i (result_valid),
      .in_ready_o (result_ready),
      .in_data_i  (result),
      .out_valid_o(next_valid),
      .out_ready_i(next_ready),
      .out_data_o (next),
      .count_o    ()
  );
  tw_result result_unit (
      .clk_i,
      .rst_i,
      .job_valid_i    (next_valid),
      .job_ready_o    (next_ready),
      .job_i          (next),
      .in_valid_i     (out_valid),
      .in_ready_o     (out_ready),
      .in_data_i      (out),
      .in_last_i      (out_last),
      .write_valid_o  (write_valid_o[0]),
      .write_ready_i  (write_ready_i[0]),
      .write_host_o   (write_host_o[0]),
      .write_at_o     (write_at_o[0]),
      .write_bytes_o  (write_bytes_o[0]),
      .data_valid_o   (data_valid_o[0]),
      .data_ready_i   (data_ready_i[0]),
      .data_o         (data_o[0]),
      .data_last_o    (data_last_o[0]),
      .written_i      (written_i[0]),
      .stream_valid_o (kernel_valid),
      .stream_ready_i (kernel_ready),
      .stream_data_o  (kernel_data),
      .stream_last_o  (kernel_last),
      .stream_number_o(kernel_number),
      .packet_valid_o,
      .packet_ready_i,
      .packet_data_o,
      .packet_last_o,
      .packet_to_o,
      .packet_bytes_o,
      .done_valid_o   (done_valid),
      .done_ready_i   (done_ready),
      .done_o         (done)
  );

  // To the kernel: queued words of local moves, and packets of other ranks, which are not interleaved.
  tw_ram_fifo #(
      .Width(WordBits + 9),
      .Depth(Room)
  ) to_kernel (
      .clk_i,
      .rst_i,
      .in_valid_i (kernel_valid),
      .in_ready_o (kernel_ready),
      .in_data_i  ({kernel_number, kernel_last, kernel_data}),
      .out_valid_o(queued_valid),
      .out_ready_i(queued_ready),
      .out_data_o ({queued_number, queued_last, queued_data}),
      .count_o    ()
  );
  logic put_valid, put_ready, put_end, put_last, inside_q;
  logic [WordBits-1:0] put_data;
  logic [7:0] put_number;
  wire puts = inside_q || (put_valid && !queued_valid);
  assign to_kernel_valid_o = puts ? put_valid : queued_valid;
  assign to_kernel_data_o = puts ? put_data : queued_data;
  assign to_kernel_last_o = puts ? put_last : queued_last;
  assign to_kernel_number_o = puts ? put_number : queued_number;
  assign put_ready = puts && to_kernel_ready_i;
  assign queued_ready = !puts && to_kernel_ready_i;
  always_ff @(posedge clk_i) begin
    if (rst_i) inside_q <= 1'b0;
    else if (puts && put_valid) inside_q <= !(to_kernel_ready_i && put_end);
  end

  tw_receiver #(
      .Buffers      (Buffers),
      .Communicators(Communicators),
      .Ranks        (Ranks)
  ) receiver (
      .clk_i,
      .rst_i,
      .set_valid_i,
      .set_i,
      .communicator_valid_i(communicator_valid_q),
      .communicator_id_i   (communicator_id_q),
      .in_valid_i,
      .in_ready_o,
      .in_data_i,
      .in_last_i,
      .in_bytes_i,
      .ask_valid_o         (ask_valid[1]),
      .ask_ready_i         (ask_ready[1]),
      .ask_o               (ask[1]),
      .answer_valid_i      (match_answers && owner_q),
      .answer_i            (match_answer),
      .written_valid_o     (written_valid),
      .written_buffer_o    (written_buffer),
      .write_valid_o       (write_valid_o[1]),
      .write_ready_i       (write_ready_i[1]),
      .write_at_o          (write_at_o[1]),
      .write_bytes_o       (write_bytes_o[1]),
      .data_valid_o        (data_valid_o[1]),
      .data_ready_i        (data_ready_i[1]),
      .data_o              (data_o[1]),
      .data_last_o         (data_last_o[1]),
      .written_i           (written_i[1]),
      .stream_valid_o      (put_valid),
      .stream_ready_i      (put_ready),
      .stream_data_o       (put_data),
      .stream_end_o        (put_end),
      .stream_last_o       (put_last),
      .stream_number_o     (put_number),
      .counts_o
  );
  assign write_host_o[1] = 1'b0;
endmodule
