// SPDX-License-Identifier: Apache-2.0
// Combines a pair of flits per cycle: applies an operator to their elements (docs/arithmetic.md).
//
// The elements of a flit start at byte 0, in a packet's first flit at byte 8, behind the header; `bytes` gives their
// end. The header is that of a; bytes behind the elements become zero.
//
// Order: kept among operators of one latency. Latency: Latency cycles; user operators have their own. Throughput: a
// flit per cycle, without backpressure; if latencies differ, results must not collide. Storage: the stages of the
// units, and a shift register for accompanying fields. The output is a register. Critical path: before it, the
// selection of the unit and the enable of every element; otherwise that of a unit.
module tw_lane
  import tw_spec_pkg::*;
  import tw_reduce_pkg::*;
#(
    parameter int unsigned Latency = 14,  /// cycles, at least 1
    /// Pairs to build, bit [datatype][operator]; others cost nothing, and must not occur.
    parameter pairs_t Pairs = all_pairs(),
    parameter int unsigned TagBits = 1,  /// width of a flit's tag, at least 1
    /// User operators: bytes of an element (1, 2, 4, 8 or 16), and latency in cycles, at least 1.
    parameter logic [2:0][31:0] UserBytes = {3{32'd8}},
    parameter logic [2:0][31:0] UserLatency = {3{32'd1}}
) (
    input  logic                     clk_i,
    input  logic                     rst_i,
    input  logic                     in_valid_i,
    input  operator_e                in_operation_i,
    input  datatype_e                in_datatype_i,
    input  logic                     in_head_i,       /// the first flit of a packet
    input  logic      [         5:0] in_bytes_i,      /// bytes of the flit, up to the end of its last element
    input  logic      [       255:0] in_a_i,
    input  logic      [       255:0] in_b_i,
    input  logic      [ TagBits-1:0] in_tag_i,
    output logic                     out_valid_o,
    output logic      [       255:0] out_data_o,
    output logic      [ TagBits-1:0] out_tag_o
);
  // The lane's own operators, then the user's: each path through the lane has its latency.
  localparam int unsigned Paths = 4;

  function automatic logic path_built(int unsigned path);
    path_built = 1'b0;
    for (int unsigned t = 0; t < 32; t++)
    path_built |= path == 0 ? Pairs[t][OperatorMaxloc:0] != 0 : Pairs[t][4'(OperatorMaxloc)+4'(path)];
  endfunction
  // Registers before the output register.
  function automatic int unsigned path_stages(int unsigned path);
    path_stages = path == 0 ? Latency : UserLatency[path-1];
    if (path_stages > 0) path_stages--;
  endfunction
  function automatic int unsigned smallest_element();
    smallest_element = 16;
    for (int unsigned t = 0; t < 32; t++)
    for (int unsigned o = 0; o < 16; o++)
    if (Pairs[t][o] && 32'(size_of(datatype_e'(5'(t)))) < smallest_element)
      smallest_element = 32'(size_of(datatype_e'(5'(t))));
  endfunction
  // Flits end at multiples of this.
  localparam int unsigned Granule = smallest_element() < 8 ? smallest_element() : 8;

  if (Latency < 1 || UserLatency[0] < 1 || UserLatency[1] < 1 || UserLatency[2] < 1) begin : check_latency
    $error("tw_lane: Latency must be at least 1, and every UserLatency too");
  end
  if (Pairs == '0) begin : check_pairs
    $error("tw_lane: Pairs must name one at least");
  end
  for (genvar t = 0; t < 32; t++) begin : check_datatypes
    for (genvar o = 0; o < 13; o++) begin : check_operators
      if (Pairs[t][o] && !supported(operator_e'(4'(o)), datatype_e'(5'(t)))) begin : check_pair
        $error("tw_lane: Pairs has one that the specification does not support");
      end
    end
    for (genvar u = 0; u < 3; u++) begin : check_user
      if (Pairs[t][13+u] && 32'(size_of(datatype_e'(5'(t)))) != UserBytes[u]) begin : check_size
        $error("tw_lane: Pairs gives a user's operator a type of another size than UserBytes");
      end
    end
  end

  // Each path: its units, accompanying fields, and the position of the elements in the result.
  logic [Paths-1:0] ends;
  logic [Paths-1:0][255:0] data;
  logic [Paths-1:0][TagBits-1:0] tags;
  for (genvar path = 0; path < Paths; path++) begin : paths
    if (path_built(path)) begin : built
      localparam int unsigned Stages = path_stages(path);
      logic [255:0] raw;
      logic enters, head;
      logic [5:0] bytes;
      logic [63:0] header;

      if (path == 0) begin : own
        assign enters = in_valid_i && in_operation_i < OperatorUser0;
        tw_lane_units #(
            .Pairs (Pairs),
            .Stages(Stages)
        ) units (
            .clk_i,
            .operation_i(in_operation_i),
            .datatype_i (in_datatype_i),
            .head_i     (in_head_i),
            .a_i        (in_a_i),
            .b_i        (in_b_i),
            .result_o   (raw)
        );
      end else begin : user
        localparam int unsigned Bits = 8 * UserBytes[path-1];
        // In a first flit, elements of 16 bytes are moved down to an even word, and back.
        logic [255:0] a, b, result;
        assign enters = in_valid_i && in_operation_i == operator_e'(4'(12 + path));
        assign a = in_head_i && Bits == 128 ? {64'd0, in_a_i[255:64]} : in_a_i;
        assign b = in_head_i && Bits == 128 ? {64'd0, in_b_i[255:64]} : in_b_i;
        assign raw = head && Bits == 128 ? {result[191:0], 64'd0} : result;
        for (genvar i = 0; i < 256 / Bits; i++) begin : elements
          tw_user_operator #(
              .Index (path - 1),
              .Bits  (Bits),
              .Stages(Stages)
          ) operator (
              .clk_i,
              .a_i     (a[Bits*i+:Bits]),
              .b_i     (b[Bits*i+:Bits]),
              .result_o(result[Bits*i+:Bits])
          );
        end
      end

      if (Stages == 0) begin : at_once
        assign ends[path] = enters;
      end else begin : later
        logic [Stages-1:0] valid_q;
        always_ff @(posedge clk_i) valid_q <= rst_i ? '0 : Stages'({valid_q, enters});
        assign ends[path] = valid_q[Stages-1];
      end
      tw_delay #(
          .Width (1 + 6 + 64 + TagBits),
          .Stages(Stages)
      ) along (
          .clk_i,
          .in_i ({in_head_i, in_bytes_i, in_a_i[63:0], in_tag_i}),
          .out_o({head, bytes, header, tags[path]})
      );
      always_comb begin
        for (int unsigned i = 0; i < 32; i++)
        data[path][8*i+:8] = bytes > 6'(i / Granule * Granule) ? raw[8*i+:8] : 8'd0;
        if (head) data[path][63:0] = header;
      end
    end else begin : none
      assign {ends[path], data[path], tags[path]} = '0;
    end
  end

  logic [255:0] data_d;
  logic [TagBits-1:0] tag_d;
  always_comb begin
    data_d = '0;
    tag_d  = '0;
    for (int unsigned path = 0; path < Paths; path++)
    if (ends[path]) begin
      data_d |= data[path];
      tag_d |= tags[path];
    end
  end
  always_ff @(posedge clk_i) begin
    out_valid_o <= !rst_i && ends != 0;
    out_data_o  <= data_d;
    out_tag_o   <= tag_d;
  end

`ifndef SYNTHESIS
  logic [15:0] built_for_type;
  assign built_for_type = Pairs[in_datatype_i];
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      is_built : assert (!in_valid_i || built_for_type[in_operation_i]);
      one_result : assert ((ends & (ends - Paths'(1))) == 0);
    end
  end
`endif
endmodule
