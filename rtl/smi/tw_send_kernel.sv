// SPDX-License-Identifier: Apache-2.0
// Sends the packets of a link's endpoints, and those from other kernels: polls its inputs; a table has the output of
// each destination. Inputs and outputs are those of docs/smi.md. A packet without an output is dropped. With Circuits,
// packets that follow in a circuit go to the output of its first packet, and hold that output (tw_circuit, tw_poller);
// they are dropped with it.
//
// Order: kept for each input. Latency: a packet is shown in the cycle after it arrived, at the earliest; a shown packet
// may change without having been taken. Throughput: a packet per cycle. Storage: two packets and a table per input.
// Unwritten entries are unknown. in_ready_o are registers, the others depend only on registers. Critical path: from a
// packet's destination through the table to the input's register, or from the polled input to out_ready_i and on to the
// enables of an input's registers.
module tw_send_kernel
  import tw_smi_pkg::*;
  import tw_smi_spec_pkg::*;
#(
    parameter int unsigned Inputs      = 5,
    parameter int unsigned Outputs     = 5,   /// up to 255
    parameter int unsigned Reads       = 8,   /// maximum consecutive reads of an input
    parameter int unsigned PacketBytes = 32,
    parameter bit          Circuits    = 1'b0,  /// circuits as well as packets
    localparam int unsigned PacketBits = 8 * PacketBytes
) (
    input logic clk_i,
    input logic rst_i,

    input logic       table_valid_i,  /// applies to packets that arrive in later cycles
    input rank_t      table_index_i,
    input logic [7:0] table_data_i,

    input  logic [ Inputs-1:0]                 in_valid_i,
    output logic [ Inputs-1:0]                 in_ready_o,
    input  logic [ Inputs-1:0][PacketBits-1:0] in_data_i,
    output logic                               out_valid_o,
    input  logic [Outputs-1:0]                 out_ready_i,
    output logic [PacketBits-1:0]              out_data_o,
    output logic [Outputs-1:0]                 out_to_o,     /// one-hot; zero without an output
    output logic                               dropped_o     /// the packet shown has no output, and is dropped
);
  localparam int unsigned ToWidth = $clog2(Outputs + 1);
  localparam logic [ToWidth-1:0] Nowhere = ToWidth'(Outputs);

  wire [ToWidth-1:0] entry = 32'(table_data_i) < Outputs ? ToWidth'(table_data_i) : Nowhere;
  logic [Inputs-1:0][ToWidth-1:0] to;

  for (genvar i = 0; i < Inputs; i++) begin : inputs
    logic [ToWidth-1:0] table_q[256];
    wire smi_header_t packet = in_data_i[i][HeaderBits-1:0];

    assign to[i] = table_q[packet.destination];

    always_ff @(posedge clk_i) if (table_valid_i) table_q[table_index_i] <= entry;
  end

  logic out_nowhere;

  tw_kernel_inputs #(
      .Inputs     (Inputs),
      .Outputs    (Outputs),
      .Reads      (Reads),
      .PacketBytes(PacketBytes),
      .Circuits   (Circuits)
  ) polled (
      .clk_i,
      .rst_i,
      .in_valid_i,
      .in_ready_o,
      .in_data_i,
      .in_to_i      (to),
      .out_valid_o,
      .out_goes_i   (dropped_o || (out_to_o & out_ready_i) != 0),
      .out_data_o,
      .out_to_o,
      .out_nowhere_o(out_nowhere)
  );

  assign dropped_o = out_valid_o && out_nowhere;
endmodule
