// SPDX-License-Identifier: Apache-2.0
// Slots: the receive buffers of a collective unit's edges, and the credits of the sending ends.
//
// Every edge of every row has a slot, a ring of SlotFlits flits in the bank of the link over which its packets arrive.
// A load sets that link; packets that arrived over it before the load then become visible, since each link counts
// separately. A packet has arrived with its tail. Arrivals and takes of a step are visible in the next cycle; a process
// that waits for an arrival is woken in the same cycle (tw_slot_waits). A step takes a packet from each of some edges
// of a row, which the banks deliver from the next cycle on (tw_slot_bank), and credits for the packets that it sends.
// Credits of a slot are due at its port when Batch flits of it are free, or with a final packet. They are returned when
// no packet that they allow can overtake flits still being read (tw_slow_reads), and delay those behind them until
// then. For a vertex without a rank the first flit's fields of the packet at the head of any slot are shown.
//
// Order: packets of a slot in order of arrival; a port's credits in the order in which they became due, the edges of
// one step ascending. Latency: a head is shown in the next cycle. Throughput: per cycle a flit of each link, a step, a
// process that begins to wait, a shown head, and a credit packet of each port.
// Storage: the banks, each with the heads of its packets. Counts with two sides are split by writer, so that every
// memory has one writer: per link, the positions up to which packets have arrived, and have been taken by steps;
// granted credits, written by each link, and spent credits, written by the step; freed room, written by the step, and
// returned room, written by the port. Memories are cleared after reset, one row per cycle: for Rows cycles
// status_valid_o is low and no input is allowed. Status, wakes and arrives_empty_o depend on inputs, read data and
// heads are the memories' outputs, credits depend on registers. Critical path: from row_i through the granted credits
// of all links and their sum to status_credits_o; similarly from row_i through the link and its position to a bank's
// address.
module tw_slots
  import tw_spec_pkg::*, tw_mpi_fpga_spec_pkg::*, tw_network_pkg::*, tw_node_pkg::*;
