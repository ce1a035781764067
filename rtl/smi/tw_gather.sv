// SPDX-License-Identifier: Apache-2.0
// Gathers all ranks' elements at one rank: every kernel supplies its own, the root's receives all, in the order of the
// ranks. The root requests one rank after another, when all requested elements have arrived.
//
// Order: kept. Latency: a packet's first element is shown in the second cycle after it arrived; the next rank is
// requested in the third cycle after the last packet of the one before. Throughput: an element per cycle within a part.
// Storage: six packets, two elements, synchs by rank. Outputs depend only on registers. Critical path: from out_ready_i
// through the unpacker to the enables of the packets.
module tw_gather
  import tw_spec_pkg::*;
  import tw_smi_pkg::*;
  import tw_smi_spec_pkg::*;
#(
    parameter int unsigned Port        = 0,
    parameter int unsigned PacketBytes = 32,
    localparam int unsigned PacketBits = 8 * PacketBytes
) (
    input logic clk_i,
    input logic rst_i,

    input rank_t rank_i,  /// own rank; constant while packets move

    input  logic  open_valid_i,
    output logic  open_ready_o,
    input  open_t open_i,

    input  logic     in_valid_i,
    output logic     in_ready_o,
    input  element_t in_data_i,

    output logic     out_valid_o,
    input  logic     out_ready_i,
    output element_t out_data_o,

    input  logic                  data_valid_i,
    output logic                  data_ready_o,
    input  logic [PacketBits-1:0] data_data_i,

    input logic                  control_valid_i,
    input logic [PacketBits-1:0] control_data_i,

    output logic                  packet_valid_o,
    input  logic                  packet_ready_i,
    output logic [PacketBits-1:0] packet_data_o
);
  typedef enum logic [2:0] {
    Closed,
    Tree,
    Send,
    Grant,
    Get,
    Deliver
  } state_e;

  state_e state_q;
  open_t open_q;
  logic root_q;  // while a channel is open
  logic [31:0] left_q;  // elements that the kernel has still to supply
  logic any_q, one_q;  // left_q is above 0, left_q is 1
  member_t from_q;  // requested rank
  logic [31:0] expected_q;  // elements that it has still to send
  logic [8:0] part_q;  // rank whose elements the root's kernel receives
  logic [31:0] unread_q;  // elements of that rank not taken yet
  logic last_unread_q;  // unread_q is 1
  logic granted_q;  // the root has sent its request

  logic tree_valid, synch_available, packer_ready, part_valid, part_empty, packets_ready, packet_valid;
  logic unpacker_ready, unpacker_valid, own_ready, own_valid, out_ready;
  rank_t parent;
  element_t unpacked, own;
  logic [PacketBits-1:0] part, packet;
  wire smi_header_t packet_header = packet[HeaderBits-1:0];
  wire smi_header_t data_header = data_data_i[HeaderBits-1:0];

  wire opens = open_valid_i && open_ready_o && open_i.count != 0;
  wire accept = in_valid_i && in_ready_o;
  wire receives = data_valid_i && data_ready_o;
  wire taken = out_valid_o && out_ready_i;
  wire own_turn = root_q && part_q == 9'(open_q.own);
  wire grants_own = from_q.own == open_q.own;
  wire sends = state_q == Send && packet_valid && granted_q && out_ready;
  wire uses = state_q == Send && packet_valid && !granted_q && synch_available;
  wire grants = state_q == Grant && !grants_own;
  wire unpacks = root_q && packet_valid && unpacker_ready;
  wire pops = root_q ? unpacks : sends;
  wire grant_next = (state_q == Grant && grants_own) || (state_q == Get && expected_q == 0);
  wire closes = (state_q == Send && !packet_valid && !any_q && part_empty) ||
      (state_q == Deliver && (taken && last_unread_q ? part_q + 9'd1 : part_q) == open_q.ranks);

  assign open_ready_o = state_q == Closed;
  assign in_ready_o   = any_q && (root_q ? own_ready : packer_ready);
  assign data_ready_o = root_q && packets_ready;
  assign out_valid_o  = own_turn ? own_valid : unpacker_valid;
  assign out_data_o   = own_turn ? own : unpacked;

  wire rank_t synch_source = parent;

  always_ff @(posedge clk_i) begin
    if (opens) open_q <= open_i;
    if (opens) from_q <= '{own: 0, rank: open_i.first};
    else if (grant_next) from_q <= next_member(from_q, open_q);
    if (opens) expected_q <= open_i.count;
    else if (grant_next) expected_q <= open_q.count;
    else if (receives) expected_q <= expected_q - 32'(data_header.count);
    if (opens) begin
      part_q <= 0;
      unread_q <= open_i.count;
      last_unread_q <= open_i.count == 1;
    end else if (taken) begin
      if (last_unread_q) part_q <= part_q + 1;
      unread_q <= last_unread_q ? open_q.count : unread_q - 1;
      last_unread_q <= last_unread_q ? open_q.count == 1 : unread_q == 2;
    end
    if (rst_i) begin
      state_q <= Closed;
      root_q <= 1'b0;
      left_q <= 0;
      any_q <= 1'b0;
      granted_q <= 1'b0;
    end else begin
      unique case (state_q)
        Closed: if (opens) state_q <= open_i.own == open_i.root ? Grant : Tree;
        Tree: if (tree_valid) state_q <= Send;
        Grant:
        if (grant_next) state_q <= 9'(from_q.own) + 9'd1 == open_q.ranks ? Deliver : Grant;
        else if (out_ready) state_q <= Get;
        Get: if (grant_next) state_q <= 9'(from_q.own) + 9'd1 == open_q.ranks ? Deliver : Grant;
        default: if (closes) state_q <= Closed;
      endcase
      if (opens) granted_q <= 1'b0;
      else if (uses) granted_q <= 1'b1;
      if (opens) root_q <= open_i.own == open_i.root;
      else if (closes) root_q <= 1'b0;
      if (opens) begin
        left_q <= open_i.count;
        any_q <= 1'b1;
        one_q <= open_i.count == 1;
      end else if (accept) begin
        left_q <= left_q - 1;
        any_q <= !one_q;
        one_q <= left_q == 2;
      end
    end
  end

  tw_tree_neighbours tree (
      .clk_i,
      .rst_i,
      .open_valid_i  (opens && open_i.own != open_i.root),
      .open_i,
      .out_valid_o   (tree_valid),
      .out_parent_o  (parent),
      .out_children_o(),
      .out_child_o   ()
  );

  wire smi_header_t control_header = control_data_i[HeaderBits-1:0];
  tw_synchs synchs (
      .clk_i,
      .rst_i,
      .in_valid_i (control_valid_i),
      .in_source_i(control_header.source),
      .query_i    (synch_source),
      .use_i      (uses),
      .available_o(synch_available)
  );

  tw_packer #(
      .PacketBytes(PacketBytes)
  ) packer (
      .clk_i,
      .rst_i,
      .in_valid_i     (accept && !root_q),
      .in_ready_o     (packer_ready),
      .in_data_i      (in_data_i),
      .in_last_i      (one_q),
      .in_size_i      (open_q.size),
      .in_per_packet_i(payload_t'(open_q.per_packet)),
      .in_circuit_i   (1'b0),
      .out_valid_o    (part_valid),
      .out_ready_i    (packets_ready),
      .out_data_o     (part),
      .out_last_o     (),
      .empty_o        (part_empty)
  );

  tw_skid #(
      .Width(PacketBits)
  ) packets (
      .clk_i,
      .rst_i,
      .in_valid_i (root_q ? receives : part_valid),
      .in_ready_o (packets_ready),
      .in_data_i  (root_q ? data_data_i : part),
      .out_valid_o(packet_valid),
      .out_ready_i(pops),
      .out_data_o (packet)
  );

  tw_skid #(
      .Width(ElementBits)
  ) own_elements (
      .clk_i,
      .rst_i,
      .in_valid_i (accept && root_q),
      .in_ready_o (own_ready),
      .in_data_i  (in_data_i & element_bits(open_q.size)),
      .out_valid_o(own_valid),
      .out_ready_i(out_ready_i && own_turn),
      .out_data_o (own)
  );

  tw_unpacker #(
      .PacketBytes(PacketBytes)
  ) unpacker (
      .clk_i,
      .rst_i,
      .in_size_i  (open_q.size),
      .in_valid_i (unpacks),
      .in_ready_o (unpacker_ready),
      .in_data_i  (packet),
      .out_valid_o(unpacker_valid),
      .out_ready_i(out_ready_i && !own_turn),
      .out_data_o (unpacked)
  );

  // Its part, or a request.
  logic [PacketBits-1:0] sent;
  always_comb begin
    sent = {packet[PacketBits-1:HeaderBits], header(rank_i, parent, 8'(Port), OperationGather, packet_header.count)};
    if (grants) sent = PacketBits'({32'd1, header(rank_i, from_q.rank, 8'(Port), OperationSynch, 5'd1)});
  end
  tw_skid #(
      .Width(PacketBits)
  ) out (
      .clk_i,
      .rst_i,
      .in_valid_i (sends || grants),
      .in_ready_o (out_ready),
      .in_data_i  (sent),
      .out_valid_o(packet_valid_o),
      .out_ready_i(packet_ready_i),
      .out_data_o (packet_data_o)
  );
endmodule
