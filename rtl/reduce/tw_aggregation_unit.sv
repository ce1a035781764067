// SPDX-License-Identifier: Apache-2.0
// An aggregation unit: collects one flit of each of a step's operands, combines them, and queues the result at every destination
// output.
//
// A step begins one cycle before the first of its operands' flits arrives; the next step may begin in the cycle in
// which the last ones arrive. Flits with the same index in their packets arrive in one cycle, or in several if memories
// are read in turns: earlier ones are kept until the last one arrives. Of a descriptor's operands, which are equal, the
// first is forwarded.
//
// Order: kept; the user avoids results that collide. Latency: from the operands that complete a flit 1 + Latency times
// the combining steps to result_*, and to an output whose queue is empty. Throughput: a flit of every operand per
// cycle. Storage: Words flits per output, a flit per operand, and the lanes' contents. room_o and result_* are
// registers; the other outputs depend only on those, and only state depends on out_ready_i. Critical path: from the
// sources through the selection of an operand to the first lane.
module tw_aggregation_unit
  import tw_spec_pkg::*;
  import tw_reduce_pkg::*;
#(
    parameter int unsigned Inputs = 7,    /// operands, at least 2
    parameter int unsigned Sources = 13,  /// sources of operands' flits
    parameter int unsigned Outputs = 7,
    parameter int unsigned Words = 106,   /// flits per output queue
    parameter int unsigned TagBits = 1,   /// width of a packet's tag, for its reader
    parameter int unsigned Latency = 14,  /// of a lane in cycles, also for user operators
    parameter pairs_t Pairs = all_pairs(),  /// as in tw_lane, like UserBytes
    parameter logic [2:0][31:0] UserBytes = {3{32'd8}},
    localparam int unsigned CountWidth = $clog2(Inputs + 1),
    localparam int unsigned SourceWidth = $clog2(Inputs),
    localparam int unsigned RoomWidth = $clog2(Words + 1)
) (
    input logic clk_i,
    input logic rst_i,

    // A step: its result takes room at its outputs.
    input  logic                               begin_valid_i,
    input  logic      [        CountWidth-1:0] begin_count_i,       /// operands, 1 to Inputs
    input  logic                               begin_descriptor_i,
    input  logic      [                   2:0] begin_size_i,        /// log2 of its packet's flits, at most 6
    input  logic      [                  11:0] begin_bytes_i,       /// bytes of the packet, up to the end of its last element
    input  operator_e                          begin_operation_i,
    input  datatype_e                          begin_datatype_i,
    input  logic                               begin_paced_i,       /// flits arrive with pauses
    input  logic      [           Outputs-1:0] begin_outputs_i,
    input  logic      [           TagBits-1:0] begin_tag_i,
    output logic      [Outputs-1:0][RoomWidth-1:0] room_o,

    // Operands' flits, each with its own operand index.
    input logic [Sources-1:0]                 source_valid_i,
    input logic [Sources-1:0][SourceWidth-1:0] source_place_i,
    input logic [Sources-1:0][         255:0] source_data_i,

    // Results, before they are queued.
    output logic               result_valid_o,
    output logic [      255:0] result_data_o,
    output logic               result_last_o,
    output logic [TagBits-1:0] result_tag_o,

    output logic [Outputs-1:0]              out_valid_o,
    output logic [Outputs-1:0][      255:0] out_data_o,
    output logic [Outputs-1:0]              out_last_o,
    output logic [Outputs-1:0][TagBits-1:0] out_tag_o,
    input  logic [Outputs-1:0]              out_ready_i,
    input  logic [Outputs-1:0]              out_again_i   /// with the last flit: the packet is read again
);
  if (Sources < 1) begin : check_sources
    $error("tw_aggregation_unit: at least 1 source");
  end

  // --- The step being read

  logic [CountWidth-1:0] count_q;
  logic descriptor_q, paced_q;
  logic [2:0] size_q;
  logic [11:0] bytes_q;
  logic [6:0] flit_q;  // index in the packet
  operator_e operation_q;
  datatype_e datatype_q;
  logic [Outputs-1:0] outputs_q;
  logic [TagBits-1:0] tag_q;

  // --- Its operands

  // Source of each operand, or the kept flit, as a number: a 16-way multiplexer takes two thirds of the LUTs of a
  // one-hot one.
  localparam int unsigned ChoiceWidth = $clog2(Sources + 1);
  logic [Inputs-1:0] arrives, held_q;
  logic [Inputs-1:0][ChoiceWidth-1:0] choice;
  logic [Inputs-1:0][255:0] kept_data_q, operands;

  for (genvar i = 0; i < Inputs; i++) begin : operand
    logic [2**ChoiceWidth-1:0][255:0] from;
    always_comb begin
      arrives[i] = 1'b0;
      choice[i] = '0;
      for (int unsigned s = 0; s < Sources; s++) begin
        if (source_valid_i[s] && 32'(source_place_i[s]) == i) begin
          arrives[i] = 1'b1;
          choice[i] |= ChoiceWidth'(s);
        end
      end
      if (!arrives[i]) choice[i] = ChoiceWidth'(Sources);
      from = '0;
      from[Sources-1:0] = source_data_i;
      from[Sources] = kept_data_q[i];
      for (int unsigned b = 0; b < ChoiceWidth; b++) begin
        for (int unsigned n = 0; n < 2 ** (ChoiceWidth - 1 - b); n++) from[n] = choice[i][b] ? from[2*n+1] : from[2*n];
      end
      operands[i] = from[0];
    end
  end

  wire [Inputs-1:0] received = arrives | held_q;
  wire complete = arrives != '0 && $countones(received) == 32'(count_q);
  wire last = 7'(flit_q + 7'd1) == 7'd1 << size_q;

  always_ff @(posedge clk_i) begin
    kept_data_q <= operands;
    held_q <= complete ? '0 : received;
    if (complete) flit_q <= last ? '0 : flit_q + 7'd1;
    if (begin_valid_i) begin
      count_q <= begin_count_i;
      descriptor_q <= begin_descriptor_i;
      paced_q <= begin_paced_i;
      size_q <= begin_size_i;
      bytes_q <= begin_bytes_i;
      operation_q <= begin_operation_i;
      datatype_q <= begin_datatype_i;
      outputs_q <= begin_outputs_i;
      tag_q <= begin_tag_i;
    end
    if (rst_i) begin
      held_q <= '0;
      flit_q <= '0;
    end
  end

  // --- Join

  typedef struct packed {
    logic               last;
    logic               paced;
    logic [Outputs-1:0] outputs;
    logic [TagBits-1:0] tag;
  } result_t;

  wire [11:0] passed = {flit_q, 5'd0};  // bytes of the packet's flits before this one
  wire [11:0] left = bytes_q - passed;
  // An element of 16 bytes is alone in a packet's first flit.
  wire [5:0] most = flit_q == '0 && size_of(datatype_q) == 5'd16 ? 6'd24 : 6'd32;
  wire result_t entering = '{last, paced_q, outputs_q, tag_q};
  result_t leaving;

  tw_join #(
      .Inputs(Inputs),
      .Latency(Latency),
      .Pairs(Pairs),
      .TagBits($bits(result_t)),
      .UserBytes(UserBytes)
  ) join_ (
      .clk_i,
      .rst_i,
      .in_valid_i    (complete),
      .in_count_i    (descriptor_q ? CountWidth'(1) : count_q),
      .in_operation_i(operation_q),
      .in_datatype_i (datatype_q),
      .in_head_i     (flit_q == '0),
      .in_bytes_i    (bytes_q <= passed ? 6'd0 : left > 12'(most) ? most : left[5:0]),
      .in_operands_i (operands),
      .in_tag_i      (entering),
      .out_valid_o   (result_valid_o),
      .out_data_o    (result_data_o),
      .out_tag_o     (leaving)
  );

  assign result_last_o = leaving.last;
  assign result_tag_o  = leaving.tag;

  // --- Queues

  logic [Outputs-1:0][TagBits+255:0] words;

  tw_fork #(
      .Outputs(Outputs),
      .Width(TagBits + 256),
      .Words(Words)
  ) queues (
      .clk_i,
      .rst_i,
      .take_i      (begin_valid_i ? begin_outputs_i : '0),
      .take_words_i(RoomWidth'(1) << begin_size_i),
      .room_o,
      .in_valid_i  (result_valid_o ? leaving.outputs : '0),
      .in_data_i   ({leaving.tag, result_data_o}),
      .in_last_i   (leaving.last),
      .in_held_i   (leaving.paced),
      .out_valid_o,
      .out_data_o  (words),
      .out_last_o,
      .out_ready_i,
      .out_again_i
  );

  for (genvar o = 0; o < Outputs; o++) begin : output_
    assign {out_tag_o[o], out_data_o[o]} = words[o];
  end

`ifndef SYNTHESIS
  logic reading_q;
  always_ff @(posedge clk_i) begin
    reading_q <= !rst_i && (begin_valid_i || (reading_q && !(complete && last)));
    if (!rst_i) begin
      one_flit_of_a_place : assert ((arrives & held_q) == '0);
      step_has_begun : assert (arrives == '0 || reading_q);
      one_step_at_a_time : assert (!begin_valid_i || !reading_q || (complete && last));
      no_stranger : assert ($countones(received) <= 32'(count_q) || arrives == '0);
    end
  end
`endif
endmodule
