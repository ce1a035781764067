// SPDX-License-Identifier: Apache-2.0
// Hands on packets of all-to-alls from link to link: keeps what comes over a link whole, and gives it to the lane of the next link,
// or to the host (docs/collectives.md). Its lanes are sources of tw_injector.
//
// Behind each link there is a memory for the buffers of all its route classes, of linked flits: packets interleave by flit as they
// come, and leave in another order, so that pages would take room that credits, which count flits, do not know of. Packets are
// queued in it by the next buffer, announcements apart from data, and for the host; it has two copies, each with a reader.
// A lane without a packet asks for one that has room where it goes: announcements before data, others' before the own host's of
// the same kind; queues take turns, those of several packets first. A memory serves one of those that ask for it, in turn.
// A packet comes over the link whose buffer its header names: where several links lead to a neighbour, the table has to name the one
// over which the router sends what is for it. Credits may come over any link.
//
// Order: that of arrival from a link to a buffer. Latency: from a packet's last flit to its first word at src two cycles, at host
// two; from the own host's first word one. Throughput: a flit a cycle in and out of each lane, but one cycle between a lane's
// packets; credits go beside. Storage: for each link twice LinkFlits flits with the place of the next one, the places of free
// flits and of queued packets; for each queue two places. own_turn_o, host_*, announce_* and single_* depend on registers
// alone, src_* of the own host's packets on own_*. Critical path: from a lane's credits over its arbiter and the memory's to the
// address of the flit that is read.
module tw_relay
  import tw_spec_pkg::*, tw_mpi_fpga_spec_pkg::*, tw_network_pkg::*;
