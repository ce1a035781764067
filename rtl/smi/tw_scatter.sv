// SPDX-License-Identifier: Apache-2.0
// Scatters one rank's elements, a part to each rank: the root's kernel supplies them in the order of the ranks, and
// receives its own as soon as it has supplied them. A part leaves when its rank has announced that it is ready (synch).
//
// Order: kept. Latency: an opened channel sends its synch after 9 cycles; a packet's first element is shown in the
// second cycle after it arrived, an own one in the cycle after it was supplied. Throughput: an element per cycle,
// except for a cycle or two between parts. Storage: six packets, two elements, synchs by rank. Outputs depend only on
// registers. Critical path: from out_ready_i through the unpacker to the enables of the packets, or from a part's last
// packet through the next rank to its synch.
module tw_scatter
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
    Announce,
    Get,
    Send
  } state_e;

  state_e state_q;
  open_t open_q;
  logic packs_q, gets_q;  // the root, while its kernel has elements to supply; another rank
  logic [31:0] left_q;  // remaining elements: of the part being supplied, or of the root's packets
  logic one_q;  // left_q is 1, while elements are supplied
  rank_t part_q;  // rank whose elements the root's kernel supplies
  member_t to_q, after_q;  // destination of the packet at the head, and the next one
  logic to_own_q;  // it is the root itself
  logic granted_q;  // its synch has arrived

  logic tree_valid, synch_available, packer_ready, part_valid, part_last, part_empty, packets_ready, packet_valid, packet_last;
  logic unpacker_ready, unpacker_valid, own_ready, own_valid, out_ready;
  rank_t parent;
  element_t unpacked, own;
  logic [PacketBits-1:0] part, packet;
  wire smi_header_t packet_header = packet[HeaderBits-1:0];

  wire opens = open_valid_i && open_ready_o && open_i.count != 0;
  wire accept = in_valid_i && in_ready_o;
  wire own_part = part_q == open_q.own;
  wire last_part = 9'(part_q) + 9'd1 == open_q.ranks;
  wire loads = state_q == Get && packet_valid && unpacker_ready;
  wire front = state_q == Send && packet_valid;
  wire skips = front && to_own_q;  // its own part has no packets
  wire sends = front && !skips && granted_q && out_ready;
  wire uses = front && !skips && !granted_q && synch_available;
  wire part_ends = sends && packet_last;
  wire pops = loads || sends;
  wire closes = (state_q == Get && left_q == 0 && !unpacker_valid) ||
      (state_q == Send && !packet_valid && !packs_q && part_empty && !own_valid);

  assign open_ready_o = state_q == Closed;
  assign in_ready_o   = packs_q && (own_part ? own_ready : packer_ready);
  assign data_ready_o = gets_q && packets_ready;
  assign out_valid_o  = unpacker_valid || own_valid;
  assign out_data_o   = unpacker_valid ? unpacked : own;

  member_t to_d;
  always_comb begin
    to_d = to_q;
    if (skips || part_ends) to_d = after_q;
    if (opens) to_d = '{own: 0, rank: open_i.first};
  end
  wire rank_t synch_source = to_d.rank;

  always_ff @(posedge clk_i) begin
    if (opens) open_q <= open_i;
    to_q <= to_d;
    after_q <= next_member(to_d, opens ? open_i : open_q);
    to_own_q <= to_d.own == (opens ? open_i.own : open_q.own);
    if (opens) begin
      left_q <= open_i.count;
      one_q  <= open_i.count == 1;
      part_q <= 0;
    end else if (accept) begin
      left_q <= one_q ? open_q.count : left_q - 1;
      one_q  <= one_q ? open_q.count == 1 : left_q == 2;
      if (one_q) part_q <= part_q + 1;
    end else if (loads) begin
      left_q <= left_q - 32'(packet_header.count);
    end
    if (rst_i) begin
      state_q <= Closed;
      {packs_q, gets_q} <= '0;
      granted_q <= 1'b0;
      to_q <= '0;
    end else begin
      unique case (state_q)
        Closed: if (opens) state_q <= open_i.own == open_i.root ? Send : Tree;
        Tree: if (tree_valid) state_q <= Announce;
        Announce: if (out_ready) state_q <= Get;
        default: if (closes) state_q <= Closed;
      endcase
      granted_q <= (granted_q || uses) && !part_ends;
      if (opens) begin
        packs_q <= open_i.own == open_i.root;
        gets_q  <= open_i.own != open_i.root;
      end else if (closes) begin
        {packs_q, gets_q} <= '0;
      end else if (accept && one_q && last_part) begin
        packs_q <= 1'b0;
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
      .in_valid_i     (accept && !own_part),
      .in_ready_o     (packer_ready),
      .in_data_i      (in_data_i),
      .in_last_i      (one_q),
      .in_size_i      (open_q.size),
      .in_per_packet_i(payload_t'(open_q.per_packet)),
      .in_circuit_i   (1'b0),
      .out_valid_o    (part_valid),
      .out_ready_i    (packets_ready),
      .out_data_o     (part),
      .out_last_o     (part_last),
      .empty_o        (part_empty)
  );

  tw_skid #(
      .Width(PacketBits + 1)
  ) packets (
      .clk_i,
      .rst_i,
      .in_valid_i (gets_q ? data_valid_i : part_valid),
      .in_ready_o (packets_ready),
      .in_data_i  (gets_q ? {1'b0, data_data_i} : {part_last, part}),
      .out_valid_o(packet_valid),
      .out_ready_i(pops),
      .out_data_o ({packet_last, packet})
  );

  tw_skid #(
      .Width(ElementBits)
  ) own_elements (
      .clk_i,
      .rst_i,
      .in_valid_i (accept && own_part),
      .in_ready_o (own_ready),
      .in_data_i  (in_data_i & element_bits(open_q.size)),
      .out_valid_o(own_valid),
      .out_ready_i(out_ready_i && !unpacker_valid),
      .out_data_o (own)
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
      .out_valid_o(unpacker_valid),
      .out_ready_i(out_ready_i),
      .out_data_o (unpacked)
  );

  // Parts, or a synch.
  logic [PacketBits-1:0] sent;
  always_comb begin
    sent = {packet[PacketBits-1:HeaderBits], header(rank_i, to_q.rank, 8'(Port), OperationScatter, packet_header.count)};
    if (state_q == Announce) sent = PacketBits'({32'd1, header(rank_i, parent, 8'(Port), OperationSynch, 5'd1)});
  end
  tw_skid #(
      .Width(PacketBits)
  ) out (
      .clk_i,
      .rst_i,
      .in_valid_i (sends || state_q == Announce),
      .in_ready_o (out_ready),
      .in_data_i  (sent),
      .out_valid_o(packet_valid_o),
      .out_ready_i(packet_ready_i),
      .out_data_o (packet_data_o)
  );
endmodule
