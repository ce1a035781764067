// SPDX-License-Identifier: Apache-2.0
// Tracks the circuits at an input of a send or receive kernel: packets after a circuit's first one have no header, and follow its route.
//
// Order: packets are shown one after another, and counted when they are taken. Latency: none. Throughput: a packet per
// cycle. Storage: the number of packets to follow, and their output. inside_o is a register, to_o and last_o depend on
// packet_i and to_i. Critical path: from to_i to to_o; or the count.
module tw_circuit
  import tw_smi_pkg::*;
  import tw_smi_spec_pkg::*;
#(
    parameter int unsigned ToWidth = 3  /// bits of an output
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                       taken_i,   /// the packet shown is taken
    input  smi_circuit_t               packet_i,  /// its first bytes
    input  logic         [ToWidth-1:0] to_i,      /// the table's output for its header
    output logic         [ToWidth-1:0] to_o,
    output logic                       last_o,    /// last packet of its message
    output logic                       inside_o   /// the packet follows in a circuit
);
  logic [31:0] left_q;
  logic any_q, one_q;  // left_q is above 0, left_q is 1
  logic [ToWidth-1:0] to_q;

  wire [31:0] left_d = any_q ? left_q - 1 : packet_i.packets;

  assign inside_o = any_q;
  assign to_o   = any_q ? to_q : to_i;
  assign last_o = any_q ? one_q : operation_e'(packet_i.operation) != OperationCircuit;

  always_ff @(posedge clk_i) begin
    if (taken_i) begin
      left_q <= left_d;
      one_q  <= left_d == 1;
      to_q   <= to_o;
    end
    if (rst_i) any_q <= 1'b0;
    else if (taken_i) any_q <= !last_o;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      some_follow : assert (!any_q || left_q != 0);
    end
  end
`endif
endmodule
