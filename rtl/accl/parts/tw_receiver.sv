// SPDX-License-Identifier: Apache-2.0
// Receives packets from other ranks and from this one: parts of messages go into receive buffers, data for a kernel to its stream. A packet without a
// free receive buffer waits, and blocks those behind it. Headers are processed while the words of earlier packets pass.
//
// Of a message to a kernel only the next part is accepted; parts after a missing one are dropped and counted, up to the next message.
//
// Order: kept for each input; inputs are served round-robin. Latency: that of tw_matcher's answer and ten cycles to a packet's first word; thirteen to a kernel. Throughput: a packet
// in its words after the header plus two cycles, but at least tw_matcher's time plus two cycles; to a kernel, at least six cycles. Storage: Headers headers, Words words,
// Writes packets whose writes are outstanding, Buffers addresses, and for each other rank the next part for a kernel, in memories. Critical path: the
// arbitration of the inputs.
module tw_receiver
  import tw_accl_spec_pkg::*;
  import tw_accl_pkg::*;
  import tw_matcher_pkg::*;
  import tw_mover_pkg::*;
#(
    parameter int unsigned Buffers      = 16,   /// receive buffers, at least 2, at most 256
    parameter int unsigned Communicators = 8,   /// at least 2, a power of two
    parameter int unsigned Ranks        = 64,   /// of a communicator, a power of two
    parameter int unsigned Writes       = 16,   /// outstanding writes of packets, at least 2
    parameter int unsigned Headers      = 4,    /// queued headers of packets, at least 2
    parameter int unsigned Words        = 64,   /// queued words of packets, at least 2
    parameter int unsigned Again        = 32    /// cycles until a packet without a buffer retries, a power of two
) (
    input logic clk_i,
    input logic rst_i,

    input logic                           set_valid_i,
    input setting_t                       set_i,
    input logic [Communicators-1:0]       communicator_valid_i,
    input logic [Communicators-1:0][31:0] communicator_id_i,

    input  logic [1:0]               in_valid_i,  /// whole packets
    output logic [1:0]               in_ready_o,
    input  logic [1:0][WordBits-1:0] in_data_i,
    input  logic [1:0]               in_last_i,
    input  logic [1:0][        15:0] in_bytes_i,  /// of the packet, valid with its first word

    output logic     ask_valid_o,     /// requests to tw_matcher
    input  logic     ask_ready_i,
    output request_t ask_o,
    input  logic     answer_valid_i,
    input  answer_t  answer_i,
    output logic       written_valid_o,  /// as in tw_matcher
    output logic [7:0] written_buffer_o,

    output logic                 write_valid_o,  /// as in tw_result
    input  logic                 write_ready_i,
    output address_t             write_at_o,     /// in board memory
    output logic [PieceBits-1:0] write_bytes_o,
    output logic                 data_valid_o,
    input  logic                 data_ready_i,
    output logic [ WordBits-1:0] data_o,
    output logic                 data_last_o,
    input  logic                 written_i,

    output logic                stream_valid_o,
    input  logic                stream_ready_i,
    output logic [WordBits-1:0] stream_data_o,   /// zero after the last byte
    output logic                stream_end_o,    /// a packet's last word
    output logic                stream_last_o,   /// a message's last word
    output logic [         7:0] stream_number_o,

    output logic [$bits(taken_t)-1:0][31:0] counts_o  /// of packets
);
  localparam int unsigned BufferBits = $clog2(Buffers);
  localparam int unsigned CommunicatorBits = $clog2(Communicators);
  localparam int unsigned RankBits = $clog2(Ranks);

  typedef enum logic [2:0] {
    Free,  // idle
    Ask,  // requests a buffer
    Answer,
    Pause,
    Expect  // checks whether it is the next part for a kernel
  } state_e;
  state_e state_q;

  address_t buffers_q[Buffers];
  always_ff @(posedge clk_i)
    if (set_valid_i && set_i.kind == SetBuffer)
      buffers_q[set_i.index[BufferBits-1:0]] <= set_i.value[AddressBits-1:0];

  // Inputs: headers and words go into separate FIFOs.
  typedef struct packed {
    logic bare;  // no words follow the header
    logic cut;  // within its header
    logic for_buffer, for_kernel;
    logic [15:0] bytes;  // of the packet
    accl_packet_t header;
  } head_t;
  logic from_q, inside_q, body_q;  // in a packet, after its header
  wire pick = !in_valid_i[!from_q] ? from_q : !from_q;
  wire comes = inside_q && in_valid_i[from_q];
  wire comes_last = in_last_i[from_q];
  logic head_ready, words_ready, head_valid, looked;
  wire take = inside_q && (body_q ? words_ready : head_ready);
  head_t head_in, head;
  always_comb begin
    head_in.bare = comes_last;
    head_in.bytes = in_bytes_i[from_q];
    head_in.header = accl_packet_t'(in_data_i[from_q]);
    head_in.cut = head_in.bytes[15:6] == 0;
    head_in.for_buffer = head_in.header.kind inside {MessageKindMessage, MessageKindCollective};
    head_in.for_kernel = head_in.header.kind == MessageKindStream;
  end
  assign in_ready_o = {from_q && take, !from_q && take};
  always_ff @(posedge clk_i) begin
    if (!inside_q) from_q <= pick;
    if (rst_i) {inside_q, body_q} <= '0;
    else if (!inside_q) inside_q <= in_valid_i != 0;
    else if (comes && take) {inside_q, body_q} <= {!comes_last, !comes_last};
  end
  tw_ram_fifo #(
      .Width($bits(head_t)),
      .Depth(Headers)
  ) headers (
      .clk_i,
      .rst_i,
      .in_valid_i (comes && !body_q),
      .in_ready_o (head_ready),
      .in_data_i  (head_in),
      .out_valid_o(head_valid),
      .out_ready_i(looked),
      .out_data_o (head),
      .count_o    ()
  );
  logic word_valid, last, pass;
  logic [WordBits-1:0] word;
  tw_ram_fifo #(
      .Width(WordBits + 1),
      .Depth(Words)
  ) words (
      .clk_i,
      .rst_i,
      .in_valid_i (comes && body_q),
      .in_ready_o (words_ready),
      .in_data_i  ({comes_last, in_data_i[from_q]}),
      .out_valid_o(word_valid),
      .out_ready_i(pass),
      .out_data_o ({last, word}),
      .count_o    ()
  );

  // The packet whose header is being processed.
  // verilator lint_off UNUSEDSIGNAL
  accl_packet_t header_q;
  // verilator lint_on UNUSEDSIGNAL
  logic [15:0] payload_q;
  logic bare_q, leave_q, way_ready;
  wire begins = state_q == Free && head_valid && !leave_q;
  wire refused = head.cut || !(head.for_buffer || head.for_kernel);
  assign looked = begins;

  // The next expected part of each rank's messages to kernels.
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

  // The part begins a message, or follows the last part of it. Older parts are duplicates.
  logic later_q, same_number_q, same_offset_q, starts_q;
  wire fits = known_q && (has_begun_q && same_number_q ? same_offset_q : starts_q && (later_q || !has_begun_q));
  logic [47:0] behind_q;
  logic whole_q;  // the message's last part

  logic [$clog2(Again)-1:0] pause_q;
  logic [2:0] steps_q;  // until the comparison is complete
  wire expects = state_q == Expect && steps_q == 0;

  // The decision; the packet's words may leave one cycle later.
  // verilator lint_off UNUSEDSIGNAL
  answer_t found_q;
  // verilator lint_on UNUSEDSIGNAL
  logic refused_q, fits_q;
  logic decided_q;
  wire stuck = leave_q && !way_ready;  // the FIFO of decisions is full
  wire drops = refused_q || (header_q.kind == MessageKindStream ? !fits_q : found_q.verdict != Kept);
  wire answered = state_q == Answer && answer_valid_i;

  // Destination of a packet's words.
  typedef struct packed {
    logic drops, writes;  // otherwise for a kernel
    address_t at;
    logic [PieceBits-1:0] bytes;
    logic [7:0] buffer, stream;
    logic whole;
  } way_t;
  way_t leaves_q, way;
  logic way_valid, goes, pending_ready;
  logic passes_q, drops_now_q, writes_now_q, whole_now_q;
  logic [7:0] stream_now_q;
  tw_ram_fifo #(
      .Width($bits(way_t)),
      .Depth(Headers)
  ) ways (
      .clk_i,
      .rst_i,
      .in_valid_i (leave_q),
      .in_ready_o (way_ready),
      .in_data_i  (leaves_q),
      .out_valid_o(way_valid),
      .out_ready_i(goes),
      .out_data_o (way),
      .count_o    ()
  );
  logic room_q;  // for another outstanding write; writes never start in consecutive cycles
  assign goes = way_valid && !passes_q && (!way.writes || (write_ready_i && room_q));

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
  assign ask_valid_o = state_q == Ask && !stuck;
  assign write_valid_o = way_valid && !passes_q && way.writes && room_q;
  assign write_at_o = way.at;
  assign write_bytes_o = way.bytes;
  assign data_o = word;
  assign data_last_o = last;
  logic [WordBytes-1:0] keep_q;
  always_comb begin
    stream_data_o = word;
    if (last) for (int unsigned i = 0; i < WordBytes; i++) if (!keep_q[i]) stream_data_o[8*i+:8] = 8'd0;
  end
  assign stream_end_o = last;
  assign stream_last_o = last && whole_now_q;
  assign stream_number_o = stream_now_q;
  assign data_valid_o = passes_q && writes_now_q && word_valid;
  assign stream_valid_o = passes_q && !drops_now_q && !writes_now_q && word_valid;
  assign pass = passes_q && (drops_now_q || (writes_now_q ? data_ready_i : stream_ready_i));

  always_ff @(posedge clk_i) begin
    if (!passes_q) begin
      {drops_now_q, writes_now_q, whole_now_q, stream_now_q} <= {way.drops, way.writes, way.whole, way.stream};
      for (int unsigned i = 0; i < WordBytes; i++) keep_q[i] <= way.bytes[5:0] == 0 || 6'(i) < way.bytes[5:0];
    end
    room_q <= pending_ready;
    if (rst_i) passes_q <= 1'b0;
    else passes_q <= goes || (passes_q && !(pass && word_valid && last));
  end

  always_ff @(posedge clk_i) begin
    if (begins) begin
      header_q <= head.header;
      bare_q <= head.bare;
      payload_q <= head.bytes - 16'(WordBytes);
      refused_q <= refused;
    end
    if (answered) found_q <= answer_i;
    if (!stuck) begin
      leaves_q <= '{
          drops: drops,
          writes: !drops && header_q.kind != MessageKindStream,
          at: buffers_q[found_q.buffer[BufferBits-1:0]] + 48'(found_q.offset),
          bytes: PieceBits'(payload_q),
          buffer: found_q.buffer,
          stream: header_q.stream,
          whole: whole_q
      };
    end
    if (expects) fits_q <= fits;
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
    steps_q <= state_q == Expect ? steps_q - 1'b1 : 3'd4;

    if (rst_i) begin
      state_q <= Free;
      decided_q <= 1'b0;
      leave_q <= 1'b0;
      begun_q <= '0;
      count_q <= '0;
      counts_o <= '0;
    end else begin
      if (expects && fits) begun_q[row] <= 1'b1;
      count_q <= count;
      for (int unsigned k = 0; k < $bits(taken_t); k++) counts_o[k] <= counts_o[k] + 32'(count_q[k]);
      unique case (state_q)
        Free:
        if (begins && !refused) begin
          if (head.for_buffer) state_q <= Ask;
          else if (!head.bare) state_q <= Expect;
        end
        Ask: if (ask_ready_i) state_q <= Answer;
        Answer: if (answer_valid_i) state_q <= answer_i.verdict == NoRoom ? Pause : Free;
        Pause: if (pause_q == 0) state_q <= Ask;
        default: if (expects) state_q <= Free;
      endcase
      decided_q <= (begins && refused && !head.bare) || (answered && answer_i.verdict != NoRoom && !bare_q) || expects || (decided_q && stuck);
      leave_q <= decided_q || stuck;
    end
  end

  always_comb begin
    count = '0;
    if (answered) begin
      count.kept = answer_i.verdict == Kept;
      count.repeated = answer_i.verdict == Repeated;
      count.malformed = answer_i.verdict == Malformed;
      count.stray = answer_i.verdict == Stray;
    end
    if (expects) begin
      count.passed = fits;
      count.stray = !known_q;
      count.repeated = known_q && !fits && has_begun_q && !later_q && (!same_number_q || 64'(expected_row_q.offset) > header_q.offset);
      count.behind = known_q && !fits && !count.repeated;
    end
    if (begins) begin
      count.malformed = head.cut || (head.for_kernel && head.bare);
      count.stray = refused && !head.cut;
    end
  end

  // Outstanding writes of packets.
  logic pending_valid;
  tw_fifo #(
      .Width(8),
      .Depth(Writes)
  ) being_written (
      .clk_i,
      .rst_i,
      .in_valid_i (goes && way.writes),
      .in_ready_o (pending_ready),
      .in_data_i  (way.buffer),
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
