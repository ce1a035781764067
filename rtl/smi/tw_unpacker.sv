// SPDX-License-Identifier: Apache-2.0
// Outputs a packet's elements of 1 << size bytes, one per cycle; bits above an element's bytes are zero.
//
// Order: kept. Latency: the first element is shown in the cycle after its packet arrived. Throughput: an element per
// cycle, also across packets. Storage: a packet. in_ready_o depends on out_ready_i, the others are registers, of which
// in_size_i selects the lowest bytes. Critical path: from out_ready_i through the acceptance to the packet's enables.
module tw_unpacker
  import tw_smi_pkg::*;
  import tw_smi_spec_pkg::*;
#(
    parameter int unsigned PacketBytes = 32,
    localparam int unsigned PacketBits = 8 * PacketBytes
) (
    input logic clk_i,
    input logic rst_i,

    input logic [1:0] in_size_i,  /// log2 of an element's bytes; constant while elements are present

    input  logic                  in_valid_i,
    output logic                  in_ready_o,
    input  logic [PacketBits-1:0] in_data_i,

    output logic     out_valid_o,
    input  logic     out_ready_i,
    output element_t out_data_o
);
  localparam int unsigned DataBits = PacketBits - HeaderBits;

  logic [DataBits-1:0] data_q;
  logic [4:0] left_q;  // elements

  wire smi_header_t in_header = in_data_i[HeaderBits-1:0];
  wire accept = in_valid_i && in_ready_o;

  assign in_ready_o  = left_q == 0 || (left_q == 1 && out_ready_i);
  assign out_valid_o = left_q != 0;
  assign out_data_o  = data_q[ElementBits-1:0] & element_bits(in_size_i);

  always_ff @(posedge clk_i) begin
    if (accept) begin
      data_q <= in_data_i[PacketBits-1:HeaderBits];
    end else if (out_ready_i) begin
      unique case (in_size_i)
        2'd0: data_q <= data_q >> 8;
        2'd1: data_q <= data_q >> 16;
        2'd2: data_q <= data_q >> 32;
        2'd3: data_q <= data_q >> 64;
      endcase
    end
    if (rst_i) left_q <= 0;
    else if (accept) left_q <= in_header.count;
    else if (out_valid_o && out_ready_i) left_q <= left_q - 1;
  end
endmodule