#(
    parameter int unsigned Links = 6,
    parameter int unsigned Ports = 6,         /// local ports: edge k's credits leave by port k modulo Ports
    parameter int unsigned Rows = 32,         /// at most 32
    parameter int unsigned Edges = 6,         /// edges per row, at most 30
    parameter int unsigned Vcs = 4,
    parameter int unsigned BankFlits = 4096,  /// per link
    parameter int unsigned SlotFlits = 64,
    parameter int unsigned Batch = 16,        /// flits per credit packet, at least 1, at most SlotFlits
    parameter int unsigned Units = 6,
    parameter int unsigned ProcessBits = 12,
    localparam int unsigned RowWidth = Rows > 1 ? $clog2(Rows) : 1,
    localparam int unsigned EdgeWidth = Edges > 1 ? $clog2(Edges) : 1,
    localparam int unsigned LinkWidth = Links > 1 ? $clog2(Links) : 1,
    localparam int unsigned UnitWidth = Units > 1 ? $clog2(Units) : 1,
    localparam int unsigned OperandWidth = $clog2(Edges + 1),  // the edges' packets, and the host's
    localparam int unsigned AddressWidth = $clog2(BankFlits),
    localparam int unsigned CountWidth = $clog2(SlotFlits + 1)
) (
    input logic clk_i,
    input logic rst_i,

    // Location of an edge's slot, from status_valid_o on. The row must be settled, and the slot's contents must have
    // come over that link; only a slot into which nothing has come may get another base.
    input  logic                    load_valid_i,
    input  logic [    RowWidth-1:0] load_row_i,
    input  logic [   EdgeWidth-1:0] load_edge_i,
    input  logic [   LinkWidth-1:0] load_link_i,
    input  logic [AddressWidth-1:0] load_base_i,
    output logic                    load_settled_o,  /// credits for all free space in the slots of that row have been returned

    // Flits ejected at the links.
    input logic  [Links-1:0] in_valid_i,
    input flit_t [Links-1:0] in_flit_i,
    output logic [Links-1:0] arrives_empty_o,  /// a packet arrives at a slot that held none at the beginning of the cycle

    // The packet at the head of a slot, one cycle later.
    input  logic [ RowWidth-1:0] head_row_i,
    input  logic [EdgeWidth-1:0] head_edge_i,
    output logic                 head_valid_o,   /// the slot held one at the beginning of the cycle
    output head_t                head_packet_o,

    // Status for the process that is tried.
    input  logic [RowWidth-1:0]              row_i,
    input  logic [Edges-1:0]                 from_i,           /// edges from which its step takes
    output logic                             status_valid_o,
    output logic [Edges-1:0]                 status_there_o,   /// a packet is present
    output logic [Edges-1:0][CountWidth-1:0] status_credits_o,
    output logic                             status_free_o,    /// the banks can be read
    output logic [3:0]                       status_pace_o,    /// minimum cycles per flit of the reads

    // Its step.
    input logic                               step_valid_i,
    input logic [Edges-1:0]                   step_to_i,
    input logic [2:0]                         step_size_i,    /// log2 of a packet's flits
    input logic                               step_final_i,
    input logic [3:0]                         step_pace_i,
    input logic [UnitWidth-1:0]               step_unit_i,    /// which has read its previous packet
    input logic [Edges-1:0][OperandWidth-1:0] step_operand_i,

    // Or the resource that it waits for.
    input logic                   wait_valid_i,
    input logic                   wait_credits_i,
    input logic [  EdgeWidth-1:0] wait_edge_i,
    input logic [ProcessBits-1:0] wait_process_i,

    output logic [Links-1:0]                  early_valid_o,    /// a process that already waits for the arrival
    output logic [Links-1:0][ProcessBits-1:0] early_process_o,
    output logic [Links-1:0]                  late_valid_o,     /// a process that begins to wait for it

    // Two read ports of each bank.
    output logic [2*Links-1:0]                   read_valid_o,
    output logic [2*Links-1:0][           255:0] read_data_o,
    output logic [2*Links-1:0][   UnitWidth-1:0] read_unit_o,
    output logic [2*Links-1:0][OperandWidth-1:0] read_operand_o,
    output logic [2*Links-1:0]                   read_head_o,
    output logic [2*Links-1:0]                   read_tail_o,

    output logic [Ports-1:0]                credit_valid_o,
    input  logic [Ports-1:0]                credit_ready_i,
    output logic [Ports-1:0][ RowWidth-1:0] credit_row_o,
    output logic [Ports-1:0][EdgeWidth-1:0] credit_edge_o,
    output logic [Ports-1:0][         15:0] credit_count_o
);
  if (Links < 1 || Ports < 1 || Ports > Edges || Rows < 1 || Rows > 32 || Edges < 1 || Edges > 30) begin : check_sizes
    $error("tw_slots: 1 to 32 rows, 1 to 30 edges, a link, and no more ports than edges");
  end
  if (BankFlits < 2 || SlotFlits < 1 || SlotFlits > 65535 || Batch < 1 || Batch > SlotFlits) begin : check_slots
    $error("tw_slots: a slot has at least a batch, and at most 65535 flits");
  end

  localparam int unsigned OffsetWidth = SlotFlits > 1 ? $clog2(SlotFlits) : 1;
  localparam int unsigned VcWidth = Vcs > 1 ? $clog2(Vcs) : 1;
  localparam int unsigned PacketsWidth = $clog2(Edges + 1);

  typedef logic [CountWidth-1:0] count_t;

  // A position in a slot, and the parity of the lap: a slot whose two positions are equal is empty.
  typedef struct packed {
    logic                   lap;
    logic [OffsetWidth-1:0] offset;
  } position_t;

  function automatic position_t after(position_t at, count_t flits);
    automatic logic [CountWidth:0] sum = (CountWidth + 1)'(at.offset) + (CountWidth + 1)'(flits);
    automatic logic wraps = sum >= (CountWidth + 1)'(SlotFlits);
    return '{at.lap ^ wraps, OffsetWidth'(wraps ? sum - (CountWidth + 1)'(SlotFlits) : sum)};
  endfunction

  // --- Clearing

  logic ready_q;
  logic [RowWidth-1:0] clear_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      ready_q <= 1'b0;
      clear_q <= '0;
    end else if (!ready_q) begin
      ready_q <= clear_q == RowWidth'(Rows - 1);
      clear_q <= clear_q + 1;
    end
  end

  // --- Arrivals, and positions up to which each link's packets have been taken

  typedef struct packed {
    logic                    ours;
    logic [RowWidth-1:0]     row;
    logic [EdgeWidth-1:0]    index;
    logic [AddressWidth-1:0] base;
    position_t               at;
  } writing_t;

  logic [Links-1:0] arrives, credits_arrive;
  logic [Links-1:0][RowWidth-1:0] arrival_row;
  logic [Links-1:0][EdgeWidth-1:0] arrival_edge;
  logic [Links-1:0][RowWidth-1:0] head_row;
  logic [Links-1:0][15:0] credit_count;
  logic [Links-1:0][Edges-1:0][AddressWidth-1:0] head_base;
  position_t [Links-1:0][Edges-1:0] arrived;  // in the row of the process that is tried
  position_t [Links-1:0][Edges-1:0] taken;
  count_t [Links-1:0][Edges-1:0] granted;
  logic [Edges-1:0] takes;
  logic [Edges-1:0][LinkWidth-1:0] bank;
  position_t [Edges-1:0] front, behind;  // of the slot in that bank; behind its head packet
  position_t [Links-1:0][Edges-1:0] shown_arrived, shown_taken;  // in the row whose head is shown
  logic [AddressWidth-1:0] shown_address;
  head_t [Links-1:0] head_words;
  logic [Links-1:0] write_valid;
  logic [Links-1:0][AddressWidth-1:0] write_address;

  for (genvar l = 0; l < Links; l++) begin : link
    (* ram_style = "distributed" *) writing_t writing_q[Vcs];
    position_t [Edges-1:0] arrived_there, taken_there;  // in the row of the arriving flit
    count_t [Edges-1:0] head_granted;

    wire flit_t flit = in_flit_i[l];
    // verilator lint_off UNUSEDSIGNAL
    wire credit_t header = credit_t'(flit.data);  // or another header: they differ only in the count
    wire descriptor_t descriptor = descriptor_t'(flit.data);
    // verilator lint_on UNUSEDSIGNAL
    wire [EdgeWidth-1:0] head_edge = EdgeWidth'(header.edge_);
    wire ours = header.collective != CollectiveAlltoall;
    wire credits = header.kind == 2'(KindCredit);
    assign head_row[l] = RowWidth'(header.context_);

    wire writing_t kept = writing_q[VcWidth'(flit.vc)];
    assign arrival_row[l] = flit.head ? head_row[l] : kept.row;
    assign arrival_edge[l] = flit.head ? head_edge : kept.index;

    writing_t writing;
    always_comb begin
      writing = kept;
      if (flit.head)
        writing = '{ours && !credits, head_row[l], head_edge, head_base[l][head_edge], arrived_there[head_edge]};
    end
    wire position_t next = after(writing.at, 1);

    always_ff @(posedge clk_i) begin
      if (in_valid_i[l]) writing_q[VcWidth'(flit.vc)] <= '{writing.ours, writing.row, writing.index, writing.base, next};
    end

    (* ram_style = "block" *) head_t heads_q[BankFlits];
    always_ff @(posedge clk_i) begin
      if (write_valid[l] && flit.head)
        heads_q[write_address[l]] <= '{
            kind_e'(descriptor.kind),
            descriptor.sequence_,
            descriptor.collective,
            descriptor.algorithm,
            descriptor.operation,
            descriptor.type_,
            descriptor.root
        };
      head_words[l] <= heads_q[shown_address];
    end

    assign credit_count[l] = header.count;
    assign credits_arrive[l] = in_valid_i[l] && flit.head && ours && credits;
    assign write_valid[l] = in_valid_i[l] && writing.ours;
    assign write_address[l] = writing.base + AddressWidth'(writing.at.offset);
    assign arrives[l] = write_valid[l] && flit.tail;
    assign arrives_empty_o[l] = arrives[l] && arrived_there[arrival_edge[l]] == taken_there[arrival_edge[l]];

    for (genvar k = 0; k < Edges; k++) begin : edge_
      (* ram_style = "distributed" *) position_t arrived_q[Rows], taken_q[Rows];
      (* ram_style = "distributed" *) count_t granted_q[Rows];

      assign arrived_there[k] = arrived_q[arrival_row[l]];
      assign taken_there[k] = taken_q[arrival_row[l]];
      assign shown_arrived[l][k] = arrived_q[head_row_i];
      assign shown_taken[l][k] = taken_q[head_row_i];
      assign head_granted[k] = granted_q[head_row[l]];
      assign arrived[l][k] = arrived_q[row_i];
      assign taken[l][k] = taken_q[row_i];
      assign granted[l][k] = granted_q[row_i];

      always_ff @(posedge clk_i) begin
        if (!ready_q) taken_q[clear_q] <= '0;
        else if (takes[k] && bank[k] == LinkWidth'(l)) taken_q[row_i] <= behind[k];
        if (!ready_q) arrived_q[clear_q] <= '0;
        else if (arrives[l] && writing.index == EdgeWidth'(k)) arrived_q[writing.row] <= next;
        if (!ready_q) granted_q[clear_q] <= '0;
        else if (credits_arrive[l] && head_edge == EdgeWidth'(k))
          granted_q[head_row[l]] <= head_granted[k] + count_t'(credit_count[l]);
      end
`ifndef SYNTHESIS
      always_ff @(posedge clk_i) begin
        if (!rst_i && load_valid_i && load_edge_i == EdgeWidth'(k) && load_link_i != LinkWidth'(l))
          slot_is_empty : assert (arrived_q[load_row_i] == taken_q[load_row_i]);
      end
`endif
    end
  end

  logic [Links-1:0] some_arrive;
  assign some_arrive = arrives | credits_arrive;

  tw_slot_waits #(
      .Links(Links),
      .Rows(Rows),
      .Edges(Edges),
      .ProcessBits(ProcessBits)
  ) waits (
      .clk_i,
      .rst_i,
      .clear_i          (!ready_q),
      .clear_row_i      (clear_q),
      .wait_valid_i,
      .wait_credits_i,
      .wait_row_i       (row_i),
      .wait_edge_i,
      .wait_process_i,
      .arrival_valid_i  (some_arrive),
      .arrival_credits_i(credits_arrive),
      .arrival_row_i    (arrival_row),
      .arrival_edge_i   (arrival_edge),
      .early_valid_o,
      .early_process_o,
      .late_valid_o
  );

  // --- Edges of the row of the process that is tried, and its step

  wire count_t flits = count_t'(64'd1 << step_size_i);

  logic [Edges-1:0][AddressWidth-1:0] base;
  logic [Edges-1:0][OffsetWidth-1:0] offset;
  logic [Edges-1:0][AddressWidth-1:0] shown_base;
  logic [Edges-1:0][LinkWidth-1:0] shown_bank;
  logic [Edges-1:0] becomes_due, settled;
  logic [Edges-1:0] reported;  // in this cycle
  logic [Ports-1:0][RowWidth-1:0] reported_row;
  count_t [Edges-1:0] unreported;  // not yet returned, in the row of the port's credits

  for (genvar k = 0; k < Edges; k++) begin : edge_
    typedef struct packed {
      logic   due;    // flips when credits become due, and is copied when they are returned
      count_t flits;  // modulo the count's width
    } room_t;

    (* ram_style = "distributed" *) logic [AddressWidth-1:0] base_q[Rows];
    (* ram_style = "distributed" *) logic [LinkWidth-1:0] bank_q[Rows];
    (* ram_style = "distributed" *) room_t freed_q[Rows], reported_q[Rows];
    (* ram_style = "distributed" *) count_t spent_q[Rows];

    for (genvar l = 0; l < Links; l++) begin : head
      assign head_base[l][k] = base_q[head_row[l]];
    end
    assign base[k] = base_q[row_i];
    assign bank[k] = bank_q[row_i];
    assign shown_base[k] = base_q[head_row_i];
    assign shown_bank[k] = bank_q[head_row_i];

    assign front[k] = taken[bank[k]][k];
    assign behind[k] = after(front[k], flits);
    assign offset[k] = front[k].offset;

    wire room_t freed = freed_q[row_i];
    wire room_t reported_before = reported_q[row_i];
    wire room_t tells = freed_q[reported_row[k%Ports]];
    assign unreported[k] = tells.flits - reported_q[reported_row[k%Ports]].flits;
    assign settled[k] = freed_q[load_row_i].flits == reported_q[load_row_i].flits;

    wire spends = step_valid_i && step_to_i[k];
    assign takes[k] = step_valid_i && from_i[k];
    wire reported_now = reported[k] && reported_row[k%Ports] == row_i;
    wire count_t owed = (reported_now ? '0 : freed.flits - reported_before.flits) + flits;
    wire due = freed.due != reported_before.due && !reported_now;
    assign becomes_due[k] = takes[k] && !due && (step_final_i || owed >= count_t'(Batch));

    wire loads = load_valid_i && load_edge_i == EdgeWidth'(k);
    always_ff @(posedge clk_i) begin
      if (loads) base_q[load_row_i] <= load_base_i;
      if (!ready_q) bank_q[clear_q] <= '0;
      else if (loads) bank_q[load_row_i] <= load_link_i;
      if (!ready_q) freed_q[clear_q] <= '0;
      else if (takes[k]) freed_q[row_i] <= '{freed.due ^ becomes_due[k], freed.flits + flits};
      if (!ready_q) reported_q[clear_q] <= '0;
      else if (reported[k]) reported_q[reported_row[k%Ports]] <= tells;
      if (!ready_q) spent_q[clear_q] <= '0;
      else if (spends) spent_q[row_i] <= spent_q[row_i] + flits;
    end

    assign status_there_o[k] = arrived[bank[k]][k] != front[k];
    always_comb begin
      status_credits_o[k] = count_t'(SlotFlits) - spent_q[row_i];
      for (int unsigned l = 0; l < Links; l++) status_credits_o[k] += granted[l][k];
    end
  end

  assign status_valid_o = ready_q;
  assign load_settled_o = ready_q && &settled;

  // --- Heads

  wire [LinkWidth-1:0] shown_link = shown_bank[head_edge_i];
  wire position_t shown = shown_taken[shown_link][head_edge_i];
  logic [LinkWidth-1:0] shown_link_q;
  assign shown_address = shown_base[head_edge_i] + AddressWidth'(shown.offset);

  always_ff @(posedge clk_i) begin
    head_valid_o <= !rst_i && ready_q && shown_arrived[shown_link][head_edge_i] != shown;
    shown_link_q <= shown_link;
  end
  assign head_packet_o = head_words[shown_link_q];

  // --- Banks

  logic [Links-1:0][Edges-1:0] from_bank;
  logic [Links-1:0][PacketsWidth-1:0] packets;
  logic [Links-1:0] free;

  always_comb begin
    status_pace_o = 4'd1;
    for (int unsigned l = 0; l < Links; l++) begin
      for (int unsigned k = 0; k < Edges; k++) from_bank[l][k] = from_i[k] && bank[k] == LinkWidth'(l);
      if (32'(packets[l]) > 2 * 32'(status_pace_o)) status_pace_o = 4'((32'(packets[l]) + 1) / 2);
    end
  end
  assign status_free_o = &free;

  for (genvar l = 0; l < Links; l++) begin : bank_
    tw_slot_bank #(
        .Edges(Edges),
        .Flits(BankFlits),
        .SlotFlits(SlotFlits),
        .OperandWidth(OperandWidth),
        .UnitWidth(UnitWidth)
    ) words (
        .clk_i,
        .rst_i,
        .write_valid_i  (write_valid[l]),
        .write_address_i(write_address[l]),
        .write_data_i   (in_flit_i[l].data),
        .from_i         (from_bank[l]),
        .base_i         (base),
        .offset_i       (offset),
        .operand_i      (step_operand_i),
        .packets_o      (packets[l]),
        .free_o         (free[l]),
        .step_i         (step_valid_i),
        .size_i         (step_size_i),
        .pace_i         (step_pace_i),
        .unit_i         (step_unit_i),
        .out_valid_o    (read_valid_o[2*l+:2]),
        .out_data_o     (read_data_o[2*l+:2]),
        .out_unit_o     (read_unit_o[2*l+:2]),
        .out_operand_o  (read_operand_o[2*l+:2]),
        .out_head_o     (read_head_o[2*l+:2]),
        .out_tail_o     (read_tail_o[2*l+:2])
    );
  end

  // --- Room of slow reads

  logic [Ports-1:0][Edges-1:0] held;  // in the row of the port's credits
  // verilator lint_off UNUSEDSIGNAL
  logic freed_unused;
  // verilator lint_on UNUSEDSIGNAL

  tw_slow_reads #(
      .Units(Units),
      .Entries(Rows),
      .Members(Edges),
      .Queries(Ports)
  ) slow (
      .clk_i,
      .rst_i,
      .step_valid_i,
      .step_unit_i,
      .step_entry_i   (row_i),
      .step_members_i (from_i),
      .step_size_i,
      .step_pace_i,
      .request_entry_i(reported_row),
      .held_o         (held),
      .freed_o        (freed_unused)
  );

  // --- Due credits: for each step that makes credits due at a port, the row and the port's edges

  for (genvar p = 0; p < Ports; p++) begin : port
    localparam int unsigned Own = (Edges - p + Ports - 1) / Ports;  // its edges

    logic [Own-1:0] due, steps_due, reported_q, held_own;
    logic queued;
    for (genvar i = 0; i < Own; i++) begin : own
      assign steps_due[i] = becomes_due[p+i*Ports];
      assign held_own[i] = held[p][p+i*Ports];
      assign reported[p+i*Ports] = credit_valid_o[p] && credit_ready_i[p] && credit_edge_o[p] == EdgeWidth'(p + i * Ports);
    end

    wire [Own-1:0] left = due & ~reported_q;
    wire [Own-1:0] others = left & (left - Own'(1));  // than the lowest one
    wire tells = credit_valid_o[p] && credit_ready_i[p];
    logic room;

    tw_fifo #(
        .Width(RowWidth + Own),
        .Depth(Rows * Own + 1)  // every edge, and one that becomes due again while its credits are returned
    ) queue (
        .clk_i,
        .rst_i,
        .in_valid_i (steps_due != 0),
        .in_ready_o (room),
        .in_data_i  ({row_i, steps_due}),
        .out_valid_o(queued),
        .out_ready_i(tells && others == 0),
        .out_data_o ({reported_row[p], due}),
        .count_o    ()
    );

    always_comb begin
      credit_edge_o[p] = '0;
      credit_count_o[p] = '0;
      for (int unsigned i = 0; i < Own; i++) begin
        if (left[i] && !others[i]) begin
          credit_edge_o[p] |= EdgeWidth'(p + i * Ports);
          credit_count_o[p] |= 16'(unreported[p+i*Ports]);
        end
      end
    end
    assign credit_valid_o[p] = queued && (left & ~others & held_own) == '0;
    assign credit_row_o[p] = reported_row[p];

    always_ff @(posedge clk_i) begin
      if (rst_i || others == 0 && tells) reported_q <= '0;
      else if (tells) reported_q <= reported_q | (left & ~others);
    end

`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      if (!rst_i) credits_queue : assert (room || steps_due == 0);
    end
`endif
  end

`ifndef SYNTHESIS
  int credits_d[Rows][Edges], credits_q[Rows][Edges];
  logic bounded;

  always_comb begin
    credits_d = credits_q;
    for (int k = 0; k < Edges; k++) if (step_valid_i && step_to_i[k]) credits_d[row_i][k] -= int'(flits);
    for (int l = 0; l < Links; l++)
      if (credits_arrive[l]) credits_d[arrival_row[l]][arrival_edge[l]] += int'(credit_count[l]);
    bounded = 1'b1;
    for (int row = 0; row < int'(Rows); row++)
      for (int k = 0; k < Edges; k++) bounded &= credits_d[row][k] >= 0 && credits_d[row][k] <= int'(SlotFlits);
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      foreach (credits_q[row, k]) credits_q[row][k] <= SlotFlits;
    end else begin
      credits_q <= credits_d;
      credits_bounded : assert (bounded);
      packet_is_there : assert (!step_valid_i || (from_i & ~status_there_o) == '0);
      load_is_settled : assert (!load_valid_i || settled[load_edge_i]);
      nothing_before_ready : assert (ready_q || !(load_valid_i || step_valid_i || wait_valid_i || in_valid_i != 0));
    end
  end
`endif
endmodule
