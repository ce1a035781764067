// SPDX-License-Identifier: Apache-2.0
// A rank of SMI: endpoints of ports, a send and a receive kernel for each link, and the FIFOs between them
// (docs/smi.md). Endpoint i is at link i modulo Links. A push's circuit leaves when it is completely in the FIFO behind
// the push, or the FIFO is full.
//
// Order: kept for an endpoint's packets to each destination. Latency: that of the endpoints, one cycle each for a FIFO
// and a kernel, and the wait until its input is polled. Throughput: a packet per cycle at each kernel. Storage: Depth
// packets from each kernel to each kernel or endpoint that it feeds, and from each endpoint; eight to each link; an
// endpoint's buffer. Outputs depend only on registers. Critical path: that of the kernels and the endpoints.
module tw_node
  import tw_smi_pkg::*;
#(
    parameter int unsigned Links = 4,
    parameter int unsigned Endpoints = 2,
    // Per endpoint, the lowest first.
    parameter logic [Endpoints-1:0][2:0] Kinds = (3 * Endpoints)'(6'o10),  /// push 0, pop 1, broadcast 2, scatter 3, gather 4, reduce 5
    parameter logic [Endpoints-1:0][7:0] Ports = '0,
    parameter logic [Endpoints-1:0][15:0] Buffers = (16 * Endpoints)'({16'd16, 16'd16}),  /// data packets buffered for the kernel
    parameter logic [Endpoints-1:0][1:0] Sizes = (2 * Endpoints)'(4'b1010),  /// log2 of a pop's element's bytes
    parameter int unsigned PacketBytes = 32,
    parameter int unsigned Reads = 8,  /// maximum consecutive reads of a kernel's input
    parameter int unsigned Depth = 16,  /// packets of a FIFO between kernels, or behind an endpoint
    parameter int unsigned Latency = 8,  /// of lanes, in cycles
    parameter int unsigned Children = 15,  /// maximum number of children in a reduction
    parameter int unsigned Tile = 32,  /// maximum number of elements of a reduction's tile
    parameter int unsigned Circuits = 0,  /// maximum number of further packets in a circuit; 0: no circuits
    localparam int unsigned PacketBits = 8 * PacketBytes,
    localparam int unsigned LinkBits = Links > 1 ? $clog2(Links) : 1
) (
    input logic clk_i,
    input logic rst_i,

    input rank_t rank_i,  /// own rank; constant while packets move

    input logic                table_valid_i,    /// an entry of a table
    input logic                table_receive_i,  /// of a receive kernel, by port * 2 + control; or of a send kernel, by rank
    input logic [LinkBits-1:0] table_link_i,
    input logic [         8:0] table_index_i,
    input logic [         7:0] table_data_i,

    input  logic [Links-1:0]                 link_in_valid_i,
    output logic [Links-1:0]                 link_in_ready_o,
    input  logic [Links-1:0][PacketBits-1:0] link_in_data_i,
    output logic [Links-1:0]                 link_out_valid_o,
    input  logic [Links-1:0]                 link_out_ready_i,
    output logic [Links-1:0][PacketBits-1:0] link_out_data_o,

    input  logic  [Endpoints-1:0] open_valid_i,
    output logic  [Endpoints-1:0] open_ready_o,
    input  open_t [Endpoints-1:0] open_i,

    input  logic     [Endpoints-1:0] element_in_valid_i,
    output logic     [Endpoints-1:0] element_in_ready_o,
    input  element_t [Endpoints-1:0] element_in_data_i,
    input  logic     [Endpoints-1:0] element_in_flush_i,   /// of a push
    output logic     [Endpoints-1:0] element_out_valid_o,
    input  logic     [Endpoints-1:0] element_out_ready_i,
    output element_t [Endpoints-1:0] element_out_data_o,
    output rank_t    [Endpoints-1:0] element_out_source_o, /// of a pop; zero for others

    output logic [31:0] strays_o,   /// packets dropped because their port is unknown
    output logic [31:0] unrouted_o  /// packets dropped because their rank has no route
);
  localparam logic [2:0] Push = 0, Pop = 1, Broadcast = 2, Scatter = 3, Gather = 4, Reduce = 5;
  localparam int unsigned LinkDepth = 8;

  if (Links < 1 || Endpoints < 1 || Depth < 1) begin : check_sizes
    $error("tw_node: Links, Endpoints and Depth must be at least 1");
  end

  typedef logic [PacketBits-1:0] packet_t;

  // --- FIFOs to kernels, [to][from]: between kernels of one kind; at [l][l] from the link's kernel of the other kind

  logic [Links-1:0][Links-1:0] sends_valid, sends_ready, receives_valid, receives_ready;
  packet_t [Links-1:0][Links-1:0] sends_data, receives_data;

  // --- Endpoints' packets, in and out

  logic [Endpoints-1:0] out_valid, out_ready, out_last, data_valid, data_ready, control_valid;
  packet_t [Endpoints-1:0] out_data, data_data, control_data;

  logic [Links-1:0] stray, unrouted;  // dropped packets

  for (genvar l = 0; l < Links; l++) begin : links
    localparam int unsigned At = (Endpoints + Links - 1 - l) / Links;  // number of endpoints
    localparam int unsigned Inputs = Links + At;
    localparam int unsigned Outputs = Links + 2 * At;

    logic [Inputs-1:0] send_in_valid, send_in_ready;
    packet_t [Inputs-1:0] send_in_data;
    logic send_valid;
    logic [Links:0] send_to, send_room;
    packet_t send_data;

    logic [Links:0] receive_in_valid, receive_in_ready;
    packet_t [Links:0] receive_in_data;
    logic receive_valid;
    logic [Outputs-1:0] receive_to, receive_room;
    packet_t receive_data;

    wire here = table_valid_i && table_link_i == LinkBits'(l);

    tw_send_kernel #(
        .Inputs     (Inputs),
        .Outputs    (Links + 1),
        .Reads      (Reads),
        .PacketBytes(PacketBytes),
        .Circuits   (Circuits != 0)
    ) send_kernel (
        .clk_i,
        .rst_i,
        .table_valid_i(here && !table_receive_i),
        .table_index_i(table_index_i[7:0]),
        .table_data_i,
        .in_valid_i   (send_in_valid),
        .in_ready_o   (send_in_ready),
        .in_data_i    (send_in_data),
        .out_valid_o  (send_valid),
        .out_ready_i  (send_room),
        .out_data_o   (send_data),
        .out_to_o     (send_to),
        .dropped_o    (unrouted[l])
    );

    tw_receive_kernel #(
        .Inputs     (Links + 1),
        .Outputs    (Outputs),
        .Reads      (Reads),
        .PacketBytes(PacketBytes),
        .Circuits   (Circuits != 0)
    ) receive_kernel (
        .clk_i,
        .rst_i,
        .rank_i,
        .table_valid_i(here && table_receive_i),
        .table_index_i,
        .table_data_i,
        .in_valid_i   (receive_in_valid),
        .in_ready_o   (receive_in_ready),
        .in_data_i    (receive_in_data),
        .out_valid_o  (receive_valid),
        .out_ready_i  (receive_room),
        .out_data_o   (receive_data),
        .out_to_o     (receive_to),
        .dropped_o    (stray[l])
    );

    // The link.
    assign receive_in_valid[0] = link_in_valid_i[l];
    assign link_in_ready_o[l]  = receive_in_ready[0];
    assign receive_in_data[0]  = link_in_data_i[l];

    tw_fifo #(
        .Width(PacketBits),
        .Depth(LinkDepth)
    ) to_link (
        .clk_i,
        .rst_i,
        .in_valid_i (send_valid && send_to[0]),
        .in_ready_o (send_room[0]),
        .in_data_i  (send_data),
        .out_valid_o(link_out_valid_o[l]),
        .out_ready_i(link_out_ready_i[l]),
        .out_data_o (link_out_data_o[l]),
        .count_o    ()
    );

    // From these two kernels to others, and to each other.
    for (genvar o = 0; o < Links; o++) begin : others
      localparam int unsigned Other = o < l ? o : o - 1;  // its index among the others
      localparam int unsigned SendTo = o == l ? 1 : 2 + Other;
      localparam int unsigned ReceiveTo = o == l ? 0 : 1 + Other;
      localparam int unsigned SendInput = o == l ? 0 : 1 + Other;
      localparam int unsigned ReceiveInput = o == l ? 1 : 2 + Other;

      logic send_out_valid, send_out_ready, receive_out_valid, receive_out_ready;
      packet_t send_out_data, receive_out_data;

      tw_fifo #(
          .Width(PacketBits),
          .Depth(Depth)
      ) sent (
          .clk_i,
          .rst_i,
          .in_valid_i (send_valid && send_to[SendTo]),
          .in_ready_o (send_room[SendTo]),
          .in_data_i  (send_data),
          .out_valid_o(send_out_valid),
          .out_ready_i(send_out_ready),
          .out_data_o (send_out_data),
          .count_o    ()
      );
      tw_fifo #(
          .Width(PacketBits),
          .Depth(Depth)
      ) received (
          .clk_i,
          .rst_i,
          .in_valid_i (receive_valid && receive_to[ReceiveTo]),
          .in_ready_o (receive_room[ReceiveTo]),
          .in_data_i  (receive_data),
          .out_valid_o(receive_out_valid),
          .out_ready_i(receive_out_ready),
          .out_data_o (receive_out_data),
          .count_o    ()
      );

      if (o == l) begin : pair
        assign receives_valid[l][l] = send_out_valid;
        assign receives_data[l][l]  = send_out_data;
        assign send_out_ready       = receives_ready[l][l];
        assign sends_valid[l][l]    = receive_out_valid;
        assign sends_data[l][l]     = receive_out_data;
        assign receive_out_ready    = sends_ready[l][l];
      end else begin : neighbour
        assign sends_valid[o][l]    = send_out_valid;
        assign sends_data[o][l]     = send_out_data;
        assign send_out_ready       = sends_ready[o][l];
        assign receives_valid[o][l] = receive_out_valid;
        assign receives_data[o][l]  = receive_out_data;
        assign receive_out_ready    = receives_ready[o][l];
      end

      assign send_in_valid[SendInput]       = sends_valid[l][o];
      assign send_in_data[SendInput]        = sends_data[l][o];
      assign sends_ready[l][o]              = send_in_ready[SendInput];
      assign receive_in_valid[ReceiveInput] = receives_valid[l][o];
      assign receive_in_data[ReceiveInput]  = receives_data[l][o];
      assign receives_ready[l][o]           = receive_in_ready[ReceiveInput];
    end

    // The endpoints.
    for (genvar k = 0; k < At; k++) begin : endpoints
      localparam int unsigned Endpoint = l + k * Links;
      // A push uses no data packets.
      localparam int unsigned DataBits = Kinds[Endpoint] == Push ? 1 : PacketBits;
      logic [DataBits-1:0] data;

      if (Circuits != 0 && Kinds[Endpoint] == Push) begin : circuits
        tw_message_fifo #(
            .Width(PacketBits),
            .Depth(Depth)
        ) out (
            .clk_i,
            .rst_i,
            .in_valid_i (out_valid[Endpoint]),
            .in_ready_o (out_ready[Endpoint]),
            .in_data_i  (out_data[Endpoint]),
            .in_last_i  (out_last[Endpoint]),
            .out_valid_o(send_in_valid[Links+k]),
            .out_ready_i(send_in_ready[Links+k]),
            .out_data_o (send_in_data[Links+k])
        );
      end else begin : packets
        tw_fifo #(
            .Width(PacketBits),
            .Depth(Depth)
        ) out (
            .clk_i,
            .rst_i,
            .in_valid_i (out_valid[Endpoint]),
            .in_ready_o (out_ready[Endpoint]),
            .in_data_i  (out_data[Endpoint]),
            .out_valid_o(send_in_valid[Links+k]),
            .out_ready_i(send_in_ready[Links+k]),
            .out_data_o (send_in_data[Links+k]),
            .count_o    ()
        );
      end
      tw_fifo #(
          .Width(DataBits),
          .Depth(32'(Buffers[Endpoint]))
      ) in (
          .clk_i,
          .rst_i,
          .in_valid_i (receive_valid && receive_to[Links+2*k]),
          .in_ready_o (receive_room[Links+2*k]),
          .in_data_i  (receive_data[DataBits-1:0]),
          .out_valid_o(data_valid[Endpoint]),
          .out_ready_i(data_ready[Endpoint]),
          .out_data_o (data),
          .count_o    ()
      );
      assign data_data[Endpoint]     = PacketBits'(data);
      assign receive_room[Links+2*k+1] = 1'b1;
      assign control_valid[Endpoint] = receive_valid && receive_to[Links+2*k+1];
      assign control_data[Endpoint]  = receive_data;
    end
  end

  for (genvar e = 0; e < Endpoints; e++) begin : endpoints
    if (Kinds[e] == Push) begin : push
      tw_push #(
          .Port       (32'(Ports[e])),
          .PacketBytes(PacketBytes),
          .Circuits   (Circuits)
      ) endpoint (
          .clk_i,
          .rst_i,
          .rank_i,
          .open_valid_i   (open_valid_i[e]),
          .open_ready_o   (open_ready_o[e]),
          .open_i         (open_i[e]),
          .in_valid_i     (element_in_valid_i[e]),
          .in_ready_o     (element_in_ready_o[e]),
          .in_data_i      (element_in_data_i[e]),
          .in_flush_i     (element_in_flush_i[e]),
          .control_valid_i(control_valid[e]),
          .control_data_i (control_data[e]),
          .packet_valid_o (out_valid[e]),
          .packet_ready_i (out_ready[e]),
          .packet_data_o  (out_data[e]),
          .packet_last_o  (out_last[e])
      );
      assign data_ready[e]           = 1'b1;
      assign element_out_valid_o[e]  = 1'b0;
      assign element_out_data_o[e]   = '0;
      assign element_out_source_o[e] = '0;
    end else if (Kinds[e] == Pop) begin : pop
      tw_pop #(
          .Port       (32'(Ports[e])),
          .Size       (32'(Sizes[e])),
          .PacketBytes(PacketBytes),
          .Circuits   (Circuits != 0)
      ) endpoint (
          .clk_i,
          .rst_i,
          .rank_i,
          .open_valid_i  (open_valid_i[e]),
          .open_ready_o  (open_ready_o[e]),
          .open_i        (open_i[e]),
          .out_valid_o   (element_out_valid_o[e]),
          .out_ready_i   (element_out_ready_i[e]),
          .out_data_o    (element_out_data_o[e]),
          .out_source_o  (element_out_source_o[e]),
          .data_valid_i  (data_valid[e]),
          .data_ready_o  (data_ready[e]),
          .data_data_i   (data_data[e]),
          .packet_valid_o(out_valid[e]),
          .packet_ready_i(out_ready[e]),
          .packet_data_o (out_data[e])
      );
      assign out_last[e]           = 1'b1;
      assign element_in_ready_o[e] = 1'b1;
    end else if (Kinds[e] == Broadcast) begin : broadcast
      tw_broadcast #(
          .Port       (32'(Ports[e])),
          .PacketBytes(PacketBytes)
      ) endpoint (
          .clk_i,
          .rst_i,
          .rank_i,
          .open_valid_i   (open_valid_i[e]),
          .open_ready_o   (open_ready_o[e]),
          .open_i         (open_i[e]),
          .in_valid_i     (element_in_valid_i[e]),
          .in_ready_o     (element_in_ready_o[e]),
          .in_data_i      (element_in_data_i[e]),
          .out_valid_o    (element_out_valid_o[e]),
          .out_ready_i    (element_out_ready_i[e]),
          .out_data_o     (element_out_data_o[e]),
          .data_valid_i   (data_valid[e]),
          .data_ready_o   (data_ready[e]),
          .data_data_i    (data_data[e]),
          .control_valid_i(control_valid[e]),
          .control_data_i (control_data[e]),
          .packet_valid_o (out_valid[e]),
          .packet_ready_i (out_ready[e]),
          .packet_data_o  (out_data[e])
      );
      assign out_last[e]             = 1'b1;
      assign element_out_source_o[e] = '0;
    end else if (Kinds[e] == Scatter) begin : scatter
      tw_scatter #(
          .Port       (32'(Ports[e])),
          .PacketBytes(PacketBytes)
      ) endpoint (
          .clk_i,
          .rst_i,
          .rank_i,
          .open_valid_i   (open_valid_i[e]),
          .open_ready_o   (open_ready_o[e]),
          .open_i         (open_i[e]),
          .in_valid_i     (element_in_valid_i[e]),
          .in_ready_o     (element_in_ready_o[e]),
          .in_data_i      (element_in_data_i[e]),
          .out_valid_o    (element_out_valid_o[e]),
          .out_ready_i    (element_out_ready_i[e]),
          .out_data_o     (element_out_data_o[e]),
          .data_valid_i   (data_valid[e]),
          .data_ready_o   (data_ready[e]),
          .data_data_i    (data_data[e]),
          .control_valid_i(control_valid[e]),
          .control_data_i (control_data[e]),
          .packet_valid_o (out_valid[e]),
          .packet_ready_i (out_ready[e]),
          .packet_data_o  (out_data[e])
      );
      assign out_last[e]             = 1'b1;
      assign element_out_source_o[e] = '0;
    end else if (Kinds[e] == Gather) begin : gather
      tw_gather #(
          .Port       (32'(Ports[e])),
          .PacketBytes(PacketBytes)
      ) endpoint (
          .clk_i,
          .rst_i,
          .rank_i,
          .open_valid_i   (open_valid_i[e]),
          .open_ready_o   (open_ready_o[e]),
          .open_i         (open_i[e]),
          .in_valid_i     (element_in_valid_i[e]),
          .in_ready_o     (element_in_ready_o[e]),
          .in_data_i      (element_in_data_i[e]),
          .out_valid_o    (element_out_valid_o[e]),
          .out_ready_i    (element_out_ready_i[e]),
          .out_data_o     (element_out_data_o[e]),
          .data_valid_i   (data_valid[e]),
          .data_ready_o   (data_ready[e]),
          .data_data_i    (data_data[e]),
          .control_valid_i(control_valid[e]),
          .control_data_i (control_data[e]),
          .packet_valid_o (out_valid[e]),
          .packet_ready_i (out_ready[e]),
          .packet_data_o  (out_data[e])
      );
      assign out_last[e]             = 1'b1;
      assign element_out_source_o[e] = '0;
    end else if (Kinds[e] == Reduce) begin : reduce
      tw_reduce #(
          .Port       (32'(Ports[e])),
          .PacketBytes(PacketBytes),
          .Latency    (Latency),
          .Children   (Children),
          .Tile       (Tile)
      ) endpoint (
          .clk_i,
          .rst_i,
          .rank_i,
          .open_valid_i   (open_valid_i[e]),
          .open_ready_o   (open_ready_o[e]),
          .open_i         (open_i[e]),
          .in_valid_i     (element_in_valid_i[e]),
          .in_ready_o     (element_in_ready_o[e]),
          .in_data_i      (element_in_data_i[e]),
          .out_valid_o    (element_out_valid_o[e]),
          .out_ready_i    (element_out_ready_i[e]),
          .out_data_o     (element_out_data_o[e]),
          .data_valid_i   (data_valid[e]),
          .data_ready_o   (data_ready[e]),
          .data_data_i    (data_data[e]),
          .control_valid_i(control_valid[e]),
          .control_data_i (control_data[e]),
          .packet_valid_o (out_valid[e]),
          .packet_ready_i (out_ready[e]),
          .packet_data_o  (out_data[e])
      );
      assign out_last[e]             = 1'b1;
      assign element_out_source_o[e] = '0;
    end else begin : unknown
      $error("tw_node: a kind is 0 to 5");
    end
  end

  logic [31:0] strays_q, unrouted_q;
  assign strays_o   = strays_q;
  assign unrouted_o = unrouted_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      strays_q   <= 0;
      unrouted_q <= 0;
    end else begin
      strays_q   <= strays_q + 32'($countones(stray));
      unrouted_q <= unrouted_q + 32'($countones(unrouted));
    end
  end
endmodule
