// SPDX-License-Identifier: Apache-2.0
// Environment: slots of one link and one row, between peers that respect their credits. Packets, all of one length, arrive over
// the link with any pauses. Steps consume them and send others, for any edges, at any pace that the banks support; a unit starts
// a step once it has read the one before. Credits take any time to return, at least two cycles.
module slots_proof
  import tw_spec_pkg::*, tw_mpi_fpga_spec_pkg::*, tw_network_pkg::*;
#(
    parameter int unsigned Edges = 2,
    parameter int unsigned SlotFlits = 4,
    parameter int unsigned Batch = 2,
    parameter int unsigned Size = 1,     // log2 of a packet's flits
    parameter int unsigned Units = 2,
    parameter int unsigned Paces = 3,    // the slowest pace, at most 4
    localparam int unsigned EdgeWidth = Edges > 1 ? $clog2(Edges) : 1,
    localparam int unsigned UnitWidth = Units > 1 ? $clog2(Units) : 1,
    localparam int unsigned CountWidth = $clog2(SlotFlits + 1),
    localparam int unsigned AddressWidth = $clog2(Edges * SlotFlits)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                 load_i,
    input logic                 flit_i,          // the next flit of a packet, or the first one, arrives
    input logic                 credits_come_i,  // a credit packet with this count arrives instead
    input logic [EdgeWidth-1:0] flit_edge_i,
    input logic [CountWidth-1:0] flit_count_i,
    input logic [Edges-1:0]     back_i,          // outstanding credits reach the sender
    input logic                 step_i,
    input logic [Edges-1:0]     from_i,
    input logic [Edges-1:0]     to_i,
    input logic                 final_i,
    input logic [1:0]           pace_i,
    input logic [UnitWidth-1:0] unit_i,
    input logic                 credit_ready_i
);
  localparam logic [7:0] Flits = 8'd1 << Size;
  localparam logic [7:0] Slot = 8'(SlotFlits);
  localparam logic [4:0] Round = 5'(2 * SlotFlits);  // twice the length of a slot; narrow, as remainders are large circuits

  logic status_valid, status_free, credit_valid;
  logic [3:0] status_pace;
  logic [Edges-1:0] status_there;
  logic [Edges-1:0][CountWidth-1:0] status_credits;
  logic [0:0][EdgeWidth-1:0] credit_edge;
  logic [0:0][15:0] credit_count;

  tw_reset_first surroundings (.*);

  // --- Per edge: the sender's credits; flits in its slot or of a packet that has begun; flits of complete packets; freed space
  // that is not credited; credits in flight; and flits sent to the other end that are not credited.

  logic [Edges-1:0][7:0] credits_q, held_q, whole_q, room_q, back_q, sent_q;
  logic [Edges-1:0] due_q;  // its freed space must be credited
  logic [EdgeWidth:0] loaded_q;
  logic running_q;

  wire all_loaded = 32'(loaded_q) == Edges;
  wire loads = load_i && status_valid && !all_loaded;

  // The link.
  logic coming_q;  // a packet with outstanding flits
  logic [EdgeWidth-1:0] coming_edge_q;
  logic [7:0] left_q;
  wire edge_exists = 32'(flit_edge_i) < Edges;
  wire credits_come = flit_i && credits_come_i && !coming_q && all_loaded && edge_exists &&
      flit_count_i != 0 && 8'(flit_count_i) <= sent_q[flit_edge_i];
  wire begins = flit_i && !credits_come_i && !coming_q && all_loaded && edge_exists && credits_q[flit_edge_i] >= Flits;
  wire continues = flit_i && coming_q;
  wire [EdgeWidth-1:0] flit_edge = coming_q ? coming_edge_q : flit_edge_i;
  wire [7:0] left = coming_q ? left_q : Flits;
  wire tail = left == 1;
  wire flit_comes = begins || continues;
  wire in_valid = flit_comes || credits_come;

  flit_t flit;
  credit_t header;
  always_comb begin
    header = credit_empty();
    header.collective = CollectiveBarrier;
    header.edge_ = 5'(flit_edge_i);
    header.kind = credits_come ? 2'(KindCredit) : 2'(KindData);
    header.count = 16'(flit_count_i);
    flit = '{header, 4'd0, !coming_q, credits_come || tail};
  end

  // Steps.
  logic [Units-1:0][7:0] busy_q;
  wire [3:0] pace = 4'(pace_i) + 1;
  wire [UnitWidth-1:0] unit = 32'(unit_i) < Units ? unit_i : '0;
  logic [Edges-1:0] can;
  wire step = step_i && all_loaded && &can && status_free && pace >= status_pace && 32'(pace) <= Paces && busy_q[unit] == 0;

  always_ff @(posedge clk_i) begin
    for (int u = 0; u < int'(Units); u++) begin
      if (busy_q[u] != 0) busy_q[u] <= busy_q[u] - 1;
      if (step && 32'(unit) == u) busy_q[u] <= (8'(pace) << Size) - 1;
    end
    if (rst_i) busy_q <= '0;
  end

  tw_slots #(
      .Links(1),
      .Ports(1),
      .Rows(1),
      .Edges(Edges),
      .Vcs(1),
      .BankFlits(Edges * SlotFlits),
      .SlotFlits(SlotFlits),
      .Batch(Batch),
      .Units(Units),
      .ProcessBits(1)
  ) slots (
      .clk_i,
      .rst_i,
      .load_valid_i(loads),
      .load_row_i('0),
      .load_edge_i(EdgeWidth'(loaded_q)),
      .load_link_i('0),
      .load_base_i(AddressWidth'(32'(loaded_q) * SlotFlits)),
      .load_settled_o(),
      .in_valid_i(in_valid),
      .in_flit_i(flit),
      .arrives_empty_o(),
      .head_row_i('0),
      .head_edge_i('0),
      .head_valid_o(),
      .head_packet_o(),
      .row_i('0),
      .from_i,
      .status_valid_o(status_valid),
      .status_there_o(status_there),
      .status_credits_o(status_credits),
      .status_free_o(status_free),
      .status_pace_o(status_pace),
      .step_valid_i(step),
      .step_to_i(to_i),
      .step_size_i(3'(Size)),
      .step_final_i(final_i),
      .step_pace_i(pace),
      .step_unit_i(unit),
      .step_operand_i('0),
      .wait_valid_i(1'b0),
      .wait_credits_i(1'b0),
      .wait_edge_i('0),
      .wait_process_i('0),
      .early_valid_o(),
      .early_process_o(),
      .late_valid_o(),
      .read_valid_o(),
      .read_data_o(),
      .read_unit_o(),
      .read_operand_o(),
      .read_head_o(),
      .read_tail_o(),
      .credit_valid_o(credit_valid),
      .credit_ready_i,
      .credit_row_o(),
      .credit_edge_o(credit_edge),
      .credit_count_o(credit_count)
  );

  wire tells = credit_valid && credit_ready_i;

  always_ff @(posedge clk_i) begin
    if (begins) coming_edge_q <= flit_edge_i;
    if (flit_comes) left_q <= left - 1;
    if (rst_i) begin
      coming_q <= 1'b0;
      loaded_q <= '0;
      running_q <= 1'b0;
    end else begin
      if (flit_comes) coming_q <= !tail;
      if (loads) loaded_q <= loaded_q + 1;
      running_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      tells_what_is_due : assert (!credit_valid || (32'(credit_edge) < Edges && due_q[credit_edge] &&
          16'(room_q[credit_edge]) == credit_count && credit_count != 0));
      full : cover (whole_q[0] == Slot);

      lemma_ready : assert (running_q ? slots.ready_q : !slots.ready_q && slots.clear_q == 0);
      lemma_loaded : assert (32'(loaded_q) <= Edges && (loaded_q == 0 || slots.ready_q));
      lemma_coming : assert (!coming_q || (32'(coming_edge_q) < Edges && left_q != 0 && left_q < Flits && all_loaded));
    end
  end

  if (Paces > 1) begin : slow
    always_ff @(posedge clk_i) begin
      if (!rst_i) room_waits : cover (32'(busy_q[0]) == (Paces << Size) - 2 && due_q[0] && !credit_valid && held_q[0] + room_q[0] == Slot);
    end
  end

  wire [2:0] queued = 3'(slots.port[0].queue.count_q);
  wire [Edges-1:0] already_reported = slots.port[0].reported_q;

  for (genvar k = 0; k < Edges; k++) begin : edge_
    wire takes = step && from_i[k];
    wire sends = step && to_i[k];
    wire reported_now = tells && credit_edge == EdgeWidth'(k);
    wire returned = credits_come && flit_edge == EdgeWidth'(k);
    wire [7:0] room = reported_now ? 8'd0 : room_q[k];

    assign can[k] = (!from_i[k] || whole_q[k] != 0) && (!to_i[k] || sent_q[k] + Flits <= Slot);

    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        credits_q[k] <= Slot;
        held_q[k] <= '0;
        whole_q[k] <= '0;
        room_q[k] <= '0;
        back_q[k] <= '0;
        sent_q[k] <= '0;
        due_q[k] <= 1'b0;
      end else begin
        credits_q[k] <= credits_q[k] - (begins && flit_edge == EdgeWidth'(k) ? Flits : 8'd0) + (back_i[k] ? back_q[k] : 8'd0);
        held_q[k] <= held_q[k] + (begins && flit_edge == EdgeWidth'(k) ? Flits : 8'd0) - (takes ? Flits : 8'd0);
        whole_q[k] <= whole_q[k] + (flit_comes && tail && flit_edge == EdgeWidth'(k) ? Flits : 8'd0) - (takes ? Flits : 8'd0);
        room_q[k] <= room + (takes ? Flits : 8'd0);
        back_q[k] <= (back_i[k] ? 8'd0 : back_q[k]) + (reported_now ? 8'(credit_count) : 8'd0);
        sent_q[k] <= sent_q[k] + (sends ? Flits : 8'd0) - (returned ? 8'(flit_count_i) : 8'd0);
        due_q[k] <= (due_q[k] && !reported_now) || (takes && (final_i || 32'(room + Flits) >= Batch));
      end
    end

    // Head and tail positions of the slot's packets, both modulo twice the slot's length.
    wire [4:0] arrived = 5'(slots.link[0].edge_[k].arrived_q[0].lap ? SlotFlits : 0) + 5'(slots.link[0].edge_[k].arrived_q[0].offset);
    wire [4:0] taken = 5'(slots.link[0].edge_[k].taken_q[0].lap ? SlotFlits : 0) + 5'(slots.link[0].edge_[k].taken_q[0].offset);
    wire [4:0] writing = 5'(slots.link[0].writing_q[0].at.lap ? SlotFlits : 0) + 5'(slots.link[0].writing_q[0].at.offset);
    wire mine = coming_q && coming_edge_q == EdgeWidth'(k);

    // Number of entries of the edge in the queue of the port.
    logic [2:0] in_queue;
    always_comb begin
      in_queue = '0;
      for (int i = 0; i < int'(Edges) + 1; i++)
        if (32'(i) < 32'(queued))
          in_queue += 3'(slots.port[0].queue.words_q[3'(3'(slots.port[0].queue.read_q)+3'(i))%3'(Edges+1)][k] && (i != 0 || !already_reported[k]));
    end

    always_ff @(posedge clk_i) begin
      if (!rst_i && running_q) begin
        conserved : assert (credits_q[k] + held_q[k] + room_q[k] + back_q[k] == Slot);
        there_is_what_arrived : assert (status_there[k] == (whole_q[k] != 0) && whole_q[k] <= held_q[k]);
        credits_are_right : assert (8'(status_credits[k]) + sent_q[k] == Slot);
        due_is_queued : assert (in_queue == 3'(due_q[k]));
        lemma_batch : assert (32'(room_q[k]) < Batch || due_q[k]);

        lemma_sums : assert (credits_q[k] <= Slot && held_q[k] <= Slot && room_q[k] <= Slot && back_q[k] <= Slot && sent_q[k] <= Slot);
        lemma_multiples : assert (((held_q[k] | whole_q[k] | room_q[k] | back_q[k] | credits_q[k]) & (Flits - 1)) == 0);
        lemma_whole : assert (whole_q[k] + (mine ? Flits : 8'd0) == held_q[k]);
        lemma_not_before : assert (all_loaded || (held_q[k] == 0 && room_q[k] == 0 && back_q[k] == 0 && sent_q[k] == 0));
        lemma_due : assert (!due_q[k] || room_q[k] != 0);
        lemma_room : assert (CountWidth'(slots.edge_[k].freed_q[0].flits - slots.edge_[k].reported_q[0].flits) == CountWidth'(room_q[k]) &&
            (slots.edge_[k].freed_q[0].due != slots.edge_[k].reported_q[0].due) == due_q[k]);
        lemma_places : assert (arrived < Round && taken < Round &&
            32'(slots.link[0].edge_[k].arrived_q[0].offset) < SlotFlits &&
            32'(slots.link[0].edge_[k].taken_q[0].offset) < SlotFlits &&
            5'(arrived + Round - taken) % Round == 5'(whole_q[k]));
        lemma_bank : assert (slots.edge_[k].bank_q[0] == 0);
        lemma_base : assert (32'(loaded_q) <= k || 32'(slots.edge_[k].base_q[0]) == k * SlotFlits);
        lemma_writing : assert (!mine || (slots.link[0].writing_q[0].ours && slots.link[0].writing_q[0].row == 0 &&
            slots.link[0].writing_q[0].index == EdgeWidth'(k) && 32'(slots.link[0].writing_q[0].base) == k * SlotFlits &&
            32'(slots.link[0].writing_q[0].at.offset) < SlotFlits &&
            5'(arrived + 5'(Flits) - 5'(left_q)) % Round == writing));
        lemma_sent : assert (slots.credits_q[0][k] == int'(Slot) - int'(sent_q[k]));
      end
      if (!rst_i && !running_q) lemma_begin : assert (held_q[k] == 0 && room_q[k] == 0 && back_q[k] == 0 && sent_q[k] == 0 &&
          whole_q[k] == 0 && credits_q[k] == Slot && !due_q[k] && slots.credits_q[0][k] == int'(Slot));
    end
  end

  // With packets of one flit, a flit is read in its step, and the unread flits are those of the slot.
  if (Size == 0) begin : single
    wire [Edges*SlotFlits-1:0] unread;

    for (genvar k = 0; k < Edges; k++) begin : slot
      for (genvar i = 0; i < SlotFlits; i++) begin : place
        assign unread[k*SlotFlits+i] = slots.bank_[0].words.unread[k*SlotFlits+i];
        wire [4:0] behind = 5'(5'(i) + Round - edge_[k].taken) % 5'(SlotFlits);
        always_ff @(posedge clk_i) begin
          if (!rst_i) lemma_unread : assert (unread[k*SlotFlits+i] == (behind < 5'(whole_q[k])));
        end
      end
    end
    always_ff @(posedge clk_i) begin
      if (!rst_i) lemma_free : assert (slots.bank_[0].words.port[0].left_q == 0 && slots.bank_[0].words.port[1].left_q == 0);
    end
  end

  // The queue of the port: its words are not empty, and the first one is not completely credited.
  for (genvar i = 0; i < Edges + 1; i++) begin : waiting
    localparam int unsigned Own = Edges;
    wire [2:0] at = 3'(3'(slots.port[0].queue.read_q) + 3'(i)) % 3'(Edges + 1);
    wire [Own:0] word = slots.port[0].queue.words_q[at];

    always_ff @(posedge clk_i) begin
      if (!rst_i)
        lemma_word : assert (32'(queued) <= i || (!word[Own] && (word[Own-1:0] & ~(i == 0 ? already_reported : '0)) != 0));
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      lemma_queue : assert ((running_q || queued == 0) && 32'(slots.port[0].queue.read_q) <= Edges &&
          32'(slots.port[0].queue.write_q) <= Edges && (queued != 0 || already_reported == '0));
      lemma_no_step : assert (running_q || loaded_q == 0);
    end
  end
endmodule
