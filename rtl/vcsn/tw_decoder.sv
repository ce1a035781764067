// SPDX-License-Identifier: Apache-2.0
// Receives frames from the MAC, and accepts those of circuits: to this external port, from the circuit's other end, of whole words, with a
// correct FCS, and with room in their virtual port. All others are dropped and counted by cause.
//
// A frame's destination is decided two cycles after its first word, with the room of that cycle, and the circuit table of the
// cycle before; a written row takes effect from the second cycle on. A frame's words go to their virtual port as they arrive, shifted by the
// header; it is committed or dropped two cycles after its last word, which has HeaderBytes of the frame's last data word. An indication,
// a credit of exactly one word, and a frame of a session are reported three cycles after the last word.
//
// Order: kept. Latency: a data word is output in the cycle after the MAC word with its end. Throughput: a word per cycle. Storage: two MAC
// words, the rows of the circuit table, a counter for each outcome, updated five cycles after a frame's last word. Critical path: from
// the frame's addresses through their comparison; from room_i to the decision.
module tw_decoder
  import tw_vcsn_pkg::*;
  import tw_vcsn_spec_pkg::*;
#(
    parameter  int unsigned Ports      = 2,                             /// virtual ports, 1 to 8
    parameter  int unsigned FrameWords = 143,                           /// maximum words of a frame, at least 1
    parameter  int unsigned EtherType  = 'h88B5,                        /// default: for local experiments
    parameter  int unsigned CountBits  = 32,                            /// of the counter of each outcome, even, at least 2
    localparam int unsigned PortBits   = Ports > 1 ? $clog2(Ports) : 1,
    localparam int unsigned WordsBits  = $clog2(FrameWords + 1)
) (
    input logic     clk_i,
    input logic     rst_i,
    input address_t address_i, /// of the external port; constant

    input logic                    write_valid_i,  /// a row of the circuit table
    input logic     [PortBits-1:0] write_port_i,
    input circuit_t                write_row_i,

    input logic                 rx_valid_i,
    input logic [ WordBits-1:0] rx_data_i,
    input logic [WordBytes-1:0] rx_keep_i,   /// all ones except in the last word
    input logic                 rx_last_i,
    input logic                 rx_error_i,  /// with the last word: the FCS is wrong

    input  logic [Ports-1:0]               room_i,           /// for the longest frame, as in tw_receive_buffer
    output logic [Ports-1:0]               word_valid_o,
    output logic [Ports-1:0][WordBits-1:0] word_data_o,
    output logic [Ports-1:0]               word_first_o,     /// of a packet
    output logic [Ports-1:0]               word_last_o,
    output logic [Ports-1:0][         7:0] word_channel_o,
    output logic [Ports-1:0]               commit_o,         /// the frame has ended, and is kept
    output logic [Ports-1:0]               drop_o,           /// the frame is discarded
    output logic [Ports-1:0]               receiving_o,      /// receives a frame's words, from the cycle after the decision to that after the last word
    output logic                           kept_valid_o,     /// a frame is committed
    output logic [  WordsBits-1:0]         kept_words_o,     /// of that frame
    output logic [Ports-1:0]               indicated_o,      /// an indication arrived
    output logic [Ports-1:0]               credit_valid_o,   /// a credit arrived
    output logic [Ports-1:0][        31:0] credit_number_o,  /// its number

    input  logic           [Ports-1:0] session_i,  /// it has a session
    output logic                       begin_valid_o,     /// the MAC gave a frame's first word in the previous cycle
    output logic [31:0]                begin_number_o,    /// in the session header, if it has one
    output logic           [Ports-1:0] rx_valid_o,  /// a frame of its session arrived
    output vcsn_sequence_t [Ports-1:0] rx_sequence_o,
    output logic [Ports-1:0][$bits(frame_kind_e)-1:0] rx_kind_o,
    output logic [Ports-1:0]                rx_first_o,
    output logic [Ports-1:0]                rx_last_o,
    output logic [Ports-1:0][         63:0] rx_number_o,  /// at the start of its first word

    output logic [Outcomes-1:0][CountBits-1:0] counts_o  /// frames per outcome, from the last field of outcome_t on
);
  if (FrameWords < 1) begin : check_words
    $error("tw_decoder: FrameWords must be at least 1");
  end

  if (CountBits < 2 || CountBits % 2 != 0) begin : check_count
    $error("tw_decoder: CountBits must be even, at least 2");
  end

  // One cycle after the MAC word; header of a frame's first word.
  logic valid_1q, begins_1q, ends_1q, error_1q, ends_2q;
  logic body_1q, over_1q;  // it completes a data word that fits; an earlier one did not fit
  logic whole_1q, whole_long_1q;  // as a last word it completes a data word; in a session's frame
  logic [WordBits-1:0] data_1q;
  logic [FrontBits-1:0] front_q;  // part of a data word in the previous MAC word
  logic inside_q;  // in a frame
  logic [WordsBits-1:0] words_q, words_2q;  // data words; one cycle ago
  logic most_q;  // the maximum is reached
  header_t header_1;

  assign header_1 = header_t'(reversed(data_1q[HeaderBits-1:0]));

  wire begins = rx_valid_i && !inside_q;
  logic long_q;  // it has a session header
  wire good_1 = (long_q ? whole_long_1q : whole_1q) && !over_1q && !error_1q && !begins_1q;

  always_ff @(posedge clk_i) begin
    data_1q  <= rx_data_i;
    error_1q <= rx_error_i;
    words_2q <= words_q;
    whole_1q <= rx_keep_i == (WordBytes'(1) << HeaderBytes) - 1'b1;
    whole_long_1q <= rx_keep_i == (WordBytes'(1) << LongBytes) - 1'b1;
    if (valid_1q) front_q <= data_1q[WordBits-1:HeaderBits];
    if (begins) begin
      words_q <= '0;
      most_q  <= 1'b0;
      over_1q <= 1'b0;
    end else if (rx_valid_i) begin
      words_q <= words_q + 1'b1;
      most_q  <= most_q || 32'(words_q) + 1 == FrameWords;
      over_1q <= over_1q || most_q;
    end
    if (rst_i) begin
      valid_1q  <= 1'b0;
      begins_1q <= 1'b0;
      ends_1q   <= 1'b0;
      body_1q   <= 1'b0;
      inside_q  <= 1'b0;
    end else begin
      valid_1q  <= rx_valid_i;
      begins_1q <= begins;
      ends_1q   <= rx_valid_i && rx_last_i;
      body_1q   <= rx_valid_i && inside_q && !most_q;
      if (rx_valid_i) inside_q <= !rx_last_i;
    end
  end

  // Decision, two cycles after a frame's first word.
  logic decides_q, type_q, data_q, indication_q, credit_q, first_q, last_q;
  logic [2:0] address_q, group_q;  // parts of the destination equal to the external port's address, and to the source's multicast group
  logic [7:0] channel_q;
  logic [Ports-1:0] joined;  // the virtual port of its circuit
  logic [Ports-1:0] takes, takes_q, to_q;  // port that accepts its words; the frame's port
  // Properties of a frame; its outcome unless its end is bad.
  typedef struct packed {
    logic to_me, to_group, vcsn, data, credit, indication, sequenced;
    logic joined, fits, room;  // a virtual port's circuit has its source; session header and session agree; the port has room
  } begun_t;
  begun_t begun_q;
  outcome_t begun;

  tw_circuit_table #(
      .Ports(Ports)
  ) circuits (
      .clk_i,
      .rst_i,
      .write_valid_i,
      .write_port_i,
      .write_row_i,
      .row_valid_o   (),
      .row_address_o (),
      .row_port_o    (),
      .from_address_i(header_1.source),
      .from_port_i   (header_1.circuit.source_port),
      .to_port_i     (header_1.circuit.destination_port),
      .joined_o      (joined)
  );

  address_t group_1;
  wire to_group = group_q == '1;
  wire to_me = address_q == '1;

  assign group_1 = group_of(header_1.source, header_1.circuit.source_port);
  wire  [Ports-1:0] fits = long_q ? session_i : ~session_i;  // session header and session agree
  wire  ours = (begun_q.to_me || begun_q.to_group) && begun_q.vcsn;
  wire  known = ours && begun_q.joined;
  wire  matched = known && !begun_q.indication && begun_q.fits;
  assign takes = decides_q ? joined & room_i & fits & {Ports{(to_me || to_group) && data_q}} : takes_q;
  assign begun = '{
          stray: !begun_q.to_me && !(begun_q.to_group && begun_q.vcsn && begun_q.joined),
          other: begun_q.to_me && !begun_q.vcsn,
          foreign: begun_q.to_me && begun_q.vcsn && !begun_q.joined,
          indication: known && begun_q.indication,
          sequenced: matched && begun_q.sequenced,
          credit: matched && !begun_q.sequenced && begun_q.credit,
          unformed: matched && !begun_q.sequenced && !begun_q.data && !begun_q.credit,
          full: matched && !begun_q.sequenced && begun_q.data && !begun_q.room,
          taken: matched && !begun_q.sequenced && begun_q.data && begun_q.room,
          sessionless: known && !begun_q.indication && !begun_q.fits,
          damaged: 1'b0
      };

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < 3; i++) begin
      address_q[i] <= header_1.destination[16*i+:16] == address_i[16*i+:16];
      group_q[i] <= header_1.destination[16*i+:16] == group_1[16*i+:16];
    end
    type_q <= header_1.ethertype == 16'(EtherType);
    data_q <= header_1.ethertype == 16'(EtherType) && header_1.circuit.kind == FrameKindData;
    indication_q <= header_1.circuit.kind == FrameKindIndication;
    credit_q <= header_1.circuit.kind == FrameKindCredit;
    if (begins_1q) begin
      long_q <= header_1.circuit.sequenced;
      first_q   <= header_1.circuit.first;
      last_q    <= header_1.circuit.last;
      channel_q <= header_1.circuit.channel;
    end
    if (decides_q) begun_q <= '{
          to_me: to_me,
          to_group: to_group,
          vcsn: type_q,
          data: data_q,
          credit: credit_q,
          indication: indication_q,
          sequenced: long_q,
          joined: joined != 0,
          fits: (joined & fits) != 0,
          room: (joined & room_i) != 0
      };
    if (decides_q) to_q <= joined;
    if (rst_i) begin
      decides_q <= 1'b0;
      takes_q   <= '0;
    end else begin
      decides_q <= begins_1q;
      // A one-word frame ends before its decision.
      takes_q   <= ends_1q || ends_2q ? '0 : takes;
    end
  end

  // Words and end of the frame.
  logic body_first_q;  // the next data word is the first one
  logic [Ports-1:0] commit_q, drop_q;

  assign word_valid_o = body_1q ? takes : '0;
  assign word_data_o = {Ports{
    long_q ? {data_1q[LongBits-1:0], front_q[FrontBits-1:SequenceBits]} : {data_1q[HeaderBits-1:0], front_q}
  }};
  assign word_first_o = {Ports{first_q && body_first_q}};
  assign word_last_o = {Ports{last_q && ends_1q}};
  assign word_channel_o = {Ports{channel_q}};
  assign commit_o = commit_q;
  assign drop_o = drop_q;
  assign receiving_o = takes_q;
  assign kept_valid_o = commit_q != 0;
  assign kept_words_o = words_2q;

  always_ff @(posedge clk_i) begin
    if (begins_1q) body_first_q <= 1'b1;
    else if (valid_1q) body_first_q <= 1'b0;
    for (int unsigned i = 0; i < Ports; i++) begin
      commit_q[i] <= !rst_i && ends_1q && good_1 && takes[i];
      drop_q[i]   <= !rst_i && ends_1q && !begins_1q && !good_1 && takes[i];
    end
  end

  // Outcome: the first word's decision is available two cycles after the last word's.
  logic error_2q, good_2q, ends_3q, error_3q, good_3q;
  outcome_t outcome_q;

  logic single_2q, single_3q;  // it has exactly one word
  logic [63:0] number_2q, number_q;  // at the start of the first one
  vcsn_sequence_t sequence_2q, sequence_q;
  logic [$bits(frame_kind_e)-1:0] kind_2q, kind_q;
  logic rx_first_q, rx_last_q;
  wire knows = kind_q == FrameKindData || kind_q == FrameKindAcknowledgement || kind_q == FrameKindRefusal;

  assign begin_valid_o = begins_1q;
  wire vcsn_sequence_t begin_sequence = vcsn_sequence_of(data_1q[HeaderBits+:SequenceBits]);
  assign begin_number_o = begin_sequence.number;
  assign rx_valid_o = ends_3q && good_3q && knows && begun.sequenced ? to_q : '0;
  assign rx_sequence_o = {Ports{sequence_q}};
  assign rx_kind_o = {Ports{kind_q}};
  assign rx_first_o = {Ports{rx_first_q}};
  assign rx_last_o = {Ports{rx_last_q}};
  assign rx_number_o = {Ports{number_q}};

  assign indicated_o = ends_3q && !error_3q && begun.indication ? to_q : '0;
  assign credit_valid_o = ends_3q && good_3q && single_3q && begun.credit ? to_q : '0;
  assign credit_number_o = {Ports{number_q[31:0]}};

  always_ff @(posedge clk_i) begin
    error_2q <= error_1q;
    good_2q <= good_1;
    error_3q <= error_2q;
    good_3q <= good_2q;
    single_2q <= 32'(words_q) == 1;
    single_3q <= single_2q;
    number_2q <= header_1.circuit.sequenced ? data_1q[LongBits+:64] : data_1q[HeaderBits+:64];
    sequence_2q <= begin_sequence;
    kind_2q <= header_1.circuit.kind;
    if (decides_q) begin
      number_q <= number_2q;
      sequence_q <= sequence_2q;
      kind_q <= kind_2q;
      rx_first_q <= first_q;
      rx_last_q <= last_q;
    end
    outcome_q <= begun;
    if ((begun.taken && !good_3q) || (begun.sequenced && !(good_3q && knows))) begin
      outcome_q.taken <= 1'b0;
      outcome_q.sequenced <= 1'b0;
      outcome_q.unformed <= 1'b1;
    end
    if (error_3q) outcome_q <= '{damaged: 1'b1, default: 1'b0};
    if (!ends_3q) outcome_q <= '0;
    if (rst_i) begin
      ends_2q   <= 1'b0;
      ends_3q   <= 1'b0;
      outcome_q <= '0;
    end else begin
      ends_2q <= ends_1q;
      ends_3q <= ends_2q;
    end
  end

  // Counters in two halves shorten the carry chain.
  for (genvar i = 0; i < Outcomes; i++) begin : count
    logic [CountBits/2-1:0] low_q, high_q;
    logic carries_q;  // all bits of the lower half are set

    assign counts_o[i] = {high_q, low_q};

    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        low_q <= '0;
        high_q <= '0;
        carries_q <= 1'b0;
      end else if (outcome_q[i]) begin
        low_q <= low_q + 1'b1;
        if (carries_q) high_q <= high_q + 1'b1;
        carries_q <= low_q == ~(CountBits / 2)'(1);
      end
    end
  end
endmodule
