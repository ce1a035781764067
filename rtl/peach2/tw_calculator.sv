// SPDX-License-Identifier: Apache-2.0
// The reduction calculator: reduces consecutive records that are written to it, field by field.
//
// A context accepts a number of beats, in any order, with their index in the records: each is combined with the partial sum of its
// index. There are Sums beats of partial sums, so that the adders' stages are filled with different ones; a record's fields occupy
// the first beats, repeated as often as records fit. When all beats have arrived, the partial sums of a field are combined,
// upper half with lower half, until one is left: that order is the same whenever beats arrive in the order of their addresses. Meanwhile
// the next beats go to another set of partial sums. With `tree`, all fields are combined into one in the same way, finally the
// elements of a beat. A result with kept_i is not replaced: the context's partial sums wait for it, and when both sets are
// complete, so do beats; other contexts continue.
//
// Order: of beats of one index; of the reductions of a context. Latency: from the last beat to done_valid_o Latency + 3 cycles, Sums + 2 for the copy, and for each
// halving its beats plus Latency + 3, then the record's beats. Throughput: a beat per cycle if beats of one index are Latency + 3
// cycles apart, and reductions are as long as the steps after the last beat. Storage: two sets of Sums beats for each context, two more
// for the last steps, in memories that can be block RAM; results. All outputs are registers, or that of a memory. Critical path: from the beat at the head through the busy flags to the memory's enables, or that
// of a lane.
module tw_calculator
  import tw_spec_pkg::*;
  import tw_reduce_pkg::*;
