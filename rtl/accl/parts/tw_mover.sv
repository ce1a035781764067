// SPDX-License-Identifier: Apache-2.0
// Executes moves piece by piece. Ready moves take turns, so a move that waits for a message or its kernel does not block the others.
// Messages are cut into segments, each of which fills a receive buffer, and segments into packets. Received messages go to memory in pieces of up to 8 KiB.
//
// Order: of a move's pieces kept. Latency: fourteen cycles from a move to its first piece, plus that of tw_matcher's answers if it receives a message.
// Throughput: a piece in that time. Storage: Slots moves in one memory, and Buffers addresses in another. Critical path: from the state through the update
// of a move to the flags of its slot.
module tw_mover
  import tw_accl_spec_pkg::*;
  import tw_accl_pkg::*;
  import tw_matcher_pkg::*;
  import tw_mover_pkg::*;
#(
    parameter int unsigned Slots   = 16,   /// active moves, a power of two, at least 2, at most 256
    parameter int unsigned Buffers = 16,   /// receive buffers, at least 2, at most 256
    parameter int unsigned Room    = 512   /// words of the FIFOs from and to kernels, at most 2048
) (
    input logic clk_i,
    input logic rst_i,

    input logic      set_valid_i,
    input setting_t  set_i,
    // verilator lint_off UNUSEDSIGNAL
    input settings_t sizes_i,
    // verilator lint_on UNUSEDSIGNAL

    input  logic     command_valid_i,
    output logic     command_ready_o,
    input  command_e command_i,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [7:0] command_slot_i,  /// of a move; BeginMove needs an idle slot
    // verilator lint_on UNUSEDSIGNAL
    input  move_t    command_data_i,

    output logic        ended_valid_o,  /// moves have ended
    input  logic        ended_ready_i,
    output logic [ 7:0] ended_slot_o,
    output end_e        ended_how_o,
    output logic [63:0] ended_length_o, /// bytes of a message of a different length

    output logic [Slots-1:0] message_waits_o,  /// per move: it waits for a message
    output logic [Slots-1:0] kernel_waits_o,   /// per move: it waits for data from its kernel, or for room
    output logic             moves_o,          /// a piece of the move in this slot begins
    output logic [      7:0] moves_slot_o,

    output logic     ask_valid_o,     /// requests to tw_matcher
    input  logic     ask_ready_i,
    output request_t ask_o,
    input  logic     answer_valid_i,
    input  answer_t  answer_i,
    input  logic     news_i,          /// a Find that found nothing may now succeed

    input logic stream_came_i,  /// a word from a kernel
    input logic stream_left_i,  /// a word to a kernel

    output logic     x_valid_o,  /// operands, as in tw_operand
    input  logic     x_ready_i,
    output operand_t x_o,
    output logic     y_valid_o,
    input  logic     y_ready_i,
    output operand_t y_o,

    output logic        plugin_valid_o,
    input  logic        plugin_ready_i,
    output plugin_job_t plugin_o,

    output logic    result_valid_o,
    input  logic    result_ready_i,
    output result_t result_o,

    input  logic  [1:0] done_valid_i,  /// as in tw_result
    output logic  [1:0] done_ready_o,
    input  done_t [1:0] done_i
);
  localparam int unsigned MemoryBytes = 8192;  // maximum of a piece, unless a packet is larger
  localparam int unsigned SlotBits = $clog2(Slots);
  localparam int unsigned RoomBits = $clog2(Room + 1);
  localparam int unsigned BufferBits = $clog2(Buffers);
  typedef logic [SlotBits-1:0] slot_t;

  // A move and its progress in bytes of its message.
  typedef struct packed {
    move_t move;
    logic [47:0] length, moved, segment;  // start of the current segment
  } row_t;

  typedef enum logic [4:0] {
    Free,
    Command,
    Load,
    Look,
    Ask,  // the matcher for the message
    Answer,
    Judge,
    Size0,  // bytes left of the message and the segment, and available ones
    Size1,  // their minimum
    Size2,
    Size3,  // in elements
    Size4,  // in bytes of each operand and the result
    Size5,  // in words
    Check,
    Issue,
    Taken,  // reports the bytes to the matcher
    Empty,  // a collective has ended, or the matcher is emptied
    Reported,
    Done,  // a piece is complete
    Over,  // finishes the message
    Forgotten,
    Report
  } state_e;
  state_e state_q;

  address_t buffers_q[Buffers];
  logic [31:0] segment_most_q;  // bytes
  logic [13:0] packet_most_q, memory_most_q;
  always_ff @(posedge clk_i) begin
    if (set_valid_i && set_i.kind == SetBuffer)
      buffers_q[set_i.index[BufferBits-1:0]] <= set_i.value[AddressBits-1:0];
    packet_most_q  <= {sizes_i.packet_words, 6'd0};
    memory_most_q  <= packet_most_q < 14'(MemoryBytes) ? 14'(MemoryBytes) : packet_most_q;
    segment_most_q <= sizes_i.buffer_words == 0 ? 32'(packet_most_q) : {10'd0, sizes_i.buffer_words, 6'd0};
  end

  // Moves.
  row_t rows_q[Slots];
  logic [Slots-1:0] busy_q;  // from begin to report
  logic [Slots-1:0] active_q;  // it has more pieces
  logic [Slots-1:0] message_q, kernel_q;  // waiting for a message; for its kernel
  logic [Slots-1:0] cancels_q, takes_q;
  logic [Slots-1:0][3:0] pieces_q;  // in flight
  slot_t slot_q;
  row_t row_q;
  command_e command_q;
  move_t new_q;
  end_e how_q;
  logic last_q;

  // Round-robin choice of the next ready slot, from flags of three cycles ago.
  logic [Slots-1:0] ready_q, behind_last_q;
  logic any_q;
  slot_t next_q, first;
  logic [1:0] stale_q;
  always_comb begin
    first = '0;
    for (int unsigned i = Slots; i > 0; i--) if (behind_last_q[i-1]) first = slot_t'(i - 1);
  end
  always_ff @(posedge clk_i) begin
    ready_q <= active_q & ~message_q & ~kernel_q;
    for (int unsigned i = 0; i < Slots; i++) behind_last_q[i] <= ready_q[slot_t'(32'(slot_q)+i+1)];
    any_q  <= |behind_last_q;
    next_q <= slot_q + first + slot_t'(1);
    stale_q <= state_q != Free ? 2'd3 : stale_q != 0 ? stale_q - 2'd1 : 2'd0;
  end

  // The piece.
  // verilator lint_off UNUSEDSIGNAL
  answer_t found_q;
  // verilator lint_on UNUSEDSIGNAL
  logic [47:0] left_q, behind_q, then_q;
  logic is_last_q, ends_segment_q;
  logic [31:0] segment_left_q, segment_bytes_q, here_q, least_here_q;
  logic [13:0] most_q, least_q, piece_q;
  logic [15:0] elements_q;
  logic [PieceBits-1:0] x_bytes_q, y_bytes_q, z_bytes_q;
  address_t found_at_q;

  // Words from kernels that are not assigned to a piece, and free entries for words to kernels.
  logic [RoomBits-1:0] have_q, room_q;

  wire move_t move = row_q.move;
  wire takes = move.x_source == FromMessage || move.y_source == FromMessage;
  wire bare = move.elements == 0;
  wire from_stream = !bare && (move.x_source == FromStream || move.y_source == FromStream);
  wire to_stream = !bare && move.target == ToStream;
  logic [RoomBits-1:0] words_in_q, words_out_q;  // of the piece, from and to a kernel
  logic sent_q;  // a piece was issued in the previous cycle
  wire starved = words_in_q > have_q || words_out_q > room_q;
  wire sent = state_q == Issue && x_ready_i && y_ready_i && plugin_ready_i && result_ready_i;
  wire releases = found_q.bytes == 32'(piece_q);
  wire done_pick = done_valid_i[1];
  wire to_command = state_q == Free && done_valid_i == 0 && command_valid_i;
  wire cancelled = cancels_q[slot_q] && pieces_q[slot_q] == 4'd1;
  wire ends = last_q || cancelled;
  wire takes_message = takes_q[slot_q];

  assign done_ready_o = state_q != Free ? 2'b00 : {done_pick, !done_pick};
  assign command_ready_o = to_command;

  // Notifications wake waiting moves, and are held for the move that is being examined.
  logic news_q, kernel_news_q;
  wire news = news_i || state_q == Forgotten;
  wire kernel_news = stream_came_i || stream_left_i;

  always_comb begin
    ask_o = '0;
    ask_o.slot = 8'(slot_q);
    ask_o.communicator = 32'(move.from_communicator);
    ask_o.source = move.from;
    ask_o.collective = move.from_collective;
    ask_o.tag = move.from_tag;
    ask_o.number = move.from_number;
    ask_o.bytes = 32'(piece_q);
    unique case (state_q)
      Taken: ask_o.operation = tw_matcher_pkg::Take;
      Over: ask_o.operation = tw_matcher_pkg::Finish;
      Empty: begin
        ask_o.operation = command_q == ClearAll ? tw_matcher_pkg::Clear : tw_matcher_pkg::End;
        ask_o.communicator = 32'(new_q.from_communicator);
        ask_o.tag = new_q.from_tag;
      end
      default: ask_o.operation = tw_matcher_pkg::Find;
    endcase
  end
  assign ask_valid_o = state_q inside {Ask, Taken, Over, Empty};

  assign x_valid_o = sent && !bare;
  assign x_o = '{
          source: move.x_source,
          host: move.x.host,
          at: move.x_source == FromMessage ? found_at_q : move.x.at,
          bytes: x_bytes_q,
          releases: move.x_source == FromMessage && releases,
          buffer: found_q.buffer
      };
  assign y_valid_o = sent && !bare && move.y_source != FromNothing;
  assign y_o = '{
          source: move.y_source,
          host: move.y.host,
          at: move.y_source == FromMessage ? found_at_q : move.y.at,
          bytes: y_bytes_q,
          releases: move.y_source == FromMessage && releases,
          buffer: found_q.buffer
      };
  assign plugin_valid_o = sent && !bare;
  assign plugin_o = '{
          combines: move.y_source != FromNothing,
          operation: move.operation,
          datatype: move.datatype,
          x: move.x.conversion,
          y: move.y.conversion,
          z: move.z.conversion,
          elements: elements_q
      };
  assign result_valid_o = sent;
  always_comb begin
    result_o = '0;
    result_o.target = move.target;
    result_o.host = move.z.host;
    result_o.at = move.z.at;
    result_o.bytes = bare ? '0 : z_bytes_q;
    result_o.last = is_last_q;
    result_o.slot = 8'(slot_q);
    result_o.to = move.to;
    result_o.header.kind = move.kind;
    result_o.header.stream = move.stream;
    result_o.header.source = move.own_rank;
    result_o.header.communicator = move.to_communicator;
    result_o.header.tag = move.to_tag;
    result_o.header.number = move.to_number;
    result_o.header.length = 64'(row_q.length);
    result_o.header.offset = 64'(row_q.moved);
    result_o.header.segment = 64'(row_q.segment);
    result_o.header.segment_length = segment_bytes_q;
  end

  assign ended_valid_o = state_q == Report;
  assign ended_slot_o = 8'(slot_q);
  assign ended_how_o = how_q;
  assign ended_length_o = found_q.length;
  assign message_waits_o = message_q;
  assign kernel_waits_o = kernel_q;
  assign moves_o = sent;
  assign moves_slot_o = 8'(slot_q);

  // The next position of a move, or its first.
  row_t on;
  always_comb begin
    on = row_q;
    on.move.x.at = move.x.at + 48'(x_bytes_q);
    on.move.y.at = move.y.at + 48'(y_bytes_q);
    on.move.z.at = move.z.at + 48'(z_bytes_q);
    on.moved = then_q;
    if (ends_segment_q) on.segment = then_q;
    if (state_q == Command) on = '{move: new_q, length: 48'(new_q.elements) << new_q.wire_size, moved: '0, segment: '0};
  end

  always_ff @(posedge clk_i) begin
    if (to_command) {command_q, new_q} <= {command_i, command_data_i};
    if (state_q == Load) row_q <= rows_q[slot_q];
    if (state_q == Answer && answer_valid_i) found_q <= answer_i;
    if (sent || state_q == Command && command_q == BeginMove) rows_q[slot_q] <= on;
    found_at_q <= buffers_q[found_q.buffer[BufferBits-1:0]] + 48'(found_q.offset);

    // Received data go to memory in larger pieces than packets.
    most_q <= takes && move.target == ToMemory ? memory_most_q : packet_most_q;
    left_q <= row_q.length - row_q.moved;
    behind_q <= row_q.length - row_q.segment;
    segment_left_q <= segment_most_q - 32'(row_q.moved - row_q.segment);
    here_q <= takes ? found_q.bytes : '1;
    least_q <= left_q < 48'(most_q) ? left_q[13:0] : most_q;
    least_here_q <= segment_left_q < here_q ? segment_left_q : here_q;
    segment_bytes_q <= behind_q < 48'(segment_most_q) ? behind_q[31:0] : segment_most_q;
    piece_q <= least_here_q < 32'(least_q) ? least_here_q[13:0] : least_q;
    then_q <= row_q.moved + 48'(piece_q);
    is_last_q <= left_q == 48'(piece_q);
    ends_segment_q <= segment_left_q == 32'(piece_q);
    elements_q <= 16'(piece_q >> move.wire_size);
    x_bytes_q <= PieceBits'(PieceBits'(elements_q) << move.x.size);
    y_bytes_q <= PieceBits'(PieceBits'(elements_q) << move.y.size);
    z_bytes_q <= PieceBits'(PieceBits'(elements_q) << move.z.size);

    words_in_q <= from_stream ? RoomBits'(words_of(move.x_source == FromStream ? x_bytes_q : y_bytes_q)) : '0;
    words_out_q <= to_stream ? RoomBits'(words_of(z_bytes_q)) : '0;
    sent_q <= sent && !rst_i;
    if (rst_i) begin
      have_q <= '0;
      room_q <= RoomBits'(Room);
    end else begin
      have_q <= have_q + RoomBits'(stream_came_i) - (sent_q ? words_in_q : '0);
      room_q <= room_q + RoomBits'(stream_left_i) - (sent_q ? words_out_q : '0);
    end
    news_q <= news || (news_q && state_q != Load);
    kernel_news_q <= kernel_news || (kernel_news_q && state_q != Load);

    if (rst_i) begin
      state_q <= Free;
      busy_q <= '0;
      active_q <= '0;
      message_q <= '0;
      kernel_q <= '0;
      cancels_q <= '0;
      pieces_q <= '0;
      slot_q <= '0;
    end else begin
      if (news) message_q <= '0;
      if (kernel_news) kernel_q <= '0;
      unique case (state_q)
        Free: begin
          how_q <= Moved;
          last_q <= done_i[done_pick].last;
          if (done_valid_i != 0) begin
            slot_q  <= done_i[done_pick].slot[SlotBits-1:0];
            state_q <= Done;
          end else if (command_valid_i) begin
            slot_q  <= command_slot_i[SlotBits-1:0];
            state_q <= Command;
          end else if (any_q && stale_q == 0) begin
            slot_q  <= next_q;
            state_q <= Load;
          end
        end
        Command: begin
          state_q <= Free;
          unique case (command_q)
            BeginMove: begin
              busy_q[slot_q] <= 1'b1;
              active_q[slot_q] <= 1'b1;
              takes_q[slot_q] <= new_q.x_source == FromMessage || new_q.y_source == FromMessage;
            end
            CancelMove:
            if (busy_q[slot_q]) begin  // otherwise it has ended
              active_q[slot_q]  <= 1'b0;
              message_q[slot_q] <= 1'b0;
              kernel_q[slot_q]  <= 1'b0;
              cancels_q[slot_q] <= 1'b1;
              how_q <= Cancelled;
              if (pieces_q[slot_q] == 0) state_q <= takes_message ? Over : Report;
            end
            default: state_q <= Empty;
          endcase
        end
        Load: state_q <= Look;
        Look: state_q <= takes ? Ask : Size0;
        Ask: if (ask_ready_i) state_q <= Answer;
        Answer: if (answer_valid_i) state_q <= Judge;
        Judge:
        if (found_q.claimed && found_q.length != 64'(row_q.length)) begin
          active_q[slot_q] <= 1'b0;
          how_q <= Differs;
          state_q <= Over;
        end else if (!found_q.found) begin
          message_q[slot_q] <= !news_q && !news;
          state_q <= Free;
        end else state_q <= Size0;
        Size0: state_q <= Size1;
        Size1: state_q <= Size2;
        Size2: state_q <= Size3;
        Size3: state_q <= Size4;
        Size4: state_q <= Size5;
        Size5: state_q <= Check;
        Check:
        if (starved) begin
          kernel_q[slot_q] <= !kernel_news_q && !kernel_news;
          state_q <= Free;
        end else state_q <= pieces_q[slot_q] == '1 ? Free : Issue;
        Issue:
        if (sent) begin
          pieces_q[slot_q] <= pieces_q[slot_q] + 4'd1;
          active_q[slot_q] <= !is_last_q;
          state_q <= takes && !bare ? Taken : Free;
        end
        Taken: if (ask_ready_i) state_q <= Free;  // its answer has no information
        Empty: if (ask_ready_i) state_q <= Reported;
        Reported: if (answer_valid_i) state_q <= Free;
        Done: begin
          pieces_q[slot_q] <= pieces_q[slot_q] - 4'd1;
          if (cancels_q[slot_q] && !last_q) how_q <= Cancelled;
          state_q <= !ends ? Free : takes_message ? Over : Report;
        end
        Over: if (ask_ready_i) state_q <= Forgotten;
        Forgotten: if (answer_valid_i) state_q <= Report;
        Report:
        if (ended_ready_i) begin
          busy_q[slot_q] <= 1'b0;
          cancels_q[slot_q] <= 1'b0;
          state_q <= Free;
        end
        default: state_q <= Free;
      endcase
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      is_free : assert (!(state_q == Command && command_q == BeginMove) || !busy_q[slot_q]);
      piece_is_on_its_way : assert (state_q != Done || pieces_q[slot_q] != 0);
      has_data : assert (!sent || bare || piece_q != 0);
      few_pieces : assert (!sent || pieces_q[slot_q] != '1);
    end
  end
`endif
endmodule
