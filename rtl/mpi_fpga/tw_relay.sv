// SPDX-License-Identifier: Apache-2.0
// Stores and forwards packets of all-to-alls: stores packets that arrive over links, and gives whole packets to the
// lane of the next link, or to the host (docs/collectives.md; docs/unit.md lists the parts). Its lanes are sources of
// tw_injector.
//
// Each link has a memory for its buffers of all route classes. It consists of linked flits: pages would take room that
// credits, which count flits, do not include. An idle lane requests from a memory a packet that has room in its next
// buffer; a memory serves the requesting lanes and host in turn.
// A packet arrives over the link whose buffer its header names. If several links lead to a neighbour, the table must
// therefore name the link over which the router sends packets to it. Credits may arrive over any link.
//
// Order: that of arrival from a link to a buffer. Latency: from a packet's last flit to its first word at src two
// cycles, at host two; from the own host's first word one. Throughput: a flit per cycle in and out of each lane, with
// one cycle between a lane's packets; credits use their own path. Storage: per link twice Classes * Flits flits with
// next pointers, and pointers to free flits and to queued packets; per queue two pointers. own_grant_o, host_*,
// announce_* and single_* depend only on registers, src_* of the own host's packets on own_*. Critical path: from a
// lane's credits through its arbiter and the memory's to the queue from which it takes.
module tw_relay
  import tw_spec_pkg::*, tw_mpi_fpga_spec_pkg::*, tw_network_pkg::*, tw_relay_pkg::*;
