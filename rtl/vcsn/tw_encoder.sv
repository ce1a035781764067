// SPDX-License-Identifier: Apache-2.0
// Encodes virtual ports' words as Ethernet frames for the MAC. Each frame begins with the header of its circuit, and its
// words are shifted behind it, so a frame of n data words has n + 1 MAC words. All exceed Ethernet's minimum length.
//
// Control frames of one word precede data: indications to the other ends of circuits over which too many words arrived (indicate_i), then frames of
// sessions (says_valid_i), then reports of words that have left receive buffers (report_i). In a session's frames the session header follows the circuit's header. An indication received for a virtual port (indicated_i) stops it, or limits its pace, for a time.
//
// Among the ports with a frame and a circuit, one is chosen in a cycle (tw_multiplexer). From the next cycle on its words are requested; each
// is at the buffer's output one cycle later, shifted after another cycle, and then in the FIFO before the MAC. Requests are limited by the
// FIFO's free entries, so it never overflows; a frame has no gaps if its words come in consecutive cycles. A written circuit
// applies to choices from the next cycle on; a chosen frame uses the row of its choice's cycle. In each cycle the next control frame is selected,
// and may be chosen in the following cycle: says_valid_i and report_i take effect from the next cycle on, indicate_i from the second, indicated_i from the third.
//
// Order: kept for each port. Latency: three cycles from the request of a word to tx_valid_o. Throughput: a word per cycle; the last one of each
// frame has HeaderBytes. Storage: 8 words in LUTRAM, two in registers, a row and a reaction for each port. read_o and pop_o depend only on registers. tx_data_o
// comes from LUTRAM. Critical path: that of tw_multiplexer, after the signals that the previous frame is requested; to words in the
// FIFO, from word_valid_i through the selection of a port's word.
module tw_encoder
  import tw_vcsn_pkg::*;
  import tw_vcsn_spec_pkg::*;