#(
    parameter int unsigned Links = 6,
    parameter int unsigned Lanes = 3,       /// link i belongs to lane i modulo Lanes; at most Links
    parameter int unsigned Classes = 2,     /// route classes
    parameter int unsigned Nodes = 64,      /// destinations in the table
    parameter int unsigned Flits = 1024,    /// of a buffer, at least 2 longest packets; other ends have the same
    parameter int unsigned Vcs = 4,
    parameter int unsigned RoomBits = 9     /// of the host's room
) (
    input logic        clk_i,
    input logic        rst_i,
    input logic [15:0] self_i,  /// the node's own number, constant

    // The routing table, with the class in which packets to a node start; and the other ends of the links.
    input logic         table_valid_i,
    input logic [15:0]  table_index_i,
    input route_entry_t table_entry_i,
    input logic [3:0]   table_layer_i,
    input logic         peer_valid_i,
    input logic [5:0]   peer_link_i,
    input logic [15:0]  peer_node_i,
    input logic [7:0]   peer_port_i,  /// the link's number there
    input logic [3:0]   peer_vc_i,    /// of the way there

    // What the router ejects at the links: packets of all-to-alls, and their credits.
    input logic  [Links-1:0] in_valid_i,
    input flit_t [Links-1:0] in_flit_i,

    // The own host's packets for others; a word stays until it has gone out.
    input  logic [Lanes-1:0]        own_valid_i,
    input  logic [Lanes-1:0][255:0] own_data_i,
    input  logic [Lanes-1:0]        own_last_i,
    output logic [Lanes-1:0]        own_turn_o,   /// the lane sends them: a word goes out with src_ready_i

    output logic [Lanes-1:0]        src_valid_o,
    input  logic [Lanes-1:0]        src_ready_i,
    output logic [Lanes-1:0][255:0] src_data_o,
    output logic [Lanes-1:0]        src_last_o,
    output logic [Lanes-1:0][3:0]   src_vc_o,

    // Credits for the other ends; while one waits, another may take its place, or its count grow.
    output logic [Lanes-1:0]        single_valid_o,
    input  logic [Lanes-1:0]        single_ready_i,
    output logic [Lanes-1:0][255:0] single_data_o,
    output logic [Lanes-1:0][3:0]   single_vc_o,

    // Data for the host, of each lane's links: a packet without a pause, for which there was room when it was chosen.
    input  logic [Lanes-1:0][RoomBits-1:0] host_room_i,  /// flits, less what has come up to the cycle before
    output logic [Lanes-1:0]               host_valid_o,
    output logic [Lanes-1:0][255:0]        host_data_o,
    output logic [Lanes-1:0]               host_last_o,

    // Ranks that announce themselves to this node's.
    output logic [Links-1:0]       announce_valid_o,
    output logic [Links-1:0][4:0]  announce_context_o,
    output logic [Links-1:0][1:0]  announce_sequence_o,
    output logic [Links-1:0][15:0] announce_source_o
);
  if (Links < 1 || Links > 64 || Lanes < 1 || Lanes > Links || Lanes > 31) begin : check_links
    $error("tw_relay: 1 to 64 links, 1 to 31 lanes, no more than links");
  end
  if (Classes < 1 || Classes > 16 || Vcs < 1 || Vcs > 16) begin : check_channels
    $error("tw_relay: 1 to 16 route classes and virtual channels");
  end
  if (Nodes < 1 || Nodes > 65536 || Flits < 2) begin : check_sizes
    $error("tw_relay: 1 to 65536 nodes, at least 2 flits");
  end

  localparam int unsigned Buffers = Links * Classes;  // at the other ends: link * Classes + class
  localparam int unsigned Queues = 2 * Buffers + 1;   // of a memory: announcements, data, for the host
  localparam int unsigned LinkFlits = Classes * Flits;
  localparam int unsigned Batch = Flits / 4 > 0 ? Flits / 4 : 1;
  localparam int unsigned NodeWidth = Nodes > 1 ? $clog2(Nodes) : 1;
  localparam int unsigned BufferWidth = Buffers > 1 ? $clog2(Buffers) : 1;
  localparam int unsigned QueueWidth = $clog2(Queues);
  localparam int unsigned PlaceWidth = LinkFlits > 1 ? $clog2(LinkFlits) : 1;
  localparam int unsigned CountWidth = $clog2(Flits + 1);
  localparam int unsigned LinkWidth = Links > 1 ? $clog2(Links) : 1;
  localparam int unsigned ClassWidth = Classes > 1 ? $clog2(Classes) : 1;
  localparam int unsigned LaneWidth = Lanes > 1 ? $clog2(Lanes) : 1;
  localparam int unsigned VcWidth = Vcs > 1 ? $clog2(Vcs) : 1;

  // Number of a lane's links.
  function automatic int unsigned links_of(int unsigned lane);
    return (Links + Lanes - 1 - lane) / Lanes;
  endfunction
  // Number i of a lane's buffers.
  function automatic int unsigned buffer_of(int unsigned lane, int unsigned i);
    return (lane + i / Classes * Lanes) * Classes + i % Classes;
  endfunction

  // --- Ways

  (* ram_style = "distributed" *) route_entry_t entries_q[Nodes];
  (* ram_style = "distributed" *) logic [3:0] layers_q[Nodes];

  typedef struct packed {
    logic [15:0] node;
    logic [7:0]  port;
    logic [4:0]  edge_;
    logic [3:0]  vc;
  } peer_t;
  peer_t [Links-1:0] peers_q;

  always_ff @(posedge clk_i) begin
    if (table_valid_i) entries_q[NodeWidth'(table_index_i)] <= table_entry_i;
    if (table_valid_i) layers_q[NodeWidth'(table_index_i)] <= table_layer_i;
    if (peer_valid_i) peers_q[LinkWidth'(peer_link_i)] <= '{peer_node_i, peer_port_i, 5'(32'(peer_port_i) % Lanes), peer_vc_i};
  end

  // verilator lint_off UNUSEDSIGNAL
  function automatic logic [BufferWidth-1:0] next_buffer(route_entry_t entry, logic [3:0] route_class);
    return BufferWidth'(32'(entry.port) * Classes + 32'(entry.keep_class ? route_class : entry.route_class));
  endfunction
  // verilator lint_on UNUSEDSIGNAL

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i && table_valid_i) index_in_table : assert (32'(table_index_i) < Nodes);
    if (!rst_i && table_valid_i) port_exists : assert (32'(table_entry_i.port) < Links);
    if (!rst_i && peer_valid_i) link_exists : assert (32'(peer_link_i) < Links);
  end
`endif

  // --- Room at the other ends, and what is owed to them

  logic [Buffers-1:0][CountWidth-1:0] credits_q, owed_q;
  logic [Buffers-1:0][7:0] fits;  // a packet of 2^i flits
  logic [Buffers-1:0] due;
  always_comb begin
    for (int unsigned b = 0; b < Buffers; b++) begin
      for (int unsigned i = 0; i < 8; i++) fits[b][i] = (32'(credits_q[b]) >> i) != 0;
      due[b] = 32'(owed_q[b]) >= Batch;
    end
  end

  // --- The memories

  logic [Links-1:0] readable;
  logic [Links-1:0][Queues-1:0] filled, several;
  logic [Links-1:0][Queues-1:0][2:0] sizes;  // log2 of the first packet's flits
  logic [Links-1:0][1:0][255:0] read_data;
  logic [Links-1:0][1:0] read_last;
  logic [Links-1:0] next_reader;
  logic [Links-1:0][Lanes:0] asked, served;  // by the lanes, and by the host
  logic [Lanes-1:0][BufferWidth-1:0] wanted;
  logic [Lanes-1:0] wants_announcement, lane_takes;
  logic [Buffers-1:0][CountWidth-1:0] freed, told;
  relay_credit_t [Links-1:0] credits;
  logic [Links-1:0] credit_comes;

  for (genvar l = 0; l < Links; l++) begin : memory
    wire flit_t flit = in_flit_i[l];
    // verilator lint_off UNUSEDSIGNAL
    wire network_header_t header = network_header_t'(flit.data[47:0]);
    wire relay_header_t way = relay_header_t'(flit.data[127:64]);
    // verilator lint_on UNUSEDSIGNAL
    assign credits[l] = relay_credit_t'(flit.data);

    wire is_credit = flit.head && header.kind == KindCredit;
    assign credit_comes[l] = in_valid_i[l] && is_credit;
    wire for_host = way.receiver == self_i;
    wire announces = header.kind == KindDescriptor;
    wire announced = in_valid_i[l] && flit.head && announces && for_host;
    wire stores = in_valid_i[l] && !is_credit && !announced;

    wire route_entry_t entry = entries_q[NodeWidth'(way.receiver)];
    wire [BufferWidth-1:0] next = next_buffer(entry, 4'(way.route_class));

    // What is known of the packet that comes on a channel.
    typedef struct packed {
      logic [QueueWidth-1:0] row;
      logic [2:0]            size;
      logic [PlaceWidth-1:0] head;
      logic [PlaceWidth-1:0] previous;
    } coming_t;
    coming_t coming_q[Vcs];
    wire [VcWidth-1:0] vc = VcWidth'(flit.vc);

    coming_t here;
    logic [PlaceWidth-1:0] place;
    always_comb begin
      here = coming_q[vc];
      if (flit.head) begin
        here.row = for_host ? QueueWidth'(2 * Buffers) : QueueWidth'(announces ? 32'(next) : Buffers + 32'(next));
        here.size = header.size;
        here.head = place;
      end
    end

    // Free flits: never used ones, then what the readers have left.
    logic [PlaceWidth:0] fresh_q;
    logic [1:0] left_valid, read;
    logic [1:0][PlaceWidth-1:0] left, read_place;
    wire fresh = 32'(fresh_q) < LinkFlits;
    assign place = fresh ? PlaceWidth'(fresh_q) : left_valid[0] ? left[0] : left[1];

    logic [QueueWidth-1:0] taken;  // queue whose first packet goes to a reader
    logic [PlaceWidth-1:0] head_q[Queues], tail_q[Queues];
    logic [Queues-1:0] filled_q, several_q;
    logic [Queues-1:0][2:0] size_q;
    assign filled[l] = filled_q;
    assign several[l] = several_q;
    assign sizes[l] = size_q;

    wire takes = served[l] != '0;
    always_comb begin
      taken = QueueWidth'(2 * Buffers);
      for (int unsigned p = 0; p < Lanes; p++) begin
        if (served[l][p]) taken = QueueWidth'(wants_announcement[p] ? 32'(wanted[p]) : Buffers + 32'(wanted[p]));
      end
    end

    // The packet behind one that was taken is known a cycle later.
    logic [PlaceWidth+2:0] behind_q[LinkFlits];  // size and head of the next one, at the head of each
    logic [PlaceWidth+2:0] behind_read_q;
    logic follows_q;
    logic [QueueWidth-1:0] follows_queue_q;

    wire enters = stores && flit.tail;
    wire leaves_last = takes && !several_q[taken];
    wire to_front = !filled_q[here.row] || (leaves_last && taken == here.row);

    always_ff @(posedge clk_i) begin
      if (stores) begin
        coming_q[vc] <= here;
        coming_q[vc].previous <= place;
      end
      if (enters && !to_front) behind_q[tail_q[here.row]] <= {here.size, here.head};
      if (takes) behind_read_q <= behind_q[head_q[taken]];
      follows_q <= takes && !leaves_last;
      follows_queue_q <= taken;
      if (follows_q) begin
        head_q[follows_queue_q] <= behind_read_q[PlaceWidth-1:0];
        size_q[follows_queue_q] <= behind_read_q[PlaceWidth+:3];
        several_q[follows_queue_q] <= behind_read_q[PlaceWidth-1:0] != tail_q[follows_queue_q];
      end
      if (leaves_last) filled_q[taken] <= 1'b0;
      if (enters) begin
        filled_q[here.row] <= 1'b1;
        tail_q[here.row] <= here.head;
        several_q[here.row] <= !to_front;
        if (to_front) head_q[here.row] <= here.head;
        if (to_front) size_q[here.row] <= here.size;
      end
      if (stores && fresh) fresh_q <= fresh_q + 1;
      if (rst_i) begin
        fresh_q <= '0;
        filled_q <= '0;
        several_q <= '0;
        follows_q <= 1'b0;
      end
    end

    // The copies, each with its reader.
    logic [1:0] busy_q;
    assign readable[l] = busy_q != 2'b11;
    assign next_reader[l] = busy_q[0];

    logic [Classes-1:0][CountWidth-1:0] freed_here;
    logic [1:0] ends;
    logic [1:0][ClassWidth-1:0] end_class;
    logic [1:0][7:0] end_flits;

    for (genvar r = 0; r < 2; r++) begin : reader
      logic [255:0] flits_q[LinkFlits];
      logic [PlaceWidth-1:0] nexts_q[LinkFlits];
      logic [255:0] data_q;
      logic [PlaceWidth-1:0] next_q;
      logic [LaneWidth-1:0] lane_q;
      logic host_q, first_q;
      logic [7:0] left_q, flits_read_q;
      logic [ClassWidth-1:0] class_q;

      wire begins = takes && next_reader[l] == 1'(r);
      wire goes = busy_q[r] && (host_q || src_ready_i[lane_q]);
      wire last = left_q == 8'd1;
      // verilator lint_off UNUSEDSIGNAL
      wire relay_header_t came = relay_header_t'(data_q[127:64]);
      // verilator lint_on UNUSEDSIGNAL

      assign read[r] = begins || (goes && !last);
      assign read_place[r] = begins ? head_q[taken] : next_q;
      assign read_data[l][r] = data_q;
      assign read_last[l][r] = last;
      assign ends[r] = goes && last;
      assign end_class[r] = first_q ? ClassWidth'(came.route_class) : class_q;
      assign end_flits[r] = flits_read_q;

      logic [LaneWidth-1:0] lane;
      always_comb begin
        lane = '0;
        for (int unsigned p = 0; p < Lanes; p++) if (served[l][p]) lane |= LaneWidth'(p);
      end

      always_ff @(posedge clk_i) begin
        if (stores) flits_q[place] <= flit.data;
        if (stores && !flit.head) nexts_q[coming_q[vc].previous] <= place;
        if (read[r]) data_q <= flits_q[read_place[r]];
        if (read[r]) next_q <= nexts_q[read_place[r]];
        if (goes) begin
          left_q <= left_q - 8'd1;
          first_q <= 1'b0;
          if (first_q) class_q <= ClassWidth'(came.route_class);
          if (last) busy_q[r] <= 1'b0;
        end
        if (begins) begin
          busy_q[r] <= 1'b1;
          lane_q <= lane;
          host_q <= served[l][Lanes];
          first_q <= 1'b1;
          left_q <= 8'd1 << size_q[taken];
          flits_read_q <= 8'd1 << size_q[taken];
        end
        if (rst_i) busy_q[r] <= 1'b0;
      end

      tw_fifo #(
          .Width(PlaceWidth),
          .Depth(LinkFlits)
      ) free (
          .clk_i,
          .rst_i,
          .in_valid_i (read[r]),
          .in_ready_o (),
          .in_data_i  (read_place[r]),
          .out_valid_o(left_valid[r]),
          .out_ready_i(stores && !fresh && (r == 0 || !left_valid[0])),
          .out_data_o (left[r]),
          .count_o    ()
      );
    end

    always_comb begin
      freed_here = '0;
      for (int unsigned r = 0; r < 2; r++) begin
        if (ends[r]) freed_here[end_class[r]] += CountWidth'(end_flits[r]);
      end
      if (announced) freed_here[ClassWidth'(way.route_class)] += CountWidth'(1);
    end
    for (genvar c = 0; c < Classes; c++) begin : place_of
      logic [Links-1:0] tells;
      assign freed[l*Classes+c] = freed_here[c];
      always_comb begin
        told[l*Classes+c] = '0;
        for (int unsigned k = 0; k < Links; k++) begin
          tells[k] = credit_comes[k] && 32'(credits[k].link) == l && 32'(credits[k].route_class) == c;
          if (tells[k]) told[l*Classes+c] |= CountWidth'(credits[k].count);
        end
      end
`ifndef SYNTHESIS
      // The routers take a buffer's credits one way, and a link has one of them a cycle.
      always_ff @(posedge clk_i) if (!rst_i) one_way : assert ($onehot0(tells));
`endif
    end

    tw_arbiter #(
        .Inputs(Lanes + 1)
    ) turn (
        .clk_i,
        .rst_i,
        .request_i     (asked[l]),
        .served_i      (asked[l] != '0),
        .grant_o       (served[l]),
        .winner_valid_o(),
        .winner_index_o()
    );

    always_ff @(posedge clk_i) begin
      announce_valid_o[l] <= announced && !rst_i;
      announce_context_o[l] <= header.context_;
      announce_sequence_o[l] <= header.sequence_;
      announce_source_o[l] <= flit.data[63:48];
    end

`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      if (!rst_i && in_valid_i[l]) begin
        room_is_there : assert (!stores || fresh || left_valid != '0);
        place_is_here : assert (is_credit || !flit.head || (32'(way.link) == l && 32'(way.route_class) < Classes));
        credit_has_buffer : assert (!is_credit || (32'(credits[l].link) < Links && 32'(credits[l].route_class) < Classes));
        announcements_are_short : assert (!flit.head || !announces || (flit.tail && header.size == '0));
      end
    end
`endif
  end

  // --- The lanes

  for (genvar p = 0; p < Lanes; p++) begin : lane
    localparam int unsigned Own = links_of(p) * Classes;  // buffers
    localparam int unsigned Ways = Links * Own;

    logic busy_q, own_q, first_q, reader_q;
    logic [LinkWidth-1:0] from_q;
    logic [BufferWidth-1:0] buffer_q;

    // What the own host has.
    // verilator lint_off UNUSEDSIGNAL
    wire network_header_t own_header = network_header_t'(own_data_i[p][47:0]);
    wire relay_header_t own_way = relay_header_t'(own_data_i[p][127:64]);
    // verilator lint_on UNUSEDSIGNAL
    wire route_entry_t own_entry = entries_q[NodeWidth'(own_way.receiver)];
    wire [BufferWidth-1:0] own_buffer = next_buffer(own_entry, layers_q[NodeWidth'(own_way.receiver)]);
    wire own_fits = own_valid_i[p] && fits[own_buffer][own_header.size];
    wire own_announces = own_header.kind == KindDescriptor;

    // What the memories have.
    logic [Ways-1:0] announcements, long_announcements, packets, long_packets, ways, choice;
    always_comb begin
      for (int unsigned l = 0; l < Links; l++) begin
        for (int unsigned i = 0; i < Own; i++) begin
          announcements[l*Own+i] = readable[l] && filled[l][buffer_of(p, i)] && fits[buffer_of(p, i)][0];
          long_announcements[l*Own+i] = announcements[l*Own+i] && several[l][buffer_of(p, i)];
          packets[l*Own+i] = readable[l] && filled[l][Buffers+buffer_of(p, i)]
              && fits[buffer_of(p, i)][sizes[l][Buffers+buffer_of(p, i)]];
          long_packets[l*Own+i] = packets[l*Own+i] && several[l][Buffers+buffer_of(p, i)];
        end
      end
    end

    wire announcement = announcements != '0;
    wire takes_own = !busy_q && own_fits && !announcement && (own_announces || packets == '0);
    always_comb begin
      if (announcement) ways = long_announcements != '0 ? long_announcements : announcements;
      else ways = long_packets != '0 ? long_packets : packets;
      if (busy_q || takes_own) ways = '0;
    end

    logic [Links-1:0] from;
    logic took;
    tw_arbiter #(
        .Inputs(Ways)
    ) turn (
        .clk_i,
        .rst_i,
        .request_i     (ways),
        .served_i      (took),
        .grant_o       (choice),
        .winner_valid_o(),
        .winner_index_o()
    );

    logic [LinkWidth-1:0] from_index;
    always_comb begin
      wanted[p] = '0;
      from_index = '0;
      for (int unsigned l = 0; l < Links; l++) begin
        from[l] = choice[l*Own+:Own] != '0;
        if (from[l]) from_index |= LinkWidth'(l);
        for (int unsigned i = 0; i < Own; i++) if (choice[l*Own+i]) wanted[p] |= BufferWidth'(buffer_of(p, i));
      end
    end
    for (genvar l = 0; l < Links; l++) begin : asks_link
      assign asked[l][p] = from[l];
    end
    assign wants_announcement[p] = announcement;
    always_comb begin
      took = 1'b0;
      for (int unsigned l = 0; l < Links; l++) took |= served[l][p];
    end
    assign lane_takes[p] = took || takes_own;

    // What it sends.
    wire [LinkWidth-1:0] to = LinkWidth'(32'(buffer_q) / Classes);
    wire peer_t peer = peers_q[to];
    wire [255:0] data = own_q ? own_data_i[p] : read_data[from_q][reader_q];
    network_header_t header;
    always_comb begin
      header = network_header_t'(data[47:0]);
      header.destination = peer.node;
      header.edge_ = peer.edge_;
      src_data_o[p] = data;
      if (first_q) src_data_o[p][47:0] = header;
      if (first_q) src_data_o[p][127:64] = {32'd0, 8'(32'(buffer_q) % Classes), peer.port, data[79:64]};
    end
    assign own_turn_o[p] = busy_q && own_q;
    assign src_valid_o[p] = busy_q && (!own_q || own_valid_i[p]);
    assign src_last_o[p] = own_q ? own_last_i[p] : read_last[from_q][reader_q];
    assign src_vc_o[p] = peer.vc;

    wire goes = src_valid_o[p] && src_ready_i[p];
    always_ff @(posedge clk_i) begin
      if (goes) first_q <= 1'b0;
      if (goes && src_last_o[p]) busy_q <= 1'b0;
      if (lane_takes[p]) begin
        busy_q <= 1'b1;
        own_q <= takes_own;
        first_q <= 1'b1;
        from_q <= from_index;
        reader_q <= next_reader[from_index];
        buffer_q <= takes_own ? own_buffer : wanted[p];
      end
      if (rst_i) busy_q <= 1'b0;
    end

    // Credits.
    logic [Own-1:0] due_here, credit_choice;
    always_comb for (int unsigned i = 0; i < Own; i++) due_here[i] = due[buffer_of(p, i)];
    tw_arbiter #(
        .Inputs(Own)
    ) credit_turn (
        .clk_i,
        .rst_i,
        .request_i     (due_here),
        .served_i      (single_valid_o[p] && single_ready_i[p]),
        .grant_o       (credit_choice),
        .winner_valid_o(single_valid_o[p]),
        .winner_index_o()
    );
    relay_credit_t credit;
    always_comb begin
      credit = relay_credit_empty();
      credit.last = 1'b1;
      single_vc_o[p] = '0;
      for (int unsigned i = 0; i < Own; i++) begin
        if (credit_choice[i]) begin
          credit.destination |= peers_q[buffer_of(p, i)/Classes].node;
          credit.edge_ |= peers_q[buffer_of(p, i)/Classes].edge_;
          credit.count |= 32'(owed_q[buffer_of(p, i)]);
          credit.link |= peers_q[buffer_of(p, i)/Classes].port;
          credit.route_class |= 8'(buffer_of(p, i) % Classes);
          single_vc_o[p] |= peers_q[buffer_of(p, i)/Classes].vc;
        end
      end
    end
    assign single_data_o[p] = credit;

    // Room: what is taken and told of the lane's buffers.
    logic [2:0] size_of_choice;
    wire [2:0] size = takes_own ? own_header.size : announcement ? 3'd0 : size_of_choice;
    always_comb begin
      size_of_choice = '0;
      for (int unsigned l = 0; l < Links; l++)
        for (int unsigned i = 0; i < Own; i++)
          if (choice[l*Own+i]) size_of_choice |= sizes[l][Buffers+buffer_of(p, i)];
    end
    wire [BufferWidth-1:0] goes_to = takes_own ? own_buffer : wanted[p];
    for (genvar i = 0; i < Own; i++) begin : buffer
      localparam int unsigned B = buffer_of(p, i);
      wire takes_room = lane_takes[p] && 32'(goes_to) == B;
      wire tells = credit_choice[i] && single_ready_i[p];
      always_ff @(posedge clk_i) begin
        credits_q[B] <= credits_q[B] + told[B] - (takes_room ? CountWidth'(8'd1 << size) : '0);
        owed_q[B] <= (tells ? '0 : owed_q[B]) + freed[B];
        if (rst_i) begin
          credits_q[B] <= CountWidth'(Flits);
          owed_q[B] <= '0;
        end
      end
`ifndef SYNTHESIS
      always_ff @(posedge clk_i) begin
        if (!rst_i) room_exists : assert (32'(credits_q[B]) <= Flits && 32'(owed_q[B]) <= Flits);
      end
`endif
    end

    // The host.
    logic host_busy_q, host_reader_q;
    logic [LinkWidth-1:0] host_from_q;
    logic [links_of(p)-1:0] host_ways, host_choice;
    logic host_took;
    logic [LinkWidth-1:0] host_from;
    always_comb begin
      host_took = 1'b0;
      host_from = '0;
      for (int unsigned k = 0; k < links_of(p); k++) begin
        host_ways[k] = !host_busy_q && readable[p+k*Lanes] && filled[p+k*Lanes][2*Buffers]
            && (32'd1 << sizes[p+k*Lanes][2*Buffers]) <= 32'(host_room_i[p]);
        host_took |= served[p+k*Lanes][Lanes];
        if (served[p+k*Lanes][Lanes]) host_from |= LinkWidth'(p + k * Lanes);
      end
    end
    for (genvar k = 0; k < links_of(p); k++) begin : asks
      assign asked[p+k*Lanes][Lanes] = host_choice[k];
    end
    tw_arbiter #(
        .Inputs(links_of(p))
    ) host_turn (
        .clk_i,
        .rst_i,
        .request_i     (host_ways),
        .served_i      (host_took),
        .grant_o       (host_choice),
        .winner_valid_o(),
        .winner_index_o()
    );
    assign host_valid_o[p] = host_busy_q;
    assign host_data_o[p] = read_data[host_from_q][host_reader_q];
    assign host_last_o[p] = read_last[host_from_q][host_reader_q];
    always_ff @(posedge clk_i) begin
      if (host_busy_q && host_last_o[p]) host_busy_q <= 1'b0;
      if (host_took) begin
        host_busy_q <= 1'b1;
        host_from_q <= host_from;
        host_reader_q <= next_reader[host_from];
      end
      if (rst_i) host_busy_q <= 1'b0;
    end
  end
endmodule
