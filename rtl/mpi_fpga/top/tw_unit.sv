// SPDX-License-Identifier: Apache-2.0
// The collective unit of an exported node, and its host side: packets for its processes, results, ended processes, and
// the packets of all-to-alls, each an AXI4-Stream; rows, operations and the relay's routes from the registers.
//
// Order: that of tw_packet_store and tw_collective_unit. Latency: two cycles from a packet's last flit to its
// announcement in the unit, none for results, one for the rest. Throughput: a flit per cycle in, and one out at each
// unit and port. Storage: besides that of these blocks, queues that the host cannot overflow: a word per process for
// ends, one per operation and rank for announcements. Critical path: from the process that is tried through take_valid
// to the store's address.
module tw_unit
  import tw_spec_pkg::*, tw_mpi_fpga_spec_pkg::*, tw_network_pkg::*, tw_node_pkg::*;
  import tw_cluster_pkg::*;
#(
    localparam int unsigned Operations = Rows * Entries,
    localparam int unsigned ProcessBits = $clog2(Operations) + 5,
    localparam int unsigned EntryBits = StoreEntries > 1 ? $clog2(StoreEntries) : 1
) (
    input logic clk_i,
    input logic rst_i,
    input logic enable_i,  /// the host's streams are accepted

    // verilator lint_off UNUSEDSIGNAL
    input  tw_registers_pkg::tw_registers__unit__out_t unit_i,
    input  logic [15:0]                                self_i,
    input  logic                                       relay_valid_i,
    input  logic [15:0]                                relay_index_i,
    input  logic [31:0]                                relay_entry_i,   /// tw_registers.rdl: relay
    // verilator lint_on UNUSEDSIGNAL
    output logic                                       ready_o,
    output logic                                       settled_o,

    // Packets for processes, each into a free entry
    input  logic         upload_valid_i,
    output logic         upload_ready_o,
    input  logic [255:0] upload_data_i,
    input  logic         upload_last_i,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [15:0]  upload_process_i,
    input  logic [15:0]  upload_place_i,
    // verilator lint_on UNUSEDSIGNAL
    output logic         free_valid_o,
    input  logic         free_ready_i,
    output logic [15:0]  free_data_o,

    output logic    [Units-1:0]        result_valid_o,
    input  logic    [Units-1:0]        result_ready_i,
    output logic    [Units-1:0][255:0] result_data_o,
    output logic    [Units-1:0]        result_last_o,
    output result_t [Units-1:0]        result_tag_o,
    output logic                       ended_valid_o,
    input  logic                       ended_ready_i,
    output logic    [15:0]             ended_data_o,

    // All-to-alls
    input  logic [UnitPorts-1:0]        personal_in_valid_i,
    output logic [UnitPorts-1:0]        personal_in_ready_o,
    input  logic [UnitPorts-1:0][255:0] personal_in_data_i,
    input  logic [UnitPorts-1:0]        personal_in_last_i,
    output logic [UnitPorts-1:0]        personal_out_valid_o,
    input  logic [UnitPorts-1:0]        personal_out_ready_i,
    output logic [UnitPorts-1:0][255:0] personal_out_data_o,
    output logic [UnitPorts-1:0]        personal_out_last_o,
    output logic [LinkPorts-1:0]        announced_valid_o,
    input  logic [LinkPorts-1:0]        announced_ready_i,
    output logic [LinkPorts-1:0][23:0]  announced_data_o,      /// source; from bit 16 on context, sequence

    // The router
    input  logic  [LinkPorts-1:0]           in_valid_i,
    input  flit_t [LinkPorts-1:0]           in_flit_i,
    output logic  [UnitPorts-1:0]           out_valid_o,
    output flit_t [UnitPorts-1:0]           out_flit_o,
    input  logic  [UnitPorts-1:0][Vcs-1:0]  out_back_i
);
  localparam int unsigned RowBits = Rows > 1 ? $clog2(Rows) : 1;
  localparam int unsigned OperationBits = Operations > 1 ? $clog2(Operations) : 1;
  localparam int unsigned EdgeBits = Edges > 1 ? $clog2(Edges) : 1;
  localparam int unsigned LinkBits = LinkPorts > 1 ? $clog2(LinkPorts) : 1;
  localparam int unsigned RootBits = Roots > 1 ? $clog2(Roots) : 1;
  localparam int unsigned UnitBits = Units > 1 ? $clog2(Units) : 1;
  localparam int unsigned BankBits = $clog2(BankFlits);
  localparam int unsigned Announcements = Operations * Nodes;

  logic unit_ready, store_ready;
  assign ready_o = unit_ready && store_ready;

  // --- The last word of a group of registers submits the group, one cycle after it is written

  logic peer_q, edge_q, branch_q, start_q, unload_q, row_q;
  always_ff @(posedge clk_i) begin
    peer_q   <= !rst_i && unit_i.peer.write.link.swmod;
    edge_q   <= !rst_i && unit_i.tree_edge.write.row.swmod;
    branch_q <= !rst_i && unit_i.branch.write.row.swmod;
    start_q  <= !rst_i && unit_i.operation.start.operation.swmod;
    unload_q <= !rst_i && unit_i.unload.row.swmod;
    row_q    <= !rst_i && unit_i.row.write.row.swmod;
  end

  exchange_t exchange;
  always_comb begin
    exchange.beyond      = unit_i.row.exchange.beyond.value;
    exchange.stage_count = unit_i.row.exchange.stages.value;
    exchange.fold        = unit_i.row.fold.edges.value;
    for (int unsigned k = 0; k < 16; k++) begin
      exchange.stage_peers[k] = unit_i.row.peers[k].edges.value;
      exchange.stage_place[k] = unit_i.row.place[k].index.value;
      exchange.doubling[k]    = unit_i.row.doubling[k].edges.value;
    end
  end

  wire [RowBits-1:0] edge_row = RowBits'(unit_i.tree_edge.write.row.value);
  wire [EdgeBits-1:0] edge_index = EdgeBits'(unit_i.tree_edge.write.index.value);

  // --- The host's packets

  logic announce_valid, take_valid;
  logic [ProcessBits-1:0] announce_process, take_process;
  logic [UnitBits-1:0] take_unit;
  logic [2:0] take_size;
  logic [3:0] take_pace;
  logic [Units-1:0] host_valid;
  logic [Units-1:0][255:0] host_data;
  logic [EntryBits-1:0] free_place;

  assign upload_ready_o = enable_i && ready_o;
  assign free_data_o    = 16'(free_place);

  tw_packet_store #(
      .Units(Units),
      .Processes(Operations * 32),
      .Entries(StoreEntries),
      .Flits(StoreFlits)
  ) store (
      .clk_i,
      .rst_i,
      .ready_o(store_ready),
      .in_valid_i(upload_valid_i && upload_ready_o),
      .in_data_i(upload_data_i),
      .in_last_i(upload_last_i),
      .in_process_i(ProcessBits'(upload_process_i)),
      .in_place_i(EntryBits'(upload_place_i)),
      .announce_valid_o(announce_valid),
      .announce_process_o(announce_process),
      .take_valid_i(take_valid),
      .take_process_i(take_process),
      .take_unit_i(take_unit),
      .take_size_i(take_size),
      .take_pace_i(take_pace),
      .host_valid_o(host_valid),
      .host_data_o(host_data),
      .free_valid_o,
      .free_ready_i,
      .free_place_o(free_place)
  );

  // --- The unit

  logic ended_valid;
  logic [ProcessBits-1:0] ended_process;
  logic [UnitPorts-1:0] own_ready, came_valid, came_last;
  logic [UnitPorts-1:0][255:0] came_data;
  logic [UnitPorts-1:0][RoomBits-1:0] room;
  logic [LinkPorts-1:0] announced_valid;
  logic [LinkPorts-1:0][4:0] announced_context;
  logic [LinkPorts-1:0][1:0] announced_sequence;
  logic [LinkPorts-1:0][15:0] announced_source;

  assign personal_in_ready_o = own_ready & {UnitPorts{enable_i}};

  tw_collective_unit #(
      .Links(LinkPorts),
      .Ports(UnitPorts),
      .Units(Units),
      .Rows(Rows),
      .Entries(Entries),
      .Edges(Edges),
      .Roots(Roots),
      .Stages(Stages),
      .StageEntries(StageEntries),
      .Vcs(Vcs),
      .Credits(Credits),
      .PeerFlits(LocalBufferFlits),
      .BankFlits(BankFlits),
      .SlotFlits(SlotFlits),
      .SlotPackets(SlotPackets),
      .Batch(Batch),
      .ShortestSize(ShortestSize),
      .PacketSize(PacketSize),
      .LongestSize(LongestSize),
      .Words(Words),
      .HostPackets(HostPackets),
      .Latency(Latency),
      .Pairs(Pairs),
      .UserBytes(UserBytes),
      .Classes(RouteClasses),
      .Nodes(Nodes),
      .RelayFlits(RelayFlits),
      .RoomBits(RoomBits)
  ) collective_unit (
      .clk_i,
      .rst_i,
      .ready_o(unit_ready),
      .vertex_valid_i(row_q),
      .vertex_row_i(RowBits'(unit_i.row.write.row.value)),
      .vertex_i('{
          has_rank: unit_i.row.shape.has_rank.value,
          rooted: unit_i.row.shape.rooted.value,
          ring: unit_i.row.shape.ring.value,
          ranks: unit_i.row.ranks.count.value,
          rank: unit_i.row.ranks.own.value,
          label: unit_i.row.labels.own.value,
          below: unit_i.row.labels.below.value,
          up: unit_i.row.up.edges.value,
          down: unit_i.row.down.edges.value,
          previous: unit_i.row.previous.edges.value,
          next: unit_i.row.next.edges.value
      }),
      .exchange_i(exchange),
      .edge_valid_i(edge_q),
      .edge_row_i(edge_row),
      .edge_index_i(edge_index),
      .edge_i('{
          neighbour: unit_i.tree_edge.far.neighbour.value,
          there: unit_i.tree_edge.far.there.value,
          first: unit_i.tree_edge.labels.first.value,
          behind: unit_i.tree_edge.labels.behind.value
      }),
      .edge_vc_i(unit_i.tree_edge.far.channel.value),
      .place_valid_i(edge_q),
      .place_row_i(edge_row),
      .place_edge_i(edge_index),
      .place_link_i(LinkBits'(unit_i.tree_edge.write.link.value)),
      .place_base_i(BankBits'((32'(edge_row) * Edges + 32'(edge_index)) * SlotFlits)),
      .place_settled_o(settled_o),
      .branch_valid_i(branch_q),
      .branch_row_i(RowBits'(unit_i.branch.write.row.value)),
      .branch_label_i(RootBits'(unit_i.branch.write.label.value)),
      .branch_up_i(unit_i.branch.up.edges.value[Edges-1:0]),
      .branch_down_i(unit_i.branch.down.edges.value[Edges-1:0]),
      .unload_valid_i(unload_q),
      .unload_row_i(RowBits'(unit_i.unload.row.value)),
      .start_valid_i(start_q),
      .start_operation_i(OperationBits'(unit_i.operation.start.operation.value)),
      .start_constants_i('{
          collective: collective_e'(unit_i.operation.kind.collective.value),
          algorithm: algorithm_e'(unit_i.operation.kind.algorithm.value),
          operation: operator_e'(unit_i.operation.kind.operator.value),
          type_: datatype_e'(unit_i.operation.kind.datatype.value),
          root: unit_i.operation.root.root.value,
          size: unit_i.operation.kind.size.value,
          shortest: unit_i.operation.kind.shortest.value,
          longest: unit_i.operation.kind.longest.value,
          ring: unit_i.operation.kind.ring.value,
          together: unit_i.operation.streams.together.value,
          burst: unit_i.operation.streams.burst.value,
          upwards_first: unit_i.operation.kind.upwards_first.value
      }),
      .start_asks_i(unit_i.operation.kind.asks.value),
      .announce_valid_i(announce_valid),
      .announce_process_i(announce_process),
      .take_valid_o(take_valid),
      .take_process_o(take_process),
      .take_unit_o(take_unit),
      .take_size_o(take_size),
      .take_pace_o(take_pace),
      .host_valid_i(host_valid),
      .host_data_i(host_data),
      .result_valid_o,
      .result_ready_i,
      .result_data_o,
      .result_last_o,
      .result_tag_o,
      .ended_valid_o(ended_valid),
      .ended_process_o(ended_process),
      .in_valid_i,
      .in_flit_i,
      .self_i,
      .table_valid_i(relay_valid_i && relay_entry_i[31] && relay_index_i != self_i),
      .table_index_i(relay_index_i),
      .table_entry_i('{
          keep_class: relay_entry_i[7],
          route_class: relay_entry_i[11:8],
          last_link: 1'b0,
          port: relay_entry_i[5:0]
      }),
      .table_layer_i(relay_entry_i[15:12]),
      .peer_valid_i(peer_q),
      .peer_link_i(unit_i.peer.write.link.value),
      .peer_node_i(unit_i.peer.far.node.value),
      .peer_port_i(unit_i.peer.far.port.value),
      .peer_vc_i(unit_i.peer.far.channel.value),
      .own_valid_i(personal_in_valid_i & {UnitPorts{enable_i}}),
      .own_data_i(personal_in_data_i),
      .own_last_i(personal_in_last_i),
      .own_ready_o(own_ready),
      .room_i(room),
      .came_valid_o(came_valid),
      .came_data_o(came_data),
      .came_last_o(came_last),
      .announced_valid_o(announced_valid),
      .announced_context_o(announced_context),
      .announced_sequence_o(announced_sequence),
      .announced_source_o(announced_source),
      .out_valid_o,
      .out_flit_o,
      .out_back_i
  );

  // --- Queues to the host

  logic [ProcessBits-1:0] ended_front;
  assign ended_data_o = 16'(ended_front);

  tw_fifo #(
      .Width(ProcessBits),
      .Depth(Operations * 32)
  ) ends (
      .clk_i,
      .rst_i,
      .in_valid_i(ended_valid),
      .in_ready_o(),
      .in_data_i(ended_process),
      .out_valid_o(ended_valid_o),
      .out_ready_i(ended_ready_i),
      .out_data_o(ended_front),
      .count_o()
  );

  for (genvar p = 0; p < int'(UnitPorts); p++) begin : own_port
    // The relay's room counts arrivals up to the cycle before, so one more flit has an entry.
    logic [$clog2(HostFlits+2)-1:0] count;
    assign room[p] = 32'(count) > HostFlits ? '0 : RoomBits'(HostFlits - 32'(count));

    tw_fifo #(
        .Width(257),
        .Depth(HostFlits + 1)
    ) came (
        .clk_i,
        .rst_i,
        .in_valid_i(came_valid[p]),
        .in_ready_o(),
        .in_data_i({came_last[p], came_data[p]}),
        .out_valid_o(personal_out_valid_o[p]),
        .out_ready_i(personal_out_ready_i[p]),
        .out_data_o({personal_out_last_o[p], personal_out_data_o[p]}),
        .count_o(count)
    );
  end

  for (genvar l = 0; l < int'(LinkPorts); l++) begin : link
    logic [22:0] front;
    assign announced_data_o[l] = 24'(front);

    tw_fifo #(
        .Width(23),
        .Depth(Announcements)
    ) announcements (
        .clk_i,
        .rst_i,
        .in_valid_i(announced_valid[l]),
        .in_ready_o(),
        .in_data_i({announced_sequence[l], announced_context[l], announced_source[l]}),
        .out_valid_o(announced_valid_o[l]),
        .out_ready_i(announced_ready_i[l]),
        .out_data_o(front),
        .count_o()
    );
  end
endmodule