#(
    parameter int unsigned Links = 6,
    parameter int unsigned Lanes = 3,       /// link i belongs to lane i modulo Lanes; at most Links
    parameter int unsigned Classes = 2,     /// route classes
    parameter int unsigned Nodes = 64,      /// destinations in the table
    parameter int unsigned Flits = 1024,    /// per buffer, at least 2 longest packets; other ends have the same
    parameter int unsigned Vcs = 4,
    parameter int unsigned RoomBits = 9     /// width of host_room_i
) (
    input logic        clk_i,
    input logic        rst_i,
    input logic [15:0] self_i,  /// index of this node, constant

    // The routing table, with the route class in which packets to a node start; and the other ends of the links.
    input logic         table_valid_i,
    input logic [15:0]  table_index_i,
    input route_entry_t table_entry_i,
    input logic [3:0]   table_layer_i,
    input logic         peer_valid_i,
    input logic [5:0]   peer_link_i,
    input logic [15:0]  peer_node_i,
    input logic [7:0]   peer_port_i,  /// index of the link there
    input logic [3:0]   peer_vc_i,    /// virtual channel of the path there

    // Flits that the router ejects at the links: packets of all-to-alls, and their credits.
    input logic  [Links-1:0] in_valid_i,
    input flit_t [Links-1:0] in_flit_i,

    // The own host's packets for other ranks; a word is held until it is sent.
    input  logic [Lanes-1:0]        own_valid_i,
    input  logic [Lanes-1:0][255:0] own_data_i,
    input  logic [Lanes-1:0]        own_last_i,
    output logic [Lanes-1:0]        own_grant_o,  /// the lane sends them: a word is sent with src_ready_i

    output logic [Lanes-1:0]        src_valid_o,
    input  logic [Lanes-1:0]        src_ready_i,
    output logic [Lanes-1:0][255:0] src_data_o,
    output logic [Lanes-1:0]        src_last_o,
    output logic [Lanes-1:0][3:0]   src_vc_o,

    // Credits for the other ends; a waiting credit may be replaced, or its count may grow.
    output logic [Lanes-1:0]        single_valid_o,
    input  logic [Lanes-1:0]        single_ready_i,
    output logic [Lanes-1:0][255:0] single_data_o,
    output logic [Lanes-1:0][3:0]   single_vc_o,

    // Data for the host, from each lane's links: packets without pauses, selected only if the host has room.
    input  logic [Lanes-1:0][RoomBits-1:0] host_room_i,  /// free flits, after arrivals up to the cycle before
    output logic [Lanes-1:0]               host_valid_o,
    output logic [Lanes-1:0][255:0]        host_data_o,
    output logic [Lanes-1:0]               host_last_o,

    // Ranks that announce themselves to this node's rank.
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

  localparam int unsigned Buffers = Links * Classes;  // at the other ends
  localparam int unsigned Queues = 2 * Buffers + 1;  // per memory: announcements, data, for the host
  localparam int unsigned NodeWidth = Nodes > 1 ? $clog2(Nodes) : 1;
  localparam int unsigned BufferWidth = Buffers > 1 ? $clog2(Buffers) : 1;
  localparam int unsigned QueueWidth = $clog2(Queues);
  localparam int unsigned CountWidth = $clog2(Flits + 1);

  // --- Routes

  logic [Links-1:0][NodeWidth-1:0] receiver;
  logic [Links-1:0][3:0] route_class;
  logic [Links-1:0][BufferWidth-1:0] next;
  logic [Lanes-1:0][NodeWidth-1:0] own_receiver;
  logic [Lanes-1:0][BufferWidth-1:0] own_buffer;
  peer_t [Links-1:0] peers;

  tw_relay_table #(
      .Links(Links),
      .Lanes(Lanes),
      .Classes(Classes),
      .Nodes(Nodes)
  ) table_ (
      .clk_i,
      .rst_i,
      .table_valid_i,
      .table_index_i,
      .table_entry_i,
      .table_layer_i,
      .peer_valid_i,
      .peer_link_i,
      .peer_node_i,
      .peer_port_i,
      .peer_vc_i,
      .next_receiver_i (receiver),
      .next_class_i    (route_class),
      .next_o          (next),
      .first_receiver_i(own_receiver),
      .first_o         (own_buffer),
      .peers_o         (peers)
  );

  // --- Room at the other ends, and credits owed to them

  logic [Links-1:0] credit_valid;
  relay_credit_t [Links-1:0] credit;
  logic [Lanes-1:0] consume;
  logic [Lanes-1:0][BufferWidth-1:0] consume_buffer;
  logic [Lanes-1:0][2:0] consume_size;
  logic [Buffers-1:0][7:0] has_room;
  logic [Buffers-1:0][CountWidth-1:0] freed;

  tw_relay_credits #(
      .Links(Links),
      .Lanes(Lanes),
      .Classes(Classes),
      .Flits(Flits)
  ) credits (
      .clk_i,
      .rst_i,
      .peers_i         (peers),
      .credit_valid_i  (credit_valid),
      .credit_i        (credit),
      .consume_valid_i (consume),
      .consume_buffer_i(consume_buffer),
      .consume_size_i  (consume_size),
      .has_room_o      (has_room),
      .freed_i         (freed),
      .single_valid_o,
      .single_ready_i,
      .single_data_o,
      .single_vc_o
  );

  // --- The memories

  logic [Links-1:0] readable, next_reader, filled_for_host, grant_host;
  logic [Links-1:0][2:0] size_for_host;
  logic [Links-1:0][Queues-1:0] filled, several;
  logic [Links-1:0][Queues-1:0][2:0] sizes;
  logic [Links-1:0][Lanes:0] request, grant;  // by each lane, and by the host
  logic [Lanes-1:0][QueueWidth-1:0] request_queue;
  logic [Lanes-1:0][2:0] request_size;
  logic [Lanes-1:0] request_last;
  logic [Links-1:0][1:0][255:0] read_data;
  logic [Links-1:0][1:0] read_last;

  for (genvar l = 0; l < Links; l++) begin : links
    tw_relay_memory #(
        .Link(l),
        .Links(Links),
        .Lanes(Lanes),
        .Classes(Classes),
        .Nodes(Nodes),
        .Flits(Flits),
        .Vcs(Vcs)
    ) memory (
        .clk_i,
        .rst_i,
        .self_i,
        .in_valid_i         (in_valid_i[l]),
        .in_flit_i          (in_flit_i[l]),
        .receiver_o         (receiver[l]),
        .class_o            (route_class[l]),
        .next_i             (next[l]),
        .credit_valid_o     (credit_valid[l]),
        .credit_o           (credit[l]),
        .filled_o           (filled[l]),
        .several_o          (several[l]),
        .sizes_o            (sizes[l]),
        .readable_o         (readable[l]),
        .next_reader_o      (next_reader[l]),
        .request_i          (request[l]),
        .request_queue_i    (request_queue),
        .request_size_i     (request_size),
        .request_last_i     (request_last),
        .grant_o            (grant[l]),
        .data_o             (read_data[l]),
        .last_o             (read_last[l]),
        .src_ready_i,
        .freed_o            (freed[l*Classes+:Classes]),
        .announce_valid_o   (announce_valid_o[l]),
        .announce_context_o (announce_context_o[l]),
        .announce_sequence_o(announce_sequence_o[l]),
        .announce_source_o  (announce_source_o[l])
    );
    assign filled_for_host[l] = filled[l][2*Buffers];
    assign size_for_host[l] = sizes[l][2*Buffers];
    assign grant_host[l] = grant[l][Lanes];
  end

  // --- The lanes, and the host

  for (genvar p = 0; p < Lanes; p++) begin : lanes
    logic [Links-1:0] requests, grants;
    logic [links_of(p, Lanes, Links)-1:0] host_requests;
    for (genvar l = 0; l < Links; l++) begin : of_link
      assign request[l][p] = requests[l];
      assign grants[l] = grant[l][p];
    end
    for (genvar k = 0; k < links_of(p, Lanes, Links); k++) begin : own_link
      assign request[p+k*Lanes][Lanes] = host_requests[k];
    end

    tw_relay_lane #(
        .Lane(p),
        .Links(Links),
        .Lanes(Lanes),
        .Classes(Classes),
        .Nodes(Nodes)
    ) lane (
        .clk_i,
        .rst_i,
        .peers_i         (peers),
        .has_room_i      (has_room),
        .own_valid_i     (own_valid_i[p]),
        .own_data_i      (own_data_i[p]),
        .own_last_i      (own_last_i[p]),
        .own_grant_o     (own_grant_o[p]),
        .own_receiver_o  (own_receiver[p]),
        .own_buffer_i    (own_buffer[p]),
        .readable_i      (readable),
        .filled_i        (filled),
        .several_i       (several),
        .sizes_i         (sizes),
        .request_o       (requests),
        .request_queue_o (request_queue[p]),
        .request_size_o  (request_size[p]),
        .request_last_o  (request_last[p]),
        .grant_i         (grants),
        .next_reader_i   (next_reader),
        .read_data_i     (read_data),
        .read_last_i     (read_last),
        .consume_valid_o (consume[p]),
        .consume_buffer_o(consume_buffer[p]),
        .consume_size_o  (consume_size[p]),
        .src_valid_o     (src_valid_o[p]),
        .src_ready_i     (src_ready_i[p]),
        .src_data_o      (src_data_o[p]),
        .src_last_o      (src_last_o[p]),
        .src_vc_o        (src_vc_o[p])
    );

    tw_relay_host #(
        .Lane(p),
        .Links(Links),
        .Lanes(Lanes),
        .RoomBits(RoomBits)
    ) host (
        .clk_i,
        .rst_i,
        .readable_i   (readable),
        .filled_i     (filled_for_host),
        .sizes_i      (size_for_host),
        .request_o    (host_requests),
        .grant_i      (grant_host),
        .next_reader_i(next_reader),
        .read_data_i  (read_data),
        .read_last_i  (read_last),
        .host_room_i  (host_room_i[p]),
        .host_valid_o (host_valid_o[p]),
        .host_data_o  (host_data_o[p]),
        .host_last_o  (host_last_o[p])
    );
  end
endmodule
