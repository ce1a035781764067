// SPDX-License-Identifier: Apache-2.0
// The memory behind one link of a relay, for the buffers of all route classes. It consists of linked flits: packets
// arrive interleaved by flit, and leave in another order. Packets are queued by their next buffer, announcements
// separately from data, and those for the host separately from both. Two readers, each with a copy, serve the lanes and
// the host in turn.
//
// Order: that of arrival in each queue. Latency: two cycles from a packet's last flit to its first one at data_o.
// Throughput: a flit per cycle in, and one out of each reader. Storage: that of the queues and readers, and the state
// of the packet arriving on each virtual channel. grant_o depends on request_i; receiver_o, class_o and credit_* on
// in_*; freed_o on in_* and src_ready_i; the other outputs only on registers. Critical path: from request_i through the
// arbiter to the address of the flit that is read.
module tw_relay_memory
  import tw_spec_pkg::*, tw_mpi_fpga_spec_pkg::*, tw_network_pkg::*;
#(
    parameter int unsigned Link = 0,  /// link of this memory
    parameter int unsigned Links = 6,
    parameter int unsigned Lanes = 3,
    parameter int unsigned Classes = 2,
    parameter int unsigned Nodes = 64,
    parameter int unsigned Flits = 1024,  /// per buffer
    parameter int unsigned Vcs = 4,
    localparam int unsigned Buffers = Links * Classes,
    localparam int unsigned Queues = 2 * Buffers + 1,  // announcements, data, for the host
    localparam int unsigned NodeWidth = Nodes > 1 ? $clog2(Nodes) : 1,
    localparam int unsigned BufferWidth = Buffers > 1 ? $clog2(Buffers) : 1,
    localparam int unsigned QueueWidth = $clog2(Queues),
    localparam int unsigned CountWidth = $clog2(Flits + 1)
) (
    input logic        clk_i,
    input logic        rst_i,
    input logic [15:0] self_i,

    input logic  in_valid_i,
    input flit_t in_flit_i,

    // Next buffer of the arriving packet, from the table.
    output logic [NodeWidth-1:0]   receiver_o,
    output logic [3:0]             class_o,
    input  logic [BufferWidth-1:0] next_i,

    output logic          credit_valid_o,  /// a credit arrives
    output relay_credit_t credit_o,

    output logic [Queues-1:0]      filled_o,
    output logic [Queues-1:0]      several_o,  /// more than one packet
    output logic [Queues-1:0][2:0] sizes_o,    /// log2 of the first packet's flits

    // Requests of the lanes and, last, of the host; the one served gets the packet from the next reader.
    output logic                             readable_o,
    output logic                             next_reader_o,
    input  logic [Lanes:0]                   request_i,
    input  logic [Lanes-1:0][QueueWidth-1:0] request_queue_i,
    input  logic [Lanes-1:0][2:0]            request_size_i,
    input  logic [Lanes-1:0]                 request_last_i,   /// it requests the queue's last packet
    output logic [Lanes:0]                   grant_o,

    output logic [1:0][255:0] data_o,
    output logic [1:0]        last_o,
    input  logic [Lanes-1:0]  src_ready_i,

    output logic [Classes-1:0][CountWidth-1:0] freed_o,  /// flits freed in each buffer

    output logic        announce_valid_o,
    output logic [4:0]  announce_context_o,
    output logic [1:0]  announce_sequence_o,
    output logic [15:0] announce_source_o
);
  localparam int unsigned Entries = Classes * Flits;
  localparam int unsigned EntryWidth = Entries > 1 ? $clog2(Entries) : 1;
  localparam int unsigned ClassWidth = Classes > 1 ? $clog2(Classes) : 1;
  localparam int unsigned LaneWidth = Lanes > 1 ? $clog2(Lanes) : 1;
  localparam int unsigned VcWidth = Vcs > 1 ? $clog2(Vcs) : 1;

  // --- Arrivals

  // verilator lint_off UNUSEDSIGNAL
  wire network_header_t header = network_header_t'(in_flit_i.data[47:0]);
  wire relay_header_t relay_header = relay_header_t'(in_flit_i.data[127:64]);
  // verilator lint_on UNUSEDSIGNAL
  wire is_credit = in_flit_i.head && header.kind == KindCredit;
  wire for_host = relay_header.receiver == self_i;
  wire announces = header.kind == KindDescriptor;
  wire announced = in_valid_i && in_flit_i.head && announces && for_host;
  wire stores = in_valid_i && !is_credit && !announced;

  assign credit_valid_o = in_valid_i && is_credit;
  assign credit_o = relay_credit_t'(in_flit_i.data);
  assign receiver_o = NodeWidth'(relay_header.receiver);
  assign class_o = 4'(relay_header.route_class);

  always_ff @(posedge clk_i) begin
    announce_valid_o <= announced && !rst_i;
    announce_context_o <= header.context_;
    announce_sequence_o <= header.sequence_;
    announce_source_o <= in_flit_i.data[63:48];
  end

  // State of the packet arriving on a channel.
  typedef struct packed {
    logic [QueueWidth-1:0] row;
    logic [2:0]            size;
    logic [EntryWidth-1:0] head;
    logic [EntryWidth-1:0] previous;
  } arriving_t;
  arriving_t arriving_q[Vcs];
  wire [VcWidth-1:0] vc = VcWidth'(in_flit_i.vc);

  arriving_t packet;
  logic [EntryWidth-1:0] entry;
  always_comb begin
    packet = arriving_q[vc];
    if (in_flit_i.head) begin
      packet.row = for_host ? QueueWidth'(2 * Buffers) : QueueWidth'(announces ? 32'(next_i) : Buffers + 32'(next_i));
      packet.size = header.size;
      packet.head = entry;
    end
  end

  // Free entries: first unused ones, then those freed by the readers.
  logic [EntryWidth:0] unused_q;
  logic [1:0] freed_valid;
  logic [1:0][EntryWidth-1:0] freed_entry;
  wire unused = 32'(unused_q) < Entries;
  assign entry = unused ? EntryWidth'(unused_q) : freed_valid[0] ? freed_entry[0] : freed_entry[1];

  always_ff @(posedge clk_i) begin
    if (stores) begin
      arriving_q[vc] <= packet;
      arriving_q[vc].previous <= entry;
    end
    if (stores && unused) unused_q <= unused_q + 1;
    if (rst_i) unused_q <= '0;
  end

  // --- Departures

  logic [QueueWidth-1:0] queue;  // queue whose first packet goes to a reader
  logic [2:0] queue_size;
  logic queue_last;
  logic [EntryWidth-1:0] queue_head;
  logic [LaneWidth-1:0] lane;
  wire dequeues = request_i != '0;
  always_comb begin
    queue = QueueWidth'(2 * Buffers);
    queue_size = sizes_o[2*Buffers];
    queue_last = !several_o[2*Buffers];
    lane = '0;
    for (int unsigned p = 0; p < Lanes; p++) begin
      if (grant_o[p]) begin
        queue = request_queue_i[p];
        queue_size = request_size_i[p];
        queue_last = request_last_i[p];
        lane |= LaneWidth'(p);
      end
    end
  end

  tw_arbiter #(
      .Inputs(Lanes + 1)
  ) arbiter (
      .clk_i,
      .rst_i,
      .request_i     (request_i),
      .served_i      (request_i != '0),
      .grant_o       (grant_o),
      .winner_valid_o(),
      .winner_index_o()
  );

  tw_relay_queues #(
      .Queues(Queues),
      .Entries(Entries)
  ) queues (
      .clk_i,
      .rst_i,
      .enter_valid_i  (stores && in_flit_i.tail),
      .enter_queue_i  (packet.row),
      .enter_size_i   (packet.size),
      .enter_head_i   (packet.head),
      .dequeue_valid_i(dequeues),
      .dequeue_queue_i(queue),
      .dequeue_last_i (queue_last),
      .dequeue_head_o (queue_head),
      .filled_o       (filled_o),
      .several_o      (several_o),
      .sizes_o        (sizes_o)
  );

  logic [1:0] busy, freed;
  logic [1:0][ClassWidth-1:0] freed_class;
  logic [1:0][7:0] freed_flits;
  assign readable_o = busy != 2'b11;
  assign next_reader_o = busy[0];

  for (genvar r = 0; r < 2; r++) begin : readers
    tw_relay_reader #(
        .Lanes(Lanes),
        .Classes(Classes),
        .Entries(Entries)
    ) reader (
        .clk_i,
        .rst_i,
        .store_valid_i   (stores),
        .store_head_i    (in_flit_i.head),
        .store_data_i    (in_flit_i.data),
        .store_entry_i   (entry),
        .store_previous_i(arriving_q[vc].previous),
        .begin_valid_i   (dequeues && next_reader_o == 1'(r)),
        .begin_host_i    (grant_o[Lanes]),
        .begin_lane_i    (lane),
        .begin_size_i    (queue_size),
        .begin_entry_i   (queue_head),
        .busy_o          (busy[r]),
        .data_o          (data_o[r]),
        .last_o          (last_o[r]),
        .src_ready_i,
        .freed_valid_o   (freed[r]),
        .freed_class_o   (freed_class[r]),
        .freed_flits_o   (freed_flits[r]),
        .free_valid_o    (freed_valid[r]),
        .free_ready_i    (stores && !unused && (r == 0 || !freed_valid[0])),
        .free_entry_o    (freed_entry[r])
    );
  end

  always_comb begin
    freed_o = '0;
    for (int unsigned r = 0; r < 2; r++) begin
      if (freed[r]) freed_o[freed_class[r]] += CountWidth'(freed_flits[r]);
    end
    if (announced) freed_o[ClassWidth'(relay_header.route_class)] += CountWidth'(1);
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i && in_valid_i) begin
      room_is_there : assert (!stores || unused || freed_valid != '0);
      own_buffer : assert (is_credit || !in_flit_i.head || (32'(relay_header.link) == Link && 32'(relay_header.route_class) < Classes));
      announcements_are_short : assert (!in_flit_i.head || !announces || (in_flit_i.tail && header.size == '0));
    end
  end
`endif
endmodule
