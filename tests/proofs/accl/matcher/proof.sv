// SPDX-License-Identifier: Apache-2.0
// Environment: any operations; buffers are written and read at any time. No buffer that has been read belongs to a message that
// finishes or ends meanwhile.
module matcher_proof
  import tw_matcher_pkg::*;
#(
    parameter int unsigned Buffers = 2,
    parameter int unsigned Slots = 2,
    parameter int unsigned Communicators = 2,
    parameter int unsigned Ranks = 2,
    parameter int unsigned MostPackets = 2,
    parameter int unsigned Window = 2,
    localparam int unsigned Rows = Buffers > Slots ? Buffers : Slots
) (
    input logic                            clk_i,
    input logic                            rst_i,
    input settings_t                       settings_i,
    input logic      [Communicators-1:0]   communicator_valid_i,
    input logic      [Communicators-1:0][31:0] communicator_id_i,
    input logic                            request_valid_i,
    input request_t                        request_data_i,
    input logic                            written_valid_i,
    input logic      [7:0]                 written_buffer_i,
    input logic                            release_valid_i,
    input logic      [7:0]                 release_buffer_i
);
  logic request_ready, answer_valid, news;
  answer_t answer;

  tw_reset_first surroundings (.*);

  tw_matcher #(
      .Buffers(Buffers),
      .Slots(Slots),
      .Communicators(Communicators),
      .Ranks(Ranks),
      .MostPackets(MostPackets),
      .Window(Window)
  ) matcher (
      .request_ready_o(request_ready),
      .answer_valid_o (answer_valid),
      .answer_data_o  (answer),
      .news_o         (news),
      .*
  );

  localparam int unsigned Load = 3, Early = 4, Scan = 7, Settle = Scan + Rows + 3, Write = Settle + 8, StateFrom = 8;  // as in the block

  wire [31:0] step = 32'(matcher.step_q);
  wire [31:0] from = matcher.arrives ? Early : Scan;
  wire frees_all = matcher.ends || (matcher.finishes && matcher.claimed_slot_q);

  // Per buffer: no write outstanding; belongs to the message sought; to the segment sought; to the messages whose buffers are
  // freed.
  logic [Buffers-1:0] quiet, message, segment, belongs;
  for (genvar b = 0; b < Buffers; b++) begin : buffer
    wire channel = matcher.keys_q[b].communicator == matcher.sought_q.communicator && matcher.keys_q[b].collective == matcher.sought_q.collective &&
        (!matcher.sought_q.collective || matcher.keys_q[b].tag == matcher.sought_q.tag);
    assign quiet[b] = matcher.done_q[b] == matcher.kept_q[b];
    assign message[b] = channel && matcher.keys_q[b].source == matcher.sought_q.source && matcher.keys_q[b].number == matcher.sought_q.number;
    assign segment[b] = message[b] && matcher.keys_q[b].segment == matcher.sought_q.segment;
    assign belongs[b] = matcher.ends ? channel && matcher.sought_q.collective : message[b];
  end

  // Per slot: holds the message sought.
  logic [Slots-1:0] has;
  for (genvar i = 0; i < Slots; i++) begin : slot
    assign has[i] = matcher.claimed_q[i] && matcher.slot_keys_q[i].communicator == matcher.sought_q.communicator && matcher.slot_keys_q[i].source == matcher.sought_q.source &&
        matcher.slot_keys_q[i].collective == matcher.sought_q.collective && (!matcher.sought_q.collective || matcher.slot_keys_q[i].tag == matcher.sought_q.tag) &&
        matcher.slot_keys_q[i].number == matcher.sought_q.number;
  end

  // The rows in the stages of the scan.
  logic [3:1] entry, slots_row;
  logic [3:1][$clog2(Rows)-1:0] index;
  assign entry = {matcher.at_3q.entry, matcher.at_2q.entry, matcher.at_1q.entry};
  assign slots_row = {matcher.at_3q.slot, matcher.at_2q.slot, matcher.at_1q.slot};
  assign index = {matcher.at_3q.index, matcher.at_2q.index, matcher.at_1q.index};
  wire [3:1] live = {matcher.entry_3q.fits, matcher.used_2q, matcher.used_1q};
  wire [3:1] claimed = {matcher.slot_3q.fits, matcher.claimed_2q, matcher.claimed_1q};
  wire [3:1] free = {matcher.free_3q, matcher.free_2q, !matcher.used_1q && matcher.quiet_1q};

  logic [Buffers-1:0] used_1q, freed_1q;
  logic emptied_1q;
  logic [Buffers-1:0] released, freed;
  always_comb begin
    released = '0;
    freed = '0;
    if (matcher.release_q) released[matcher.release_buffer_q] = 1'b1;
    if (matcher.frees_3) freed[index[3][$clog2(Buffers)-1:0]] = 1'b1;
  end

  logic [3:1][$clog2(Buffers)-1:0] place;
  logic one, scan, unused, alive, known, alone, same, hits, slots;
  always_comb begin
    for (int unsigned k = 1; k <= 3; k++) place[k] = index[k][$clog2(Buffers)-1:0];
    one = 1'b1;
    for (int unsigned b = 0; b < Buffers; b++) for (int unsigned c = 0; c < b; c++) one &= !(matcher.used_q[b] && matcher.used_q[c]) || matcher.keys_q[b].communicator != matcher.keys_q[c].communicator || matcher.keys_q[b].source != matcher.keys_q[c].source ||
              matcher.keys_q[b].collective != matcher.keys_q[c].collective || (matcher.keys_q[b].collective && matcher.keys_q[b].tag != matcher.keys_q[c].tag) ||
              matcher.keys_q[b].number != matcher.keys_q[c].number || matcher.keys_q[b].segment != matcher.keys_q[c].segment;
    scan = 1'b1;
    unused = 1'b1;
    alive = 1'b1;
    known = 1'b1;
    alone = 1'b1;
    same = 1'b1;
    hits = 1'b1;
    slots = 1'b1;
    for (int unsigned k = 1; k <= 3; k++) begin
      scan &= entry[k] == (step >= from + k && step < from + k + Buffers);
      scan &= slots_row[k] == (step >= from + k && step < from + k + Slots);
      scan &= !(entry[k] || slots_row[k]) || 32'(index[k]) + from + k == step;
      unused &= !entry[k] || !free[k] || (!matcher.used_q[place[k]] && quiet[place[k]]);
      alive &= !entry[k] || !live[k] || !frees_all || !belongs[place[k]] || matcher.used_q[place[k]];
      for (int unsigned b = 0; b < Buffers; b++) begin
        known &= !matcher.arrives || !entry[k] || 32'(index[k]) != b || !matcher.used_q[b] || (k == 3 && !message[b]) || live[k];
        alone &= !matcher.arrives || !entry[k] || 32'(index[k]) == b || !matcher.used_q[b] || !segment[b] || !live[k] || !segment[place[k]];
      end
    end
    same &= !entry[1] || matcher.entry_1q == matcher.keys_q[index[1]];
    same &= !slots_row[1] || matcher.slot_1q == matcher.slot_keys_q[index[1]];
    same &= !entry[2] || (matcher.entry_2q.communicator == (
        matcher.keys_q[index[2]].communicator == matcher.sought_q.communicator && matcher.keys_q[index[2]].collective == matcher.sought_q.collective) &&
        matcher.entry_2q.source == (matcher.keys_q[index[2]].source == matcher.sought_q.source) && (&matcher.entry_2q.tag) == (matcher.keys_q[index[2]].tag == matcher.sought_q.tag) &&
        (&matcher.entry_2q.number) == (matcher.keys_q[index[2]].number == matcher.sought_q.number) && (&matcher.entry_2q.segment) == (matcher.keys_q[index[2]].segment == matcher.sought_q.segment));
    same &= !slots_row[2] || (matcher.slot_2q.communicator == (
        matcher.slot_keys_q[index[2]].communicator == matcher.sought_q.communicator && matcher.slot_keys_q[index[2]].collective == matcher.sought_q.collective) &&
        matcher.slot_2q.source == (matcher.slot_keys_q[index[2]].source == matcher.sought_q.source) && (&matcher.slot_2q.tag) == (matcher.slot_keys_q[index[2]].tag == matcher.sought_q.tag) &&
        (&matcher.slot_2q.number) == (matcher.slot_keys_q[index[2]].number == matcher.sought_q.number));
    same &= !entry[3] || !matcher.entry_3q.fits || (!matcher.exact_q && !matcher.ends) || belongs[place[3]];
    same &= !entry[3] || matcher.entry_3q.segment == (matcher.keys_q[place[3]].segment == matcher.sought_q.segment);
    for (int unsigned i = 0; i < Slots; i++) begin
      for (int unsigned k = 1; k <= 3; k++)
      slots &= !slots_row[k] || 32'(index[k]) != i || !matcher.claimed_q[i] || (k == 3 && (!has[i] || !matcher.finds || !matcher.exact_q)) || claimed[k];
      slots &= !matcher.finds || !matcher.exact_q || matcher.claimed_slot_q || step <= Scan + i + 3 || step > Settle + 1 || !has[i] || matcher.message_q;
    end
    for (int unsigned b = 0; b < Buffers; b++) begin
      hits &= !matcher.arrives || step <= Early + b + 3 || !matcher.used_q[b] || !segment[b] || matcher.hit_q;
      hits &= !matcher.arrives || step <= Load || !matcher.hit_q || 32'(matcher.hit_index_q) == b || !matcher.used_q[b] || !segment[b];
    end
  end

  always_ff @(posedge clk_i) begin
    used_1q <= matcher.used_q;
    freed_1q <= released | freed;
    emptied_1q <= rst_i || matcher.clearing_q;

    no_read_of_what_is_freed : assume ((released & belongs) == '0 || step <= Load || !frees_all);

    if (!rst_i) begin
      gives_what_is_free : assert (!matcher.writes_entry || (!matcher.used_q[matcher.entry_q] && quiet[matcher.entry_q]));
      claims_once :
      assert (step != Write - 1 || !matcher.finds || !matcher.claims_q || matcher.sought_q.collective || matcher.exact_q || !matcher.state_q.claimed[matcher.best_place_q]);
      claims_in_order :
      assert (step != Write - 1 || !matcher.finds || !matcher.claims_q || matcher.sought_q.collective || matcher.exact_q || matcher.reached(
          matcher.state_q.come
      ) [matcher.best_place_q]);
      claims_once_of_a_collective : assert (step != Settle + 1 || !matcher.claims_q || !matcher.finds || !matcher.exact_q || has == '0);
      frees_once : assert ((freed & ~matcher.used_q) == '0 && (freed & released) == '0);
      frees_by_request : assert (emptied_1q || (used_1q & ~matcher.used_q & ~freed_1q) == '0);
      one_buffer_a_segment : assert (one);
      all_given : cover (matcher.used_q == '1);
      is_claimed : cover (matcher.claimed_q != '0);

      lemma_steps : assert (step <= Write && (!matcher.clearing_q || step == 0) && (!matcher.takes || step <= Load + 1 || step >= Settle + 3) &&
          (!matcher.finds || step <= Settle + 2 || step >= Write - 1) &&
          (!matcher.arrives || step <= Settle - 4 || (step >= Settle && step <= Settle + 3) || step >= Write - 1));
      lemma_address : assert (step < from || step >= from + Rows || 32'(matcher.row_address_q) == step - from);
      lemma_slot : assert (step < 2 || matcher.claimed_slot_q == matcher.claimed_q[matcher.slot]);
      lemma_exact : assert (step <= Load || matcher.exact_q == !(matcher.finds && !matcher.claimed_slot_q && !matcher.request_q.collective));
      lemma_end : assert (step <= Load || !matcher.ends || matcher.sought_q.collective);
      lemma_find : assert (step <= Load || matcher.exact_q || !matcher.sought_q.collective);
      lemma_scan : assert (scan);
      lemma_unused : assert (unused);
      lemma_alive : assert (alive);
      lemma_known : assert (known);
      lemma_alone : assert (alone);
      lemma_same : assert (same);
      lemma_hits : assert (hits);
      lemma_slots : assert (slots);
      lemma_hit_index : assert (!matcher.arrives || step <= Load || !matcher.hit_q || segment[matcher.hit_index_q]);
      lemma_first_free : assert (!matcher.arrives || step <= Load || !matcher.free_q || (!matcher.used_q[matcher.free_index_q] && quiet[matcher.free_index_q]));
      lemma_entry : assert (step <= Settle || matcher.takes || matcher.entry_q == (matcher.hit_q ? matcher.hit_index_q : matcher.free_index_q));
      lemma_no_free : assert (step <= Settle || matcher.takes || matcher.no_free_q || matcher.free_q);
      lemma_kept : assert (step != Write || !matcher.kept || matcher.hit_q || matcher.free_q);
      lemma_eligible : assert (step <= StateFrom || step >= Write || !matcher.finds || matcher.eligible_q == (matcher.reached(matcher.state_q.come) & ~matcher.state_q.claimed));
      lemma_can : assert (!matcher.finds || matcher.exact_q || !entry[3] || !matcher.entry_3q.fits || matcher.eligible_q[matcher.entry_3q.place]);
      lemma_none_yet : assert (step <= Load || step > Scan + 3 || !matcher.best_q);
      lemma_best : assert (!matcher.finds || matcher.exact_q || step <= Scan || step >= Write || !matcher.best_q || matcher.eligible_q[matcher.best_place_q]);
      lemma_claims : assert (step <= Settle || matcher.takes || !matcher.claims_q || (matcher.finds && matcher.best_q && !matcher.claimed_slot_q) || step >= Write);
    end
  end
endmodule
