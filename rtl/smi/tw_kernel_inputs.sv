// SPDX-License-Identifier: Apache-2.0
// The inputs of a send or a receive kernel, which are polled: a packet goes to the output that the kernel's table has for it, or, where it
// follows in a circuit, to that of the circuit's first one.
//
// Order: kept from each input to each output; with Circuits, those of a circuit stand together. Latency: a packet is shown in the cycle
// after it came, when it is its input's turn. Throughput: a packet a cycle. Storage: two packets for each input. Critical path: from
// in_to_i to an input's register, or from the turn to out_goes_i and on to the enables of an input's registers.
module tw_kernel_inputs
  import tw_smi_spec_pkg::*;
#(
    parameter int unsigned Inputs      = 5,
    parameter int unsigned Outputs     = 5,     /// up to 255; Outputs itself is that of packets without one
    parameter int unsigned Reads       = 8,     /// of an input on end
    parameter int unsigned PacketBytes = 32,
    parameter bit          Circuits    = 1'b0,  /// as well as packets
    localparam int unsigned PacketBits = 8 * PacketBytes,
    localparam int unsigned ToWidth    = $clog2(Outputs + 1)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic [Inputs-1:0]                 in_valid_i,
    output logic [Inputs-1:0]                 in_ready_o,
    input  logic [Inputs-1:0][PacketBits-1:0] in_data_i,
    input  logic [Inputs-1:0][   ToWidth-1:0] in_to_i,     /// by its header
    output logic                              out_valid_o,
    input  logic                              out_goes_i,  /// the packet that is shown
    output logic [PacketBits-1:0]             out_data_o,
    output logic [Outputs-1:0]                out_to_o,    /// one-hot; zero where there is none
    output logic                              out_nowhere_o
);
  logic [Inputs-1:0][ToWidth-1:0] to;
  logic [Inputs-1:0] last;

  for (genvar i = 0; i < Inputs; i++) begin : inputs
    if (Circuits) begin : circuits
      tw_circuit #(
          .ToWidth(ToWidth)
      ) circuit (
          .clk_i,
          .rst_i,
          .taken_i (in_valid_i[i] && in_ready_o[i]),
          .packet_i(in_data_i[i][$bits(smi_circuit_t)-1:0]),
          .to_i    (in_to_i[i]),
          .to_o    (to[i]),
          .last_o  (last[i]),
          .inside_o()
      );
    end else begin : packets
      assign to[i]   = in_to_i[i];
      assign last[i] = 1'b1;
    end
  end

  logic [ToWidth-1:0] out_to;

  tw_poller #(
      .Inputs  (Inputs),
      .Outputs (Outputs + 1),
      .Width   (PacketBits),
      .Reads   (Reads),
      .Circuits(Circuits)
  ) poller (
      .clk_i,
      .rst_i,
      .in_valid_i,
      .in_ready_o,
      .in_data_i,
      .in_to_i    (to),
      .in_last_i  (last),
      .out_valid_o,
      .out_goes_i,
      .out_data_o,
      .out_to_o   (out_to)
  );

  for (genvar o = 0; o < Outputs; o++) begin : outputs
    assign out_to_o[o] = out_to == ToWidth'(o);
  end
  assign out_nowhere_o = out_to == ToWidth'(Outputs);
endmodule
