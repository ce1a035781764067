// SPDX-License-Identifier: Apache-2.0
// min, max, minloc and maxloc of the elements of two flits: each element of the result is one of the two, as a whole.
//
// NaN wins, and becomes canonical; -0 is smaller than +0. Of pairs with equal values (-0 equals +0) the lower index
// wins, among indices of floating type NaN last; at equal index the value decides, with -0 before +0. Unused bytes of a
// pair become zero.
//
// Order: kept. Latency: Stages cycles. Throughput: a flit per cycle. Storage: two flits per stage. Critical path: a
// comparison of 64 bits, a carry chain.
module tw_order
  import tw_spec_pkg::*;
  import tw_reduce_pkg::*;
#(
    parameter pairs_t Pairs = all_pairs(),  /// others cost nothing
    parameter int unsigned Stages = 3  /// 0: no register
) (
    input  logic         clk_i,
    input  operator_e    operation_i,
    input  datatype_e    datatype_i,
    input  logic         head_i,       /// elements of 16 bytes start 8 bytes higher
    input  logic [255:0] a_i,
    input  logic [255:0] b_i,
    output logic [255:0] result_o
);
  localparam int unsigned Steps = 3;

  // Composition of an element. Pairs that are not built never occur.
  typedef struct packed {
    logic       pair8;  // a pair of 8 bytes
    logic       pair16;
    logic [3:0] value;       // one-hot: the value has 1, 2, 4, 8 bytes
    logic       value_float;
    logic       value_signed;
    logic       index_float;
    logic       descending;
    logic       head;
  } form_t;

  localparam logic [15:0] Operators = 16'(1) << OperatorMin | 16'(1) << OperatorMax | 16'(1) << OperatorMinloc
      | 16'(1) << OperatorMaxloc;

  function automatic form_t form_of(operator_e operation, datatype_e datatype, logic head);
    form_t form;
    form = '0;
    form.head = head;
    form.descending = operation == OperatorMax || operation == OperatorMaxloc;
    unique case (datatype)
      DatatypePairInt32Int32: {form.pair8, form.pair16, form.value, form.value_signed} = {2'b10, 4'b0100, 1'b1};
      DatatypePairFloat32Int32: {form.pair8, form.pair16, form.value, form.value_float} = {2'b10, 4'b0100, 1'b1};
      DatatypePairFloat64Int32: {form.pair8, form.pair16, form.value, form.value_float} = {2'b01, 4'b1000, 1'b1};
      DatatypePairInt64Int32: {form.pair8, form.pair16, form.value, form.value_signed} = {2'b01, 4'b1000, 1'b1};
      DatatypePairInt16Int32: {form.pair8, form.pair16, form.value, form.value_signed} = {2'b10, 4'b0010, 1'b1};
      DatatypePairFloat32Float32: {form.pair8, form.pair16, form.value, form.value_float} = {2'b10, 4'b0100, 1'b1};
      DatatypePairFloat64Float64: {form.pair8, form.pair16, form.value, form.value_float} = {2'b01, 4'b1000, 1'b1};
      default: begin
        form.value = size_of(datatype)[3:0];
        form.value_float = datatype inside {DatatypeFloat16, DatatypeFloat32, DatatypeFloat64};
        form.value_signed = is_signed(datatype);
      end
    endcase
    form.index_float = datatype inside {DatatypePairFloat32Float32, DatatypePairFloat64Float64};
    return (Pairs[datatype] & Operators) != 0 ? form : '0;
  endfunction

  typedef struct packed {
    logic b_first;
    logic identical;
    logic a_nan;
    logic b_nan;
  } order_t;
  typedef struct packed {
    order_t order;
    logic   zeros;
  } compared_t;

  // Fields of 1, 2, 4 and 8 bytes in a word of 8 bytes: 8, 4, 2 and 1 of them, from these indices on.
  localparam int unsigned Fields = 15;
  localparam int unsigned Field1 = 0;
  localparam int unsigned Field2 = 8;
  localparam int unsigned Field4 = 12;
  localparam int unsigned Field8 = 14;

  function automatic int unsigned first_field(int unsigned level);
    return level == 0 ? Field1 : level == 1 ? Field2 : level == 2 ? Field4 : Field8;
  endfunction

  function automatic logic [3:0] used_levels();
    used_levels = '0;
    for (int unsigned t = 0; t < 32; t++)
    if ((Pairs[t] & Operators) != 0)
      unique case (datatype_e'(5'(t)))
        DatatypePairFloat64Float64: used_levels |= 4'b1000;
        DatatypePairFloat64Int32, DatatypePairInt64Int32: used_levels |= 4'b1100;
        DatatypePairInt32Int32, DatatypePairFloat32Int32, DatatypePairFloat32Float32: used_levels |= 4'b0100;
        DatatypePairInt16Int32: used_levels |= 4'b0110;
        default: used_levels |= size_of(datatype_e'(5'(t))) [3:0];
      endcase
  endfunction
  localparam logic [3:0] Used = used_levels();

  // True if this word of a pair of 16 bytes is the index.
  function automatic logic index_word(logic pair16, logic head, int unsigned word);
    return pair16 && (head ? word == 2 : word % 2 == 1);
  endfunction

  // True if b is selected from a pair.
  function automatic logic locate(order_t value, logic zeros, order_t index, logic descending);
    if (value.a_nan != value.b_nan) return value.b_nan;
    if (!value.a_nan && !value.identical && !zeros) return value.b_first ^ descending;
    if (index.a_nan != index.b_nan) return index.a_nan;
    if (!index.a_nan && !index.identical) return index.b_first;
    return !value.a_nan && (value.b_first ^ descending);
  endfunction

  // 0: comparison of all fields.
  form_t form, form_0_q;
  compared_t [3:0][Fields-1:0] compared, compared_q;
  logic [255:0] a_0_q, b_0_q;
  assign form = form_of(operation_i, datatype_i, head_i);
  for (genvar w = 0; w < 4; w++) begin : words
    for (genvar level = 0; level < 4; level++) begin : levels
      for (genvar f = 0; f < 8 >> level; f++) begin : fields
        localparam int unsigned Bits = 8 << level;
        localparam int unsigned E = level == 0 ? 0 : exponent_bits(level - 1);
        if (Used[level]) begin : used
          logic is_index;
          assign is_index = index_word(form.pair16, form.head, w) || (form.pair8 && level == 2 && f == 1);
          tw_compare #(
              .ExponentBits(E),
              .FractionBits(Bits - 1 - E)
          ) compare (
              .float_i    (is_index ? form.index_float : form.value_float),
              .signed_i   (is_index || form.value_signed),
              .a_i        (a_i[64*w+Bits*f+:Bits]),
              .b_i        (b_i[64*w+Bits*f+:Bits]),
              .b_first_o  (compared[w][first_field(level)+f].order.b_first),
              .identical_o(compared[w][first_field(level)+f].order.identical),
              .zeros_o    (compared[w][first_field(level)+f].zeros),
              .a_nan_o    (compared[w][first_field(level)+f].order.a_nan),
              .b_nan_o    (compared[w][first_field(level)+f].order.b_nan)
          );
        end else begin : unused_field
          assign compared[w][first_field(level)+f] = '0;
        end
      end
    end
  end
  tw_delay #(
      .Width ($bits(form_t) + $bits(compared) + 512),
      .Stages(registers(0, Steps, Stages))
  ) after_compare (
      .clk_i,
      .in_i ({form, compared, a_i, b_i}),
      .out_o({form_0_q, compared_q, a_0_q, b_0_q})
  );

  // 1: bytes taken from b, and fields that are NaN. A pair of 16 bytes in pair[w] starts in word w.
  form_t form_1_q;
  logic [3:0][7:0] take, take_q;
  logic [3:0][6:0] nan, nan_q;  // fields of 8 bytes, 4, and 2
  logic [255:0] a_1_q, b_1_q;
  logic [3:0] pair;
  always_comb begin
    pair[3] = 1'b0;
    for (int unsigned w = 0; w < 3; w++)
    pair[w] = locate(
        compared_q[w][Field8].order, compared_q[w][Field8].zeros,
        form_0_q.index_float ? compared_q[w+1][Field8].order : compared_q[w+1][Field4].order, form_0_q.descending);
  end
  for (genvar w = 0; w < 4; w++) begin : decisions
    order_t [Fields-1:0] field;
    logic value_zeros;
    for (genvar f = 0; f < Fields; f++) begin : orders
      assign field[f] = compared_q[w][f].order;
    end
    // For pairs of 8 bytes.
    assign value_zeros = form_0_q.value[2] && compared_q[w][Field4].zeros;
    always_comb begin
      nan[w] = '0;
      if (form_0_q.pair16) begin
        if (index_word(form_0_q.pair16, form_0_q.head, w)) begin
          take[w]   = {8{w > 0 && pair[(w+3)%4]}};
          nan[w][6] = form_0_q.index_float && (take[w][0] ? field[Field8].b_nan : field[Field8].a_nan);
        end else begin
          take[w]   = {8{pair[w]}};
          nan[w][6] = field[Field8].a_nan || field[Field8].b_nan;
        end
      end else if (form_0_q.pair8) begin
        take[w] = {
          8{locate(
              form_0_q.value[1] ? field[Field2] : field[Field4], value_zeros, field[Field4+1], form_0_q.descending)}
        };
        nan[w][4] = form_0_q.value[2] && (field[Field4].a_nan || field[Field4].b_nan);
        nan[w][5] = take[w][0] ? field[Field4+1].b_nan : field[Field4+1].a_nan;
      end else begin
        for (int unsigned i = 0; i < 8; i++)
        take[w][i] = form_0_q.descending ^ ((form_0_q.value[0] && field[Field1+i].b_first)
            || (form_0_q.value[1] && field[Field2+i/2].b_first)
            || (form_0_q.value[2] && field[Field4+i/4].b_first) || (form_0_q.value[3] && field[Field8].b_first));
        for (int unsigned f = 0; f < 7; f++)
        nan[w][f] = form_0_q.value[f<4?1 : f<6?2 : 3] && (field[Field2+f].a_nan || field[Field2+f].b_nan);
      end
    end
  end
  tw_delay #(
      .Width ($bits(form_t) + 32 + 28 + 512),
      .Stages(registers(1, Steps, Stages))
  ) after_decision (
      .clk_i,
      .in_i ({form_0_q, take, nan, a_0_q, b_0_q}),
      .out_o({form_1_q, take_q, nan_q, a_1_q, b_1_q})
  );

  // 2: selection.
  logic [255:0] taken;
  always_comb begin
    for (int unsigned i = 0; i < 32; i++) taken[8*i+:8] = take_q[i/8][i%8] ? b_1_q[8*i+:8] : a_1_q[8*i+:8];
    for (int unsigned w = 0; w < 4; w++) begin
      for (int unsigned f = 0; f < 4; f++) if (nan_q[w][f]) taken[64*w+16*f+:16] = 16'h7e00;
      for (int unsigned f = 0; f < 2; f++) if (nan_q[w][4+f]) taken[64*w+32*f+:32] = 32'h7fc0_0000;
      if (nan_q[w][6]) taken[64*w+:64] = 64'h7ff8_0000_0000_0000;
      if (form_1_q.pair8 && form_1_q.value[1]) taken[64*w+16+:16] = '0;
      if (index_word(form_1_q.pair16, form_1_q.head, w) && !form_1_q.index_float) taken[64*w+32+:32] = '0;
    end
  end
  tw_delay #(
      .Width (256),
      .Stages(registers(2, Steps, Stages))
  ) after_choice (
      .clk_i,
      .in_i (taken),
      .out_o(result_o)
  );

  wire unused = &{1'b0, form_1_q, compared_q};
endmodule
