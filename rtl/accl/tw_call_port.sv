// SPDX-License-Identifier: Apache-2.0
// Accepts calls: reads the 15 words of each, then its communicator, arithmetic configuration and tuning from the exchange memory, and loads the
// registers of its program. A call that the engine cannot execute runs the program `nop`, and has a return code.
//
// Not checked: whether memory was allocated, and whether all ranks of a communicator make the same call. A communicator is known if it was set at the call's address in the
// exchange memory. call_o is offered after the call's registers have been accepted, and starts the call.
//
// Order: calls stay in order; a call's registers come before it, those of the next call after it. Latency: 28 cycles from its first accepted word to
// call_valid_o, if words and answers of the exchange memory (latency 3) come without gaps. Divisions are done by counting, and add to this: where short blocks may go directly
// to a rank, 2 cycles and one for each receive buffer that every other rank may fill; for a broadcast of many parts, 2 cycles, one for each buffer that a part fills, and one for each
// part that fits into a quarter of the buffers; if fewer than two parts fit, one for each 8 buffers, at least one. Throughput: one outstanding call. Storage: a call's words and
// the answers to its reads; an address and a count for each communicator. Outputs depend only on registers. Critical path: from the count of loaded registers through
// the next register to that count.
module tw_call_port
  import tw_spec_pkg::*;
  import tw_accl_programs_pkg::*;
  import tw_sequencer_pkg::*;
  import tw_call_pkg::*;
