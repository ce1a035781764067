// SPDX-License-Identifier: Apache-2.0
// Joins up to Inputs operands per cycle in a fixed order: two chains of lanes, and a lane that combines both
// (docs/collectives.md).
//
// The first half of n operands, rounded up, is folded from left to right, likewise the others, and the second result is
// combined into the first. Operands that enter a chain later wait in shift registers. A single operand passes
// unchanged.
//
// Order: that of the results' times. Latency: 1 + Latency times the combinations on the longest path, which are (n + 1)
// / 2 rounded down, none for one operand. Throughput: a flit of every operand per cycle, without backpressure; the user
// must not start a join that ends in the cycle of another result. Storage: Inputs - 1 lanes; for each operand except
// the first two of a chain a flit per cycle that it waits. The output is a register. Critical path: that of a lane, or
// before the output the selection between one operand and several; inside, the selection of a chain's end lies between
// two lanes.
module tw_join
  import tw_spec_pkg::*;
  import tw_reduce_pkg::*;
#(
    parameter int unsigned Inputs = 7,            /// operands, at least 2
    parameter int unsigned Latency = 14,          /// of a lane in cycles, also for user operators
    parameter pairs_t Pairs = all_pairs(),        /// as in tw_lane, like UserBytes
    parameter int unsigned TagBits = 1,
    parameter logic [2:0][31:0] UserBytes = {3{32'd8}},
    localparam int unsigned CountWidth = $clog2(Inputs + 1)
) (
    input  logic                            clk_i,
    input  logic                            rst_i,
    input  logic                            in_valid_i,
    input  logic      [     CountWidth-1:0] in_count_i,      /// operands, 1 to Inputs
    input  operator_e                       in_operation_i,
    input  datatype_e                       in_datatype_i,
    input  logic                            in_head_i,       /// the first flit of a packet
    input  logic      [                5:0] in_bytes_i,      /// bytes of the flit, up to the end of its last element
    input  logic      [Inputs-1:0][  255:0] in_operands_i,   /// in order, from 0 on
    input  logic      [        TagBits-1:0] in_tag_i,
    output logic                            out_valid_o,
    output logic      [              255:0] out_data_o,
    output logic      [        TagBits-1:0] out_tag_o
);
  if (Inputs < 2) begin : check_inputs
    $error("tw_join: Inputs must be at least 2");
  end

  // Fields that accompany a flit.
  typedef struct packed {
    logic [CountWidth-1:0] count;
    operator_e             operation;
    datatype_e             datatype;
    logic                  head;
    logic [5:0]            bytes;
    logic [TagBits-1:0]    tag;
  } token_t;

  localparam int unsigned Longest = (Inputs + 1) / 2;  // operands of a chain, at most

  function automatic logic [CountWidth-1:0] length_of(logic second, logic [CountWidth-1:0] count);
    return second ? count >> 1 : CountWidth'((32'(count) + 1) >> 1);
  endfunction

  token_t entering;
  assign entering = '{in_count_i, in_operation_i, in_datatype_i, in_head_i, in_bytes_i, in_tag_i};

  // --- The chains: data that have passed i lanes, and end there if there are no more operands

  // Ends: of the first chain, with its token; of the second one, for odd numbers of operands, one lane latency before
  // the first one's, and for even numbers.
  logic meets;
  token_t meeting;
  logic [255:0] first, second_odd, second_even;

  for (genvar c = 0; c < 2; c++) begin : chain
    localparam int unsigned Operands = c == 0 ? Longest : Inputs / 2;
    logic [Operands-1:0] valid;
    logic [Operands-1:0][255:0] data;
    token_t [Operands-1:0] token;

    for (genvar i = 0; i < Operands; i++) begin : place
      logic [255:0] operand;
      if (c == 0) begin : first_half
        assign operand = in_operands_i[i];
      end else begin : second_half
        always_comb begin
          operand = '0;
          for (int unsigned n = 2 * (i + 1); n <= Inputs; n++)
          if (32'(in_count_i) == n) operand = in_operands_i[(n+1)/2+i];
        end
      end

      if (i == 0) begin : begins
        assign valid[0] = in_valid_i && 32'(in_count_i) > c;
        assign data[0]  = operand;
        assign token[0] = entering;
      end else begin : continues
        logic [255:0] waited;
        tw_delay #(
            .Width (256),
            .Stages((i - 1) * Latency)
        ) wait_for_others (
            .clk_i,
            .in_i (operand),
            .out_o(waited)
        );
        tw_lane #(
            .Latency(Latency),
            .Pairs(Pairs),
            .TagBits($bits(token_t)),
            .UserBytes(UserBytes),
            .UserLatency({3{Latency}})
        ) lane (
            .clk_i,
            .rst_i,
            .in_valid_i    (valid[i-1] && 32'(length_of(c == 1, token[i-1].count)) > i),
            .in_operation_i(token[i-1].operation),
            .in_datatype_i (token[i-1].datatype),
            .in_head_i     (token[i-1].head),
            .in_bytes_i    (token[i-1].bytes),
            .in_a_i        (data[i-1]),
            .in_b_i        (waited),
            .in_tag_i      (token[i-1]),
            .out_valid_o   (valid[i]),
            .out_data_o    (data[i]),
            .out_tag_o     (token[i])
        );
      end
    end

    logic [Operands-1:0] ends;
    always_comb begin
      for (int unsigned i = 0; i < Operands; i++)
      ends[i] = valid[i] && token[i].count > 1 && 32'(length_of(c == 1, token[i].count)) == i + 1;
    end
    if (c == 0) begin : leads
      assign meets = ends != 0;
      always_comb begin
        first   = '0;
        meeting = '0;
        for (int unsigned i = 0; i < Operands; i++) begin
          if (ends[i]) first |= data[i];
          if (ends[i]) meeting |= token[i];
        end
      end
    end else begin : follows
      always_comb begin
        second_odd  = '0;
        second_even = '0;
        for (int unsigned i = 0; i < Operands; i++) begin
          if (ends[i] && token[i].count[0]) second_odd |= data[i];
          if (ends[i] && !token[i].count[0]) second_even |= data[i];
        end
      end
    end
  end

  // --- Combination of both chains

  logic [255:0] waited;
  tw_delay #(
      .Width (256),
      .Stages(Latency)
  ) wait_for_first (
      .clk_i,
      .in_i (second_odd),
      .out_o(waited)
  );

  logic joined;
  logic [255:0] joined_data;
  logic [TagBits-1:0] joined_tag;
  tw_lane #(
      .Latency(Latency),
      .Pairs(Pairs),
      .TagBits(TagBits),
      .UserBytes(UserBytes),
      .UserLatency({3{Latency}})
  ) last (
      .clk_i,
      .rst_i,
      .in_valid_i    (meets),
      .in_operation_i(meeting.operation),
      .in_datatype_i (meeting.datatype),
      .in_head_i     (meeting.head),
      .in_bytes_i    (meeting.bytes),
      .in_a_i        (first),
      .in_b_i        (meeting.count[0] ? waited : second_even),
      .in_tag_i      (meeting.tag),
      .out_valid_o   (joined),
      .out_data_o    (joined_data),
      .out_tag_o     (joined_tag)
  );

  wire passes = in_valid_i && in_count_i == 1;

  always_ff @(posedge clk_i) begin
    out_valid_o <= !rst_i && (passes || joined);
    out_data_o  <= joined ? joined_data : in_operands_i[0];
    out_tag_o   <= joined ? joined_tag : in_tag_i;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      count_in_range : assert (!in_valid_i || (in_count_i > 0 && 32'(in_count_i) < Inputs + 1));
      one_result : assert (!(passes && joined));
    end
  end
`endif
endmodule
