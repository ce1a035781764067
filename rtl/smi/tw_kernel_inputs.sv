// SPDX-License-Identifier: Apache-2.0
// Polled inputs of a send or receive kernel: a packet goes to the output in the kernel's table, or, if it follows in a
// circuit, to the output of the circuit's first packet.
//
// Order: kept from each input to each output; with Circuits, packets of a circuit are not interleaved with others.
// Latency: a packet is shown in the cycle after it arrived, if its input is polled. Throughput: a packet per cycle.
// Storage: two packets per input. Critical path: from in_to_i to an input's register, or from the polled input to
// out_goes_i and on to the enables of an input's registers.
module tw_kernel_inputs
  import tw_smi_spec_pkg::*;
#(
    parameter int unsigned Inputs      = 5,
    parameter int unsigned Outputs     = 5,     /// up to 255; Outputs itself means no output
    parameter int unsigned Reads       = 8,     /// maximum consecutive reads of an input
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
    input  logic [Inputs-1:0][   ToWidth-1:0] in_to_i,     /// output by its header
    output logic                              out_valid_o,
    input  logic                              out_goes_i,  /// takes the packet shown
    output logic [PacketBits-1:0]             out_data_o,
    output logic [Outputs-1:0]                out_to_o,    /// one-hot; zero without an output
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
