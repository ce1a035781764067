// SPDX-License-Identifier: Apache-2.0
// An aggregation unit of a collective unit. It gathers the operands of a step from slots, host and stages, joins them,
// and queues the result for the ports and the host. A parallel queue holds the tag of each packet for the host.
//
// Order: that of the steps. Latency: that of tw_aggregation_unit. Throughput: a flit per cycle. Storage: that of
// tw_aggregation_unit, and tags of Words packets. described_* depends on the data of the memories and the host,
// host_taken_o on host_ready_i, the other outputs as in tw_aggregation_unit. Critical path: from the unit and operand
// of a read flit to the join.
module tw_collective_unit_aggregation
  import tw_spec_pkg::*, tw_node_pkg::*, tw_reduce_pkg::*;
#(
    parameter int unsigned Unit = 0,  /// index of this unit
    parameter int unsigned Links = 6,
    parameter int unsigned Ports = 6,
    parameter int unsigned Units = 6,
    parameter int unsigned Rows = 32,
    parameter int unsigned Edges = 6,
    parameter int unsigned Words = 106,
    parameter int unsigned Latency = 14,
    parameter pairs_t Pairs = all_pairs(),
    parameter logic [2:0][31:0] UserBytes = {3{32'd8}},
    localparam int unsigned Inputs = Edges + 1,  // operands of a join: one per edge, and the host's or a stage's
    localparam int unsigned RowWidth = Rows > 1 ? $clog2(Rows) : 1,
    localparam int unsigned UnitWidth = Units > 1 ? $clog2(Units) : 1,
    localparam int unsigned OperandWidth = $clog2(Inputs),
    localparam int unsigned CountWidth = $clog2(Inputs + 1),
    localparam int unsigned RoomWidth = $clog2(Words + 1)
) (
    input logic clk_i,
    input logic rst_i,

    // A step of this unit: its operation, operands, and destinations of the result.
    input  logic                             begin_valid_i,
    input  operator_e                        begin_operation_i,
    input  datatype_e                        begin_datatype_i,
    input  logic                             begin_paced_i,          /// its flits do not arrive in every cycle
    input  logic [11:0]                      begin_bytes_i,
    input  logic [CountWidth-1:0]            begin_operands_i,
    input  logic [OperandWidth-1:0]          begin_own_operand_i,
    input  logic [OperandWidth-1:0]          begin_stage_operand_i,
    input  logic [RowWidth-1:0]              begin_row_i,
    input  logic [Edges-1:0]                 begin_to_edges_i,
    input  logic [Ports-1:0]                 begin_to_ports_i,
    input  logic                             begin_to_host_i,
    input  logic                             begin_to_stages_i,
    input  logic                             begin_urgent_i,
    input  result_t                          begin_result_i,
    input  logic [2:0]                       begin_size_i,           /// log2 of the packet's flits
    output logic [Ports:0][RoomWidth-1:0]    room_o,                 /// free flits in the queues to the ports and to the host

    // Data of the memories, for all units.
    input logic [2*Links-1:0]                   slots_valid_i,
    input logic [2*Links-1:0][255:0]            slots_data_i,
    input logic [2*Links-1:0][UnitWidth-1:0]    slots_unit_i,
    input logic [2*Links-1:0][OperandWidth-1:0] slots_operand_i,
    input logic [2*Units-1:0]                   stages_valid_i,
    input logic [2*Units-1:0][255:0]            stages_data_i,
    input logic [2*Units-1:0][UnitWidth-1:0]    stages_unit_i,
    input logic [2*Units-1:0][OperandWidth-1:0] stages_operand_i,
    input logic                                 host_valid_i,
    input logic [255:0]                         host_data_i,

    output logic         described_valid_o,  /// the first operand's flit
    output logic [255:0] described_o,

    // The result: direct, for stages; and from the queues.
    output logic         result_valid_o,
    output logic [255:0] result_data_o,
    output logic         result_last_o,
    output logic         result_staged_o,

    output logic [Ports-1:0]               out_valid_o,
    output logic [Ports-1:0][255:0]        out_data_o,
    output logic [Ports-1:0]               out_last_o,
    output logic [Ports-1:0]               out_urgent_o,
    output logic [Ports-1:0][RowWidth-1:0] out_row_o,
    output logic [Ports-1:0][Edges-1:0]    out_edges_o,
    input  logic [Ports-1:0]               out_ready_i,
    input  logic [Ports-1:0]               out_again_i,

    output logic         host_valid_o,
    input  logic         host_ready_i,
    output logic [255:0] host_data_o,
    output logic         host_last_o,
    output result_t      host_result_o,
    output logic         host_taken_o   /// a packet's last flit is taken
);
  typedef struct packed {
    logic                urgent;
    logic                staged;
    logic [RowWidth-1:0] row;
    logic [Edges-1:0]    edges;
  } tag_t;

  // --- Operands

  localparam int unsigned Sources = 2 * Links + 3;  // slots, the host, two stages
  logic [OperandWidth-1:0] own_operand_q, stage_operand_q;
  logic [Sources-1:0] source_valid;
  logic [Sources-1:0][OperandWidth-1:0] source_place;
  logic [Sources-1:0][255:0] source_data;

  always_ff @(posedge clk_i) begin
    if (begin_valid_i) own_operand_q <= begin_own_operand_i;
    if (begin_valid_i) stage_operand_q <= begin_stage_operand_i;
  end

  always_comb begin
    for (int unsigned s = 0; s < 2 * Links; s++) begin
      source_valid[s] = slots_valid_i[s] && 32'(slots_unit_i[s]) == Unit;
      source_place[s] = slots_operand_i[s];
      source_data[s] = slots_data_i[s];
    end
    source_valid[2*Links+:3] = {2'b00, host_valid_i};
    source_place[2*Links] = own_operand_q;
    source_data[2*Links] = host_data_i;
    for (int unsigned i = 0; i < 2; i++) begin
      source_place[2*Links+1+i] = stage_operand_q + OperandWidth'(i);
      source_data[2*Links+1+i] = '0;
      for (int unsigned s = 0; s < 2 * Units; s++) begin
        if (stages_valid_i[s] && 32'(stages_unit_i[s]) == Unit && stages_operand_i[s] == stage_operand_q + OperandWidth'(i)) begin
          source_valid[2*Links+1+i] = 1'b1;
          source_data[2*Links+1+i] |= stages_data_i[s];
        end
      end
    end
    described_valid_o = 1'b0;
    described_o = '0;
    for (int unsigned s = 0; s < Sources; s++) begin
      if (source_valid[s] && source_place[s] == '0) begin
        described_valid_o = 1'b1;
        described_o |= source_data[s];
      end
    end
  end

  // --- The join and its queues

  wire tag_t tag = '{begin_urgent_i, begin_to_stages_i, begin_row_i, begin_to_edges_i};
  // verilator lint_off UNUSEDSIGNAL
  tag_t result_tag;
  tag_t [Ports:0] queued_tag;
  // verilator lint_on UNUSEDSIGNAL

  tw_aggregation_unit #(
      .Inputs(Inputs),
      .Sources(Sources),
      .Outputs(Ports + 1),
      .Words(Words),
      .TagBits($bits(tag_t)),
      .Latency(Latency),
      .Pairs(Pairs),
      .UserBytes(UserBytes)
  ) aggregation (
      .clk_i,
      .rst_i,
      .begin_valid_i,
      .begin_count_i     (begin_operands_i),
      .begin_descriptor_i(begin_result_i.descriptor),
      .begin_size_i,
      .begin_bytes_i,
      .begin_operation_i,
      .begin_datatype_i,
      .begin_paced_i,
      .begin_outputs_i   ({begin_to_host_i, begin_to_ports_i}),
      .begin_tag_i       (tag),
      .room_o,
      .source_valid_i    (source_valid),
      .source_place_i    (source_place),
      .source_data_i     (source_data),
      .result_valid_o,
      .result_data_o,
      .result_last_o,
      .result_tag_o      (result_tag),
      .out_valid_o       ({host_valid_o, out_valid_o}),
      .out_data_o        ({host_data_o, out_data_o}),
      .out_last_o        ({host_last_o, out_last_o}),
      .out_tag_o         (queued_tag),
      .out_ready_i       ({host_ready_i, out_ready_i}),
      .out_again_i       ({1'b0, out_again_i})
  );
  assign result_staged_o = result_tag.staged;

  always_comb begin
    for (int unsigned p = 0; p < Ports; p++) begin
      out_urgent_o[p] = queued_tag[p].urgent;
      out_row_o[p] = queued_tag[p].row;
      out_edges_o[p] = queued_tag[p].edges;
    end
  end

  // --- Tags of packets for the host

  // verilator lint_off UNUSEDSIGNAL
  logic result_valid;
  // verilator lint_on UNUSEDSIGNAL
  assign host_taken_o = host_valid_o && host_ready_i && host_last_o;

  tw_fifo #(
      .Width($bits(result_t)),
      .Depth(Words)
  ) results (
      .clk_i,
      .rst_i,
      .in_valid_i (begin_valid_i && begin_to_host_i),
      .in_ready_o (),
      .in_data_i  (begin_result_i),
      .out_valid_o(result_valid),
      .out_ready_i(host_taken_o),
      .out_data_o (host_result_o),
      .count_o    ()
  );
endmodule
