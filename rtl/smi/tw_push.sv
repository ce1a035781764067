// SPDX-License-Identifier: Apache-2.0
// Sends a kernel's elements to a rank. A packet leaves when it is full, at the message's end, or if an element requests
// it (flush). With a window, a packet starts only with a credit, and the next channel when all credits have returned;
// the operation of its packets is receive, that of others send. With Circuits a message can be divided into circuits:
// each has a packet with the number of packets that follow; these are full except the message's last one, regardless of
// flushes.
//
// Order: kept. Latency: an element's packet is shown in the second cycle after its last element arrived. Throughput: an
// element per cycle, also across packets, and across messages if the next channel has been opened. Storage: three
// packets, the open channel and the next one; the fields of a circuit's first packet. Outputs depend only on registers.
// Critical path: from the count of elements through the acceptance of one to the packet's bytes, or to the next
// channel's count.
module tw_push
  import tw_spec_pkg::*;
  import tw_smi_pkg::*;
  import tw_smi_spec_pkg::*;
#(
    parameter int unsigned Port        = 0,
    parameter int unsigned PacketBytes = 32,
    parameter int unsigned Circuits    = 0,   /// maximum number of further packets in a circuit; 0: no circuits
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
    input  logic     in_flush_i,

    input logic                  control_valid_i,
    input logic [PacketBits-1:0] control_data_i,

    output logic                  packet_valid_o,
    input  logic                  packet_ready_i,
    output logic [PacketBits-1:0] packet_data_o,
    output logic                  packet_last_o   /// last packet of a circuit, or a single packet
);
  localparam int unsigned FollowBits = $clog2(Circuits) + 1;
  localparam int unsigned PerBits = Circuits != 0 ? $bits(payload_t) : 5;

  // Fields of an open that a push uses.
  typedef struct packed {
    logic [31:0] count;
    logic [1:0]  size;
    logic [PerBits-1:0] per_packet;
    packets_t    window;
    rank_t       peer;
    logic        circuit;
    logic [31:0] packets;  // total number of further packets in its circuits
  } channel_t;

  function automatic channel_t channel_of(open_t open);
    channel_t channel;
    channel.count = open.count;
    channel.size = open.size;
    channel.circuit = Circuits != 0 && open.packets != 0;
    channel.packets = Circuits != 0 ? open.packets : 0;
    channel.per_packet = channel.circuit ? PerBits'(payload_elements(PacketBytes, open.size)) : PerBits'(open.per_packet);
    channel.window = open.window;
    channel.peer = open.peer;
    return channel;
  endfunction

  channel_t next_q, open_q;
  logic next_valid_q;
  logic [31:0] left_q;
  logic any_q, one_q;  // left_q is above 0, left_q is 1
  packets_t credits_q, in_flight_q;
  logic credit_q, back_q;  // a credit exists or none is needed; no packets are in flight
  rank_t peer_q;  // of the packet being packed
  logic credited_q, payload_q;  // it uses a credit; it follows in a circuit
  logic final_q;  // it is a single packet, or the last one of its circuit
  logic [31:0] packets_left_q;  // further packets of circuits not started
  logic [FollowBits-1:0] follow_q;  // packets of the circuit not started
  logic follows_q;  // follow_q is above 0
  logic announces_q;  // a circuit's first packet is to be sent, with these numbers
  logic [FollowBits-1:0] announced_q;
  logic [31:0] announced_elements_q;

  logic packer_ready, part_valid, part_empty, out_ready;
  logic [PacketBits-1:0] part;

  wire begins = part_empty || part_valid;
  wire limited = open_q.window != 0;
  wire accept = in_valid_i && in_ready_o;
  wire begin_now = accept && begins;
  wire takes_credit = begin_now && limited;
  wire announce = begin_now && open_q.circuit && !follows_q;
  wire rest = packets_left_q <= Circuits;  // the rest of the message fits in one circuit
  wire [FollowBits-1:0] announced = rest ? FollowBits'(packets_left_q) : FollowBits'(Circuits);
  wire [FollowBits-1:0] follow_d = (follows_q ? follow_q : announced) - 1;
  wire ends = !any_q || (accept && one_q);
  wire channel_t next = next_valid_q ? next_q : channel_of(open_i);
  wire loads = ends && (next_valid_q || open_valid_i) && back_q && !takes_credit;
  wire packets_t grant = control_valid_i ? control_data_i[HeaderBits+:16] : '0;

  assign open_ready_o = !next_valid_q;
  assign in_ready_o   = any_q && packer_ready && (!begins || credit_q);

  packets_t credits_d, in_flight_d;
  assign credits_d   = loads ? next.window : credits_q + grant - packets_t'(takes_credit);
  assign in_flight_d = in_flight_q - grant + packets_t'(takes_credit);

  always_ff @(posedge clk_i) begin
    if (loads) open_q <= next;
    if (open_valid_i && open_ready_o) next_q <= channel_of(open_i);
    if (begin_now) begin
      peer_q <= open_q.peer;
      credited_q <= limited;
      payload_q <= open_q.circuit;
      final_q <= !open_q.circuit || follow_d == 0;
    end
    if (announce) begin
      announced_q <= announced;
      announced_elements_q <= rest ? left_q : 32'(Circuits * PacketBytes) >> open_q.size;
    end
    if (loads) packets_left_q <= next.packets;
    else if (announce) packets_left_q <= packets_left_q - 32'(announced);
    credits_q <= credits_d;
    credit_q  <= credits_d != 0 || (loads ? next.window == 0 : !limited);
    if (rst_i) begin
      next_valid_q <= 1'b0;
      left_q <= 0;
      any_q <= 1'b0;
      in_flight_q <= 0;
      back_q <= 1'b1;
      announces_q <= 1'b0;
      follow_q <= 0;
      follows_q <= 1'b0;
    end else begin
      if (begin_now && open_q.circuit) begin
        follow_q  <= follow_d;
        follows_q <= follow_d != 0;
      end
      announces_q <= Circuits != 0 && (announce || (announces_q && !out_ready));
      next_valid_q <= (next_valid_q || open_valid_i) && !loads;
      if (loads) begin
        left_q <= next.count;
        any_q <= next.count != 0;
        one_q <= next.count == 1;
      end else if (accept) begin
        left_q <= left_q - 1;
        any_q <= !one_q;
        one_q <= left_q == 2;
      end
      in_flight_q <= in_flight_d;
      back_q <= in_flight_d == 0;
    end
  end

  tw_packer #(
      .PacketBytes(PacketBytes),
      .Circuits   (Circuits != 0)
  ) packer (
      .clk_i,
      .rst_i,
      .in_valid_i     (accept),
      .in_ready_o     (packer_ready),
      .in_data_i,
      .in_last_i      (one_q || (in_flush_i && !open_q.circuit)),
      .in_size_i      (open_q.size),
      .in_per_packet_i(payload_t'(open_q.per_packet)),
      .in_circuit_i   (open_q.circuit),
      .out_valid_o    (part_valid),
      .out_ready_i    (out_ready && !announces_q),
      .out_data_o     (part),
      .out_last_o     (),
      .empty_o        (part_empty)
  );

  wire smi_header_t part_header = part[HeaderBits-1:0];
  wire operation_e operation = credited_q ? OperationReceive : OperationSend;
  wire smi_header_t part_begin = payload_q ? part_header : header(rank_i, peer_q, 8'(Port), operation, part_header.count);
  wire smi_circuit_t first = circuit(rank_i, peer_q, 8'(Port), 32'(announced_q), announced_elements_q);

  tw_skid #(
      .Width(1 + PacketBits)
  ) out (
      .clk_i,
      .rst_i,
      .in_valid_i (announces_q || part_valid),
      .in_ready_o (out_ready),
      .in_data_i  (announces_q ? {1'b0, PacketBits'(first)} : {final_q, part[PacketBits-1:HeaderBits], part_begin}),
      .out_valid_o(packet_valid_o),
      .out_ready_i(packet_ready_i),
      .out_data_o ({packet_last_o, packet_data_o})
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      flags_agree : assert (any_q == (left_q != 0) && (!any_q || one_q == (left_q == 1)));
      announced_before_the_next : assert (!announce || !announces_q);
      back_agrees : assert (back_q == (in_flight_q == 0));
      never_exceeds_in_flight : assert (!control_valid_i || grant <= in_flight_q);
    end
  end
`endif
endmodule
