// SPDX-License-Identifier: Apache-2.0
// Packs elements into packets: up to per_packet of 1 << size bytes each. Of a packet's header only the count is set;
// bytes behind the elements are zero. With Circuits there are also packets without headers: their first element is
// where it is in others, and elements wrap from the last byte to the bytes of the header.
//
// Order: kept. Latency: a packet is at the output in the cycle after its last element arrived. Throughput: an element
// per cycle if packets are taken at once. Storage: a packet. in_ready_o depends on out_ready_i, the others are
// registers. Critical path: from the count and in_size_i to the enables of the packet's bytes, or from out_ready_i
// through the acceptance to them.
module tw_packer
  import tw_smi_pkg::*;
  import tw_smi_spec_pkg::*;
#(
    parameter int unsigned PacketBytes = 32,  /// up to 64
    parameter bit          Circuits    = 1'b0,  /// packets without headers as well
    localparam int unsigned PacketBits = 8 * PacketBytes
) (
    input logic clk_i,
    input logic rst_i,

    input  logic       in_valid_i,
    output logic       in_ready_o,
    input  element_t   in_data_i,
    input  logic       in_last_i,        /// ends the packet: last of a message, part or tile, or flushed
    input  logic [1:0] in_size_i,        /// log2 of its bytes; constant within a packet
    input  payload_t   in_per_packet_i,  /// constant within a packet; at least 1, at most what fits
    input  logic       in_circuit_i,     /// constant within a packet; with Circuits: it has no header

    output logic                  out_valid_o,
    input  logic                  out_ready_i,
    output logic [PacketBits-1:0] out_data_o,
    output logic                  out_last_o,
    output logic                  empty_o      /// contains no element
);
  localparam int unsigned DataBytes = PacketBytes - HeaderBits / 8;
  localparam int unsigned AllBytes = Circuits ? PacketBytes : DataBytes;
  localparam int unsigned CountBits = Circuits ? $bits(payload_t) : 5;

  logic [AllBytes-1:0][7:0] bytes_q;
  logic [CountBits-1:0] count_q;
  logic full_q, last_q;

  wire leaves = full_q && out_ready_i;
  wire accept = in_valid_i && in_ready_o;
  wire [CountBits-1:0] place = full_q ? 0 : count_q;
  wire smi_header_t count_header = header(0, 0, 0, OperationSend, count_q[4:0]);

  assign in_ready_o  = !full_q || out_ready_i;
  assign out_valid_o = full_q;
  assign out_last_o  = last_q;
  assign empty_o     = count_q == 0;

  if (Circuits) begin : circuits
    logic circuit_q;
    always_ff @(posedge clk_i) if (accept) circuit_q <= in_circuit_i;
    assign out_data_o = {bytes_q[DataBytes-1:0], circuit_q ? bytes_q[AllBytes-1-:HeaderBits/8] : count_header};
  end else begin : packets
    assign out_data_o = {bytes_q, count_header};
  end

  for (genvar b = 0; b < AllBytes; b++) begin : bytes
    localparam int unsigned Byte = b;
    logic here;
    logic [7:0] data;
    always_comb begin
      unique case (in_size_i)
        2'd0: {here, data} = {32'(place) == Byte, in_data_i[7:0]};
        2'd1: {here, data} = {32'(place) == Byte / 2, in_data_i[8*(Byte%2)+:8]};
        2'd2: {here, data} = {32'(place) == Byte / 4, in_data_i[8*(Byte%4)+:8]};
        2'd3: {here, data} = {32'(place) == Byte / 8, in_data_i[8*(Byte%8)+:8]};
      endcase
    end
    always_ff @(posedge clk_i) if (accept && (here || place == 0)) bytes_q[b] <= here ? data : 0;
  end

  always_ff @(posedge clk_i) begin
    if (accept) last_q <= in_last_i;
    if (rst_i) begin
      count_q <= 0;
      full_q  <= 1'b0;
    end else if (accept) begin
      count_q <= place + 1;
      full_q  <= in_last_i || place + CountBits'(1) >= CountBits'(in_per_packet_i);
    end else if (leaves) begin
      count_q <= 0;
      full_q  <= 1'b0;
    end
  end
endmodule