#(
    parameter int unsigned Communicators = 8,     /// a power of two, 2 to 16
    parameter int unsigned Ranks         = 64,    /// of a communicator, at most 64
    parameter bit          Arithmetic    = 1'b1,  /// the board can combine
    parameter bit          Conversions   = 1'b1,  /// the board can convert
    localparam int unsigned IndexBits    = $clog2(Communicators)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                 set_valid_i,    /// sets a communicator
    input logic [IndexBits-1:0] set_index_i,
    input logic                 set_known_i,
    input logic [         12:0] set_at_i,       /// its address in the exchange memory
    input logic                 clear_i,        /// resets the counts of collectives; between two calls
    input logic [          6:0] buffers_i,      /// receive buffers, at most 64; constant during a call
    input logic [          9:0] grains_i,       /// 512-byte units of a receive buffer, at most 512

    input  logic        word_valid_i,   /// words of calls
    output logic        word_ready_o,
    input  logic [31:0] word_data_i,
    input  logic [ 1:0] word_port_i,    /// the port that the call comes from
    input  logic        number_valid_i, /// a free call number
    output logic        number_ready_o,
    input  logic [ 7:0] number_data_i,

    output logic        access_valid_o,  /// reads of the exchange memory, as in tw_exchange_ports
    input  logic        access_ready_i,
    output logic [31:0] access_at_o,
    input  logic        answer_valid_i,
    input  logic [31:0] answer_data_i,   /// 0 if the word does not exist

    output logic            load_valid_o,     /// as in tw_sequencer; none starts a call
    input  logic            load_ready_i,
    output logic      [7:0] load_call_o,
    output register_e       load_register_o,
    output value_t          load_data_o,

    output logic  call_valid_o,
    input  logic  call_ready_i,
    output call_t call_o
);
  if (Communicators < 2 || Communicators > 16 || (Communicators & (Communicators - 1)) != 0) begin : check_communicators
    $error("tw_call_port: Communicators must be a power of two, 2 to 16");
  end
  if (Ranks > 64) begin : check_ranks
    $error("tw_call_port: Ranks must be at most 64");
  end

  localparam logic [12:0] GatherFlat = 13'h1FC8;
  localparam logic [12:0] BroadcastFlat = 13'h1FCC;
  localparam logic [12:0] ReduceFlat = 13'h1FD4;
  localparam logic [12:0] Spare = 13'h1FD8;
  localparam logic [3:0] Words = 4'd15;  // of a call
  localparam logic [3:0] Reads = 4'd11;
  localparam logic [4:0] Loads = 5'd24;

  typedef logic [IndexBits-1:0] index_t;
  typedef logic [1:0] size_t;  // log2 of an element's bytes
  typedef enum logic [3:0] {
    Collect,  // words and answers arrive
    Second,
    Third,
    Decide,
    Room,  // counts the receive buffers that each other rank may fill
    Compare,
    Least,  // counts the receive buffers that a part fills
    Ahead,  // counts the parts that fit
    Ready
  } plan_e;

  plan_e plan_q;
  wire done = call_valid_o && call_ready_i;

  // Words of the call.
  logic [3:0] words_q;
  logic [31:0] scenario_q, count_q, communicator_q, root_q, function_q, tag_q, arithmetic_q;
  logic [3:0] compression_q;
  logic [1:0] stream_q;
  logic [2:0] host_q;
  logic [2:0][63:0] at_q;
  logic [1:0] port_q;
  logic compresses_q;
  wire scenario_e scenario = scenario_e'(scenario_q[7:0]);

  assign word_ready_o = words_q != Words;

  always_ff @(posedge clk_i) begin
    if (word_valid_i && word_ready_o)
      unique case (words_q)
        4'd0: begin
          scenario_q <= word_data_i;
          port_q <= word_port_i;
        end
        4'd1: count_q <= word_data_i;
        4'd2: communicator_q <= word_data_i;
        4'd3: root_q <= word_data_i;
        4'd4: function_q <= word_data_i;
        4'd5: tag_q <= word_data_i;
        4'd6: arithmetic_q <= word_data_i;
        4'd7: begin
          compression_q <= word_data_i[3:0];
          compresses_q  <= word_data_i != 0;
        end
        4'd8: {host_q, stream_q} <= {word_data_i[10:8], word_data_i[1:0]};
        4'd9: at_q[0][31:0] <= word_data_i;
        4'd10: at_q[0][63:32] <= word_data_i;
        4'd11: at_q[1][31:0] <= word_data_i;
        4'd12: at_q[1][63:32] <= word_data_i;
        4'd13: at_q[2][31:0] <= word_data_i;
        default: at_q[2][63:32] <= word_data_i;
      endcase
    if (rst_i || done) words_q <= '0;
    else if (word_valid_i && word_ready_o) words_q <= words_q + 4'd1;
  end

  // Reads of the exchange memory, each as soon as its address is known.
  logic [3:0] reads_q, answers_q;
  logic access_q;
  logic [13:0] access_at_q, function_at_q, base;
  logic [12:0] offset;
  wire readable = reads_q < 4'd4 ? words_q > 4'd2 : reads_q != Reads && words_q > 4'd6;
  wire access_free = !access_q || access_ready_i;

  assign access_valid_o = access_q;
  assign access_at_o = 32'(access_at_q);

  always_comb begin
    base = '0;
    unique case (reads_q)
      4'd0, 4'd1: base = 14'(communicator_q[12:0]);
      4'd4, 4'd5, 4'd6, 4'd7: base = 14'(arithmetic_q[12:0]);
      4'd8: base = function_at_q;
      default: ;
    endcase
    unique case (reads_q)
      4'd0, 4'd4: offset = 13'd0;
      4'd1, 4'd5: offset = 13'd4;
      4'd2: offset = Spare;
      4'd3: offset = Spare + 13'd4;
      4'd6: offset = 13'd20;
      4'd7: offset = 13'd24;
      4'd8: offset = 13'd28;
      4'd9: offset = scenario inside {CallReduce, CallBcast} ? ReduceFlat : GatherFlat;
      default: offset = BroadcastFlat;
    endcase
  end

  always_ff @(posedge clk_i) begin
    function_at_q <= 14'(arithmetic_q[12:0]) + 14'({function_q[4:0], 2'b0});
    if (access_free) access_at_q <= base + 14'(offset);
    if (rst_i) begin
      access_q  <= 1'b0;
      reads_q   <= '0;
      answers_q <= '0;
    end else begin
      if (access_free) access_q <= readable;
      if (done) reads_q <= '0;
      else if (access_free && readable) reads_q <= reads_q + 4'd1;
      if (done) answers_q <= '0;
      else if (answer_valid_i) answers_q <= answers_q + 4'd1;
    end
  end

  // Answers.
  logic [6:0] size_q, rank_q, few_q;
  logic size_fits_q, rank_fits_q, few_fits_q, functions_fit_q, unit_fits_q, in_compressed_q;
  logic bytes_fit_q, compressed_fit_q;
  size_t bytes_q, compressed_bytes_q;
  logic [5:0] functions_q;
  logic [4:0] unit_q;
  logic [47:0] spare_q;
  logic [31:0] tuning_q;
  wire answer_fits = answer_data_i[31:7] == 0;
  wire answer_is_size = answer_data_i[31:4] == 0 && answer_data_i[3:0] inside {4'd1, 4'd2, 4'd4, 4'd8};
  wire size_t answer_size = {answer_data_i[3] || answer_data_i[2], answer_data_i[3] || answer_data_i[1]};

  always_ff @(posedge clk_i)
    if (answer_valid_i)
      unique case (answers_q)
        4'd0: {size_fits_q, size_q} <= {answer_fits, answer_data_i[6:0]};
        4'd1: {rank_fits_q, rank_q} <= {answer_fits, answer_data_i[6:0]};
        4'd2: spare_q[31:0] <= answer_data_i;
        4'd3: spare_q[47:32] <= answer_data_i[15:0];
        4'd4: {bytes_fit_q, bytes_q} <= {answer_is_size, answer_size};
        4'd5: {compressed_fit_q, compressed_bytes_q} <= {answer_is_size, answer_size};
        4'd6: begin
          functions_fit_q <= answer_fits && (answer_data_i[6:5] == 0 || answer_data_i[6:0] == 7'd32);
          functions_q <= answer_data_i[5:0];
        end
        4'd7: in_compressed_q <= answer_data_i != 0;
        4'd8: {unit_fits_q, unit_q} <= {answer_data_i[31:5] == 0 && answer_data_i[4:3] != 2'b11, answer_data_i[4:0]};
        4'd9: tuning_q <= answer_data_i;
        default: {few_fits_q, few_q} <= {answer_fits, answer_data_i[6:0]};
      endcase

  // Derived from words and answers one cycle later: the communicator,
  logic [Communicators-1:0] known_q, hits_q;
  logic [Communicators-1:0][12:0] known_at_q;
  logic [Communicators-1:0][31:0] collectives_q;
  index_t index, index_q;
  logic communicator_fits_q, member_q, in_range_q, hit_q, found_q, root_fits_q, is_root_q, is_few_q;
  logic [10:0] members_bytes_q;
  logic [13:0] members_end_q;
  logic [6:0] next_q, prev_q;
  logic [31:0] collective_q;

  always_comb begin
    index = '0;
    for (int unsigned i = 0; i < Communicators; i++) if (hits_q[i]) index |= index_t'(i);
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Communicators; i++) hits_q[i] <= known_q[i] && known_at_q[i] == communicator_q[12:0];
    communicator_fits_q <= communicator_q[31:13] == 0 && communicator_q[12:3] != 0 && communicator_q[1:0] == 0;
    member_q <= rank_fits_q && size_fits_q && rank_q < size_q;
    in_range_q <= size_q != 0 && 32'(size_q) <= Ranks;
    members_bytes_q <= {size_q, 4'd0} + 11'({size_q, 3'd0});
    next_q <= rank_q + 7'd1 == size_q ? '0 : rank_q + 7'd1;
    prev_q <= rank_q != 0 ? rank_q - 7'd1 : size_q != 0 ? size_q - 7'd1 : '0;
    root_fits_q <= root_q[31:7] == 0 && root_q[6:0] < size_q;
    is_root_q <= root_q[31:7] == 0 && root_q[6:0] == rank_q;
    is_few_q <= !few_fits_q || size_q <= few_q;
    index_q <= index;
    hit_q <= hits_q != 0;
    members_end_q <= 14'(communicator_q[12:0]) + 14'(members_bytes_q);
    found_q <= hit_q && communicator_fits_q && member_q && in_range_q && members_end_q <= 14'h1FF8;
  end

  // sizes and arithmetic of the elements,
  logic exists_q, remote_q, collects_q, rooted_q, combines_q, empty_q, plain_q;
  logic [2:0] uses_q, wide_q;
  logic [1:0] streams_not_q;
  logic arithmetic_fits_q, table_within_q, has_function_q, converts_q, fits_unit_q, keeps_spare_q;
  logic [13:0] table_end_q;
  size_t x_size_q, y_size_q, z_size_q, wire_size_q, combined_size_q;
  unit_t found_unit_q;
  wire stored = arithmetic_fits_q && table_within_q;
  wire plain = empty_q || !stored;

  always_ff @(posedge clk_i) begin
    exists_q <= scenario_q[31:8] == 0 && (scenario_q[7:0] <= CallAlltoall || scenario_q[7:0] == CallNop);
    remote_q <= !is_local(scenario);
    collects_q <= exists_q && remote_q && !(scenario inside {CallSend, CallRecv});
    rooted_q <= is_rooted(scenario);
    combines_q <= combines(scenario);
    empty_q <= count_q == 0 || scenario inside {CallConfig, CallNop, CallBarrier};
    uses_q <= uses(scenario, is_root_q);
    streams_not_q <= stream_q & ~can_stream(scenario);
    for (int unsigned i = 0; i < 3; i++) wide_q[i] <= at_q[i][63:48] != 0;
    arithmetic_fits_q <= arithmetic_q[31:13] == 0 && arithmetic_q[12:3] != 0 && arithmetic_q[1:0] == 0
        && bytes_fit_q && compressed_fit_q && functions_fit_q;
    table_end_q <= 14'(arithmetic_q[12:0]) + 14'({functions_q, 2'b0});
    table_within_q <= table_end_q <= 14'h1FE4;
    plain_q <= plain;
    x_size_q <= plain ? '0 : compression_q[0] ? compressed_bytes_q : bytes_q;
    y_size_q <= plain ? '0 : compression_q[1] && !keeps_spare_q ? compressed_bytes_q : bytes_q;
    z_size_q <= plain ? '0 : compression_q[2] ? compressed_bytes_q : bytes_q;
    wire_size_q <= plain ? '0 : compression_q[3] ? compressed_bytes_q : bytes_q;
    combined_size_q <= plain ? '0 : in_compressed_q ? compressed_bytes_q : bytes_q;
    converts_q <= bytes_q == compressed_bytes_q || {bytes_q, compressed_bytes_q} inside {4'b1001, 4'b0110};
    has_function_q <= function_q[31:5] == 0 && 6'(function_q[4:0]) < functions_q && unit_fits_q;
    found_unit_q <= unit_of(unit_q);
    fits_unit_q <= has_function_q && !plain_q && found_unit_q.size == combined_size_q;
  end

  // and the routes of blocks. A part of a broadcast has part_q * 64 elements, a receive buffer segment_q * 64.
  logic spares_q, flat_wanted_q, parts_wanted_q, keeps_q;
  logic above_q, same_q, above_low_q, same_low_q, rest_q, small_q;
  logic [26:0] part_q;
  logic [31:0] tuned_q;
  logic [12:0] segment_q;
  logic [6:0] others_q;

  always_ff @(posedge clk_i) begin
    spares_q <= spare_q != 0;
    part_q <= tuning_q[31:5] >> wire_size_q;
    tuned_q <= tuning_q >> wire_size_q;
    segment_q <= {grains_i, 3'b0} >> wire_size_q;
    others_q <= size_q < 7'd2 ? 7'd1 : size_q - 7'd1;
    keeps_q <= is_root_q || (!stream_q[1] && !plain_q && z_size_q >= wire_size_q);
    flat_wanted_q <= !compression_q[3] && (scenario inside {CallGather, CallAllgather, CallAlltoall, CallAllreduce} || (scenario == CallReduce && spares_q));
    // More than 8 parts.
    above_q <= 11'(count_q[31:25]) > part_q[26:16];
    same_q <= 11'(count_q[31:25]) == part_q[26:16];
    above_low_q <= count_q[24:9] > part_q[15:0];
    same_low_q <= count_q[24:9] == part_q[15:0];
    rest_q <= count_q[8:0] != 0;
    small_q <= part_q[26:15] == 0;
    parts_wanted_q <= scenario == CallBcast && spares_q && part_q != 0 && !is_few_q;
  end

  // Quotients by repeated subtraction: left_q is divided by the number of other ranks or by need_q; total_q accumulates the product of the quotient.
  logic in_parts_q, flat_q, limited_q;
  logic [5:0] left_q, need_q;
  logic [15:0] total_q;
  wire [5:0] quarter = 6'(buffers_i >> 2);
  wire has_parts = parts_wanted_q && (above_q || (same_q && (above_low_q || (same_low_q && rest_q))));
  wire reached = small_q && total_q >= part_q[15:0];
  wire fits_more = need_q < quarter >> 1;
  wire has_room = 7'(left_q) >= others_q;
  wire has_part = left_q >= need_q;

  always_ff @(posedge clk_i) begin
    unique case (plan_q)
      Collect: begin
        in_parts_q <= 1'b0;
        keeps_spare_q <= 1'b0;
      end
      Decide: begin
        left_q <= has_parts ? quarter : 6'(buffers_i >> 1);
        need_q <= 6'd1;
        total_q <= '0;
        flat_q <= flat_wanted_q;
      end
      Room: begin
        left_q <= left_q - 6'(others_q);
        if (has_room) total_q <= total_q + 16'(grains_i);
      end
      Compare: limited_q <= tuning_q[31:25] != 0 || tuning_q[24:9] >= total_q;
      Least: begin
        total_q <= reached ? '0 : total_q + 16'(segment_q);
        if (!reached) need_q <= need_q + 6'd1;
      end
      Ahead: begin
        left_q <= left_q - need_q;
        if (has_part) total_q <= total_q + part_q[15:0];
        in_parts_q <= 1'b1;
        keeps_spare_q <= !keeps_q;
      end
      default: ;
    endcase
    if (rst_i || done) plan_q <= Collect;
    else
      unique case (plan_q)
        Collect: if (words_q == Words && answers_q == Reads) plan_q <= Second;
        Second: plan_q <= Third;
        Third: plan_q <= Decide;
        Decide: plan_q <= has_parts ? Least : flat_wanted_q ? Room : Ready;
        Room: if (!has_room) plan_q <= Compare;
        Compare: plan_q <= Ready;
        Least: if (reached || !fits_more) plan_q <= reached ? Ahead : Ready;
        Ahead: if (!has_part) plan_q <= Ready;
        default: ;
      endcase
  end

  // Return code, and number among the communicator's collectives.
  logic not_implemented_q, wrong_size_q, wrong_arithmetic_q, wrong_compression_q;
  logic [15:0] low_q, high_q;
  wire checked = exists_q && !empty_q;
  wire [2:0] in_memory = uses_q & {!stream_q[1], 1'b1, !stream_q[0]};
  wire fails = not_implemented_q || wrong_size_q || wrong_arithmetic_q || wrong_compression_q;

  always_ff @(posedge clk_i) begin
    if (plan_q == Second) collective_q <= collectives_q[index_q];
    if (plan_q == Third) begin
      not_implemented_q <= !exists_q || (checked && stored && streams_not_q != 0);
      wrong_size_q <= (exists_q && remote_q && (!found_q || (rooted_q && !root_fits_q))) || (checked && stored && (in_memory & wide_q) != 0);
      wrong_arithmetic_q <= checked && (!stored || (combines_q && (!fits_unit_q || !Arithmetic)));
      wrong_compression_q <= checked && stored && (!converts_q || (!Conversions && compresses_q));
      low_q <= collective_q[15:0] + 16'd1;
      high_q <= collective_q[31:16] + 16'(collective_q[15:0] == '1);
    end
    if (plan_q == Ahead && stream_q[1] && !is_root_q) not_implemented_q <= 1'b1;  // a packet would span several moves
  end

  for (genvar i = 0; i < Communicators; i++) begin : communicator
    always_ff @(posedge clk_i) begin
      if (set_valid_i && set_index_i == index_t'(i)) known_at_q[i] <= set_at_i;
      if (rst_i) known_q[i] <= 1'b0;
      else if (set_valid_i && set_index_i == index_t'(i)) known_q[i] <= set_known_i;
      if (rst_i || clear_i) collectives_q[i] <= '0;
      else if (plan_q == Decide && collects_q && found_q && index_q == index_t'(i)) collectives_q[i] <= {high_q, low_q};
    end
  end

  // Number and registers of the call.
  logic has_number_q, load_q;
  logic [7:0] number_q;
  logic [4:0] loads_q;
  register_e register_q, next_register;
  value_t value_q, next_value;
  logic loadable;
  wire ready = plan_q == Ready;
  wire load_free = !load_q || load_ready_i;
  wire [47:0] room = 48'({total_q, 9'd0} >> wire_size_q);

  function automatic value_t bytes_of(size_t size);
    return plain_q ? '0 : 48'd1 << size;
  endfunction

  always_comb begin
    next_register = RegisterZero;
    next_value = '0;
    loadable = words_q != 0;
    unique case (loads_q)
      5'd0: next_register = RegisterA;
      5'd1: next_register = RegisterB;
      5'd2: next_register = RegisterC;
      5'd3: next_register = RegisterI;
      5'd4: next_register = RegisterJ;
      5'd5: next_register = RegisterK;
      5'd6: next_register = RegisterLeft;
      5'd7, 5'd8: begin
        next_register = loads_q[3] ? RegisterN : RegisterCount;
        next_value = value_t'(count_q);
        loadable = words_q > 4'd1;
      end
      5'd9: begin
        next_register = RegisterRoot;
        next_value = value_t'(root_q);
        loadable = words_q > 4'd3;
      end
      5'd10: begin
        next_register = RegisterRank;
        next_value = remote_q ? value_t'(rank_q) : '0;
        loadable = answers_q > 4'd2;
      end
      5'd11: begin
        next_register = RegisterSize;
        next_value = remote_q ? value_t'(size_q) : '0;
      end
      5'd12: begin
        next_register = RegisterNext;
        next_value = remote_q ? value_t'(next_q) : '0;
      end
      5'd13: begin
        next_register = RegisterPrev;
        next_value = remote_q ? value_t'(prev_q) : '0;
      end
      5'd14: begin
        next_register = RegisterOp0;
        next_value = at_q[0][47:0];
        loadable = words_q > 4'd10;
      end
      5'd15: begin
        next_register = RegisterOp1;
        next_value = at_q[1][47:0];
        loadable = words_q > 4'd12;
      end
      5'd16: begin
        next_register = RegisterRes;
        next_value = at_q[2][47:0];
        loadable = words_q == Words;
      end
      5'd17: begin
        next_register = RegisterE0;
        next_value = bytes_of(x_size_q);
        loadable = answers_q > 4'd9;
      end
      5'd18: begin
        next_register = RegisterEr;
        next_value = bytes_of(z_size_q);
      end
      5'd19: begin
        next_register = RegisterSpare;
        next_value = scenario != CallBcast || keeps_spare_q ? spare_q : '0;
        loadable = ready;
      end
      5'd20: begin  // after RegisterSpare, as it depends on keeps_spare_q
        next_register = RegisterE1;
        next_value = bytes_of(y_size_q);
      end
      5'd21: begin
        next_register = RegisterMost;
        next_value = in_parts_q ? value_t'({total_q, 6'd0}) : value_t'({count_q[31:1], count_q[0] || (count_q == 0 && scenario != CallBcast)});
      end
      5'd22: begin
        next_register = RegisterFlat;
        next_value = !flat_q ? '0 : limited_q ? room : value_t'(tuned_q);
      end
      5'd23: begin
        next_register = RegisterPart;
        next_value = in_parts_q ? value_t'({part_q, 6'd0}) : value_t'(count_q);
      end
      default: loadable = 1'b0;
    endcase
  end

  assign number_ready_o = !has_number_q;
  assign load_valid_o = load_q;
  assign load_call_o = number_q;
  assign load_register_o = register_q;
  assign load_data_o = value_q;

  always_ff @(posedge clk_i) begin
    if (!has_number_q) number_q <= number_data_i;
    if (load_free) begin
      register_q <= next_register;
      value_q <= next_value;
    end
    if (rst_i) begin
      has_number_q <= 1'b0;
      load_q <= 1'b0;
      loads_q <= '0;
    end else begin
      has_number_q <= has_number_q ? !done : number_valid_i;
      if (load_free) load_q <= loadable && has_number_q;
      if (done) loads_q <= '0;
      else if (load_free && loadable && has_number_q) loads_q <= loads_q + 5'd1;
    end
  end

  assign call_valid_o = loads_q == Loads && !load_q;

  always_comb begin
    call_o = '0;
    call_o.number = number_q;
    call_o.port = port_q;
    call_o.begin_at = fails ? ProgramNop : program_of(scenario, stream_q[1]);
    call_o.code = (not_implemented_q ? CodeNotImplemented : '0) | (wrong_size_q ? CodeSize : '0)
        | (wrong_arithmetic_q ? CodeArithmetic : '0) | (wrong_compression_q ? CodeCompression : '0);
    call_o.scenario = exists_q ? scenario : CallNop;
    call_o.setting = function_q[31:8] != 0 ? '1 : function_q[7:0];
    call_o.count = count_q;
    if (exists_q && remote_q && found_q) begin
      call_o.has_communicator = 1'b1;
      call_o.communicator = 8'(index_q);
    end
    if (collects_q && found_q) begin
      call_o.collective = 1'b1;
      call_o.collective_number = collective_q;
    end
    call_o.communicator_at = communicator_q[12:0];
    call_o.rank = 8'(rank_q);
    call_o.root = root_q[7:0];
    call_o.tag = tag_q;
    if (exists_q && combines_q && fits_unit_q) begin
      call_o.operation = found_unit_q.operation;
      call_o.datatype  = found_unit_q.datatype;
    end
    call_o.x_size = x_size_q;
    call_o.y_size = y_size_q;
    call_o.z_size = z_size_q;
    call_o.wire_size = wire_size_q;
    call_o.combined_size = combined_size_q;
    call_o.host = host_q & {1'b1, !keeps_spare_q, 1'b1};
    call_o.streams = stream_q;
  end
endmodule
