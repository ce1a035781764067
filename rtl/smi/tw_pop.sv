// SPDX-License-Identifier: Apache-2.0
// Delivers the elements that ranks send to a kernel. Elements of eager packets are delivered as they arrive, even
// before the kernel's channel is open: the kernel checks their source. Elements with credits are delivered only to an
// open channel, whose sender gets its credits back when half of them, or all of the message, have been taken. With
// Circuits, a circuit's elements are delivered like eager ones; its first packet is stored separately, so that it takes
// no cycle of an element.
//
// Order: kept. Latency: a packet's first element is shown in the cycle after it arrived. Throughput: an element per
// cycle, also across packets. Storage: two packets, two of credits without their constant fields, the open channel and
// the next one; the fields of the next circuit's first packet. Outputs depend only on registers. Critical path: from
// the packet's operation through out_valid_o and out_ready_i to the enables of the packets and the count of elements;
// or from the index of the element through its selection to out_data_o.
module tw_pop
  import tw_spec_pkg::*;
  import tw_smi_pkg::*;
  import tw_smi_spec_pkg::*;
#(
    parameter int unsigned Port        = 0,
    parameter int unsigned Size        = 2,   /// log2 of an element's bytes, up to 3
    parameter int unsigned PacketBytes = 32,
    parameter bit          Circuits    = 1'b0,  /// circuits as well as packets
    localparam int unsigned PacketBits = 8 * PacketBytes
) (
    input logic clk_i,
    input logic rst_i,

    input rank_t rank_i,  /// own rank; constant while packets move

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
  localparam int unsigned Elements = Circuits ? Payload : max_elements(PacketBytes, Size);  // per packet, at most
  localparam int unsigned IndexBits = Circuits ? $bits(payload_t) : 5;
  localparam int unsigned CountBits = 34;

  // Fields of an open that a pop uses.
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
  // Remaining elements of the channel, less 1; below -1: elements delivered before their channels are open.
  logic [CountBits-1:0] left_q;
  wire any = !left_q[CountBits-1];
  packets_t unreturned_q;  // packets whose credits have not been returned
  logic has_unreturned_q, returns_q;  // unreturned_q is above 0, and at least half of the window
  logic [IndexBits-1:0] index_q;  // of the element
  logic [31:0] within_q;  // remaining elements of a circuit
  logic final_q;  // within_q is 1
  rank_t source_q;  // of the circuit

  logic packet_valid, out_ready;
  logic [PacketBits-1:0] packet;
  wire smi_header_t packet_header = packet[HeaderBits-1:0];

  // The arriving packet (data_*), and the packet being delivered: it follows in a circuit, as the first one.
  logic data_keeps, data_payload, data_begins, payload, begins;
  // A circuit of which no element has been delivered.
  logic next_circuit_q;
  logic next_one_q;  // it has one element
  logic [31:0] next_elements_q;
  rank_t next_source_q;

  wire credited = !payload && packet_header.operation == OperationReceive;
  wire begins_circuit = begins && index_q == 0;
  wire [31:0] circuit_left = begins_circuit ? next_elements_q : within_q;
  wire last_of_circuit = begins_circuit ? next_one_q : final_q;
  wire rank_t source = !payload ? packet_header.source : begins_circuit ? next_source_q : source_q;
  wire delivers = out_valid_o && out_ready_i;
  wire [IndexBits-1:0] next_index = index_q + 1;
  wire last = payload ? last_of_circuit || 32'(next_index) == Payload : next_index == IndexBits'(packet_header.count);
  wire ends = delivers && last;
  wire returns = has_unreturned_q && (!any || returns_q) && out_ready;
  wire channel_t next = next_valid_q ? next_q : channel_of(open_i);
  wire loads = !any && !has_unreturned_q && (next_valid_q || open_valid_i);

  assign open_ready_o = !next_valid_q;
  assign out_valid_o  = packet_valid && (any || !credited);
  assign out_source_o = source;

  packets_t unreturned_d;
  assign unreturned_d = (returns ? 0 : unreturned_q) + packets_t'(ends && credited);

  always_ff @(posedge clk_i) begin
    if (loads) open_q <= next;
    if (open_valid_i && open_ready_o) next_q <= channel_of(open_i);
    returns_q <= unreturned_d >= open_q.window / 2;
    if (delivers) begin
      source_q <= source;
      within_q <= circuit_left - 1;
      final_q  <= circuit_left == 2;
    end
    if (rst_i) begin
      next_valid_q <= 1'b0;
      left_q <= '1;
      unreturned_q <= 0;
      has_unreturned_q <= 1'b0;
      index_q <= 0;
    end else begin
      next_valid_q <= (next_valid_q || open_valid_i) && !loads;
      left_q <= left_q + (loads ? CountBits'(next.count) : '0) - CountBits'(delivers);
      unreturned_q <= unreturned_d;
      has_unreturned_q <= unreturned_d != 0;
      if (delivers) index_q <= last ? 0 : next_index;
    end
  end

  logic packets_ready;

  if (Circuits) begin : circuits
    logic data_last, opened_q;
    wire smi_circuit_t data_circuit = data_data_i[$bits(smi_circuit_t)-1:0];
    wire arrives = data_valid_i && data_ready_o;
    wire opens = !data_payload && !data_last;

    assign data_ready_o = packets_ready && (!next_circuit_q || data_payload);
    assign data_keeps   = arrives && !opens;
    assign data_begins  = data_payload && opened_q;

    tw_circuit #(
        .ToWidth(1)
    ) circuit (
        .clk_i,
        .rst_i,
        .taken_i (arrives),
        .packet_i(data_circuit),
        .to_i    (1'b0),
        .to_o    (),
        .last_o  (data_last),
        .inside_o(data_payload)
    );

    always_ff @(posedge clk_i) begin
      if (arrives) opened_q <= opens;
      if (arrives && opens) begin
        next_elements_q <= data_circuit.elements;
        next_one_q <= data_circuit.elements == 1;
        next_source_q <= data_circuit.source;
      end
      if (rst_i) next_circuit_q <= 1'b0;
      else next_circuit_q <= (arrives && opens) || (next_circuit_q && !(delivers && begins_circuit));
    end
  end else begin : no_circuits
    assign data_ready_o = packets_ready;
    assign data_keeps = data_valid_i;
    assign {data_payload, data_begins, next_circuit_q, next_one_q, next_elements_q, next_source_q} = '0;
  end

  tw_skid #(
      .Width(2 + PacketBits)
  ) packets (
      .clk_i,
      .rst_i,
      .in_valid_i (data_keeps),
      .in_ready_o (packets_ready),
      .in_data_i  ({data_payload, data_begins, data_data_i}),
      .out_valid_o(packet_valid),
      .out_ready_i(ends),
      .out_data_o ({payload, begins, packet})
  );

  // In packets that follow in a circuit, the last elements are in the bytes of the header.
  wire [PacketBits-1:0] lanes = {packet[HeaderBits-1:0], packet[PacketBits-1:HeaderBits]};
  wire [Elements-1:0][Bits-1:0] elements = lanes[Elements*Bits-1:0];
  always_comb begin
    out_data_o = '0;
    for (int unsigned e = 0; e < Elements; e++) if (32'(index_q) == e) out_data_o |= ElementBits'(elements[e]);
  end

  // Returned credits: destination rank, and number.
  rank_t to;
  packets_t grant;

  tw_skid #(
      .Width($bits(rank_t) + $bits(packets_t))
  ) out (
      .clk_i,
      .rst_i,
      .in_valid_i (returns),
      .in_ready_o (out_ready),
      .in_data_i  ({open_q.peer, unreturned_q}),
      .out_valid_o(packet_valid_o),
      .out_ready_i(packet_ready_i),
      .out_data_o ({to, grant})
  );

  assign packet_data_o = PacketBits'({grant, header(rank_i, to, 8'(Port), OperationSynch, 5'd1)});

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      unreturned_agrees : assert (has_unreturned_q == (unreturned_q != 0));
    end
  end
`endif
endmodule
