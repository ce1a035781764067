// SPDX-License-Identifier: Apache-2.0
// The matcher of receive buffers: a table of the message segments in buffers, and of the messages that moves have claimed. It decides
// where a packet's payload goes, and finds the data that a move waits for.
//
// Packets of a segment start at multiples of packet_words and arrive in any order. A segment is full when all have arrived and are written. Messages of a
// rank of a communicator are counted. Find claims the first unclaimed message whose tag matches, if all messages before it have arrived; for a
// collective, it claims the message with the given number. The segments of a claimed message are found one after another, from Take to Take. Finish
// frees the buffers of its message. Packets of the message that arrive later are Repeated; those of a collective are kept until the End, and Repeated from then on.
// A slot whose Find has claimed nothing waits. A packet that `reserves` gets the last free buffer only if a slot waits for it or has its message.
//
// A message whose number is Window or more ahead of the first unfinished one gets NoRoom. End must be within Window of the first
// collective of its communicator that has not ended. A free buffer is allocated only when all data kept in it are written.
//
// Before the scan, an operation compares a predicted row, which matches while packets arrive in order. An Arrive checks the segment in which the last packet of
// its source was kept, and is complete if the packet continues it. A Find of a slot that has claimed a message checks the segment that the slot has partly
// taken, or else the one that followed it in its message.
//
// Order: kept. Latency: with Rows = max(Buffers, Slots), from a request to its answer, Arrive Rows + 13 cycles, 8 if it continues a segment;
// Find Rows + 15, 12 if the predicted row matches; Finish and End Rows + 19; Take 11; Clear Communicators * (Ranks + 1) + 2. Throughput: one
// outstanding request; the next one is accepted in the cycle of the answer, and after a reset when the table is cleared. Storage: memories of Buffers and of Slots
// keys, of Buffers bitmaps of MostPackets bits, four packet counts and a buffer, of Slots sizes and buffers, of Ranks buffers, and of 32 + 3 * Window bits for each
// communicator and each of its ranks; all memories but the counts of writes have registered outputs. The answer is a register. Critical path: from the step through the
// window of messages to the state.
module tw_matcher
  import tw_matcher_pkg::*;