#(
    parameter  int unsigned Ports        = 2,                             /// virtual ports, 1 to 8
    parameter  int unsigned FrameWords   = 143,                           /// maximum words of a frame, at least 1
    parameter  int unsigned EtherType    = 'h88B5,                        /// default: for local experiments
    parameter  int unsigned PriorityBits = 3,                             /// at least 1
    parameter  int unsigned PaceBits     = 20,                            /// at least 10
    parameter  int unsigned CyclesBits   = 24,                            /// of a reaction, at least 2
    localparam int unsigned PortBits     = Ports > 1 ? $clog2(Ports) : 1,
    localparam int unsigned WordsBits    = $clog2(FrameWords + 1)
) (
    input logic     clk_i,
    input logic     rst_i,
    input address_t address_i, /// of the external port; constant

    input logic                    set_valid_i,     /// a virtual port's priority and pace, as in tw_multiplexer
    input logic [    PortBits-1:0] set_port_i,
    input logic [PriorityBits-1:0] set_priority_i,
    input logic [    PaceBits-1:0] set_pace_i,

    input logic                    write_valid_i,  /// a row of the circuit table
    input logic     [PortBits-1:0] write_port_i,
    input circuit_t                write_row_i,

    input logic                  react_valid_i,   /// reaction of a virtual port to an indication
    input logic [  PortBits-1:0] react_port_i,
    input logic [CyclesBits-1:0] react_cycles_i,  /// duration; 0, as after reset: none
    input logic                  react_stops_i,   /// sends nothing
    input logic [  PaceBits-1:0] react_pace_i,    /// otherwise, no faster than this
    input logic [     Ports-1:0] indicate_i,      /// too many words arrived: its other end gets an indication
    input logic [     Ports-1:0] indicated_i,     /// an indication arrived

    input  logic [Ports-1:0]       held_i,           /// no credit for a frame, as in tw_credits
    output logic [Ports-1:0]       sent_valid_o,     /// a frame was chosen in the previous cycle
    output logic [Ports-1:0][WordsBits-1:0] sent_words_o, /// of that frame
    input  logic [Ports-1:0]                    says_valid_i,   /// its session has a control frame
    output logic [Ports-1:0]                    said_o,         /// that frame was chosen in the previous cycle
    input  logic [Ports-1:0][ $bits(frame_kind_e)-1:0] says_kind_i,  /// valid with said_o
    input  logic [Ports-1:0]                    says_first_i,
    input  logic [Ports-1:0]                    says_last_i,
    input  logic [Ports-1:0][             63:0] says_number_i,
    input  logic [Ports-1:0]                    sequenced_i,    /// with sent_valid_o: the frame belongs to its session
    input  vcsn_sequence_t [Ports-1:0]          sequence_i,     /// with said_o, or with sent_valid_o of a session's frame

    input  logic [Ports-1:0]       report_i,         /// a report is due
    output logic [Ports-1:0]       reported_o,       /// the report was chosen in the previous cycle
    input  logic [Ports-1:0][31:0] report_number_i,  /// valid with reported_o

    input  logic [Ports-1:0]                frame_valid_i,    /// as in tw_send_buffer
    input  logic [Ports-1:0][WordsBits-1:0] frame_words_i,
    input  logic [Ports-1:0]                frame_single_i,   /// it has one word
    input  logic [Ports-1:0]                frame_first_i,
    input  logic [Ports-1:0]                frame_last_i,
    input  logic [Ports-1:0][          7:0] frame_channel_i,
    output logic [Ports-1:0]                read_o,
    output logic [Ports-1:0]                pop_o,            /// with a frame's last word
    input  logic [Ports-1:0]                word_valid_i,
    input  logic [Ports-1:0][ WordBits-1:0] word_data_i,

    output logic                 tx_valid_o,
    input  logic                 tx_ready_i,
    output logic [ WordBits-1:0] tx_data_o,
    output logic [WordBytes-1:0] tx_keep_o,
    output logic                 tx_last_o
);
  localparam int unsigned Entries = 8;

  typedef struct packed {
    logic last;
    logic sequenced;  // its frame has a session header
    logic [WordBits-1:0] data;
  } word_t;

  // Requests: the chosen port's words, then a frame's last MAC word, for which the buffer is not read.
  logic [Ports-1:0] chosen, open_q, asked_q;  // chosen by the multiplexer; has a circuit; its words are requested
  logic asks_q, tail_q;  // words are requested; the last MAC word is
  logic [WordsBits-1:0] left_q;  // words left to request
  logic final_q;  // one is left
  logic [Entries-1:0] places_q;  // free entries of the FIFO, thermometer-coded from bit 0

  logic sends, says_q, begins;  // a data frame was chosen; a control frame was; either
  logic [Ports-1:0] says_port_q;  // its port
  logic ask_q;  // a control frame is ready
  logic [Ports-1:0] stopped, slow;  // in reaction to an indication
  wire ready = places_q[0];
  wire request = ready && {sends, says_q, asks_q, tail_q} != 0;
  wire taken = tx_valid_o && tx_ready_i;
  wire free = !sends && !says_q && !asks_q && (!tail_q || ready);
  wire says = free && ask_q;
  assign begins = sends || says_q;

  tw_multiplexer #(
      .Ports       (Ports),
      .FrameWords  (FrameWords),
      .PriorityBits(PriorityBits),
      .PaceBits    (PaceBits)
  ) multiplexer (
      .clk_i,
      .rst_i,
      .set_valid_i,
      .set_port_i,
      .set_priority_i,
      .set_pace_i,
      .slow_valid_i(react_valid_i),
      .slow_port_i (react_port_i),
      .slow_pace_i (react_pace_i),
      .choose_i    (free && !ask_q),
      .wanting_i   (frame_valid_i & open_q & ~stopped & ~held_i),
      .slow_i      (slow),
      .words_i     (frame_words_i),
      .chosen_o    (chosen),
      .any_o       (sends)
  );

  // Frames offered in the previous cycle, in which one was chosen.
  typedef struct packed {
    logic [WordsBits-1:0] words, rest;  // rest: without the first one
    logic single, two, first, last;  // it has one word; two
    logic [7:0] channel;
  } shown_t;
  shown_t [Ports-1:0] shown_q;

  for (genvar i = 0; i < Ports; i++) begin : frame
    assign sent_words_o[i] = shown_q[i].words;
    always_ff @(posedge clk_i) begin
      shown_q[i] <= '{
          words: frame_words_i[i],
          rest: frame_words_i[i] - 1'b1,
          single: frame_single_i[i],
          two: 32'(frame_words_i[i]) == 2,
          first: frame_first_i[i],
          last: frame_last_i[i],
          channel: frame_channel_i[i]
      };
    end
  end

  // The next control frame, among those ready in the previous cycle.
  logic [Ports-1:0] written;  // a circuit, in this cycle
  logic [Ports-1:0] fast_q, indicate_q;  // an indication is pending; requested in the previous cycle
  logic [Ports-1:0] ask_fast_q, ask_session_q, ask_report_q;  // one-hot or zero, highest priority first
  logic says_fast_q, says_session_q;  // it is an indication; a session's frame
  logic [Ports-1:0] said_q, reported_q;  // says_port_q, for a session's frame; for a report
  wire  ask_fast = ask_fast_q != 0;
  wire  ask_session = !ask_fast && ask_session_q != 0;
  wire  [Ports-1:0] fast = fast_q & open_q & ~written;
  wire  [Ports-1:0] sessions = says_valid_i & open_q & ~written & ~said_o;
  wire  [Ports-1:0] reports = report_i & open_q & ~written & ~reported_o;
  function automatic logic [Ports-1:0] lowest(logic [Ports-1:0] of);
    for (int unsigned i = 0; i < Ports; i++) lowest[i] = of[i] && (of & (Ports'(1) << i) - 1'b1) == 0;
  endfunction

  always_ff @(posedge clk_i) begin
    ask_q <= (fast | sessions | reports) != 0;
    ask_fast_q <= lowest(fast);
    ask_session_q <= lowest(sessions);
    ask_report_q <= lowest(reports);
    says_q <= says;
    says_fast_q <= ask_fast;
    says_session_q <= ask_session;
    said_q <= {Ports{says && !ask_fast}} & ask_session_q;
    reported_q <= {Ports{says && !ask_fast && !ask_session}} & ask_report_q;
    says_port_q <= !says ? '0 : ask_fast ? ask_fast_q : ask_session ? ask_session_q : ask_report_q;
    // An indication of the previous cycle was not yet a candidate in this one.
    fast_q <= ((fast_q & ~(says ? ask_fast_q : '0)) | indicate_i | indicate_q) & ~written;
    indicate_q <= indicate_i & ~written;
    if (rst_i) begin
      ask_q <= 1'b0;
      says_q <= 1'b0;
      says_port_q <= '0;
      said_q <= '0;
      reported_q <= '0;
      fast_q <= '0;
      indicate_q <= '0;
    end
  end

  assign sent_valid_o = chosen;
  assign said_o = said_q;
  assign reported_o = reported_q;

  for (genvar i = 0; i < Ports; i++) begin : port
    logic [CyclesBits-1:0] cycles_q;
    logic reacts_q, stops_q, reacting;
    logic [1:0] indicated_q;

    assign written[i] = write_valid_i && write_port_i == PortBits'(i);
    assign stopped[i] = reacting && stops_q;
    assign slow[i] = reacting;

    always_ff @(posedge clk_i) begin
      if (react_valid_i && react_port_i == PortBits'(i)) begin
        cycles_q <= react_cycles_i;
        reacts_q <= react_cycles_i != 0;
        stops_q  <= react_stops_i;
      end
      indicated_q <= {indicated_q[0], indicated_i[i]};
      if (rst_i) begin
        reacts_q <= 1'b0;
        indicated_q <= '0;
      end
    end

    tw_timer #(
        .Bits(CyclesBits)
    ) reaction (
        .clk_i,
        .rst_i,
        .load_i   (indicated_q[1] && reacts_q),
        .cycles_i (cycles_q),
        .running_o(reacting)
    );

    assign read_o[i] = ready && (chosen[i] || asked_q[i]);
    assign pop_o[i]  = ready && (chosen[i] ? shown_q[i].single : asked_q[i] && final_q);
  end

  // Frames use rows one cycle after open_q, as headers follow the choice by a cycle.
  logic                     write_valid_q;
  logic     [ PortBits-1:0] write_port_q;
  circuit_t                 write_row_q;
  address_t [    Ports-1:0] row_address;
  logic     [    Ports-1:0] [7:0] row_port;

  tw_circuit_table #(
      .Ports(Ports)
  ) circuits (
      .clk_i,
      .rst_i,
      .write_valid_i (write_valid_q),
      .write_port_i  (write_port_q),
      .write_row_i   (write_row_q),
      .row_valid_o   (),
      .row_address_o (row_address),
      .row_port_o    (row_port),
      .from_address_i('0),
      .from_port_i   ('0),
      .to_port_i     ('0),
      .joined_o      ()
  );

  // Fields of the chosen frame.
  logic [WordsBits-1:0] words;  // to request after this cycle
  logic single, two;
  header_t header, header_q;
  logic [$bits(frame_kind_e)-1:0] kind;
  always_comb begin
    words  = WordsBits'(says_q && !ready);
    single = says_q;
    two    = 1'b0;
    header = '0;
    for (int unsigned i = 0; i < Ports; i++) begin
      if (chosen[i]) begin
        words |= ready ? shown_q[i].rest : shown_q[i].words;
        single |= shown_q[i].single;
        two |= shown_q[i].two;
        header.circuit.channel |= shown_q[i].channel;
        header.circuit.first |= shown_q[i].first;
        header.circuit.last |= shown_q[i].last;
        header.circuit.sequenced |= sequenced_i[i];
      end
      if (chosen[i] || says_port_q[i]) begin
        header.destination |= row_address[i];
        header.circuit.destination_port |= row_port[i];
        header.circuit.source_port |= 8'(i);
      end
    end
    kind = !says_q ? FrameKindData : says_fast_q ? FrameKindIndication : FrameKindCredit;
    if (says_q) begin
      header.circuit.first = 1'b1;
      header.circuit.last  = 1'b1;
    end
    if (says_session_q) begin
      kind = FrameKindData;  // 0
      header.circuit.first = 1'b0;
      header.circuit.last = 1'b0;
      header.circuit.sequenced = 1'b1;
    end
    for (int unsigned i = 0; i < Ports; i++) begin
      if (said_o[i]) begin
        kind |= says_kind_i[i];
        header.circuit.first |= says_first_i[i];
        header.circuit.last |= says_last_i[i];
      end
    end
    header.source = address_i;
    header.ethertype = 16'(EtherType);
    header.circuit.kind = frame_kind_e'(kind);
  end

  // One and two cycles after the request.
  logic first_1q, last_1q, valid_1q, valid_2q;
  logic first_d;
  logic [WordBits-1:0] data;  // from the buffer
  logic [LongBits-1:0] rest_q;  // rest of the previous word, for the next MAC word
  word_t word_2q;

  logic [63:0] number, number_q;  // of a control frame, at the start of its word
  vcsn_sequence_t sequence_d, sequence_q;
  always_comb begin
    number = '0;
    sequence_d = '0;
    for (int unsigned i = 0; i < Ports; i++) begin
      if (reported_o[i]) number |= 64'(report_number_i[i]);
      if (said_o[i]) number |= says_number_i[i];
      if (said_o[i] || chosen[i]) sequence_d |= sequence_i[i];
    end
  end

  always_comb begin
    data = first_1q ? WordBits'(number_q) : '0;
    for (int unsigned i = 0; i < Ports; i++) if (word_valid_i[i]) data |= word_data_i[i];
  end

  logic  waits_q;  // a frame's first word could not be requested in the cycle after its choice
  assign first_d = begins || waits_q;

  always_ff @(posedge clk_i) begin
    write_port_q <= write_port_i;
    write_row_q  <= write_row_i;
    if (begins) header_q <= header;
    if (begins) number_q <= number;
    if (begins) sequence_q <= sequence_d;
    first_1q <= first_d;
    last_1q <= tail_q;
    if (valid_1q) rest_q <= data[WordBits-1-:LongBits];
    word_2q <= '{
        last: last_1q,
        sequenced: header_q.circuit.sequenced,
        data: header_q.circuit.sequenced ?
            {data[WordBits-LongBits-1:0], first_1q ? {vcsn_sequence_bytes(sequence_q), reversed(header_q)} : rest_q} :
            {data[FrontBits-1:0], first_1q ? reversed(header_q) : rest_q[LongBits-1-:HeaderBits]}
    };
    if (begins) begin
      left_q  <= words;
      final_q <= ready ? two : single;
    end else if (ready && asks_q) begin
      left_q  <= left_q - 1'b1;
      final_q <= 32'(left_q) == 2;
    end
    if (rst_i) begin
      write_valid_q <= 1'b0;
      open_q <= '0;
      asked_q <= '0;
      asks_q <= 1'b0;
      tail_q <= 1'b0;
      waits_q <= 1'b0;
      places_q <= '1;
      valid_1q <= 1'b0;
      valid_2q <= 1'b0;
    end else begin
      write_valid_q <= write_valid_i;
      for (int unsigned i = 0; i < Ports; i++) begin
        if (write_valid_i && write_port_i == PortBits'(i)) open_q[i] <= write_row_i.open;
        if (chosen[i]) asked_q[i] <= !(ready && shown_q[i].single);
        else if (ready && final_q) asked_q[i] <= 1'b0;
      end
      if (ready) tail_q <= begins ? single : asks_q && final_q;
      if (ready || begins) asks_q <= begins ? !(ready && single) : asks_q && !final_q;
      waits_q <= first_d && !ready;
      if (request != taken) places_q <= taken ? {places_q[Entries-2:0], 1'b1} : {1'b0, places_q[Entries-1:1]};
      valid_1q <= request;
      valid_2q <= valid_1q;
    end
  end

  word_t front;
  assign tx_data_o = front.data;
  assign tx_last_o = front.last;
  assign tx_keep_o = {
    {(WordBytes - LongBytes) {!front.last}}, {(LongBytes - HeaderBytes) {!front.last || front.sequenced}}, {HeaderBytes{1'b1}}
  };

  tw_fifo #(
      .Width($bits(word_t)),
      .Depth(Entries)
  ) fifo (
      .clk_i,
      .rst_i,
      .in_valid_i (valid_2q),
      .in_ready_o (),
      .in_data_i  (word_2q),
      .out_valid_o(tx_valid_o),
      .out_ready_i(tx_ready_i),
      .out_data_o (front),
      .count_o    ()
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      port_is_there : assert (!write_valid_i || 32'(write_port_i) < Ports);
      reacting_port_is_there : assert (!react_valid_i || 32'(react_port_i) < Ports);
      words_have_places : assert (!valid_2q || fifo.in_ready_o);
      read_words_come : assert ($onehot0(word_valid_i) && (word_valid_i == 0 || valid_1q));
      for (int unsigned i = 0; i < Ports; i++)
        single_says_so : assert (!frame_valid_i[i] || frame_single_i[i] == (frame_words_i[i] == 1));
    end
  end
`endif
endmodule
