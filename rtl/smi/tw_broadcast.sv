// SPDX-License-Identifier: Apache-2.0
// Broadcasts one rank's elements: the root's kernel supplies them, all others' receive them. A rank announces that it
// is ready (synch) when all of its children in the tree have; a packet is copied to the children, one per cycle, and to
// the kernel.
//
// Order: kept. Latency: an opened channel sends its synch after 9 cycles and one per child, or 17 if its parent is not
// the root; a packet is shown for the first child in the second cycle after it arrived, and its first element for the
// kernel. Throughput: a packet out per cycle, an element per cycle. Storage: six packets, synchs by rank. Outputs
// depend only on registers. Critical path: from out_ready_i through the unpacker to the enables of the packets, or from
// an available synch through the next child to the next synch.
module tw_broadcast
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
    Children,  // waits until all are ready
    Announce,
    Run
  } state_e;

  state_e state_q;
  open_t open_q;
  logic root_q, gets_q;  // the root or another rank, while a channel is open
  logic [31:0] left_q;  // remaining elements: of the root's kernel, or of the parent's packets
  logic any_q, one_q;  // at the root: left_q is above 0, left_q is 1
  member_t child_q, after_q;  // child whose turn it is, and the next one unless it is the last
  rank_t at_q;
  logic last_q;  // the child is the last
  logic copied_q, delivered_q;  // the packet at the head: to all children, to the kernel

  logic tree_valid, synch_available, packer_ready, part_valid, part_empty, packets_ready, packet_valid, unpacker_ready, out_ready;
  rank_t parent, children;
  member_t first_child;
  logic [PacketBits-1:0] part, packet;
  wire smi_header_t packet_header = packet[HeaderBits-1:0];

  wire opens = open_valid_i && open_ready_o && open_i.count != 0;
  wire accept = in_valid_i && in_ready_o;
  wire tree_done = state_q == Tree && tree_valid;
  wire uses = state_q == Children && synch_available;
  wire front = state_q == Run && packet_valid;
  wire copies = front && !copied_q && children != 0 && out_ready;
  wire copied = copied_q || children == 0 || (copies && last_q);
  wire loads = front && gets_q && !delivered_q && unpacker_ready;
  wire delivered = root_q || delivered_q || loads;
  wire pops = front && copied && delivered;
  wire closes = state_q == Run && !packet_valid && left_q == 0 && part_empty && !out_valid_o;

  assign open_ready_o = state_q == Closed;
  assign in_ready_o   = root_q && any_q && packer_ready;
  assign data_ready_o = gets_q && packets_ready;

  wire moves = uses || copies;
  wire member_t next_child = last_q ? first_child : after_q;
  member_t child_d;
  rank_t at_d, synch_source;
  always_comb begin
    child_d = child_q;
    at_d = at_q;
    synch_source = child_q.rank;
    if (uses) synch_source = next_child.rank;
    if (moves) begin
      child_d = next_child;
      at_d = last_q ? 0 : at_q + 1;
    end
    if (tree_done) begin
      child_d = first_child;
      at_d = 0;
      synch_source = first_child.rank;
    end
  end

  always_ff @(posedge clk_i) begin
    if (opens) open_q <= open_i;
    child_q <= child_d;
    after_q <= next_member(child_d, open_q);
    at_q <= at_d;
    last_q <= at_d + 8'd1 == children;
    if (rst_i) begin
      state_q <= Closed;
      {root_q, gets_q} <= '0;
      left_q <= 0;
      any_q <= 1'b0;
      {copied_q, delivered_q} <= '0;
    end else begin
      unique case (state_q)
        Closed: if (opens) state_q <= Tree;
        Tree: if (tree_valid) state_q <= children != 0 ? Children : root_q ? Run : Announce;
        Children: if (uses && last_q) state_q <= root_q ? Run : Announce;
        Announce: if (out_ready) state_q <= Run;
        default: if (closes) state_q <= Closed;
      endcase
      if (front) begin
        copied_q <= copied && !pops;
        delivered_q <= delivered && !pops;
      end
      if (opens) begin
        root_q <= open_i.own == open_i.root;
        gets_q <= open_i.own != open_i.root;
        left_q <= open_i.count;
        any_q <= 1'b1;
        one_q <= open_i.count == 1;
      end else if (accept) begin
        left_q <= left_q - 1;
        any_q <= !one_q;
        one_q <= left_q == 2;
      end else if (pops && gets_q) begin
        left_q <= left_q - 32'(packet_header.count);
      end
      if (closes) {root_q, gets_q} <= '0;
    end
  end

  tw_tree_neighbours tree (
      .clk_i,
      .rst_i,
      .open_valid_i  (opens),
      .open_i,
      .out_valid_o   (tree_valid),
      .out_parent_o  (parent),
      .out_children_o(children),
      .out_child_o   (first_child)
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
      .in_valid_i     (accept),
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
      .in_valid_i (gets_q ? data_valid_i : part_valid),
      .in_ready_o (packets_ready),
      .in_data_i  (gets_q ? data_data_i : part),
      .out_valid_o(packet_valid),
      .out_ready_i(pops),
      .out_data_o (packet)
  );

  tw_unpacker #(
      .PacketBytes(PacketBytes)
  ) unpacker (
      .clk_i,
      .rst_i,
      .in_size_i  (open_q.size),
      .in_valid_i (loads),
      .in_ready_o (unpacker_ready),
      .in_data_i  (packet),
      .out_valid_o(out_valid_o),
      .out_ready_i(out_ready_i),
      .out_data_o (out_data_o)
  );

  // Copies, or a synch.
  logic [PacketBits-1:0] sent;
  always_comb begin
    sent = {packet[PacketBits-1:HeaderBits], header(rank_i, child_q.rank, 8'(Port), OperationBroadcast, packet_header.count)};
    if (state_q == Announce) sent = PacketBits'({32'd1, header(rank_i, parent, 8'(Port), OperationSynch, 5'd1)});
  end
  tw_skid #(
      .Width(PacketBits)
  ) out (
      .clk_i,
      .rst_i,
      .in_valid_i (copies || state_q == Announce),
      .in_ready_o (out_ready),
      .in_data_i  (sent),
      .out_valid_o(packet_valid_o),
      .out_ready_i(packet_ready_i),
      .out_data_o (packet_data_o)
  );
endmodule
