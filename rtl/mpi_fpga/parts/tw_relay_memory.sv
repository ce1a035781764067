// SPDX-License-Identifier: Apache-2.0
// The memory behind one link of a relay, for the buffers of all route classes. It consists of linked flits: packets
// arrive interleaved by flit, and leave in another order. Packets are queued by their next buffer, announcements
// separately from data, and those for the host separately from both. Two readers, each with a copy, serve the lanes and
// the host in turn.
//
// Order: that of arrival in each queue. Latency: two cycles from a packet's last flit to its first one at data_o.
// Throughput: a flit per cycle in, and one out of each reader. Storage: that of the queues and readers, and the state
// of the packet arriving on each virtual channel. served_o depends on asked_i; receiver_o, class_o and credit_* on
// in_*; freed_o on in_* and src_ready_i; the other outputs only on registers. Critical path: from asked_i through the
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
    input  logic [Lanes:0]                   asked_i,
    input  logic [Lanes-1:0][QueueWidth-1:0] asked_queue_i,
    input  logic [Lanes-1:0][2:0]            asked_size_i,
    input  logic [Lanes-1:0]                 asked_last_i,   /// it requests the queue's last packet
    output logic [Lanes:0]                   served_o,

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
  wire relay_header_t way = relay_header_t'(in_flit_i.data[127:64]);
  // verilator lint_on UNUSEDSIGNAL
  wire is_credit = in_flit_i.head && header.kind == KindCredit;
  wire for_host = way.receiver == self_i;
  wire announces = header.kind == KindDescriptor;
  wire announced = in_valid_i && in_flit_i.head && announces && for_host;
  wire stores = in_valid_i && !is_credit && !announced;

  assign credit_valid_o = in_valid_i && is_credit;
  assign credit_o = relay_credit_t'(in_flit_i.data);
  assign receiver_o = NodeWidth'(way.receiver);
  assign class_o = 4'(way.route_class);

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
  } coming_t;
  coming_t coming_q[Vcs];
  wire [VcWidth-1:0] vc = VcWidth'(in_flit_i.vc);

  coming_t here;
  logic [EntryWidth-1:0] place;
  always_comb begin
    here = coming_q[vc];
    if (in_flit_i.head) begin
      here.row = for_host ? QueueWidth'(2 * Buffers) : QueueWidth'(announces ? 32'(next_i) : Buffers + 32'(next_i));
      here.size = header.size;
      here.head = place;
    end
  end

  // Free entries: first unused ones, then those freed by the readers.
  logic [EntryWidth:0] fresh_q;
  logic [1:0] left_valid;
  logic [1:0][EntryWidth-1:0] left;
  wire fresh = 32'(fresh_q) < Entries;
  assign place = fresh ? EntryWidth'(fresh_q) : left_valid[0] ? left[0] : left[1];

  always_ff @(posedge clk_i) begin
    if (stores) begin
      coming_q[vc] <= here;
      coming_q[vc].previous <= place;
    end
    if (stores && fresh) fresh_q <= fresh_q + 1;
    if (rst_i) fresh_q <= '0;
  end

  // --- Departures

  logic [QueueWidth-1:0] taken;  // queue whose first packet goes to a reader
  logic [2:0] taken_size;
  logic taken_last;
  logic [EntryWidth-1:0] taken_head;
  logic [LaneWidth-1:0] lane;
  wire takes = asked_i != '0;
  always_comb begin
    taken = QueueWidth'(2 * Buffers);
    taken_size = sizes_o[2*Buffers];
    taken_last = !several_o[2*Buffers];
    lane = '0;
    for (int unsigned p = 0; p < Lanes; p++) begin
      if (served_o[p]) begin
        taken = asked_queue_i[p];
        taken_size = asked_size_i[p];
        taken_last = asked_last_i[p];
        lane |= LaneWidth'(p);
      end
    end
  end

  tw_arbiter #(
      .Inputs(Lanes + 1)
  ) turn (
      .clk_i,
      .rst_i,
      .request_i     (asked_i),
      .served_i      (asked_i != '0),
      .grant_o       (served_o),
      .winner_valid_o(),
      .winner_index_o()
  );

  tw_relay_queues #(
      .Queues(Queues),
      .Entries(Entries)
  ) queues (
      .clk_i,
      .rst_i,
      .enter_valid_i(stores && in_flit_i.tail),
      .enter_queue_i(here.row),
      .enter_size_i (here.size),
      .enter_head_i (here.head),
      .take_valid_i (takes),
      .take_queue_i (taken),
      .take_last_i  (taken_last),
      .take_head_o  (taken_head),
      .filled_o     (filled_o),
      .several_o    (several_o),
      .sizes_o      (sizes_o)
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
        .store_place_i   (place),
        .store_previous_i(coming_q[vc].previous),
        .begin_valid_i   (takes && next_reader_o == 1'(r)),
        .begin_host_i    (served_o[Lanes]),
        .begin_lane_i    (lane),
        .begin_size_i    (taken_size),
        .begin_place_i   (taken_head),
        .busy_o          (busy[r]),
        .data_o          (data_o[r]),
        .last_o          (last_o[r]),
        .src_ready_i,
        .freed_valid_o   (freed[r]),
        .freed_class_o   (freed_class[r]),
        .freed_flits_o   (freed_flits[r]),
        .free_valid_o    (left_valid[r]),
        .free_ready_i    (stores && !fresh && (r == 0 || !left_valid[0])),
        .free_place_o    (left[r])
    );
  end

  always_comb begin
    freed_o = '0;
    for (int unsigned r = 0; r < 2; r++) begin
      if (freed[r]) freed_o[freed_class[r]] += CountWidth'(freed_flits[r]);
    end
    if (announced) freed_o[ClassWidth'(way.route_class)] += CountWidth'(1);
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i && in_valid_i) begin
      room_is_there : assert (!stores || fresh || left_valid != '0);
      place_is_here : assert (is_credit || !in_flit_i.head || (32'(way.link) == Link && 32'(way.route_class) < Classes));
      announcements_are_short : assert (!in_flit_i.head || !announces || (in_flit_i.tail && header.size == '0));
    end
  end
`endif
endmodule