#(
    parameter int unsigned Bytes = 16,  /// of a beat: 16 or 32
    parameter int unsigned Contexts = 4,  /// a power of two, at least 2
    parameter int unsigned Sums = 16,  /// beats of partial sums, a power of two, at least 2
    parameter int unsigned Latency = 8,  /// of the lanes, in cycles
    parameter int unsigned Records = 8,  /// maximum beats of a record, a power of two, at least 2, up to Sums
    parameter pairs_t Pairs = all_pairs(),  /// supported pairs of the lanes, including the bitwise or of bytes
    localparam int unsigned Bits = 8 * Bytes,
    localparam int unsigned ContextBits = $clog2(Contexts),
    localparam int unsigned PlaceBits = $clog2(Sums),
    localparam int unsigned RecordBits = $clog2(Records),
    localparam int unsigned CountBits = 32
) (
    input logic clk_i,
    input logic rst_i,

    input logic                          setup_valid_i,      /// restarts the context
    input logic        [ContextBits-1:0] setup_context_i,
    input logic        [  CountBits-1:0] setup_beats_i,      /// of a reduction; 0: accepts none
    input operator_e                     setup_operation_i,
    input datatype_e                     setup_datatype_i,
    input logic        [            1:0] setup_record_i,     /// log2 of a record's beats
    input logic                          setup_tree_i,

    input  logic                   write_valid_i,
    output logic                   write_ready_o,
    input  logic [ContextBits-1:0] write_context_i,
    input  logic [  PlaceBits-1:0] write_place_i,    /// the lowest bits of the beat's number
    input  logic [       Bits-1:0] write_data_i,

    input  logic [ContextBits-1:0] read_context_i,
    input  logic [ RecordBits-1:0] read_beat_i,
    output logic [       Bits-1:0] read_data_o,     /// one cycle later; 0 without a result

    output logic                   done_valid_o,
    output logic [ContextBits-1:0] done_context_o,
    input  logic [   Contexts-1:0] kept_i,          /// results that are not yet read, from the cycle after done_valid_o on
    output logic                   stray_o         /// a beat for a context that accepts none was dropped
);
  if (Bytes != 16 && Bytes != 32) begin : check_bytes
    $error("tw_calculator: Bytes must be 16 or 32");
  end
  if (Sums < 2 || (Sums & (Sums - 1)) != 0 || Contexts < 2 || (Contexts & (Contexts - 1)) != 0) begin : check_powers
    $error("tw_calculator: Sums and Contexts must be powers of two, at least 2");
  end
  if (Records < 2 || Records > Sums || (Records & (Records - 1)) != 0) begin : check_records
    $error("tw_calculator: Records must be a power of two from 2 to Sums");
  end
  if (!Pairs[DatatypeByte][OperatorBor]) begin : check_pairs
    $error("tw_calculator: Pairs must have the bitwise or of bytes");
  end

  typedef struct packed {
    logic [ContextBits-1:0] of;
    logic set;
    logic [PlaceBits-1:0] place;
  } index_t;
  typedef struct packed {
    logic last;
    index_t index;
  } tag_t;
  typedef struct packed {
    logic [ContextBits-1:0] of;
    logic [PlaceBits-1:0] place;
    logic [Bits-1:0] data;
  } beat_t;
  typedef struct packed {
    logic [CountBits-1:0] beats;
    operator_e operation;
    datatype_e datatype;
    logic [1:0] record_;
    logic tree;
  } setup_t;

  setup_t [Contexts-1:0] setups_q;
  logic [Contexts-1:0][CountBits-1:0] left_q;
  logic [Contexts-1:0] set_q;
  logic [Contexts-1:0][1:0] full_q;  // a set has all its beats, and was not copied
  logic [Contexts-1:0][1:0][Sums-1:0] touched_q, busy_q;
  logic [Bits-1:0] sums_q[2*Contexts*Sums];
  logic [Bits-1:0] results_q[Contexts*Records];
  logic [Contexts*Records-1:0] stored_q;
  logic [Bits-1:0] result_q;
  logic known_q;
  assign read_data_o = known_q ? result_q : '0;

  // --- Beats into partial sums

  logic  there;
  beat_t beat;
  setup_t of_beat;
  index_t index;
  assign of_beat = setups_q[beat.of];
  assign index = '{of: beat.of, set: set_q[beat.of], place: beat.place};
  wire stray = there && of_beat.beats == 0;
  wire enters = there && !stray && !full_q[index.of][index.set] && !busy_q[index.of][index.set][index.place];
  wire last = left_q[beat.of] == CountBits'(1);

  tw_fifo #(
      .Width($bits(beat_t)),
      .Depth(2)
  ) in (
      .clk_i,
      .rst_i,
      .in_valid_i (write_valid_i),
      .in_ready_o (write_ready_o),
      .in_data_i  ({write_context_i, write_place_i, write_data_i}),
      .out_valid_o(there),
      .out_ready_i(enters || stray),
      .out_data_o (beat),
      .count_o    ()
  );

  logic read_valid_q, read_first_q, pair_valid_q;
  tag_t read_tag_q, pair_tag_q;
  operator_e read_operation_q, pair_operation_q;
  datatype_e read_datatype_q, pair_datatype_q;
  logic [Bits-1:0] read_sum_q, read_data_q, pair_sum_q, pair_data_q;
  logic summed;
  tag_t summed_tag;
  logic [255:0] sum;

  always_ff @(posedge clk_i) begin
    read_valid_q     <= !rst_i && enters;
    read_first_q     <= !touched_q[index.of][index.set][index.place];
    read_tag_q       <= '{last: last, index: index};
    read_operation_q <= of_beat.operation;
    read_datatype_q  <= of_beat.datatype;
    read_data_q      <= beat.data;
    read_sum_q       <= sums_q[index];

    // A memory's word is late in its cycle. The first beat of an index takes the same path, unchanged.
    pair_valid_q     <= !rst_i && read_valid_q;
    pair_tag_q       <= read_tag_q;
    pair_operation_q <= read_first_q ? OperatorBor : read_operation_q;
    pair_datatype_q  <= read_first_q ? DatatypeByte : read_datatype_q;
    pair_sum_q       <= read_first_q ? read_data_q : read_sum_q;
    pair_data_q      <= read_data_q;
  end
  tw_lane #(
      .Latency(Latency),
      .Pairs  (Pairs),
      .TagBits($bits(tag_t))
  ) lane (
      .clk_i,
      .rst_i,
      .in_valid_i    (pair_valid_q),
      .in_operation_i(pair_operation_q),
      .in_datatype_i (pair_datatype_q),
      .in_head_i     (1'b0),
      .in_bytes_i    (6'(Bytes)),
      .in_a_i        (256'(pair_sum_q)),
      .in_b_i        (256'(pair_data_q)),
      .in_tag_i      (pair_tag_q),
      .out_valid_o   (summed),
      .out_data_o    (sum),
      .out_tag_o     (summed_tag)
  );

  // --- Partial sums into results

  typedef enum logic [2:0] {Idle, Copy, Choose, Halve, Store} state_e;

  state_e state_q;
  logic request;
  logic [Contexts-1:0] requests;
  logic [Contexts-1:0][1:0] summed_q;  // a set has all its sums
  logic [Contexts-1:0] next_set_q;  // the next set to reduce
  logic [ContextBits-1:0] next_of;
  logic [ContextBits-1:0] of_q;
  logic which_q;
  setup_t of_fold_q;
  logic [PlaceBits:0] at_q, width_q;  // current index; beats left to combine
  logic [5:0] shift_q;  // bytes between the two elements to combine
  logic [Sums-1:0] there_q;
  logic copied_q;
  logic [PlaceBits-1:0] copied_at_q;
  logic [Bits-1:0] copied_sum_q;
  logic [Bits-1:0] folds_q[Sums];
  logic [7:0] pending_q;

  wire takes_request = state_q == Idle && request;
  wire next_which = next_set_q[next_of];
  wire [PlaceBits:0] goal = of_fold_q.tree ? (PlaceBits + 1)'(1) : (PlaceBits + 1)'(1) << of_fold_q.record_;
  wire [4:0] element = size_of(of_fold_q.datatype);
  wire elements_left = of_fold_q.tree && shift_q >= 6'(element);
  wire copied = at_q == (PlaceBits + 1)'(Sums);

  always_comb begin
    // A result of the previous cycle is not in kept_i yet.
    for (int unsigned i = 0; i < Contexts; i++)
      requests[i] = summed_q[i][next_set_q[i]] && !kept_i[i] && !(done_valid_o && done_context_o == ContextBits'(i));
  end
  tw_arbiter #(
      .Inputs(Contexts)
  ) arbiter (
      .clk_i,
      .rst_i,
      .request_i     (requests),
      .served_i      (takes_request),
      .grant_o       (),
      .winner_valid_o(request),
      .winner_index_o(next_of)
  );

  wire [PlaceBits-1:0] lower = at_q[PlaceBits-1:0];
  wire in_beat = width_q == 0;  // elements of the first beat
  wire [PlaceBits-1:0] upper = lower + width_q[PlaceBits-1:0];
  wire halves = state_q == Halve && (in_beat || there_q[upper]);
  logic half_valid_q, half_alone_q, half_in_beat_q;
  logic [PlaceBits-1:0] half_place_q;
  logic [Bits-1:0] half_a_q, half_b_q;
  logic [5:0] half_shift_q;
  wire [Bits-1:0] half_b = half_in_beat_q ? half_b_q >> {half_shift_q, 3'd0} : half_b_q;
  logic folded;
  logic [PlaceBits-1:0] folded_place;
  logic [255:0] fold;

  always_ff @(posedge clk_i) begin
    half_valid_q  <= !rst_i && halves;
    half_alone_q  <= !in_beat && !there_q[lower];
    half_in_beat_q <= in_beat;
    half_place_q  <= lower;
    half_shift_q  <= shift_q;
    half_a_q      <= folds_q[lower];
    half_b_q      <= folds_q[upper];
  end
  tw_lane #(
      .Latency(Latency),
      .Pairs  (Pairs),
      .TagBits(PlaceBits)
  ) fold_lane (
      .clk_i,
      .rst_i,
      .in_valid_i    (half_valid_q),
      .in_operation_i(half_alone_q ? OperatorBor : of_fold_q.operation),
      .in_datatype_i (half_alone_q ? DatatypeByte : of_fold_q.datatype),
      .in_head_i     (1'b0),
      .in_bytes_i    (6'(Bytes)),
      .in_a_i        (256'(half_alone_q ? half_b : half_a_q)),
      .in_b_i        (256'(half_b)),
      .in_tag_i      (half_place_q),
      .out_valid_o   (folded),
      .out_data_o    (fold),
      .out_tag_o     (folded_place)
  );

  wire stores = state_q == Store;
  wire ends = stores && at_q + 1'b1 == goal;
  logic [Bits-1:0] stored;
  always_comb begin
    stored = there_q[lower] ? folds_q[lower] : '0;
    for (int unsigned i = 0; i < Bytes; i++) if (of_fold_q.tree && 5'(i) >= element) stored[8*i+:8] = '0;
  end

  always_ff @(posedge clk_i) begin
    if (summed) sums_q[summed_tag.index] <= sum[Bits-1:0];
    copied_sum_q <= sums_q[{of_q, which_q, lower}];
    copied_q <= state_q == Copy && !copied;
    copied_at_q <= lower;
    if (copied_q) folds_q[copied_at_q] <= copied_sum_q;
    else if (folded) folds_q[folded_place] <= fold[Bits-1:0];
    if (stores) results_q[{of_q, at_q[RecordBits-1:0]}] <= stored;
    result_q <= results_q[{read_context_i, read_beat_i}];
    known_q <= !rst_i && stored_q[{read_context_i, read_beat_i}];
    if (stores) stored_q[{of_q, at_q[RecordBits-1:0]}] <= 1'b1;

    done_valid_o <= !rst_i && ends;
    done_context_o <= of_q;
    stray_o <= !rst_i && stray;
    pending_q <= pending_q + 8'(halves) - 8'(folded);

    unique case (state_q)
      Idle:
      if (request) begin
        state_q <= Copy;
        of_q <= next_of;
        which_q <= next_which;
        of_fold_q <= setups_q[next_of];
        at_q <= '0;
        there_q <= touched_q[next_of][next_which];
        width_q <= (PlaceBits + 1)'(Sums);
        shift_q <= 6'(Bytes / 2);
      end
      Copy: begin
        at_q <= at_q + 1'b1;
        if (copied) state_q <= Choose;
      end
      Choose:
      if (pending_q == 0) begin
        at_q <= '0;
        if (width_q > goal) begin
          state_q <= Halve;
          width_q <= width_q >> 1;
        end else if (elements_left) begin
          state_q <= Halve;
          width_q <= '0;
        end else begin
          state_q <= Store;
        end
      end
      Halve: begin
        at_q <= at_q + 1'b1;
        if (in_beat) begin
          shift_q <= shift_q >> 1;
          state_q <= Choose;
        end else begin
          there_q[lower] <= there_q[lower] || there_q[upper];
          if (at_q + 1'b1 == width_q) state_q <= Choose;
        end
      end
      Store: begin
        at_q <= at_q + 1'b1;
        if (ends) state_q <= Idle;
      end
      default: state_q <= Idle;
    endcase

    // --- Contexts
    if (summed) busy_q[summed_tag.index.of][summed_tag.index.set][summed_tag.index.place] <= 1'b0;
    if (enters) begin
      busy_q[index.of][index.set][index.place] <= 1'b1;
      touched_q[index.of][index.set][index.place] <= 1'b1;
      left_q[index.of] <= last ? of_beat.beats : left_q[index.of] - 1'b1;
      if (last) begin
        set_q[index.of] <= !index.set;
        full_q[index.of][index.set] <= 1'b1;
      end
    end
    if (summed && summed_tag.last) summed_q[summed_tag.index.of][summed_tag.index.set] <= 1'b1;
    if (takes_request) begin
      summed_q[next_of][next_which] <= 1'b0;
      next_set_q[next_of] <= !next_which;
    end
    if (state_q == Copy && copied) begin
      touched_q[of_q][which_q] <= '0;
      full_q[of_q][which_q] <= 1'b0;
    end
    if (setup_valid_i) begin
      setups_q[setup_context_i] <= '{
          beats: setup_beats_i,
          operation: setup_operation_i,
          datatype: setup_datatype_i,
          record_: setup_record_i,
          tree: setup_tree_i
      };
      left_q[setup_context_i] <= setup_beats_i;
      touched_q[setup_context_i] <= '0;
    end
    if (rst_i) begin
      state_q <= Idle;
      pending_q <= '0;
      set_q <= '0;
      summed_q <= '0;
      next_set_q <= '0;
      full_q <= '0;
      touched_q <= '0;
      busy_q <= '0;
      copied_q <= 1'b0;
      stored_q <= '0;
      for (int unsigned i = 0; i < Contexts; i++) setups_q[i].beats <= '0;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i && setup_valid_i) record_fits : assert (32'd1 << setup_record_i <= Records);
  end
`endif
endmodule
