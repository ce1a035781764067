// SPDX-License-Identifier: Apache-2.0
// A lane of a relay: sends packets from the memories and from the own host over its links, one after another. An idle
// lane selects a packet that has room in its next buffer: announcements before data, and within each kind forwarded
// packets before the own host's. Queues take turns, those with several packets first.
//
// Order: that of each memory's queues, and of the own host. Latency: one cycle from the selection of a packet to its
// first flit at src. Throughput: a flit per cycle, with one cycle between packets. Storage: the packet being sent.
// own_grant_o depends only on registers; src_* also on own_* and read_*; own_receiver_o on own_data_i; request_* and
// consume_* on the queued packets. Critical path: from has_room_i through the arbiter to request_o.
module tw_relay_lane
  import tw_spec_pkg::*, tw_mpi_fpga_spec_pkg::*, tw_relay_pkg::*;
#(
    parameter int unsigned Lane = 0,  /// index of this lane
    parameter int unsigned Links = 6,
    parameter int unsigned Lanes = 3,
    parameter int unsigned Classes = 2,
    parameter int unsigned Nodes = 64,
    localparam int unsigned Buffers = Links * Classes,
    localparam int unsigned Queues = 2 * Buffers + 1,
    localparam int unsigned NodeWidth = Nodes > 1 ? $clog2(Nodes) : 1,
    localparam int unsigned BufferWidth = Buffers > 1 ? $clog2(Buffers) : 1,
    localparam int unsigned QueueWidth = $clog2(Queues)
) (
    input logic clk_i,
    input logic rst_i,

    input peer_t [Links-1:0]        peers_i,
    input logic  [Buffers-1:0][7:0] has_room_i,  /// per buffer: has room for a packet of 2^i flits

    // The own host's packets, and their first buffer, from the table.
    input  logic                   own_valid_i,
    input  logic [255:0]           own_data_i,
    input  logic                   own_last_i,
    output logic                   own_grant_o,
    output logic [NodeWidth-1:0]   own_receiver_o,
    input  logic [BufferWidth-1:0] own_buffer_i,

    // Packets in the memories.
    input  logic [Links-1:0]                  readable_i,
    input  logic [Links-1:0][Queues-1:0]      filled_i,
    input  logic [Links-1:0][Queues-1:0]      several_i,
    input  logic [Links-1:0][Queues-1:0][2:0] sizes_i,
    output logic [Links-1:0]                  request_o,
    output logic [QueueWidth-1:0]             request_queue_o,  /// of the selected packet
    output logic [2:0]                        request_size_o,   /// log2 of its flits
    output logic                              request_last_o,   /// it is the last one in its queue
    input  logic [Links-1:0]                  grant_i,
    input  logic [Links-1:0]                  next_reader_i,
    input  logic [Links-1:0][1:0][255:0]      read_data_i,
    input  logic [Links-1:0][1:0]             read_last_i,

    // Room taken by the selected packet.
    output logic                   consume_valid_o,
    output logic [BufferWidth-1:0] consume_buffer_o,
    output logic [2:0]             consume_size_o,

    output logic         src_valid_o,
    input  logic         src_ready_i,
    output logic [255:0] src_data_o,
    output logic         src_last_o,
    output logic [3:0]   src_vc_o
);
  localparam int unsigned Own = links_of(Lane, Lanes, Links) * Classes;  // number of its buffers
  localparam int unsigned Candidates = Links * Own;
  localparam int unsigned LinkWidth = Links > 1 ? $clog2(Links) : 1;

  logic busy_q, own_q, first_q, reader_q;
  logic [LinkWidth-1:0] from_q;
  logic [BufferWidth-1:0] buffer_q;

  // --- Candidates: of the own host, and of the memories

  // verilator lint_off UNUSEDSIGNAL
  wire network_header_t own_header = network_header_t'(own_data_i[47:0]);
  wire relay_header_t own_relay_header = relay_header_t'(own_data_i[127:64]);
  // verilator lint_on UNUSEDSIGNAL
  assign own_receiver_o = NodeWidth'(own_relay_header.receiver);
  wire own_ready = own_valid_i && has_room_i[own_buffer_i][own_header.size];
  wire own_announces = own_header.kind == KindDescriptor;

  function automatic int unsigned buffer(int unsigned i);
    return buffer_of(Lane, Lanes, Classes, i);
  endfunction

  logic [Candidates-1:0] announcements, long_announcements, packets, long_packets, candidates, choice;
  always_comb begin
    for (int unsigned l = 0; l < Links; l++) begin
      for (int unsigned i = 0; i < Own; i++) begin
        announcements[l*Own+i] = readable_i[l] && filled_i[l][buffer(i)] && has_room_i[buffer(i)][0];
        long_announcements[l*Own+i] = announcements[l*Own+i] && several_i[l][buffer(i)];
        packets[l*Own+i] = readable_i[l] && filled_i[l][Buffers+buffer(i)] && has_room_i[buffer(i)][sizes_i[l][Buffers+buffer(i)]];
        long_packets[l*Own+i] = packets[l*Own+i] && several_i[l][Buffers+buffer(i)];
      end
    end
  end

  // --- Selection

  wire announcement = announcements != '0;
  wire selects_own = !busy_q && own_ready && !announcement && (own_announces || packets == '0);
  wire granted = grant_i != '0;
  always_comb begin
    if (announcement) candidates = long_announcements != '0 ? long_announcements : announcements;
    else candidates = long_packets != '0 ? long_packets : packets;
    if (busy_q || selects_own) candidates = '0;
  end

  tw_arbiter #(
      .Inputs(Candidates)
  ) arbiter (
      .clk_i,
      .rst_i,
      .request_i     (candidates),
      .served_i      (granted),
      .grant_o       (choice),
      .winner_valid_o(),
      .winner_index_o()
  );

  logic [LinkWidth-1:0] chosen_link;
  logic [BufferWidth-1:0] chosen_buffer;
  logic [2:0] chosen_size;
  always_comb begin
    chosen_buffer = '0;
    chosen_link = '0;
    chosen_size = '0;
    for (int unsigned l = 0; l < Links; l++) begin
      request_o[l] = choice[l*Own+:Own] != '0;
      if (request_o[l]) chosen_link |= LinkWidth'(l);
      for (int unsigned i = 0; i < Own; i++) begin
        if (choice[l*Own+i]) chosen_buffer |= BufferWidth'(buffer(i));
        if (choice[l*Own+i]) chosen_size |= sizes_i[l][Buffers+buffer(i)];
      end
    end
  end

  assign request_queue_o = QueueWidth'(announcement ? 32'(chosen_buffer) : Buffers + 32'(chosen_buffer));
  assign request_size_o = announcement ? 3'd0 : chosen_size;
  assign request_last_o = announcement ? long_announcements == '0 : long_packets == '0;

  assign consume_valid_o = granted || selects_own;
  assign consume_buffer_o = selects_own ? own_buffer_i : chosen_buffer;
  assign consume_size_o = selects_own ? own_header.size : request_size_o;

  // --- Transmission

  wire [LinkWidth-1:0] to = LinkWidth'(32'(buffer_q) / Classes);
  wire peer_t peer = peers_i[to];
  wire [255:0] data = own_q ? own_data_i : read_data_i[from_q][reader_q];
  network_header_t header;
  always_comb begin
    header = network_header_t'(data[47:0]);
    header.destination = peer.node;
    header.edge_ = peer.edge_;
    src_data_o = data;
    if (first_q) src_data_o[47:0] = header;
    if (first_q) src_data_o[127:64] = {32'd0, 8'(32'(buffer_q) % Classes), peer.port, data[79:64]};
  end
  assign own_grant_o = busy_q && own_q;
  assign src_valid_o = busy_q && (!own_q || own_valid_i);
  assign src_last_o = own_q ? own_last_i : read_last_i[from_q][reader_q];
  assign src_vc_o = peer.vc;

  wire transfer = src_valid_o && src_ready_i;
  always_ff @(posedge clk_i) begin
    if (transfer) first_q <= 1'b0;
    if (transfer && src_last_o) busy_q <= 1'b0;
    if (consume_valid_o) begin
      busy_q <= 1'b1;
      own_q <= selects_own;
      first_q <= 1'b1;
      from_q <= chosen_link;
      reader_q <= next_reader_i[chosen_link];
      buffer_q <= consume_buffer_o;
    end
    if (rst_i) busy_q <= 1'b0;
  end
endmodule
