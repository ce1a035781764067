// SPDX-License-Identifier: Apache-2.0
// Gives a kernel the elements that ranks send. Those of eager packets are given as they come, so that the kernel need not wait for its
// channel to be open: it looks at their source. Those with credits are given to an open channel alone, whose sender gets its credits
// back when half of them, or all of the message, have been taken. With Circuits, a circuit's are given as eager ones; its first packet
// takes a cycle.
//
// Order: kept. Latency: a packet's first element is shown in the cycle after it came. Throughput: an element a cycle, from packet to
// packet too. Storage: two packets, two of credits without what is constant of them, and a channel that is opened beside the one that
// is open. Outputs depend on registers alone. Critical path: from the packet's operation over out_valid_o and out_ready_i to the enables
// of the packets and the count of elements; or from the index of the element through its choice to out_data_o.
module tw_pop
  import tw_spec_pkg::*;
  import tw_smi_pkg::*;
  import tw_smi_spec_pkg::*;
#(
    parameter int unsigned Port        = 0,
    parameter int unsigned Size        = 2,   /// log2 of an element's bytes, up to 3
    parameter int unsigned PacketBytes = 32,
    parameter bit          Circuits    = 1'b0,
    localparam int unsigned PacketBits = 8 * PacketBytes
) (
    input logic clk_i,
    input logic rst_i,

    input rank_t rank_i,  /// its own; constant while packets move

    input  logic  open_valid_i,
    output logic  open_ready_o,
    input  open_t open_i,

    output logic     out_valid_o,
    input  logic     out_ready_i,
    output element_t out_data_o,
    output rank_t    out_source_o,

    input  logic                  data_valid_i,
    output logic                  data_ready_o,
    input  logic [PacketBits-1:0] data_data_i,

    output logic                  packet_valid_o,
    input  logic                  packet_ready_i,
    output logic [PacketBits-1:0] packet_data_o
);
  localparam int unsigned Bits = 8 << Size;  // of an element
  localparam int unsigned Payload = 32'(payload_elements(PacketBytes, 2'(Size)));
  localparam int unsigned Elements = Circuits ? Payload : most_elements(PacketBytes, Size);  // of a packet, at most
  localparam int unsigned IndexBits = Circuits ? $bits(payload_t) : 5;
  localparam int unsigned CountBits = 34;

  // What a pop takes of an open.
  typedef struct packed {
    logic [31:0] count;
    packets_t    window;
    rank_t       peer;
  } channel_t;

  function automatic channel_t channel_of(open_t open);
    channel_t channel;
    channel.count = open.count;
    channel.window = open.window;
    channel.peer = open.peer;
    return channel;
  endfunction

  channel_t next_q, open_q;
  logic next_valid_q;
  // Elements of the channel that are left, less 1; below -1: given, and of channels to come.
  logic [CountBits-1:0] left_q;
  wire any = !left_q[CountBits-1];
  packets_t taken_q;  // packets whose credits have not been returned
  logic owes_q, returns_q;  // of taken_q: is it above 0, and is it half of the window
  logic [IndexBits-1:0] index_q;  // of the element
  logic [31:0] within_q;  // elements of a circuit that are to come
  logic inside_q, final_q;  // of within_q: is it above 0, is it 1
  rank_t source_q;  // the circuit's

  logic packet_valid, out_ready;
  logic [PacketBits-1:0] packet;
  wire smi_header_t packet_header = packet[HeaderBits-1:0];

  wire credited = !inside_q && packet_header.operation == OperationReceive;
  wire smi_circuit_t packet_circuit = packet[$bits(smi_circuit_t)-1:0];
  wire first = Circuits && packet_valid && !inside_q && packet_header.operation == OperationCircuit;
  wire gives = out_valid_o && out_ready_i;
  wire [IndexBits-1:0] next_index = index_q + 1;
  wire last = inside_q ? final_q || 32'(next_index) == Payload : next_index == IndexBits'(packet_header.count);
  wire ends = gives && last;
  wire returns = owes_q && (!any || returns_q) && out_ready;
  wire channel_t next = next_valid_q ? next_q : channel_of(open_i);
  wire loads = !any && !owes_q && (next_valid_q || open_valid_i);

  assign open_ready_o = !next_valid_q;
  assign out_valid_o  = packet_valid && !first && (any || !credited);
  assign out_source_o = inside_q ? source_q : packet_header.source;

  wire [31:0] within_d = first ? packet_circuit.elements : within_q - 1;

  packets_t taken_d;
  assign taken_d = (returns ? 0 : taken_q) + packets_t'(ends && credited);

  always_ff @(posedge clk_i) begin
    if (loads) open_q <= next;
    if (open_valid_i && open_ready_o) next_q <= channel_of(open_i);
    returns_q <= taken_d >= open_q.window / 2;
    if (first) source_q <= packet_header.source;
    if (first || gives) begin
      within_q <= within_d;
      final_q  <= within_d == 1;
    end
    if (rst_i) begin
      next_valid_q <= 1'b0;
      left_q <= '1;
      taken_q <= 0;
      owes_q <= 1'b0;
      index_q <= 0;
      inside_q <= 1'b0;
    end else begin
      if (first || gives) inside_q <= Circuits && (first || (inside_q && !final_q));
      next_valid_q <= (next_valid_q || open_valid_i) && !loads;
      left_q <= left_q + (loads ? CountBits'(next.count) : '0) - CountBits'(gives);
      taken_q <= taken_d;
      owes_q <= taken_d != 0;
      if (gives) index_q <= last ? 0 : next_index;
    end
  end

  tw_skid #(
      .Width(PacketBits)
  ) packets (
      .clk_i,
      .rst_i,
      .in_valid_i (data_valid_i),
      .in_ready_o (data_ready_o),
      .in_data_i  (data_data_i),
      .out_valid_o(packet_valid),
      .out_ready_i(ends || first),
      .out_data_o (packet)
  );

  // Of packets that follow in a circuit, the last ones are where others have their header.
  wire [PacketBits-1:0] lanes = {packet[HeaderBits-1:0], packet[PacketBits-1:HeaderBits]};
  wire [Elements-1:0][Bits-1:0] elements = lanes[Elements*Bits-1:0];
  always_comb begin
    out_data_o = '0;
    for (int unsigned e = 0; e < Elements; e++) if (32'(index_q) == e) out_data_o |= ElementBits'(elements[e]);
  end

  // Credits on their way back: to whom, and how many.
  rank_t to;
  packets_t grant;

  tw_skid #(
      .Width($bits(rank_t) + $bits(packets_t))
  ) out (
      .clk_i,
      .rst_i,
      .in_valid_i (returns),
      .in_ready_o (out_ready),
      .in_data_i  ({open_q.peer, taken_q}),
      .out_valid_o(packet_valid_o),
      .out_ready_i(packet_ready_i),
      .out_data_o ({to, grant})
  );

  assign packet_data_o = PacketBits'({grant, header(rank_i, to, 8'(Port), OperationSynch, 5'd1)});

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      owes_agrees : assert (owes_q == (taken_q != 0));
    end
  end
`endif
endmodule
