// SPDX-License-Identifier: Apache-2.0
// Collective control: computes a step of a process of a collective from a row of the communicator table alone.
//
// A collective has up to 32 parallel processes; a process is a sequence of steps (docs/collectives.md). For a process
// and one of its steps, both of which must exist, the answer gives the number of processes, the properties of the
// process, and the step. For process 0 of a collective without processes, it gives 0 processes.
//
// The streams of a process and the processes of a collective differ between rows in which of them exist, never in their
// order. Each is therefore the n-th element of an ordered set: of the edges with streams behind them, or of the
// processes that the stages of a scan can need. The first cycle selects the set and computes the rest of the step; the
// second finds the n-th element; the third completes the step with it.
//
// Order: answers in the order of requests. Latency: three cycles. Throughput: a request per cycle. Storage: only the
// pipeline. Outputs are registered, except tree_*, which depend on the request. Critical path: in the first cycle, from
// the ranks of a scan to the sizes of its set's groups; with many edges, in the second cycle, the sums of these sizes.
module tw_collective_control
  import tw_spec_pkg::*, tw_mpi_fpga_spec_pkg::*, tw_node_pkg::*;
#(
    parameter int unsigned Edges = 12  /// edges per row, at most 32
) (
    input logic clk_i,
    input logic rst_i,

    input logic        request_valid_i,
    input collective_e request_collective_i,
    input algorithm_e  request_algorithm_i,  /// valid for the collective on such a row
    input logic [4:0]  request_process_i,
    input logic [6:0]  request_step_i,

    // The row, as the communicator table returns it for the root's label.
    input logic                   request_at_root_i,
    input vertex_t                request_vertex_i,
    input exchange_t              request_exchange_i,
    input logic [Edges-1:0]       request_towards_i,
    input logic [Edges-1:0]       request_away_i,
    input logic [Edges-1:0][15:0] request_behind_i,
    input logic [Edges-1:0][15:0] request_last_i,

    // For a collective along a tree: the answer in the same cycle.
    output logic       tree_valid_o,
    output logic [5:0] tree_processes_o,
    output step_t      tree_step_o,

    output logic       answer_valid_o,
    output logic [5:0] answer_processes_o,
    output process_t   answer_process_o,
    output step_t      answer_step_o
);
  if (Edges < 1 || Edges > 32) begin : check_edges
    $error("tw_collective_control: 1 to 32 edges");
  end

  // Every stage of an exchange has its own neighbours, and so its own edges.
  localparam int unsigned Stages = Edges < 16 ? Edges : 16;
  localparam int unsigned ScanBits = Stages < 10 ? Stages : 10;  // a program has no room for more stages' processes

  // Streams in order, lowest bit first: ascending, or descending from those behind an edge. Mirrored: edge 0 is last.
  typedef struct packed {
    logic             last;    // ascending: after all edges
    logic [Edges-1:0] edges;   // ascending; or mirrored, edges above the start edge
    logic             up;      // descending: behind the edge up, whose labels are the highest
    logic             own;
    logic [Edges-1:0] lower;   // mirrored, edges below the start edge
    logic             earlier; // ascending: labels before this vertex's
  } streams_t;

  // Processes of a scan in order.
  typedef struct packed {
    logic partial;  // combines arrivals with the group's result, and forwards that
    logic result;   // combines arrivals with the result
    logic both;     // forwards arrivals to both
  } stage_t;
  typedef struct packed {
    stage_t [ScanBits-1:0] stages;
    logic                  start;
  } scan_t;

  localparam int unsigned Most = $bits(streams_t) > $bits(scan_t) ? $bits(streams_t) : $bits(scan_t);
  localparam int unsigned Groups = (Most + 3) / 4;  // of four entries
  localparam int unsigned Entries = 4 * Groups;
  localparam int unsigned CountBits = $clog2(Entries + 1);

  // State of the answer after the first cycle, with the data that the third needs to complete it.
  typedef struct packed {
    logic [5:0]                    processes;
    process_t                      process;
    step_t                         step;
    logic                          counts_processes;  // as elements of the set; `processes` is unused
    logic                          counts_steps;
    // Sets of streams:
    logic                          ordered;
    logic                          mirrored;
    logic                          from_edge;         // the selected edge is an input; the own stream is from the host
    logic                          to_edge;           // it is an output; other streams are for the host
    logic                          to_others;         // all but the selected edge are outputs
    logic                          kept;              // streams of the own rank and of edges come from stage 0
    logic                          keeps_own;         // own streams go to stage 0
    logic                          keeps_edge;
    logic                          block_last;        // the block of an edge's stream is the edge's last label,
    logic                          block_none;        // or 0
    logic [Edges-1:0]              up;
    logic [Edges-1:0][15:0]        behind;
    logic [Edges-1:0][15:0]        last;
    // Exchanges: edges of the stages.
    logic [Stages-1:0]             from_stage;
    logic [Stages-1:0]             to_stage;
    logic [Stages-1:0][Edges-1:0]  peers;
    // Scans:
    logic                          scans;
    logic                          inclusive;
    logic [ScanBits-1:0]           rank;
    logic [ScanBits-1:0]           former;            // there is a result before stage k
    logic [ScanBits:0]             reach;             // at least 2^k ranks follow this one
  } plan_t;

  // verilator lint_off UNUSEDSIGNAL
  wire vertex_t vertex = request_vertex_i;  // fields that the table's answer has used, and absent edges, are unused
  wire exchange_t exchange = request_exchange_i;
  // verilator lint_on UNUSEDSIGNAL
  wire host = vertex.has_rank;
  wire [Edges-1:0] up = vertex.up[Edges-1:0];
  wire [Edges-1:0] down = vertex.down[Edges-1:0];
  wire [Edges-1:0] previous = vertex.previous[Edges-1:0];
  wire [Edges-1:0] next = vertex.next[Edges-1:0];
  wire [Edges-1:0] fold = exchange.fold[Edges-1:0];
  wire top = up == '0;
  wire first_process = request_process_i == 5'd0;
  wire second_process = request_process_i == 5'd1;
  wire first_step = request_step_i == 7'd0;

  // --- First cycle: streams

  // Number of set bits; written for one level of LUTs.
  function automatic logic [2:0] count(logic [3:0] set);
    logic two_low, two_high, odd_low, odd_high;
    two_low = &set[1:0];
    two_high = &set[3:2];
    odd_low = ^set[1:0];
    odd_high = ^set[3:2];
    return {two_low && two_high, (two_low ^ two_high) || (odd_low && odd_high), odd_low ^ odd_high};
  endfunction

  function automatic logic several(logic [31:0] set);
    logic [7:0] any;
    several = 1'b0;
    for (int unsigned g = 0; g < 8; g++) begin
      any[g]  = |set[4*g+:4];
      several = several || count(set[4*g+:4]) > 3'd1;
    end
    return several || count(any[3:0]) > 3'd1 || count(any[7:4]) > 3'd1 || (any[3:0] != '0 && any[7:4] != '0);
  endfunction

  // True if a + b = sum. Avoids carry propagation: each bit is compared with the carry that the bit below generates if
  // it is correct.
  function automatic logic adds_up(logic [15:0] a, logic [15:0] b, logic [15:0] sum);
    return (a ^ b ^ sum) == {(a[14:0] & b[14:0]) | ((a[14:0] | b[14:0]) & ~sum[14:0]), 1'b0};
  endfunction

  // Descending from the streams behind `from`, an edge down, which are excluded; from = 0: from those behind the edge
  // up.
  function automatic streams_t downwards(logic [Edges-1:0] from);
    streams_t streams;
    streams = '0;
    for (int unsigned k = 0; k < Edges; k++) begin
      automatic logic above = (from & ((Edges'(1) << k) - 1'b1)) != '0;
      streams.edges[Edges-1-k] = down[k] && above;
      streams.lower[Edges-1-k] = down[k] && !above && !from[k];
    end
    streams.own = host;
    streams.up = from != '0 && !top;
    return streams;
  endfunction

  wire branches = several(32'(down));
  streams_t streams;

  // Independent of the algorithm: only algorithms by trees use the set.
  always_comb begin
    streams = '0;
    streams.own = host;
    unique case (request_collective_i)
      CollectiveGather: streams.edges = request_away_i;
      CollectiveScatter:
      if (request_at_root_i) begin
        streams.own   = 1'b0;
        streams.edges = request_away_i;
        streams.last  = 1'b1;  // the own stream
      end else begin
        streams = downwards(request_towards_i & down);
      end
      CollectiveReduceScatter: streams = downwards('0);
      default:  // allgather
      if (first_process) begin  // up the tree: the own stream, then those of each child
        streams.edges = down;
      end else begin  // down: labels before this vertex's; kept streams that another child needs; labels behind it
        streams.earlier = vertex.label != '0;
        streams.own = host && down != '0;
        if (branches) streams.edges = down;
        streams.last = !adds_up(vertex.label, vertex.below, vertex.ranks);
      end
    endcase
  end

  // In a scan, and at the root of a gather or scatter, n is the process; otherwise it is the step.
  wire scans = request_collective_i == CollectiveScan || request_collective_i == CollectiveExscan;
  wire spread = request_at_root_i && (request_collective_i == CollectiveGather || request_collective_i == CollectiveScatter);
  wire [CountBits-1:0] n = CountBits'(scans || spread ? 7'(request_process_i) : request_step_i);

  // --- First cycle: exchanges

  // 2^k: the bit in which the ranks of a stage's edge differ. Halving starts with the highest bit.
  wire halving = request_algorithm_i == AlgorithmHalving;
  wire [4:0] turn = request_collective_i == CollectiveAllgather ? request_step_i[4:0] : request_process_i;
  wire [16:0] power = halving ? {1'b0, vertex.ranks >> request_process_i[3:0]} : 17'd1 << turn;
  wire [15:0] half = power[16:1];  // 0 if power is 1
  logic [15:0] lower_bits;

  always_comb begin
    for (int unsigned i = 0; i < 16; i++) lower_bits[i] = (power >> (i + 1)) != '0;
  end

  function automatic logic [3:0] log2(logic [15:0] number);
    logic [3:0] bits;
    bits = '0;
    for (int unsigned i = 0; i < 16; i++) if (number[i]) bits |= 4'(i);
    return bits;
  endfunction
  wire [3:0] stages = log2(vertex.ranks);  // ranks is a power of two

  // --- First cycle: scans

  wire inclusive = request_collective_i == CollectiveScan;
  wire [ScanBits-1:0] rank = vertex.rank[ScanBits-1:0];
  wire [ScanBits-1:0] ranks_after = vertex.ranks[ScanBits-1:0] + ~rank;
  logic [ScanBits:0] reach;
  logic [ScanBits-1:0] former;
  scan_t scan;

  always_comb begin
    reach[ScanBits] = 1'b0;
    for (int unsigned k = 0; k < ScanBits; k++) begin
      reach[k]  = (ranks_after >> k) != '0;
      former[k] = inclusive || (rank & ((ScanBits'(1) << k) - 1'b1)) != '0;
    end
    scan.start = inclusive || reach[0];
    for (int unsigned k = 0; k < ScanBits; k++) begin
      // The group's partial result is needed if at least 2^(k+1) ranks follow.
      scan.stages[k].partial = reach[k+1];
      scan.stages[k].both = rank[k] && reach[k+1];
      scan.stages[k].result = rank[k] && (former[k] || !reach[k+1]);
    end
  end

  // --- First cycle: the collectives

  plan_t plan;
  logic [15:0] streams_less;  // subtracted from the number of streams
  logic [15:0] block_on;  // added to the block, modulo the ranks

  // Ring. Reduce-scatter starts with the block of the farthest rank and ends with its own; allgather starts with its
  // own.
  wire reduced = request_collective_i == CollectiveReduceScatter;
  wire [6:0] ring_steps = vertex.ranks > 16'd2 ? 7'd3 : 7'd2;
  wire last_step = vertex.ranks > 16'd2 ? request_step_i[1] : request_step_i[0];  // of two or three steps

  always_comb begin
    plan = '0;
    plan.processes = 6'd1;
    plan.process = '{7'd1, TurnsStream, 16'd1, 5'd0};
    plan.step.streams = 16'd1;
    plan.up = up;
    plan.behind = request_behind_i;
    plan.last = request_last_i;
    for (int unsigned k = 0; k < Stages; k++) plan.peers[k] = exchange.doubling[k][Edges-1:0];
    plan.inclusive = inclusive;
    plan.rank = rank;
    plan.former = former;
    plan.reach = reach;
    streams_less = '0;
    block_on = '0;
    unique case (request_collective_i)
      CollectiveReduce: begin
        plan.step.from_edges = 32'(request_away_i);
        plan.step.to_edges = 32'(request_towards_i);
        plan.step.from_host = host;
        plan.step.to_host = request_at_root_i;
      end
      CollectiveBroadcast: begin
        plan.step.from_edges = 32'(request_towards_i);
        plan.step.to_edges = 32'(request_away_i);
        plan.step.from_host = request_at_root_i;
        plan.step.to_host = host && !request_at_root_i;
      end
      CollectiveGather: begin
        plan.ordered = 1'b1;
        plan.from_edge = 1'b1;
        plan.block_none = 1'b1;
        plan.counts_processes = request_at_root_i;
        plan.counts_steps = !request_at_root_i;
        plan.step.to_edges = 32'(request_towards_i);
        plan.step.to_host = request_at_root_i;
        plan.step.block = vertex.label;
      end
      CollectiveScatter: begin
        plan.ordered = 1'b1;
        plan.to_edge = 1'b1;
        plan.counts_processes = request_at_root_i;
        plan.counts_steps = !request_at_root_i;
        if (request_at_root_i) begin
          plan.block_last = 1'b1;
          plan.step.from_host = 1'b1;
          plan.step.block = vertex.label;
        end else begin
          plan.mirrored = 1'b1;
          plan.step.from_edges = 32'(request_towards_i);
        end
      end
      CollectiveReduceScatter, CollectiveAllgather:
      if (request_algorithm_i == AlgorithmRing) begin
        plan.process.steps = ring_steps;
        plan.process.turns = TurnsBurst;
        if (!first_step) plan.step.from_edges = 32'(reduced ? next : previous);
        if (!last_step) plan.step.to_edges = 32'(reduced ? previous : next);
        plan.step.from_host = first_step || reduced;
        plan.step.to_host = last_step || !reduced;
        plan.step.upwards = reduced && !last_step;
        plan.step.block = vertex.label;
        if (first_step) block_on = 16'(reduced);
        else if (last_step) block_on = 16'(!reduced);
        else begin
          block_on = reduced ? 16'd2 : vertex.ranks - 16'd1;
          plan.step.streams = vertex.ranks;
          streams_less = 16'd2;
        end
      end else if (halving) begin
        plan.processes = 6'(stages) + 6'd1;
        plan.process.turns = TurnsPacket;
        plan.process.steps = first_process || power[0] ? 7'd1 : 7'd2;
        plan.process.rounds = half | 16'(power[0]);
        plan.process.reversed = 5'(stages) - (first_process ? 5'd1 : request_process_i);
        plan.from_stage = Stages'(power);
        if (!first_process && !second_process) plan.step.from_stages = 64'(power);
        if (first_step) plan.to_stage = Stages'(half);
        else plan.step.to_stages = 64'(half);
        plan.step.from_host = first_process || second_process;
        plan.step.to_host = power[0];
        plan.step.block = vertex.rank ^ lower_bits;
      end else if (request_algorithm_i == AlgorithmExchange) begin  // packets of an edge are forwarded in later stages
        plan.process.steps = 7'(stages) + 7'd1;
        plan.process.turns = TurnsPacket;
        plan.from_stage = Stages'(half);
        plan.to_stage = ~Stages'(lower_bits);
        plan.step.from_host = first_step;
        plan.step.to_host = 1'b1;
        plan.step.streams = half | 16'(power[0]);
        plan.step.block = vertex.rank ^ half;
      end else if (reduced) begin
        plan.processes = top ? 6'd1 : 6'd2;
        plan.step.from_edges = first_process ? 32'(down) : 32'(up);
        plan.step.from_host = first_process && host;
        if (first_process && !top) begin
          plan.step.to_edges = 32'(up);
          plan.step.streams = vertex.ranks;
          plan.step.block = vertex.ranks - 16'd1;
        end else begin
          plan.ordered = 1'b1;
          plan.mirrored = 1'b1;
          plan.to_edge = 1'b1;
          plan.counts_steps = 1'b1;
          plan.block_last = top;
          if (top) plan.step.block = vertex.label;
        end
      end else begin
        plan.ordered = 1'b1;
        plan.counts_steps = 1'b1;
        plan.processes = top ? 6'd1 : 6'd2;
        plan.step.to_host = host;
        if (first_process) begin
          plan.from_edge = 1'b1;
          plan.to_others = top;
          plan.keeps_own = !top && down != '0;
          plan.keeps_edge = !top && branches;
          plan.step.to_edges = top ? 32'(down) : 32'(up);
          plan.step.block = vertex.label;
        end else begin
          plan.to_others = 1'b1;
          plan.kept = 1'b1;
          plan.step.from_edges = 32'(up);
          plan.step.to_edges = 32'(down);
          if (first_step && vertex.label != '0) begin
            plan.step.streams = vertex.label;
          end else begin
            plan.step.streams = vertex.ranks;
            streams_less = vertex.label + vertex.below;
          end
        end
      end
      CollectiveScan, CollectiveExscan: begin
        plan.scans = 1'b1;
        plan.counts_processes = 1'b1;
      end
      default:
      if (request_algorithm_i != AlgorithmExchange) begin
        plan.processes = top ? 6'd1 : 6'd2;
        plan.step.from_edges = first_process ? 32'(down) : 32'(up);
        plan.step.to_edges = first_process && !top ? 32'(up) : 32'(down);
        plan.step.from_host = host && first_process;
        plan.step.to_host = host && (!first_process || top);
      end else begin
        automatic logic final_stage = exchange.beyond || request_process_i == exchange.stage_count;
        for (int unsigned k = 0; k < Stages; k++) plan.peers[k] = exchange.stage_peers[k][Edges-1:0];
        plan.processes = exchange.beyond ? 6'd2 : 6'(exchange.stage_count) + 6'd1;
        plan.step.from_host = first_process;
        plan.step.to_host = exchange.beyond ? !first_process : final_stage;
        if (exchange.beyond ? !first_process : first_process) plan.step.from_edges = 32'(fold);
        if (exchange.beyond ? first_process : final_stage) plan.step.to_edges = 32'(fold);
        if (!exchange.beyond) begin
          plan.from_stage = Stages'(half);
          plan.step.from_stages = 64'(half);
          for (int unsigned k = 0; k < Stages; k++) if (half[k]) plan.step.place |= exchange.stage_place[k];
        end
        if (!final_stage) begin
          plan.to_stage = Stages'(power);
          plan.step.to_stages = 64'(power);
        end
      end
    endcase
  end

  assign tree_valid_o = request_valid_i && request_algorithm_i != AlgorithmExchange
      && request_collective_i inside {CollectiveBarrier, CollectiveBroadcast, CollectiveReduce, CollectiveAllreduce};
  assign tree_processes_o = plan.processes;
  assign tree_step_o = plan.step;

  // --- Second cycle: the n-th element of the set

  plan_t plan_1_q;
  logic [Entries-1:0] set_d, set_1_q;
  logic [Groups-1:0][2:0] sizes_1_q;
  logic [CountBits-1:0] n_1_q;
  logic [15:0] streams_less_1_q, block_on_1_q, ranks_1_q;

  assign set_d = scans ? Entries'(scan) : Entries'(streams);

  always_ff @(posedge clk_i) begin
    plan_1_q <= plan;
    set_1_q <= set_d;
    for (int unsigned g = 0; g < Groups; g++) sizes_1_q[g] <= count(set_d[4*g+:4]);
    n_1_q <= n;
    streams_less_1_q <= streams_less;
    block_on_1_q <= block_on;
    ranks_1_q <= vertex.ranks;
  end

  logic [Groups-1:0][CountBits-1:0] sums;  // elements in all groups up to this one
  logic [Groups-1:0] beyond;  // the n-th element is behind this group
  logic [Most-1:0] fitting;  // per group, the element that would be the n-th

  always_comb begin
    for (int unsigned g = 0; g < Groups; g++) sums[g] = CountBits'(sizes_1_q[g]);
    for (int unsigned d = 1; d < Groups; d *= 2)
      for (int unsigned g = 0; g < Groups; g++) if ((g / d) % 2 == 1) sums[g] = sums[g] + sums[g/d*d-1];
    for (int unsigned g = 0; g < Groups; g++) begin
      automatic logic [1:0] place = n_1_q[1:0] - (g == 0 ? 2'd0 : sums[g-1][1:0]);
      beyond[g] = n_1_q >= sums[g];
      for (int unsigned i = 0; i < 4 && 4 * g + i < Most; i++)
        fitting[4*g+i] = set_1_q[4*g+i] && place == 2'(count(set_1_q[4*g+:4] & 4'((1 << i) - 1)));
    end
  end

  wire [15:0] streams_left = plan_1_q.step.streams - streams_less_1_q;
  wire [16:0] block_sum = {1'b0, plan_1_q.step.block} + {1'b0, block_on_1_q};
  wire [15:0] block_over = 16'(block_sum - {1'b0, ranks_1_q});

  plan_t plan_2_q;
  logic [Most-1:0] fitting_2_q;
  logic [Groups-1:0] beyond_2_q;
  logic [CountBits-1:0] count_2_q;

  always_ff @(posedge clk_i) begin
    plan_2_q <= plan_1_q;
    plan_2_q.step.streams <= streams_left;
    plan_2_q.step.block <= block_sum >= {1'b0, ranks_1_q} ? block_over : block_sum[15:0];
    fitting_2_q <= fitting;
    beyond_2_q <= beyond;
    count_2_q <= sums[Groups-1];
  end

  // --- Third cycle: the step

  // A scan has four buffers per stage of its exchange, numbered by the stage that reads them.
  localparam int unsigned Result = 0, Partial = 1, Copy = 2, Fresh = 3;

  logic [Most-1:0] found;
  streams_t stream;
  scan_t running;
  logic [Edges-1:0] edge_bit;
  logic of_edge;
  logic [15:0] behind, last;
  logic [5:0] processes;
  process_t kind;
  step_t step;
  logic [Stages-1:0] from_stage, to_stage;
  logic writes;  // a scan's result is written for the next 1 bit of the rank

  always_comb begin
    for (int unsigned i = 0; i < Most; i++)
      found[i] = fitting_2_q[i] && !beyond_2_q[i/4] && (i < 4 || beyond_2_q[i/4-1]);
  end

  assign stream = plan_2_q.ordered ? $bits(streams_t)'(found) : '0;
  assign running = plan_2_q.scans ? $bits(scan_t)'(found) : '0;
  assign of_edge = plan_2_q.ordered && !stream.own && !stream.earlier && !stream.last;

  always_comb begin
    for (int unsigned k = 0; k < Edges; k++) begin
      automatic logic from_above = plan_2_q.mirrored ? stream.edges[Edges-1-k] : stream.edges[k];
      edge_bit[k] = stream.lower[Edges-1-k] || from_above || (stream.up && plan_2_q.up[k]);
    end
    behind = '0;
    last = '0;
    for (int unsigned k = 0; k < Edges; k++) begin
      if (edge_bit[k]) behind |= plan_2_q.behind[k];
      if (edge_bit[k]) last |= plan_2_q.last[k];
    end
  end

  always_comb begin
    processes = plan_2_q.counts_processes ? 6'(count_2_q) : plan_2_q.processes;
    kind = plan_2_q.process;
    if (plan_2_q.counts_steps) kind.steps = 7'(count_2_q);
    step = plan_2_q.step;
    from_stage = plan_2_q.from_stage;
    to_stage = plan_2_q.to_stage;

    // Streams
    if (plan_2_q.from_edge) step.from_edges |= 32'(edge_bit);
    if (plan_2_q.from_edge && stream.own) step.from_host = 1'b1;
    if (plan_2_q.to_edge) step.to_edges |= 32'(edge_bit);
    if (plan_2_q.to_edge && !of_edge) step.to_host = 1'b1;
    if (plan_2_q.to_others) step.to_edges &= ~32'(edge_bit);
    if (plan_2_q.kept && (stream.own || of_edge)) begin
      step.from_edges = '0;
      step.from_stages[0] = 1'b1;
      step.to_host = 1'b0;
    end
    if (plan_2_q.keeps_own && stream.own || plan_2_q.keeps_edge && of_edge) step.to_stages[0] = 1'b1;
    if (stream.own) step.streams = 16'd1;
    if (of_edge) begin
      step.streams = behind;
      if (plan_2_q.block_none) step.block = '0;
      if (plan_2_q.block_last) step.block = last;
    end

    // Scans
    writes = running.start && plan_2_q.inclusive;
    if (running.start) step.from_host = 1'b1;
    for (int unsigned k = 0; k < ScanBits; k++) begin
      automatic stage_t now = running.stages[k];
      automatic logic sends = k == 0 ? running.start : running.stages[k-1].partial;
      automatic logic forked = plan_2_q.reach[k+1];
      if (now.both || now.result && !forked || now.partial && !plan_2_q.rank[k]) from_stage[k] = 1'b1;
      if (sends && plan_2_q.reach[k]) to_stage[k] = 1'b1;
      if (now.result && plan_2_q.former[k]) step.from_stages[4*k+Result] = 1'b1;
      if (now.result && forked) step.from_stages[4*k+Fresh] = 1'b1;
      if (now.partial) step.from_stages[4*k+Partial] = 1'b1;
      if (now.partial && plan_2_q.rank[k]) step.from_stages[4*k+Copy] = 1'b1;
      if (writes && plan_2_q.rank[k]) step.to_stages[4*k+Result] = 1'b1;
      if (sends && plan_2_q.reach[k+1]) step.to_stages[4*k+Partial] = 1'b1;
      if (now.both) step.to_stages[4*k+Copy] = 1'b1;
      if (now.both && plan_2_q.former[k]) step.to_stages[4*k+Fresh] = 1'b1;
      writes = writes && !plan_2_q.rank[k] || now.result || now.both && !plan_2_q.former[k];
    end
    if (writes) step.to_host = 1'b1;

    // Exchanges
    for (int unsigned k = 0; k < Stages; k++) begin
      if (from_stage[k]) step.from_edges |= 32'(plan_2_q.peers[k]);
      if (to_stage[k]) step.to_edges |= 32'(plan_2_q.peers[k]);
    end
  end

  logic [1:0] valid_q;

  always_ff @(posedge clk_i) begin
    {answer_processes_o, answer_process_o, answer_step_o} <= {processes, kind, step};
    if (rst_i) {answer_valid_o, valid_q} <= '0;
    else {answer_valid_o, valid_q} <= {valid_q, request_valid_i};
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i && request_valid_i) begin
      edges_for_stages : assert ((exchange.doubling >> 32 * Stages) == '0 && 32'(exchange.stage_count) <= Stages);
    end
  end
`endif
endmodule
