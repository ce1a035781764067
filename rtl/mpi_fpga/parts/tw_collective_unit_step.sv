// SPDX-License-Identifier: Apache-2.0
// Resources of a step: the positions of its operands in the join, the cycles for reading and writing, the ports of the
// result, and the units whose queues have room for it.
//
// No registers. Critical path: from pace_read_i through the cycle of the last flit to left_o.
module tw_collective_unit_step
  import tw_node_pkg::*;
#(
    parameter int unsigned Ports = 6,
    parameter int unsigned Units = 6,
    parameter int unsigned Edges = 6,
    parameter int unsigned Stages = 16,
    parameter int unsigned Words = 106,
    parameter int unsigned Latency = 14,
    parameter int unsigned TimeBits = 11,
    localparam int unsigned OperandWidth = $clog2(Edges + 1),
    localparam int unsigned CountWidth = $clog2(Edges + 2),
    localparam int unsigned PortCountWidth = $clog2(Ports + 1),
    localparam int unsigned RoomWidth = $clog2(Words + 1)
) (
    input logic [Edges-1:0]        from_edges_i,
    input logic [Edges-1:0]        to_edges_i,
    input logic [Stages-1:0]       from_stages_i,
    input logic [Stages-1:0]       to_stages_i,
    input logic                    from_host_i,
    input logic                    to_host_i,
    input logic [OperandWidth-1:0] place_i,        /// number of edge operands that precede the host's or the stages'
    input logic                    descriptor_i,   /// the packets are descriptors, of which one is forwarded
    input logic [2:0]              size_i,         /// log2 of a packet's flits
    input logic [10:0]             elements_i,
    input logic [2:0]              element_size_i, /// log2 of an element's bytes

    // Operands, and their positions.
    output logic [CountWidth-1:0]              operands_o,
    output logic [Edges-1:0][OperandWidth-1:0] edge_operand_o,
    output logic [OperandWidth-1:0]            own_operand_o,    /// of the host
    output logic [OperandWidth-1:0]            stage_operand_o,  /// of the first stage

    // Cycles.
    input  logic [3:0]          pace_read_i,  /// cycles per flit for reading slots and stages
    output logic [3:0]          pace_o,       /// cycles per flit for reading operands and writing the result
    output logic [TimeBits-1:0] latency_o,    /// until the result's first flit
    output logic [TimeBits-1:0] read_o,       /// until the operands have been read,
    output logic [TimeBits-1:0] left_o,       /// until the result has left,
    output logic [TimeBits-1:0] again_o,      /// and until the process is tried again

    // The result.
    output logic [11:0]                              bytes_o,
    output logic [Ports-1:0]                         ports_o,
    output logic [PortCountWidth-1:0]                port_count_o,
    input  logic [Units-1:0][Ports:0][RoomWidth-1:0] room_i,        /// free flits in the queues to the ports and to the host
    output logic [Units-1:0]                         units_o        /// that have room
);
  // verilator lint_off UNUSEDSIGNAL
  wire [6:0] flits = 7'd1 << size_i;  // short queues use only the lower bits
  // verilator lint_on UNUSEDSIGNAL

  logic [CountWidth-1:0] edge_operands;
  wire [1:0] own_operands = 2'(from_host_i) + 2'($countones(from_stages_i));
  always_comb begin
    edge_operands = '0;
    for (int unsigned k = 0; k < Edges; k++) begin
      edge_operand_o[k] = OperandWidth'(edge_operands) + (edge_operands >= CountWidth'(place_i) ? OperandWidth'(own_operands) : '0);
      edge_operands += CountWidth'(from_edges_i[k]);
    end
    operands_o = edge_operands + CountWidth'(own_operands);
  end
  assign own_operand_o = edge_operands < CountWidth'(place_i) ? OperandWidth'(edge_operands) : place_i;
  assign stage_operand_o = own_operand_o + OperandWidth'(from_host_i);

  // Lanes on the join's longest path.
  wire [CountWidth-1:0] depth = descriptor_i || operands_o < 2 ? '0 : (operands_o + 1'b1) >> 1;
  wire [3:0] written = $countones(to_stages_i) > 1 ? 4'd2 : 4'd1;
  wire [TimeBits-1:0] last_flit = read_o + latency_o - TimeBits'(1) - TimeBits'(pace_o - pace_read_i);
  assign latency_o = TimeBits'(2 + 32'(depth) * Latency);
  assign pace_o = pace_read_i > written ? pace_read_i : written;
  assign read_o = TimeBits'(pace_o) << size_i;
  assign left_o = last_flit + TimeBits'(written);

  // A process is tried again after at least two cycles, after a descriptor three, since its contents are needed.
  wire [TimeBits-1:0] least = descriptor_i ? TimeBits'(2) : TimeBits'(1);
  assign again_o = read_o - TimeBits'(1) > least ? read_o - TimeBits'(1) : least;

  always_comb begin
    bytes_o = 12'd8 + (12'(elements_i) << element_size_i);
    if (element_size_i == 3'd4 && elements_i > 11'd1) bytes_o = 12'd16 + (12'(elements_i) << 4);
  end

  always_comb begin
    ports_o = '0;
    for (int unsigned k = 0; k < Edges; k++) if (to_edges_i[k]) ports_o[k%Ports] = 1'b1;
    for (int unsigned u = 0; u < Units; u++) begin
      units_o[u] = !to_host_i || room_i[u][Ports] >= RoomWidth'(flits);
      for (int unsigned p = 0; p < Ports; p++)
        if (ports_o[p] && room_i[u][p] < RoomWidth'(flits)) units_o[u] = 1'b0;
    end
  end
  assign port_count_o = PortCountWidth'($countones(ports_o));
endmodule