#(
    parameter int unsigned Buffers       = 16,  /// 2 to 128
    parameter int unsigned Slots         = 16,  /// operands of receiving moves, 2 to 128
    parameter int unsigned Communicators = 8,   /// a power of two, 2 to 16
    parameter int unsigned Ranks         = 64,  /// of a communicator, a power of two, at least 2
    parameter int unsigned MostPackets   = 64,  /// of a segment, a power of two, 2 to 256
    parameter int unsigned Window        = 32   /// messages in the window, a power of two, at least 2, at most 2 * Rows + 6
) (
    input logic clk_i,
    input logic rst_i,

    input settings_t                            settings_i,           /// like the communicators, constant unless the table is empty
    input logic      [Communicators-1:0]        communicator_valid_i,
    input logic      [Communicators-1:0] [31:0] communicator_id_i,

    input  logic     request_valid_i,
    output logic     request_ready_o,
    input  request_t request_data_i,
    output logic     answer_valid_o,   /// for one cycle; in order, one for each request
    output answer_t  answer_data_o,
    output logic     news_o,           /// a segment is full, or a message's first packet has arrived; a Find that found nothing may now succeed

    // verilator lint_off UNUSEDSIGNAL
    input logic       written_valid_i,   /// a kept packet's payload has been written to memory; not for a message without data
    input logic [7:0] written_buffer_i,
    input logic       release_valid_i,   /// a completely taken buffer has been read; before its move's Finish; not for a message without data
    input logic [7:0] release_buffer_i
    // verilator lint_on UNUSEDSIGNAL
);
  localparam int unsigned Rows = Buffers > Slots ? Buffers : Slots;
  localparam int unsigned RowBits = $clog2(Rows);
  localparam int unsigned BufferBits = $clog2(Buffers);
  localparam int unsigned SlotBits = $clog2(Slots);
  localparam int unsigned CommunicatorBits = $clog2(Communicators);
  localparam int unsigned RankBits = $clog2(Ranks);
  localparam int unsigned PacketBits = $clog2(MostPackets);
  localparam int unsigned WindowBits = $clog2(Window);
  localparam int unsigned States = Communicators * (Ranks + 1);
  localparam int unsigned StateBits = $clog2(States);
  localparam int unsigned SizeBits = 22;  // of a buffer's bytes

  if (Buffers < 2 || Buffers > 128 || Slots < 2 || Slots > 128) begin : check_rows
    $error("tw_matcher: Buffers and Slots must be 2 to 128");
  end
  if (Communicators < 2 || Communicators > 16 || (Communicators & (Communicators - 1)) != 0) begin : check_communicators
    $error("tw_matcher: Communicators must be a power of two, 2 to 16");
  end
  if (Ranks < 2 || (Ranks & (Ranks - 1)) != 0) begin : check_ranks
    $error("tw_matcher: Ranks must be a power of two, at least 2");
  end
  if (MostPackets < 2 || MostPackets > 256 || (MostPackets & (MostPackets - 1)) != 0) begin : check_packets
    $error("tw_matcher: MostPackets must be a power of two, 2 to 256");
  end
  if (States < Buffers) begin : check_states
    $error("tw_matcher: Communicators * (Ranks + 1) must be at least Buffers");
  end
  if (Window < 2 || Window > 2 * Rows + 6 || (Window & (Window - 1)) != 0) begin : check_window
    $error("tw_matcher: Window must be a power of two, at least 2, at most 2 * Rows + 6");
  end

  // Steps of an operation. In step Load a slot's row is available, in step First the comparison of the predicted row; row k of the buffers and
  // of the slots is read in step Scan + k, in an Arrive in step Early + k, and has its effect by step Settle.
  localparam int unsigned Load = 3, Early = 4, First = 6, Scan = 7, Settle = Scan + Rows + 3, Write = Settle + 8;
  localparam int unsigned StepBits = $clog2(Write + 1);

  typedef logic [BufferBits-1:0] buffer_t;
  typedef logic [SlotBits-1:0] slot_t;
  typedef logic [RowBits-1:0] index_t;
  typedef logic [SizeBits-1:0] size_t;
  typedef logic [WindowBits-1:0] place_t;  // position of a message in the window
  typedef logic [PacketBits:0] count_t;  // of packets

  // Key of a segment in a buffer, or a slot's position in its message.
  typedef struct packed {
    logic [CommunicatorBits-1:0] communicator;
    logic [RankBits-1:0] source;
    logic collective;
    logic [31:0] tag, number;
    logic [63:0] length;
    logic [63:0] segment;  // of a slot: the next segment, or the one partly taken
    size_t size;  // bytes of the segment; of a slot: bytes taken of it
  } key_t;
  // Packets of a segment.
  typedef struct packed {
    logic [MostPackets-1:0] come;
    count_t arrived;
    count_t total;  // 0 until the last one has arrived
    count_t kept;  // with data, over all segments that the buffer has held
  } progress_t;
  // Messages of a rank, starting at number `next`. For a communicator, its collectives; only `done` is used.
  typedef struct packed {
    logic [31:0] next;
    logic [Window-1:0] come, claimed, done;
  } state_t;

  logic [StepBits-1:0] step_q;  // 0: waits for a request
  request_t request_q;
  logic clearing_q, clear_answers_q;
  logic [StateBits-1:0] clear_q;

  wire arrives = request_q.operation == Arrive;
  wire finds = request_q.operation == Find;
  wire takes = request_q.operation == Take;
  wire finishes = request_q.operation == Finish;
  wire ends = request_q.operation == End;
  wire slot_t slot = request_q.slot[SlotBits-1:0];
  wire accept = request_valid_i && request_ready_o;

  function automatic logic in_step(int unsigned step);
    return 32'(step_q) == step;
  endfunction

  assign request_ready_o = step_q == 0 && !clearing_q;

  logic continues_q;  // the packet continues its source's last segment in order
  logic at_once;  // the predicted row matches

  always_ff @(posedge clk_i) begin
    if (accept) request_q <= request_data_i;
    if (rst_i) begin
      step_q <= '0;
      clearing_q <= 1'b1;
      clear_answers_q <= 1'b0;
      clear_q <= '0;
    end else begin
      if (accept) step_q <= StepBits'(1);
      else if (in_step(Write) || continues_q || (in_step(1) && request_q.operation == Clear)) step_q <= '0;
      else if (in_step(Load + 1) && takes) step_q <= StepBits'(Settle + 3);
      else if (at_once) step_q <= StepBits'(Settle);
      else if (in_step(Settle - 4) && arrives) step_q <= StepBits'(Settle);
      else if ((in_step(Settle + 2) && finds) || (in_step(Settle + 3) && arrives)) step_q <= StepBits'(Write - 1);
      else if (step_q != 0) step_q <= step_q + 1'b1;
      if (in_step(1) && request_q.operation == Clear) begin
        clearing_q <= 1'b1;
        clear_answers_q <= 1'b1;
      end
      if (clearing_q) begin
        clear_q <= 32'(clear_q) == States - 1 ? '0 : clear_q + 1'b1;
        if (32'(clear_q) == States - 1) clearing_q <= 1'b0;
      end
    end
  end

  // Flags of buffers and slots.
  logic [Buffers-1:0] used_q, whole_q;
  logic [Slots-1:0] claimed_q, waiting_q;
  logic written_q, release_q;
  buffer_t written_buffer_q, release_buffer_q;

  // Packets of each buffer whose writes have completed, counted like `kept`.
  count_t done_q[Buffers], kept_q[Buffers];
  wire buffer_t clear_buffer = clear_q[BufferBits-1:0];

  always_ff @(posedge clk_i) begin
    written_buffer_q <= written_buffer_i[BufferBits-1:0];
    release_buffer_q <= release_buffer_i[BufferBits-1:0];
    written_q <= written_valid_i && !rst_i;
    release_q <= release_valid_i && !rst_i;
    if (clearing_q) done_q[clear_buffer] <= '0;
    else if (written_q) done_q[written_buffer_q] <= done_q[written_buffer_q] + 1'b1;
  end

  // Up to step Load: the key to search for.
  logic [Communicators-1:0][1:0] halves_q;  // matching halves of an id
  logic [Communicators-1:0] ids_q;
  logic stray_q, claimed_slot_q, exact_q;
  logic [CommunicatorBits-1:0] id_index;
  index_t row_address_q;
  key_t keys_q[Buffers], slot_keys_q[Slots];
  key_t entry_1q, slot_1q, sought_q;
  size_t lefts_q[Slots];
  size_t left_q;  // bytes left of the segment that a slot takes

  always_comb begin
    id_index = '0;
    for (int unsigned i = 0; i < Communicators; i++) if (ids_q[i]) id_index |= CommunicatorBits'(i);
  end

  key_t sought;
  always_comb begin
    sought = slot_1q;
    if (arrives || ends || (finds && !claimed_slot_q))
      sought = '{
          communicator: arrives ? id_index : request_q.communicator[CommunicatorBits-1:0],
          source: request_q.source[RankBits-1:0],
          collective: request_q.collective || ends,
          tag: request_q.tag,
          number: request_q.number,
          length: request_q.length,
          segment: arrives ? request_q.segment : '0,
          size: arrives ? request_q.segment_length[SizeBits-1:0] : '0
      };
  end

  // The message's position in the window.
  localparam int unsigned StateFrom = 8;  // step in which the state is available
  state_t states_q[States];
  state_t read_q, read_2q, state_q;
  logic [StateBits-1:0] state_address_q;
  logic [31:0] ahead_q;
  logic inside_q, behind_q;  // the message is in, or behind the window
  logic [Window-1:0] eligible_q;  // messages that can be claimed
  logic [WindowBits:0] shifts_q;
  logic [31:0] next_q;
  wire place_t place = ahead_q[WindowBits-1:0];
  wire counts = ends || (finishes && claimed_slot_q && !sought_q.collective);

  function automatic logic [Window-1:0] reached(logic [Window-1:0] come);
    for (int unsigned i = 0; i < Window; i++) reached[i] = &(come | ~(Window'((64'd2 << i) - 1)));
  endfunction

  // Shifts out the first message, which is done, and also the second one if it is done.
  function automatic logic [Window-1:0] behind_done(logic [Window-1:0] bits);
    bits >>= 1;
    return state_q.done[1] ? bits >> 1 : bits;
  endfunction

  tw_chunked_sum #(
      .Bits(32),
      .Subtracts(1'b1)
  ) ahead (
      .clk_i,
      .a_i(sought_q.collective ? sought_q.tag : sought_q.number),
      .b_i(state_q.next),
      .sum_o(ahead_q),
      .over_o()
  );
  tw_chunked_sum #(
      .Bits(32)
  ) next (
      .clk_i,
      .a_i(state_q.next),
      .b_i(32'(shifts_q)),
      .sum_o(next_q),
      .over_o()
  );

  // Predicted rows. Buffer by source: where its last packet was kept; by slot: the one found last, and whether it is partly
  // taken; by buffer: the one allocated next to the same message.
  buffer_t lasts_q[Ranks], picks_q[Slots], nexts_q[Buffers];
  logic [Slots-1:0] partial_q;
  logic [Buffers-1:0] chained_q;
  buffer_t last_q, chosen_q, first_q;
  logic first_is_q;

  // The scan, over buffers and slots in parallel. Stage 1: the row; 2: its fields compared with the key; 3: the results.
  typedef struct packed {
    logic entry, slot;
    index_t index;
  } at_t;
  at_t at_0, at_1q, at_2q, at_3q;
  logic used_1q, whole_1q, claimed_1q, waits_1q;
  logic quiet_1q, allowed_1q;  // all kept data are written; the buffer is configured
  typedef struct packed {
    logic communicator, source, any;
    logic [1:0] tag, number, size;
    logic [3:0] length, segment, below;  // below: the key's chunk is less than the row's
    place_t place;
  } same_t;
  same_t entry_2q, slot_2q;
  logic used_2q, free_2q, full_2q, claimed_2q, waits_2q;
  typedef struct packed {
    logic fits, tag, length, segment, size, below;
    place_t place;
  } row_t;
  // verilator lint_off UNUSEDSIGNAL
  row_t entry_3q, slot_3q;
  // verilator lint_on UNUSEDSIGNAL
  logic free_3q, full_3q, waits_3q;  // of a slot, `fits`: it has claimed the message

  function automatic logic scans(int unsigned rows);
    return arrives ? 32'(step_q) >= Early && 32'(step_q) < Early + rows : 32'(step_q) >= Scan && 32'(step_q) < Scan + rows;
  endfunction
  assign at_0 = '{entry: scans(Buffers), slot: scans(Slots), index: row_address_q};

  wire any_tag = sought_q.tag == '1;

  function automatic same_t compare(key_t row);
    same_t same;
    same.communicator = row.communicator == sought_q.communicator && row.collective == sought_q.collective;
    same.source = row.source == sought_q.source;
    same.any = row.tag == '1 || any_tag;
    for (int unsigned k = 0; k < 2; k++) begin
      same.tag[k] = row.tag[16*k+:16] == sought_q.tag[16*k+:16];
      same.number[k] = row.number[16*k+:16] == sought_q.number[16*k+:16];
      same.size[k] = row.size[11*k+:11] == sought_q.size[11*k+:11];
    end
    for (int unsigned k = 0; k < 4; k++) begin
      same.length[k] = row.length[16*k+:16] == sought_q.length[16*k+:16];
      same.segment[k] = row.segment[16*k+:16] == sought_q.segment[16*k+:16];
      same.below[k] = row.segment[16*k+:16] > sought_q.segment[16*k+:16];
    end
    same.place = row.number[WindowBits-1:0] - state_q.next[WindowBits-1:0];
    return same;
  endfunction

  // verilator lint_off UNUSEDSIGNAL
  function automatic logic fits_of(same_t same);
    // verilator lint_on UNUSEDSIGNAL
    logic fits;
    fits = same.communicator && (same.source || ends);
    if (ends) fits &= &same.tag;
    else if (exact_q) fits &= (&same.number) && (!sought_q.collective || (&same.tag));
    else fits &= ((&same.tag) || same.any) && eligible_q[same.place];
    return fits;
  endfunction

  function automatic row_t row_of(same_t same, logic lives);
    logic below;
    below = 1'b0;
    for (int unsigned k = 0; k < 4; k++) below = same.below[k] || (same.segment[k] && below);
    return '{fits: lives && fits_of(same), tag: &same.tag, length: &same.length, segment: &same.segment, size: &same.size, below: below, place: same.place};
  endfunction

  wire buffer_t entry_address = row_address_q[BufferBits-1:0];
  wire slot_t slot_address = row_address_q[SlotBits-1:0];

  always_ff @(posedge clk_i) begin
    at_1q <= at_0;
    entry_1q <= keys_q[entry_address];
    slot_1q <= slot_keys_q[slot_address];
    used_1q <= used_q[entry_address];
    whole_1q <= whole_q[entry_address];
    claimed_1q <= claimed_q[slot_address];
    waits_1q <= waiting_q[slot_address];
    quiet_1q <= done_q[entry_address] == kept_q[entry_address];
    allowed_1q <= 8'(row_address_q) <= settings_i.last_buffer;

    at_2q <= at_1q;
    entry_2q <= compare(entry_1q);
    slot_2q <= compare(slot_1q);
    used_2q <= used_1q;
    free_2q <= !used_1q && quiet_1q && allowed_1q;
    full_2q <= whole_1q && quiet_1q;
    claimed_2q <= claimed_1q;
    waits_2q <= waits_1q;

    at_3q <= at_2q;
    entry_3q <= row_of(entry_2q, used_2q);
    slot_3q <= row_of(slot_2q, claimed_2q);
    free_3q <= free_2q;
    full_3q <= full_2q;
    waits_3q <= waits_2q && slot_2q.communicator && slot_2q.source &&
        (sought_q.collective ? (&slot_2q.tag) && (&slot_2q.number) : (&slot_2q.tag) || slot_2q.any);
    if (rst_i || continues_q) begin
      at_1q.entry <= 1'b0;
      at_1q.slot  <= 1'b0;
      at_2q.entry <= 1'b0;
      at_2q.slot  <= 1'b0;
      at_3q.entry <= 1'b0;
      at_3q.slot  <= 1'b0;
    end
  end

  // Results of the scan.
  logic hit_q, hit_size_q, differs_q;  // the packet's segment is in a buffer; with the same size; its message's tag or length differs
  logic below_q;  // a slot has already taken the packet's segment
  logic message_q, wanted_q;  // a slot (in a Find: another one) has claimed the message; a slot waits for it, or has claimed it
  logic free_q, free_more_q;
  buffer_t hit_index_q, free_index_q;
  logic best_q, found_q, full_q;  // a message is claimed, or can be; its next segment is in a buffer; and is full
  place_t best_place_q;
  index_t pick_q;  // row of that message: its next segment, or any
  logic known_q;  // a segment of the packet's message is in a buffer
  logic follows_q;  // the predicted row has a segment of the message

  wire better_3 = !best_q || (!exact_q && entry_3q.place < best_place_q);
  wire equal_3 = exact_q || entry_3q.place == best_place_q;
  wire frees_3 = at_3q.entry && entry_3q.fits && (ends || (finishes && claimed_slot_q));
  assign at_once = in_step(First) && finds && claimed_slot_q && first_is_q && entry_3q.fits && entry_3q.segment;

  always_ff @(posedge clk_i) begin
    if (in_step(Load)) begin
      hit_q <= 1'b0;
      differs_q <= 1'b0;
      message_q <= 1'b0;
      known_q <= 1'b0;
      wanted_q <= 1'b0;
      free_q <= 1'b0;
      free_more_q <= 1'b0;
      best_q <= 1'b0;
      found_q <= 1'b0;
      full_q <= 1'b0;
    end
    if (at_3q.entry && free_3q) begin
      free_q <= 1'b1;
      free_more_q <= free_q;
      if (!free_q) free_index_q <= at_3q.index[BufferBits-1:0];
    end
    if (at_3q.entry && entry_3q.fits) known_q <= 1'b1;
    if (at_3q.entry && entry_3q.fits && entry_3q.segment) begin
      hit_q <= 1'b1;
      hit_size_q <= entry_3q.size;
      hit_index_q <= at_3q.index[BufferBits-1:0];
    end
    if ((at_3q.entry && entry_3q.fits && !(entry_3q.tag && entry_3q.length)) || (at_3q.slot && slot_3q.fits && !(slot_3q.tag && slot_3q.length)))
      differs_q <= 1'b1;
    if (at_3q.slot && slot_3q.fits) begin
      message_q <= 1'b1;
      wanted_q  <= 1'b1;
      below_q <= slot_3q.below;
    end
    if (at_3q.slot && waits_3q) wanted_q <= 1'b1;
    if (finds && at_3q.entry && entry_3q.fits) begin
      if (better_3) begin
        best_q <= 1'b1;
        best_place_q <= entry_3q.place;
        found_q <= entry_3q.segment;
        full_q <= entry_3q.segment && full_3q;
        pick_q <= at_3q.index;
      end else if (equal_3 && entry_3q.segment) begin
        found_q <= 1'b1;
        full_q  <= full_3q;
        pick_q  <= at_3q.index;
      end
    end
    if (in_step(First)) follows_q <= entry_3q.fits;
    if (at_once) begin
      found_q <= 1'b1;
      full_q  <= full_3q;
      pick_q  <= index_t'(first_q);
    end
  end

  // Position of a packet, and checks of its header.
  logic [63:0] rest, remain;  // bytes from the segment's start to the packet, and to the message's end
  logic rest_over, remain_over, too_long, too_large;
  size_t left;  // bytes of the segment from the packet on
  logic left_over;
  logic large_q, far_q, short_q, all_q, packet_q, empty_q, no_bytes_q, malformed_q, ends_segment_q, size_q;
  wire [15:0] bytes = request_q.bytes[15:0];
  wire [15:0] packet_bytes = 16'({settings_i.packet_words, 6'd0});

  tw_chunked_sum #(
      .Bits(64),
      .Subtracts(1'b1)
  ) rest_sum (
      .clk_i,
      .a_i(request_q.offset),
      .b_i(request_q.segment),
      .sum_o(rest),
      .over_o(rest_over)
  );
  tw_chunked_sum #(
      .Bits(64),
      .Subtracts(1'b1)
  ) remain_sum (
      .clk_i,
      .a_i(request_q.length),
      .b_i(request_q.segment),
      .sum_o(remain),
      .over_o(remain_over)
  );
  tw_chunked_sum #(
      .Bits(64),
      .Subtracts(1'b1)
  ) fits_message (
      .clk_i,
      .a_i(remain),
      .b_i(64'(request_q.segment_length)),
      .sum_o(),
      .over_o(too_long)
  );
  tw_chunked_sum #(
      .Bits(SizeBits),
      .Subtracts(1'b1)
  ) fits_buffer (
      .clk_i,
      .a_i({settings_i.buffer_words, 6'd0}),
      .b_i(request_q.segment_length[SizeBits-1:0]),
      .sum_o(),
      .over_o(too_large)
  );
  tw_chunked_sum #(
      .Bits(SizeBits),
      .Subtracts(1'b1)
  ) left_sum (
      .clk_i,
      .a_i(request_q.segment_length[SizeBits-1:0]),
      .b_i(rest[SizeBits-1:0]),
      .sum_o(left),
      .over_o(left_over)
  );

  progress_t progress_q, progress_d;

  // The packet's index in its segment, by long division.
  localparam int unsigned Divide = 6;  // the step in which rest is valid
  logic [15:0] dividend_q, divisor_q;
  logic [PacketBits-1:0] packet_number_q;
  logic [PacketBits-1:0] dividing_q;
  wire [16:0] difference = {1'b0, dividend_q} - {1'b0, divisor_q};

  always_ff @(posedge clk_i) begin
    dividing_q <= PacketBits'({dividing_q, in_step(Divide)});
    if (in_step(First)) packet_number_q <= progress_q.arrived[PacketBits-1:0];  // for a packet that continues a segment
    if (in_step(Divide)) begin
      dividend_q <= rest[SizeBits-1:6];
      divisor_q  <= 16'(settings_i.packet_words) << (PacketBits - 1);
    end else if (dividing_q != '0) begin
      if (!difference[16]) dividend_q <= difference[15:0];
      divisor_q <= divisor_q >> 1;
      packet_number_q <= PacketBits'({packet_number_q, !difference[16]});
    end

    large_q <= request_q.segment_length[31:SizeBits] != '0;
    far_q <= rest[63:SizeBits] != '0;
    short_q <= left[SizeBits-1:16] == '0 && left[15:0] < packet_bytes;
    all_q <= left == SizeBits'(bytes);
    packet_q <= bytes == packet_bytes;
    empty_q <= request_q.length == '0;
    no_bytes_q <= bytes == '0;
    ends_segment_q <= all_q;
    size_q <= short_q ? all_q : packet_q;
    if (in_step(Settle))
      malformed_q <= rest_over || remain_over || too_long || too_large || left_over || large_q || far_q || !size_q ||
          (empty_q != no_bytes_q) || dividend_q != '0 || rest[5:0] != '0;
  end

  // Verdict on a packet.
  progress_t progresses_q[Buffers];
  buffer_t entry_q;
  logic come_q, old_q, far_message_q, no_free_q, differs_hit_q;
  verdict_e verdict, verdict_q;
  wire kept = arrives && verdict_q == Kept;  // valid in step Write

  // Packets of the segment have arrived in order so far; words before the next one.
  logic [Buffers-1:0] ordered_q;
  logic [15:0] behinds_q[Buffers];
  logic [15:0] behind_first_q, behind_packet_q;
  logic at_behind_q, ordered_entry_q, in_order_q;

  always_comb begin
    verdict = Kept;
    if (malformed_q) verdict = Malformed;
    else if (stray_q) verdict = Stray;
    else if (old_q) verdict = Repeated;
    else if (differs_q) verdict = Malformed;
    else if (message_q && below_q) verdict = Repeated;
    else if (differs_hit_q) verdict = Malformed;
    else if (hit_q && come_q) verdict = Repeated;
    else if (!hit_q && (far_message_q || no_free_q)) verdict = NoRoom;
  end

  always_comb begin
    progress_d = progress_q;
    if (!hit_q && !continues_q) begin
      progress_d.come = '0;
      progress_d.arrived = '0;
      progress_d.total = '0;
    end
    progress_d.come[packet_number_q] = 1'b1;
    progress_d.arrived += 1'b1;
    if (ends_segment_q) progress_d.total = count_t'(packet_number_q) + 1'b1;
    if (!no_bytes_q) progress_d.kept += 1'b1;
  end

  // Bytes that a slot takes, and bytes available to it.
  size_t position, left_then, there;
  logic [63:0] segment_then;
  logic ended_q;  // the whole segment has been taken

  tw_chunked_sum #(
      .Bits(SizeBits)
  ) position_sum (
      .clk_i,
      .a_i(sought_q.size),
      .b_i(request_q.bytes[SizeBits-1:0]),
      .sum_o(position),
      .over_o()
  );
  tw_chunked_sum #(
      .Bits(SizeBits),
      .Subtracts(1'b1)
  ) take_sum (
      .clk_i,
      .a_i(left_q),
      .b_i(request_q.bytes[SizeBits-1:0]),
      .sum_o(left_then),
      .over_o()
  );
  tw_chunked_sum #(
      .Bits(64)
  ) segment_sum (
      .clk_i,
      .a_i(sought_q.segment),
      .b_i(64'(position)),
      .sum_o(segment_then),
      .over_o()
  );
  tw_chunked_sum #(
      .Bits(SizeBits),
      .Subtracts(1'b1)
  ) there_sum (
      .clk_i,
      .a_i(entry_1q.size),
      .b_i(sought_q.size),
      .sum_o(there),
      .over_o()
  );
  wire claims = finds && !claimed_slot_q && best_q && !(exact_q && message_q);
  wire is_found = finds && (claimed_slot_q || claims) && found_q && full_q;
  logic whole_then_q, claims_q, found_then_q;
  logic answer_valid_q;
  answer_t answer, answer_q;

  always_comb begin
    answer = '0;
    answer.operation = request_q.operation;
    if (arrives && !continues_q) answer.verdict = verdict_q;
    if (kept || continues_q) begin
      answer.buffer = 8'(entry_q);
      answer.offset = 32'(rest[SizeBits-1:0]);
    end
    if (finds) begin
      answer.claimed = claimed_slot_q || claims_q;
      answer.found   = found_then_q;
      if (answer.claimed) answer.length = sought_q.length;
    end
    if (finds && found_then_q) begin
      answer.buffer = 8'(pick_q);
      answer.offset = 32'(sought_q.size);
      answer.bytes  = 32'(there);
    end
  end
  assign answer_valid_o = answer_valid_q;
  assign answer_data_o  = answer_q;

  wire writes = in_step(Write);
  wire writes_entry = writes && kept && !hit_q;
  wire writes_slot = writes && (finds || takes);
  wire keeps = (writes && kept) || continues_q;
  logic fills_q;  // the written packet belongs to a segment that has arrived completely
  count_t done_then_q, kept_then_q;

  always_ff @(posedge clk_i) begin
    // Up to step Load.
    for (int unsigned i = 0; i < Communicators; i++) begin
      for (int unsigned k = 0; k < 2; k++) halves_q[i][k] <= request_q.communicator[16*k+:16] == communicator_id_i[i][16*k+:16];
      ids_q[i] <= halves_q[i] == '1 && communicator_valid_i[i];
    end
    last_q <= lasts_q[request_q.source[RankBits-1:0]];
    chosen_q <= picks_q[slot];
    if (in_step(2)) first_is_q <= partial_q[slot] || chained_q[chosen_q];
    if (in_step(1)) row_address_q <= index_t'(slot);
    else if (in_step(2)) row_address_q <= index_t'(arrives ? last_q : partial_q[slot] ? chosen_q : nexts_q[chosen_q]);
    else if (arrives ? in_step(Early - 1) : in_step(Scan - 1)) row_address_q <= '0;
    else if (in_step(Settle)) row_address_q <= pick_q;
    else if (32'(step_q) < Settle) row_address_q <= row_address_q + 1'b1;
    claimed_slot_q <= claimed_q[slot];
    left_q <= lefts_q[slot];
    if (in_step(Load)) begin
      sought_q <= sought;
      stray_q <= ids_q == '0 || 32'(request_q.source) >= Ranks;
      exact_q <= !(finds && !claimed_slot_q && !request_q.collective);
    end
    state_address_q <= sought_q.collective ? StateBits'(Communicators * Ranks + 32'(sought_q.communicator)) :
        StateBits'({sought_q.communicator, sought_q.source});
    read_q <= states_q[state_address_q];
    read_2q <= read_q;

    // State of the window.
    if (in_step(StateFrom - 1)) begin
      state_q  <= read_2q;
      shifts_q <= '0;
    end
    eligible_q <= reached(state_q.come) & ~state_q.claimed;
    inside_q <= ahead_q < 32'(Window);
    behind_q <= ahead_q[31];
    old_q <= behind_q || (inside_q && state_q.done[place]);
    far_message_q <= !sought_q.collective && !inside_q;
    if (counts) begin
      if (in_step(StateFrom + 3) && inside_q) state_q.done[place] <= 1'b1;
      if (32'(step_q) > StateFrom + 3 && 32'(step_q) < Settle + 5 && state_q.done[0]) begin
        state_q.come <= behind_done(state_q.come);
        state_q.claimed <= behind_done(state_q.claimed);
        state_q.done <= behind_done(state_q.done);
        shifts_q <= shifts_q + (state_q.done[1] ? (WindowBits + 1)'(2) : (WindowBits + 1)'(1));
      end
    end
    if (in_step(Write - 1)) begin
      if (kept) state_q.come[place] <= 1'b1;
      if (finds && claims_q) state_q.claimed[best_place_q] <= 1'b1;
      state_q.next <= next_q;
    end

    // Decisions.
    if (in_step(Load)) begin
      first_q <= entry_address;
      entry_q <= entry_address;
    end
    behind_first_q <= behinds_q[entry_q];
    ordered_entry_q <= ordered_q[entry_q];
    at_behind_q <= rest[SizeBits-1:6] == behind_first_q && rest[5:0] == '0;
    behind_packet_q <= rest[SizeBits-1:6] + 16'(settings_i.packet_words);
    in_order_q <= count_t'(packet_number_q) == (hit_q ? progress_q.arrived : '0);
    continues_q <= !rst_i && in_step(First) && arrives && !stray_q && entry_3q.fits && entry_3q.tag && entry_3q.length && entry_3q.segment && entry_3q.size &&
        ordered_entry_q && at_behind_q && !far_q && !rest_over && !large_q && size_q;
    if (in_step(Settle)) begin
      entry_q <= hit_q ? hit_index_q : free_index_q;
      no_free_q <= !free_q || (request_q.reserves && !wanted_q && !free_more_q);
      differs_hit_q <= hit_q && !hit_size_q;
      claims_q <= claims;
      found_then_q <= is_found;
    end
    progress_q <= progresses_q[entry_q];
    come_q <= progress_q.come[packet_number_q];
    ended_q <= left_then == '0;
    verdict_q <= verdict;
    whole_then_q <= progress_d.arrived == progress_d.total;
    if (finds && claims_q && in_step(Settle + 2)) begin
      sought_q.tag <= entry_1q.tag;
      sought_q.number <= entry_1q.number;
      sought_q.length <= entry_1q.length;
    end
    if (takes && in_step(Write - 1)) begin
      sought_q.segment <= ended_q ? segment_then : sought_q.segment;
      sought_q.size <= ended_q ? '0 : position;
    end

    if (writes_entry) keys_q[entry_q] <= sought_q;
    if (writes_slot) slot_keys_q[slot] <= sought_q;
    if (writes && (takes || (finds && found_then_q))) lefts_q[slot] <= takes ? left_then : there;
    if (clearing_q || keeps) begin
      progresses_q[clearing_q ? clear_buffer : entry_q] <= clearing_q ? '0 : progress_d;
      kept_q[clearing_q ? clear_buffer : entry_q] <= clearing_q ? '0 : progress_d.kept;
    end
    if (clearing_q || (writes && (counts || (!sought_q.collective && (kept || (finds && claims_q))))))
      states_q[clearing_q ? clear_q : state_address_q] <= clearing_q ? '0 : state_q;

    // Predicted rows.
    if (keeps) begin
      lasts_q[request_q.source[RankBits-1:0]] <= entry_q;
      behinds_q[entry_q] <= behind_packet_q;
    end
    if (writes_entry && follows_q) nexts_q[first_q] <= entry_q;
    if (writes && finds && (claims_q || found_then_q)) picks_q[slot] <= pick_q[BufferBits-1:0];

    answer_q <= answer;
    answer_valid_q <= !rst_i && (writes || continues_q || (clear_answers_q && clearing_q && 32'(clear_q) == States - 1));

    // Flags.
    if (frees_3) used_q[at_3q.index[BufferBits-1:0]] <= 1'b0;
    if (release_q) used_q[release_buffer_q] <= 1'b0;
    if (writes && kept) begin
      used_q[entry_q]  <= 1'b1;
      whole_q[entry_q] <= whole_then_q;
      ordered_q[entry_q] <= in_order_q && (!hit_q || ordered_entry_q) && !ends_segment_q;
      if (!hit_q) begin
        chained_q[entry_q] <= 1'b0;
        if (follows_q) chained_q[first_q] <= 1'b1;
      end
    end
    if (continues_q) begin
      whole_q[entry_q] <= ends_segment_q;
      if (ends_segment_q) ordered_q[entry_q] <= 1'b0;
    end
    if (writes && finds && (claims_q || found_then_q)) partial_q[slot] <= 1'b1;
    if (writes && takes && ended_q) partial_q[slot] <= 1'b0;

    // Notifications.
    fills_q <= !rst_i && written_q && !clearing_q && whole_q[written_buffer_q];
    done_then_q <= done_q[written_buffer_q] + 1'b1;
    kept_then_q <= kept_q[written_buffer_q];
    news_o <= !rst_i && ((fills_q && done_then_q == kept_then_q) || (writes && kept && !known_q));
    if (writes && finds && !claimed_slot_q) begin
      claimed_q[slot] <= claims_q;
      waiting_q[slot] <= !claims_q;
    end
    if (writes && finishes) begin
      claimed_q[slot] <= 1'b0;
      waiting_q[slot] <= 1'b0;
    end
    if (rst_i || clearing_q) begin
      used_q <= '0;
      claimed_q <= '0;
      waiting_q <= '0;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      sizes_are_set : assert (settings_i.packet_words != 0 || step_q == 0);
      written_was_kept : assert (!written_q || clearing_q || done_q[written_buffer_q] != kept_q[written_buffer_q]);
      released_is_used : assert (!release_q || clearing_q || used_q[release_buffer_q]);
      takes_what_was_found : assert (!(takes && in_step(Load + 1)) || (claimed_slot_q && size_t'(request_q.bytes) <= left_q));
      end_is_in_the_window : assert (!(ends && in_step(StateFrom + 3)) || inside_q || behind_q);
    end
  end
`endif
endmodule
