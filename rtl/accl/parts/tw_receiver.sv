// SPDX-License-Identifier: Apache-2.0
// Takes packets of other ranks and of its own: parts of messages into receive buffers, and what is for a kernel to its stream. A packet for
// which there is no receive buffer waits, and those behind it.
//
// Of a message to a kernel the next part alone is taken; what comes behind one that is missing is dropped and counted, up to the next message.
//
// Order: kept of each input; they take turns. Latency: that of tw_matcher's answer and four cycles to a packet's first word, to a kernel seven. Throughput: a word a
// cycle, but for that between packets. Storage: Writes packets that the memory has not written yet, Buffers addresses, and of each other rank the next part for a
// kernel, in memories. Critical path: the choice between the inputs.
module tw_receiver
  import tw_accl_spec_pkg::*;
  import tw_accl_pkg::*;
  import tw_matcher_pkg::*;
  import tw_mover_pkg::*;
#(
    parameter int unsigned Buffers      = 16,   /// receive buffers, at least 2, at most 256
    parameter int unsigned Communicators = 8,   /// at least 2, a power of two
    parameter int unsigned Ranks        = 64,   /// of a communicator, a power of two
    parameter int unsigned Writes       = 16,   /// packets that are being written, at least 2
    parameter int unsigned Again        = 32    /// cycles until a packet that waits asks again, a power of two
) (
    input logic clk_i,
    input logic rst_i,

    input logic                           set_valid_i,
    input setting_t                       set_i,
    input logic [Communicators-1:0]       communicator_valid_i,
    input logic [Communicators-1:0][31:0] communicator_id_i,

    input  logic [1:0]               in_valid_i,  /// packets, whole
    output logic [1:0]               in_ready_o,
    input  logic [1:0][WordBits-1:0] in_data_i,
    input  logic [1:0]               in_last_i,
    input  logic [1:0][        15:0] in_bytes_i,  /// of the packet, with its first word

    output logic     ask_valid_o,     /// tw_matcher
    input  logic     ask_ready_i,
    output request_t ask_o,
    input  logic     answer_valid_i,
    input  answer_t  answer_i,
    output logic       written_valid_o,  /// as of tw_matcher
    output logic [7:0] written_buffer_o,

    output logic                 write_valid_o,  /// as of tw_result
    input  logic                 write_ready_i,
    output address_t             write_at_o,     /// of the board's memory
    output logic [PieceBits-1:0] write_bytes_o,
    output logic                 data_valid_o,
    input  logic                 data_ready_i,
    output logic [ WordBits-1:0] data_o,
    output logic                 data_last_o,
    input  logic                 written_i,

    output logic                stream_valid_o,
    input  logic                stream_ready_i,
    output logic [WordBits-1:0] stream_data_o,   /// zero behind the last byte
    output logic                stream_end_o,    /// a packet's last word
    output logic                stream_last_o,   /// a message's
    output logic [         7:0] stream_number_o,

    output logic [$bits(taken_t)-1:0][31:0] counts_o  /// of packets
);
  localparam int unsigned BufferBits = $clog2(Buffers);
  localparam int unsigned CommunicatorBits = $clog2(Communicators);
  localparam int unsigned RankBits = $clog2(Ranks);

  typedef enum logic [3:0] {
    Free,
    Head,  // its header is there
    Sort,
    Ask,  // for a buffer
    Answer,
    Judge,
    Pause,
    Expect,  // whether it is the next part for a kernel
    Write,
    Pass,  // its words
    Drop
  } state_e;
  state_e state_q;

  address_t buffers_q[Buffers];
  always_ff @(posedge clk_i)
    if (set_valid_i && set_i.kind == SetBuffer)
      buffers_q[set_i.index[BufferBits-1:0]] <= set_i.value[AddressBits-1:0];

  // Its input.
  logic from_q;
  wire pick = !in_valid_i[!from_q] ? from_q : !from_q;
  // verilator lint_off UNUSEDSIGNAL
  accl_packet_t header_q;
  // verilator lint_on UNUSEDSIGNAL
  logic [15:0] bytes_q, payload_q;
  logic bare_q;  // no words follow the header
  wire short = bytes_q < 16'(WordBytes);
  wire state_e rest = bare_q ? Free : Drop;
  wire valid = in_valid_i[from_q];
  wire last = in_last_i[from_q];
  wire [WordBits-1:0] word = in_data_i[from_q];
  logic take;
  assign in_ready_o = {from_q && take, !from_q && take};

  // What is expected of each other rank's messages to kernels.
  typedef struct packed {
    logic [31:0] number;
    logic [47:0] offset;
  } expected_t;
  expected_t expected_q[Communicators*Ranks];
  logic [Communicators*Ranks-1:0] begun_q;
  expected_t expected_row_q;
  logic known_q, has_begun_q;
  logic [CommunicatorBits-1:0] communicator_q;
  wire [CommunicatorBits+RankBits-1:0] row = {communicator_q, header_q.source[RankBits-1:0]};

  logic [Communicators-1:0] same_q;
  always_ff @(posedge clk_i) begin
    for (int unsigned k = 0; k < Communicators; k++)
    same_q[k] <= communicator_valid_i[k] && communicator_id_i[k] == header_q.communicator;
    known_q <= same_q != 0 && 32'(header_q.source) < Ranks;
    communicator_q <= '0;
    for (int unsigned k = 0; k < Communicators; k++) if (same_q[k]) communicator_q <= CommunicatorBits'(k);
    expected_row_q <= expected_q[row];
    has_begun_q <= begun_q[row];
  end

  // It begins a message, or is behind what has come of it. What is older came before.
  logic later_q, same_number_q, same_offset_q, starts_q;
  wire fits = known_q && (has_begun_q && same_number_q ? same_offset_q : starts_q && (later_q || !has_begun_q));
  logic [47:0] behind_q;
  logic whole_q;  // a message's last part

  logic [$clog2(Again)-1:0] pause_q;
  logic [1:0] steps_q;  // until it is known whether a part is the next one
  wire expects = state_q == Expect && steps_q == 0;
  // verilator lint_off UNUSEDSIGNAL
  answer_t found_q;
  // verilator lint_on UNUSEDSIGNAL
  address_t at_q;
  logic pending_ready;
  wire asks = state_q == Write && write_ready_i && pending_ready;

  taken_t count, count_q;
  always_comb begin
    ask_o = '0;
    ask_o.operation = Arrive;
    ask_o.communicator = header_q.communicator;
    ask_o.source = header_q.source;
    ask_o.collective = header_q.kind == MessageKindCollective;
    ask_o.tag = header_q.tag;
    ask_o.number = header_q.number;
    ask_o.length = header_q.length;
    ask_o.segment = header_q.segment;
    ask_o.segment_length = header_q.segment_length;
    ask_o.offset = header_q.offset;
    ask_o.bytes = 32'(payload_q);
  end
  assign ask_valid_o = state_q == Ask;
  assign write_valid_o = state_q == Write && pending_ready;
  assign write_at_o = at_q;
  assign write_bytes_o = PieceBits'(payload_q);
  assign data_o = word;
  assign data_last_o = last;
  logic [WordBytes-1:0] keep_q;
  always_ff @(posedge clk_i)
    for (int unsigned i = 0; i < WordBytes; i++) keep_q[i] <= payload_q[5:0] == 0 || 6'(i) < payload_q[5:0];
  always_comb begin
    stream_data_o = word;
    if (last) for (int unsigned i = 0; i < WordBytes; i++) if (!keep_q[i]) stream_data_o[8*i+:8] = 8'd0;
  end
  assign stream_end_o = last;
  assign stream_last_o = last && whole_q;
  assign stream_number_o = header_q.stream;
  wire to_kernel = header_q.kind == MessageKindStream;
  assign data_valid_o = state_q == Pass && !to_kernel && valid;
  assign stream_valid_o = state_q == Pass && to_kernel && valid;
  always_comb
    unique case (state_q)
      Head, Drop: take = 1'b1;
      Pass: take = to_kernel ? stream_ready_i : data_ready_i;
      default: take = 1'b0;
    endcase

  always_ff @(posedge clk_i) begin
    if (state_q == Free) from_q <= pick;
    if (state_q == Head) begin
      header_q <= accl_packet_t'(word);
      bytes_q  <= in_bytes_i[from_q];
      bare_q   <= last;
    end
    payload_q <= bytes_q - 16'(WordBytes);
    if (state_q == Answer && answer_valid_i) found_q <= answer_i;
    at_q <= buffers_q[found_q.buffer[BufferBits-1:0]] + 48'(found_q.offset);
    later_q <= header_q.number > expected_row_q.number;
    same_number_q <= header_q.number == expected_row_q.number;
    same_offset_q <= header_q.offset == 64'(expected_row_q.offset);
    starts_q <= header_q.offset == 0;
    behind_q <= header_q.offset[47:0] + 48'(payload_q);
    whole_q  <= behind_q == header_q.length[47:0];
    if (expects && fits) begin
      expected_q[row] <= whole_q ? '{header_q.number + 32'd1, '0} : '{header_q.number, behind_q};
    end
    pause_q <= state_q == Pause ? pause_q - 1'b1 : '1;
    steps_q <= state_q == Expect ? steps_q - 1'b1 : '1;

    if (rst_i) begin
      state_q <= Free;
      begun_q <= '0;
      count_q <= '0;
      counts_o <= '0;
    end else begin
      if (expects && fits) begun_q[row] <= 1'b1;
      count_q <= count;
      for (int unsigned k = 0; k < $bits(taken_t); k++) counts_o[k] <= counts_o[k] + 32'(count_q[k]);
      unique case (state_q)
        Free: if (in_valid_i != 0) state_q <= Head;
        Head: state_q <= Sort;
        Sort:
        if (short) state_q <= rest;
        else
          unique case (header_q.kind)
            MessageKindMessage, MessageKindCollective: state_q <= Ask;
            MessageKindStream: state_q <= bare_q ? Free : Expect;
            default: state_q <= rest;
          endcase
        Ask: if (ask_ready_i) state_q <= Answer;
        Answer: if (answer_valid_i) state_q <= Judge;
        Judge:
        unique case (found_q.verdict)
          Kept: state_q <= bare_q ? Free : Write;
          NoRoom: state_q <= Pause;
          default: state_q <= rest;
        endcase
        Pause: if (pause_q == 0) state_q <= Ask;
        Expect: if (expects) state_q <= fits ? Pass : Drop;
        Write: if (asks) state_q <= Pass;
        Pass, Drop: if (valid && take && last) state_q <= Free;
        default: state_q <= Free;
      endcase
    end
  end

  always_comb begin
    count = '0;
    if (state_q == Judge) begin
      count.kept = found_q.verdict == Kept;
      count.repeated = found_q.verdict == Repeated;
      count.malformed = found_q.verdict == Malformed;
      count.stray = found_q.verdict == Stray;
    end
    if (expects) begin
      count.passed = fits;
      count.stray = !known_q;
      count.repeated = known_q && !fits && has_begun_q && !later_q && (!same_number_q || 64'(expected_row_q.offset) > header_q.offset);
      count.behind = known_q && !fits && !count.repeated;
    end
    if (state_q == Sort) begin
      count.malformed = short || (header_q.kind == MessageKindStream && bare_q);
      count.stray = !short && !(header_q.kind inside {MessageKindMessage, MessageKindCollective, MessageKindStream});
    end
  end

  // Packets that are being written.
  logic pending_valid;
  tw_fifo #(
      .Width(8),
      .Depth(Writes)
  ) writes (
      .clk_i,
      .rst_i,
      .in_valid_i (asks),
      .in_ready_o (pending_ready),
      .in_data_i  (found_q.buffer),
      .out_valid_o(pending_valid),
      .out_ready_i(written_i),
      .out_data_o (written_buffer_o),
      .count_o    ()
  );
  assign written_valid_o = written_i;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) if (!rst_i) was_being_written : assert (!written_i || pending_valid);
`endif
endmodule
