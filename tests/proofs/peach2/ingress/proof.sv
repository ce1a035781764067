// SPDX-License-Identifier: Apache-2.0
// Environment: words of any packets, valid or not, with any pauses, and any answers of the windows (tests/proofs/answers). Any
// one word is watched: its position in the store, its packet's verdict, and whether it is sent or dropped. One bit of the words'
// data is checked, as they are only stored. With Units, the sender respects that many credits.
module ingress_proof
  import tw_spec_pkg::*, tw_peach2_pkg::*;
#(
    parameter logic [2:0] Port = North,
    parameter logic Reads = 1'b1,
    parameter logic Answers = 1'b1,
    parameter int unsigned Words = 10,
    parameter int unsigned Packets = 2,
    parameter int unsigned Units = 0
) (
    input logic         clk_i,
    input logic         rst_i,
    input logic         watch_i,
    input logic [ 15:0] own_i,
    input logic [ 15:0] owners_i,    // with an answer of the windows
    input window_t      answer_i,    // answer of the windows to the query of two cycles ago
    input logic         in_valid_i,
    input logic [127:0] in_bytes_i,
    input logic         in_last_i,
    input logic         out_ready_i
);
  logic in_ready, out_valid, out_last, freed, refused, refused_read;
  wire word_t in_data = {128'd0, in_bytes_i};
  word_t out_data;
  logic [2:0] out_to;
  logic [UnitsBits-1:0] freed_units;
  refusal_e refused_reason;
  source_t refused_source;
  logic [AddressBits-1:0] refused_address;

  localparam logic [BaseBits-1:0] Base = {4'd5, 5'd31};

  tw_reset_first surroundings (.*);

  tw_ingress #(
      .Port(Port),
      .Reads(Reads),
      .Answers(Answers),
      .Words(Words),
      .Packets(Packets),
      .Windows(2)
  ) ingress (
      .base_i           (Base),
      .load_valid_i     (1'b0),
      .load_index_i     ('0),
      .load_window_i    (answer_i),
      .in_ready_o       (in_ready),
      .in_data_i        (in_data),
      .out_valid_o      (out_valid),
      .out_data_o       (out_data),
      .out_last_o       (out_last),
      .out_to_o         (out_to),
      .freed_valid_o    (freed),
      .freed_units_o    (freed_units),
      .refused_valid_o  (refused),
      .refused_reason_o (refused_reason),
      .refused_read_o   (refused_read),
      .refused_source_o (refused_source),
      .refused_address_o(refused_address),
      .*
  );

  localparam int unsigned Watched = 77;  // the bit of the data
  localparam logic Cable = Port == East || Port == West || Port == South;
  typedef logic [15:0] number_t;
  typedef struct packed {
    logic passes, unsupported;
    logic [2:0] to;
    logic [UnitsBits-1:0] units;
  } verdict_t;
  typedef struct packed {
    logic write, read, answer, data;
    logic [9:0] length;
    logic [61:0] address;
    logic [15:0] requester;
    logic side;
    logic led;
    source_t source;
  } header_t;

  // --- The input, and the expected verdict

  wire accept = in_valid_i && in_ready;
  logic inside_q;  // words of a packet are outstanding
  wire begins = accept && !inside_q;
  // verilator lint_off UNUSEDSIGNAL
  wire pcie_memory_write_t request = pcie_memory_write_of(in_bytes_i);
  wire pcie_completion_t completion = pcie_completion_of(in_bytes_i[95:0]);
  // verilator lint_on UNUSEDSIGNAL
  wire header_t header = '{
      write: in_bytes_i[7:0] == 8'h60,
      read: in_bytes_i[7:0] == 8'h20 && in_last_i,
      answer: in_bytes_i[7:0] == 8'h4A || in_bytes_i[7:0] == 8'h0A,
      data: in_bytes_i[6],
      length: request.length,
      address: request.address,
      requester: completion.requester,
      side: completion.tag[7],
      led: request.tag > 8'd15,
      source: Cable ? '{node: request.requester[11:8], port: request.requester[2:0]} : '{node: 4'd5, port: Port}
  };
  header_t header_q, judged_q;  // one cycle ago; two cycles ago
  logic asked_q, found_q;

  // The destination port according to the windows' answer in this cycle.
  wire hit = answer_i.used;
  wire [2:0] to = answer_i.to;
  wire bus_or_host = to == North || to == Bus;
  wire [10:0] page_end = 11'(judged_q.address[9:0]) + 11'(judged_q.length);
  wire [29:0] from = {judged_q.address[27:0], 2'd0};  // byte address within the hub
  wire [29:0] behind = from + 30'(12'(judged_q.length) * 12'd4);
  wire a_register = to == Bus && from >= 30'h38000000 && from < 30'h38001000 && (from < 30'h38000400 || behind > 30'h38000410);
  refusal_e reason;
  always_comb begin
    reason = RefusedNot;
    if (judged_q.answer) begin
      if (!Answers) reason = RefusedRead;
    end else begin
      if (judged_q.write && Port != North && a_register && !owners_i[judged_q.source.node]) reason = RefusedLocked;
      if (judged_q.write && Cable && judged_q.led) reason = RefusedLed;
      if (judged_q.read && !(Reads && bus_or_host)) reason = RefusedRead;
      if (to == Port || to == 3'd5 || to == 3'd6 || to == 3'd7) reason = RefusedBack;
      if (!hit || judged_q.address >= 62'd1 << 37) reason = RefusedOutside;
      if (page_end > 11'd1024) reason = RefusedCrosses;
    end
    if ((judged_q.length == 0 || judged_q.length > 10'd64) && (judged_q.data || !judged_q.answer) || !(judged_q.write || judged_q.read || judged_q.answer))
      reason = RefusedMalformed;
  end
  verdict_t verdict;
  always_comb begin
    verdict.unsupported = reason != RefusedNot && judged_q.read;
    verdict.passes = reason == RefusedNot || judged_q.read;
    verdict.to = Port == Results && to == Bus ? Side : to;
    if (judged_q.answer) verdict.to = judged_q.requester == own_i ? judged_q.side ? Results : Engine : North;
    if (verdict.unsupported) verdict.to = Port;
    verdict.units = !judged_q.data ? '0 : UnitsBits'((8'(judged_q.length[6:0]) + 8'd3) / 8'd4);
  end

  typedef struct packed {
    refusal_e reason;
    logic was_read;
    source_t source;
    logic [AddressBits-1:0] address;
  } report_t;
  logic [15:0] own_q;
  logic own_known_q = 1'b0;
  logic report_due_q;
  report_t report_q;

  always_ff @(posedge clk_i) begin
    own_is_constant : assume (!own_known_q || own_i == own_q);
    header_q <= header;
    judged_q <= header_q;
    asked_q <= !rst_i && begins;
    found_q <= !rst_i && asked_q;
    report_due_q <= !rst_i && found_q && reason != RefusedNot;
    report_q <= '{reason: reason, was_read: judged_q.read, source: judged_q.source, address: AddressBits'({judged_q.address, 2'd0})};
    own_q <= own_i;
    own_known_q <= 1'b1;
    if (rst_i) inside_q <= 1'b0;
    else if (accept) inside_q <= !in_last_i;
  end

  // --- The store: its words and packets, which words are the last of their packets, and the verdicts

  number_t held_q, packets_q;
  wire leaves = ingress.leaves;  // a word is sent or dropped
  wire ends = leaves && out_last;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      held_q <= '0;
      packets_q <= '0;
    end else begin
      held_q <= held_q + number_t'(accept) - number_t'(leaves);
      packets_q <= packets_q + number_t'(begins) - number_t'(ends);
    end
  end

  wire number_t at_output = number_t'(ingress.store.valid_q);
  wire number_t judged = number_t'(ingress.verdicts.count_q);
  logic [Words:0] lasts, bits;
  logic [Words+1:0][15:0] lasts_to;  // number of last words before a position
  always_comb begin
    lasts_to = '0;
    for (int unsigned k = 0; k <= Words; k++) begin
      automatic int unsigned place = 32'(ingress.store.memory.read_q) + k - 32'(at_output);
      if (place >= Words) place = place - Words;
      lasts[k] = ingress.store.memory.words_q[place][WordBits];
      bits[k]  = ingress.store.memory.words_q[place][Watched];
      if (k == 0 && at_output != 0) begin
        lasts[k] = ingress.store.data_q[WordBits];
        bits[k]  = ingress.store.data_q[Watched];
      end
      lasts_to[k+1] = lasts_to[k] + number_t'(lasts[k] && k < 32'(held_q));
    end
  end
  function automatic int unsigned verdict_place(number_t packet);
    automatic int unsigned place = 32'(ingress.verdicts.read_q) + 32'(packet);
    return place < Packets ? place : place - Packets;
  endfunction

  // --- The newest packet's verdict

  logic [1:0] age_q;  // cycles since it began, up to 3
  verdict_t newest_q;
  wire [1:0] age = begins ? 2'd0 : age_q;

  always_ff @(posedge clk_i) begin
    age_q <= age == 2'd3 ? 2'd3 : age + 2'd1;
    if (age_q == 2'd2) newest_q <= verdict;
  end

  // --- The watched word

  logic watched_q, bit_q, last_q, known_q, whole_q;
  logic [1:0] since_q;  // cycles since its packet began
  number_t ahead_q, packets_ahead_q;
  verdict_t verdict_q;
  wire watches = !watched_q && accept && watch_i;
  wire front = watched_q && ahead_q == 0;
  logic left_q, left_last_q, any_left_q;  // it has left, and was its packet's last; any word has left
  logic [UnitsBits-1:0] left_units_q;

  always_ff @(posedge clk_i) begin
    any_left_q <= !rst_i && leaves;
    left_q <= !rst_i && front && leaves;
    left_last_q <= last_q;
    left_units_q <= verdict_q.units;
    if (rst_i) begin
      watched_q <= 1'b0;
    end else if (watches) begin
      watched_q <= 1'b1;
      bit_q <= in_bytes_i[Watched];
      last_q <= in_last_i;
      whole_q <= in_last_i;
      ahead_q <= held_q - number_t'(leaves);
      packets_ahead_q <= packets_q - number_t'(!begins) - number_t'(ends);
      since_q <= age + 2'd1;
      known_q <= age == 2'd2 || age == 2'd3;
      verdict_q <= age == 2'd2 ? verdict : newest_q;
    end else if (watched_q) begin
      watched_q <= !(front && leaves);
      ahead_q <= ahead_q - number_t'(leaves);
      packets_ahead_q <= packets_ahead_q - number_t'(ends);
      whole_q <= whole_q || (accept && in_last_i);
      since_q <= since_q + 2'd1;
      if (!known_q && since_q == 2'd2) begin
        known_q   <= 1'b1;
        verdict_q <= verdict;
      end
    end
  end

  logic stalled_q, stalled_last_q, stalled_bit_q;
  logic [2:0] stalled_to_q;
  always_ff @(posedge clk_i) begin
    stalled_q <= !rst_i && out_valid && !out_ready_i;
    stalled_last_q <= out_last;
    stalled_bit_q <= out_data[Watched];
    stalled_to_q <= out_to;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      gives_what_it_holds : assert (!out_valid || held_q != 0);
      in_order : assert (!out_valid || !front || (known_q && verdict_q.passes && (verdict_q.unsupported || out_data[Watched] == bit_q) && out_last == last_q));
      where_it_has_to : assert (!out_valid || !front || out_to == verdict_q.to);
      comes_whole : assert (!out_valid || !front || whole_q);
      never_lost : assert (!front || !leaves || (known_q && (!verdict_q.passes || (out_valid && out_ready_i))));
      waits_for_ready :
      assert (!stalled_q || (out_valid && out_last == stalled_last_q && out_data[Watched] == stalled_bit_q && out_to == stalled_to_q));
      reported_once :
      assert (refused == report_due_q && (!refused || (refused_reason == report_q.reason && refused_read == report_q.was_read &&
              refused_source == report_q.source && refused_address == report_q.address)));
      units_return : assert (!left_q || (freed == left_last_q && (!freed || freed_units == left_units_q)));
      no_others : assert (!freed || any_left_q);
      passes : cover (front && out_valid && out_ready_i && last_q);
      dropped : cover (front && leaves && !verdict_q.passes && last_q);

      lemma_headers : assert (asked_q == ingress.windows.asked_q && found_q == ingress.windows.found_q &&
          (!asked_q || ingress.asked_q == header_q) && (!found_q || ingress.found_q == judged_q));
      lemma_places : assert (32'(ingress.store.memory.read_q) < Words && 32'(ingress.store.memory.write_q) < Words &&
          32'(ingress.verdicts.read_q) < Packets && 32'(ingress.verdicts.write_q) < Packets);
      lemma_held : assert (held_q == number_t'(ingress.store.count_o) + at_output && 32'(held_q) <= Words + 1);
      lemma_packets : assert (packets_q == number_t'(ingress.packets_q) && 32'(packets_q) <= Packets && inside_q == !ingress.first_q);
      lemma_judged : assert (packets_q == judged + number_t'(asked_q) + number_t'(found_q));
      lemma_whole : assert (number_t'(ingress.whole_q) == lasts_to[Words+1] && packets_q == lasts_to[Words+1] + number_t'(inside_q));
      lemma_inside : assert (!inside_q || (age_q != 0 && (age_q == 2'd1) == asked_q && (age_q == 2'd2 ? found_q : age_q == 2'd1 || !found_q)));
      lemma_newest : assert (!inside_q || age_q != 2'd3 || ingress.verdicts.words_q[verdict_place(judged-1)] == newest_q);
      lemma_ahead : assert (!watched_q || (ahead_q < held_q && packets_ahead_q == lasts_to[ahead_q]));
      lemma_word : assert (!watched_q || (lasts[ahead_q] == last_q && bits[ahead_q] == bit_q));
      lemma_its_whole : assert (!watched_q || whole_q == (packets_ahead_q < number_t'(ingress.whole_q)));
      lemma_known : assert (!watched_q || !known_q ||
          (packets_ahead_q < judged && ingress.verdicts.words_q[verdict_place(packets_ahead_q)] == verdict_q));
      lemma_unknown : assert (!watched_q || known_q || (since_q == 2'd1 ? asked_q && packets_ahead_q == judged + number_t'(found_q) :
          since_q == 2'd2 && found_q && packets_ahead_q == judged));
    end
  end

  // --- A sender that respects its credits

  if (Units != 0) begin : sender
    typedef struct packed {
      logic [4:0] words;
      logic [UnitsBits-1:0] units;
    } packet_t;
    packet_t [Packets:0] packets;  // in the store, the oldest first
    packet_t [Packets:0] kept_q;
    logic [4:0] come_q, gone_q;  // words of the newest that have arrived; words of the oldest that have left
    number_t sent_q, units_q;  // credits of packets and units that have not returned

    wire [2:0] line_at = header.answer ? completion.lower_address[4:2] : request.address[2:0];
    wire packet_t packet = '{
        words: header.read ? 5'd1 : 5'd1 + 5'((8'(line_at) + 8'(header.length[6:0]) + 8'd7) / 8'd8),
        units: header.read ? '0 : UnitsBits'((8'(header.length[6:0]) + 8'd3) / 8'd4)
    };
    wire [4:0] comes = inside_q ? come_q + 5'd1 : 5'd1;
    wire [4:0] of = inside_q ? kept_q[packets_q-1].words : packet.words;
    always_comb begin
      packets = kept_q;
      if (begins) packets[packets_q] = packet;
    end

    always_ff @(posedge clk_i) begin
      right_packets : assume (!in_valid_i || inside_q ||
          ((header.write || header.read || header.answer) && header.length != 0 && header.length <= 10'd64));
      right_length : assume (!in_valid_i || in_last_i == (comes == of));
      has_credits : assume (!in_valid_i || inside_q || (32'(sent_q) < Packets && 32'(units_q) + 32'(packet.units) <= Units));
      if (accept) come_q <= comes;
      if (leaves) gone_q <= ends ? '0 : gone_q + 5'd1;
      kept_q <= ends ? packets >> $bits(packet_t) : packets;
      if (rst_i) begin
        gone_q  <= '0;
        sent_q  <= '0;
        units_q <= '0;
      end else begin
        sent_q  <= sent_q + number_t'(begins) - number_t'(freed);
        units_q <= units_q + (begins ? number_t'(packet.units) : '0) - (freed ? number_t'(freed_units) : '0);
      end
    end

    number_t words, units, ends_at;
    logic [Words:0] boundaries;
    logic few, same;
    always_comb begin
      words = '0;
      units = '0;
      ends_at = '0;
      boundaries = '0;
      few = 1'b1;
      same = 1'b1;
      for (int unsigned p = 0; p < Packets; p++) begin
        if (p < 32'(packets_q)) begin
          words += number_t'(kept_q[p].words);
          units += number_t'(kept_q[p].units);
          few &= 2 * 32'(kept_q[p].words) <= 32'(kept_q[p].units) + 5 && kept_q[p].words != 0;
          for (int unsigned k = 0; k <= Words; k++) if (32'(words) == k + 32'(gone_q) + 1) boundaries[k] = 1'b1;
          if (p < 32'(judged)) same &= ingress.verdicts.words_q[verdict_place(number_t'(p))][UnitsBits-1:0] == kept_q[p].units;
          else if (p == 32'(judged) && found_q) same &= verdict.units == kept_q[p].units;
          else same &= header_q.read ? kept_q[p].units == 0 : 32'(kept_q[p].units) == (32'(header_q.length[6:0]) + 3) / 4;
        end
      end
      if (inside_q) words = words - number_t'(kept_q[packets_q-1].words) + number_t'(come_q);
    end
    logic in_place;
    always_comb begin
      in_place = 1'b1;
      for (int unsigned k = 0; k <= Words; k++) in_place &= k >= 32'(held_q) || lasts[k] == boundaries[k];
    end

    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        suffices : assert (!in_valid_i || in_ready);

        lemma_few : assert (few);
        lemma_same : assert (same);
        lemma_sent : assert (sent_q == packets_q + number_t'(freed) && units_q == units + (freed ? number_t'(freed_units) : '0) &&
            32'(sent_q) <= Packets && 32'(units_q) <= Units);
        lemma_words : assert (words == held_q + number_t'(gone_q) && (packets_q != 0 || gone_q == 0));
        lemma_come : assert (!inside_q || (packets_q != 0 && come_q != 0 && come_q < kept_q[packets_q-1].words));
        lemma_in_place : assert (in_place && (packets_q == 0 || gone_q < kept_q[0].words));
      end
    end
  end
endmodule
