// Collective control: which step a process of a collective takes, from a row of the communicator table alone.
//
// A collective is up to 32 processes side by side, a process is steps one after another (docs/collectives.md). Asked for a
// process and a step of it, it says how many processes there are, what the process is like, and the step. `step_o` is the first
// step where the process has not so many.
//
// Order: answers as asked. Latency: one cycle. Throughput: a question a cycle. Storage: none but the answer. All outputs are
// registers. Critical path: the processes of a scan, whose stages are numbered one after another.
module tw_collective_control
  import tw_spec_pkg::*, tw_node_pkg::*;
#(
    parameter int unsigned Edges = 12  /// of a row, at most 32
) (
    input logic clk_i,
    input logic rst_i,

    input logic        ask_valid_i,
    input collective_e ask_collective_i,
    input algorithm_e  ask_algorithm_i,  /// one that there is for the collective, on such a row
    input logic [4:0]  ask_process_i,
    input logic [6:0]  ask_step_i,

    // The row, as the communicator table answers for the root's label.
    input logic                   ask_at_root_i,
    input vertex_t                ask_vertex_i,
    input exchange_t              ask_exchange_i,
    input logic [Edges-1:0]       ask_towards_i,
    input logic [Edges-1:0]       ask_away_i,
    input logic [Edges-1:0][15:0] ask_behind_i,
    input logic [Edges-1:0][15:0] ask_last_i,

    output logic       answer_valid_o,
    output logic [5:0] answer_processes_o,
    output process_t   answer_process_o,
    output step_t      answer_step_o
);
  if (Edges < 1 || Edges > 32) begin : check_edges
    $error("tw_collective_control: 1 to 32 edges");
  end

  localparam int unsigned ScanBits = 10;  // of a rank: a program has no room for the processes of more
  localparam int unsigned Places = Edges + 2;  // whose labels follow each other: own, those behind each edge down, up

  // verilator lint_off UNUSEDSIGNAL
  wire vertex_t vertex = ask_vertex_i;  // what of it the table's answer has used, and edges that there are not
  wire exchange_t exchange = ask_exchange_i;
  // verilator lint_on UNUSEDSIGNAL
  wire host = vertex.has_rank;
  wire [Edges-1:0] up = vertex.up[Edges-1:0];
  wire [Edges-1:0] down = vertex.down[Edges-1:0];

  // What a program is built of. A collective's block below sets what differs from an empty one.
  typedef struct packed {
    logic [5:0] processes;
    process_t   process;
    step_t      step;
  } answer_t;

  function automatic step_t a_step();
    step_t step;
    step = '0;
    step.streams = 16'd1;
    return step;
  endfunction

  function automatic answer_t program_of(logic [5:0] processes, logic [6:0] steps, turns_e turns);
    return '{processes, '{steps, turns, 16'd1, 5'd0}, a_step()};
  endfunction

  // The n-th bit of a set, counted from the lowest; none where it has not so many.
  function automatic logic [Places-1:0] nth(logic [Places-1:0] set, logic [6:0] n);
    logic [6:0] earlier;
    logic [Places-1:0] found;
    earlier = '0;
    found = '0;
    for (int unsigned i = 0; i < Places; i++) begin
      found[i] = set[i] && earlier == n;
      earlier   = earlier + 7'(set[i]);
    end
    return found;
  endfunction

  function automatic logic [6:0] count(logic [Edges-1:0] set);
    return 7'($countones(set));
  endfunction
  function automatic logic [Edges-1:0] nth_edge(logic [Edges-1:0] set, logic [6:0] n);
    return Edges'(nth(Places'(set), n));
  endfunction

  function automatic logic [15:0] behind(logic [Edges-1:0] edge_bit);
    logic [15:0] labels;
    labels = '0;
    for (int unsigned k = 0; k < Edges; k++) if (edge_bit[k]) labels |= ask_behind_i[k];
    return labels;
  endfunction
  function automatic logic [15:0] last(logic [Edges-1:0] edge_bit);
    logic [15:0] label;
    label = '0;
    for (int unsigned k = 0; k < Edges; k++) if (edge_bit[k]) label |= ask_last_i[k];
    return label;
  endfunction

  function automatic logic [15:0] modulo(logic [16:0] label);
    return label >= {1'b0, vertex.ranks} ? 16'(label - {1'b0, vertex.ranks}) : label[15:0];
  endfunction

  // --- Scattering: the streams for the labels downwards from where those behind an edge begin, interval by interval

  // Which there are: bit 0 the own label, bit 1 + k those behind edge k down, the last bit those behind the edge up.
  function automatic logic [Places-1:0] intervals();
    return {up != '0, down, host};
  endfunction

  function automatic logic [Places-1:0] place_of(logic [Edges-1:0] edge_bit);
    return (edge_bit & up) != '0 || edge_bit == '0 ? Places'(1) << (Places - 1) : Places'({edge_bit, 1'b0});
  endfunction

  // The n-th of them downwards from `from`, which is left out: those below it from the highest down, then those above.
  function automatic logic [Places-1:0] nth_below(logic [Places-1:0] from, logic [6:0] n);
    logic [Places-1:0] lower, upper, set, found;
    logic [6:0] earlier;
    lower = from - 1'b1;
    upper = ~lower & ~from;
    set = intervals();
    earlier = '0;
    found = '0;
    for (int unsigned i = 2 * Places; i > 0; i--) begin
      automatic logic there = set[(i-1)%Places] && (i > Places ? lower[(i-1)%Places] : upper[(i-1)%Places]);
      found[(i-1)%Places] = found[(i-1)%Places] || (there && earlier == n);
      earlier = earlier + 7'(there);
    end
    return found;
  endfunction

  typedef struct packed {
    logic [6:0]       steps;
    logic [Edges-1:0] to_edge;  // none: the own host
    logic [15:0]      streams;
  } interval_t;

  // The n-th of a scattering; `from`: the edge behind which what is scattered comes from, none: the top itself.
  function automatic interval_t scattered(logic [Edges-1:0] from, logic [6:0] n);
    logic [Places-1:0] place;
    interval_t interval;
    place = nth_below(place_of(from), n);
    interval.steps = 7'($countones(intervals() & ~place_of(from)));
    interval.to_edge = place[Places-1] ? up : place[Edges:1];
    interval.streams = place[0] ? 16'd1 : behind(interval.to_edge);
    return interval;
  endfunction

  function automatic step_t scatter_step(logic [Edges-1:0] from, logic [Edges-1:0] to_edge, logic [15:0] streams);
    step_t step;
    step = a_step();
    step.from_edges = 32'(from);
    step.to_edges = 32'(to_edge);
    step.to_host = to_edge == '0;
    step.streams = streams;
    return step;
  endfunction

  // --- The collectives

  answer_t answer;
  wire first_process = ask_process_i == 5'd0;
  wire [6:0] children = count(ask_away_i);

  function automatic answer_t reduce();
    answer_t a;
    a = program_of(6'd1, 7'd1, TurnsStream);
    a.step.from_edges = 32'(ask_away_i);
    a.step.to_edges = 32'(ask_towards_i);
    a.step.from_host = host;
    a.step.to_host = ask_at_root_i;
    return a;
  endfunction

  function automatic answer_t broadcast();
    answer_t a;
    a = program_of(6'd1, 7'd1, TurnsStream);
    a.step.from_edges = 32'(ask_towards_i);
    a.step.to_edges = 32'(ask_away_i);
    a.step.from_host = ask_at_root_i;
    a.step.to_host = host && !ask_at_root_i;
    return a;
  endfunction

  function automatic answer_t allreduce_tree();
    answer_t a;
    a = program_of(up == '0 ? 6'd1 : 6'd2, 7'd1, TurnsStream);
    a.step.from_edges = first_process ? 32'(down) : 32'(up);
    a.step.to_edges = first_process && up != '0 ? 32'(up) : 32'(down);
    a.step.from_host = first_process && host;
    a.step.to_host = host && (!first_process || up == '0);
    return a;
  endfunction

  function automatic answer_t allreduce_exchange();
    answer_t a;
    logic final_stage;
    logic [3:0] earlier;
    if (exchange.beyond) begin
      a = program_of(6'd2, 7'd1, TurnsStream);
      if (first_process) a.step.to_edges = exchange.fold;
      else a.step.from_edges = exchange.fold;
      a.step.from_host = first_process;
      a.step.to_host = !first_process;
      return a;
    end
    a = program_of(6'(exchange.stage_count) + 6'd1, 7'd1, TurnsStream);
    final_stage = ask_process_i == exchange.stage_count;
    earlier = 4'(ask_process_i - 5'd1);
    a.step.from_edges = first_process ? exchange.fold : exchange.stage_peers[earlier];
    a.step.place = first_process ? 5'd0 : exchange.stage_place[earlier];
    a.step.from_stages = first_process ? 64'd0 : 64'd1 << earlier;
    a.step.from_host = first_process;
    a.step.to_edges = final_stage ? exchange.fold : exchange.stage_peers[ask_process_i[3:0]];
    a.step.to_stages = final_stage ? 64'd0 : 64'd1 << ask_process_i[3:0];
    a.step.to_host = final_stage;
    return a;
  endfunction

  function automatic answer_t gather();
    answer_t a;
    logic [Edges-1:0] child;
    logic own;
    if (ask_at_root_i) begin
      a = program_of(6'(children) + 6'd1, 7'd1, TurnsStream);
      own = first_process;
      child = nth_edge(ask_away_i, 7'(ask_process_i) - 7'd1);
    end else begin
      a = program_of(6'd1, children + 7'(host), TurnsStream);
      own = host && ask_step_i == '0;
      child = nth_edge(ask_away_i, ask_step_i - 7'(host));
    end
    a.step.from_host = own;
    a.step.from_edges = own ? 32'd0 : 32'(child);
    a.step.to_edges = 32'(ask_towards_i);
    a.step.to_host = ask_at_root_i;
    a.step.block = own ? vertex.label : 16'd0;
    a.step.streams = own ? 16'd1 : behind(child);
    return a;
  endfunction

  function automatic answer_t scatter();
    answer_t a;
    interval_t interval;
    logic [Edges-1:0] child;
    if (!ask_at_root_i) begin
      interval = scattered(ask_towards_i, ask_step_i);
      a = program_of(6'd1, interval.steps, TurnsStream);
      a.step = scatter_step(ask_towards_i, interval.to_edge, interval.streams);
      return a;
    end
    a = program_of(6'(children) + 6'd1, 7'd1, TurnsStream);
    child = nth_edge(ask_away_i, 7'(ask_process_i));
    a.step.from_host = 1'b1;
    a.step.to_edges = 32'(child);
    a.step.to_host = child == '0;
    a.step.streams = child == '0 ? 16'd1 : behind(child);
    a.step.block = child == '0 ? vertex.label : last(child);
    return a;
  endfunction

  function automatic answer_t reduce_scatter();
    answer_t a;
    interval_t interval;
    interval = scattered(up, ask_step_i);
    a = program_of(up == '0 ? 6'd1 : 6'd2, interval.steps, TurnsStream);
    if (up == '0) begin
      a.step = scatter_step('0, interval.to_edge, interval.streams);
      a.step.from_edges = 32'(down);
      a.step.from_host = host;
      a.step.block = interval.to_edge == '0 ? vertex.label : last(interval.to_edge);
    end else if (first_process) begin
      a.process.steps = 7'd1;
      a.step.from_edges = 32'(down);
      a.step.to_edges = 32'(up);
      a.step.from_host = host;
      a.step.streams = vertex.ranks;
      a.step.block = vertex.ranks - 16'd1;
    end else begin
      a.step = scatter_step(up, interval.to_edge, interval.streams);
    end
    return a;
  endfunction

  // Upwards: the own stream, then what comes from each child. Downwards: labels before this vertex', then what was kept, then
  // labels behind it.
  function automatic answer_t allgather_tree();
    answer_t a;
    logic [Edges-1:0] child, others;
    logic own, earlier, later_ones, branches;
    logic [6:0] n;
    logic [15:0] labels_after;
    earlier = vertex.label != '0;
    labels_after = vertex.ranks - vertex.label - vertex.below;
    later_ones = labels_after != '0;
    branches = (down & (down - 1'b1)) != '0;
    if (first_process) begin
      a = program_of(up == '0 ? 6'd1 : 6'd2, count(down) + 7'(host), TurnsStream);
      n = ask_step_i;
    end else begin
      a = program_of(6'd2, 7'(earlier) + 7'(host && down != '0) + (branches ? count(down) : 7'd0) + 7'(later_ones),
                     TurnsStream);
      n = ask_step_i - 7'(earlier);
    end
    own = host && (first_process || down != '0) && n == '0;
    child = nth_edge(down, n - 7'(host && (first_process || down != '0)));
    others = own ? down : down & ~child;
    if (first_process) begin
      a.step.from_edges = own ? 32'd0 : 32'(child);
      a.step.from_host = own;
      a.step.to_host = host;
      a.step.to_edges = up == '0 ? 32'(others) : 32'(up);
      a.step.to_stages = 64'(up != '0 && others != '0);
      a.step.block = vertex.label;
      a.step.streams = own ? 16'd1 : behind(child);
    end else if (earlier && ask_step_i == '0) begin
      a.step.from_edges = 32'(up);
      a.step.to_edges = 32'(down);
      a.step.to_host = host;
      a.step.streams = vertex.label;
    end else if (own || (branches && child != '0)) begin
      a.step.from_stages = 64'd1;
      a.step.to_edges = 32'(others);
      a.step.streams = own ? 16'd1 : behind(child);
    end else begin
      a.step.from_edges = 32'(up);
      a.step.to_edges = 32'(down);
      a.step.to_host = host;
      a.step.streams = labels_after;
    end
    return a;
  endfunction

  function automatic answer_t ring(logic reduced);
    answer_t a;
    logic [31:0] from, to;
    logic first_step, last_step;
    logic [15:0] on;
    a = program_of(6'd1, vertex.ranks > 16'd2 ? 7'd3 : 7'd2, TurnsBurst);
    from = reduced ? vertex.next : vertex.previous;
    to = reduced ? vertex.previous : vertex.next;
    first_step = ask_step_i == '0;
    last_step = ask_step_i + 7'd1 == a.process.steps;
    on = first_step ? 16'(reduced) : last_step ? 16'(!reduced) : reduced ? 16'd2 : vertex.ranks - 16'd1;
    a.step.from_edges = first_step ? 32'd0 : from;
    a.step.to_edges = last_step ? 32'd0 : to;
    a.step.from_host = first_step || reduced;
    a.step.to_host = last_step || !reduced;
    a.step.streams = first_step || last_step ? 16'd1 : vertex.ranks - 16'd2;
    a.step.block = modulo({1'b0, vertex.label} + {1'b0, on});
    a.step.upwards = first_step && reduced;
    if (!first_step && !last_step) a.step.upwards = reduced;
    return a;
  endfunction

  function automatic logic [31:0] doubling_from(logic [4:0] k);
    logic [31:0] edges;
    edges = '0;
    for (int unsigned i = 0; i < 16; i++) if (i >= 32'(k)) edges |= exchange.doubling[i];
    return edges;
  endfunction

  function automatic answer_t allgather_exchange();
    answer_t a;
    logic [3:0] k;
    logic [6:0] steps;
    steps = 7'd1;
    for (int unsigned i = 0; i < 16; i++) steps = steps + 7'(exchange.doubling[i] != '0);
    a = program_of(6'd1, steps, TurnsPacket);
    k = 4'(ask_step_i - 7'd1);
    a.step.from_host = ask_step_i == '0;
    a.step.from_edges = ask_step_i == '0 ? 32'd0 : exchange.doubling[k];
    a.step.to_edges = doubling_from(5'(ask_step_i));
    a.step.to_host = 1'b1;
    a.step.streams = ask_step_i == '0 ? 16'd1 : 16'd1 << k;
    a.step.block = ask_step_i == '0 ? vertex.rank : vertex.rank ^ (16'd1 << k);
    return a;
  endfunction

  // 2^n - 1, the last place of 2^n.
  function automatic logic [15:0] ones(logic [4:0] n);
    return (16'd1 << n) - 16'd1;
  endfunction

  function automatic answer_t reduce_scatter_halving();
    answer_t a;
    logic [4:0] stages, k, bits;
    stages = '0;
    for (int unsigned i = 0; i < 16; i++) if (vertex.ranks[i]) stages = 5'(i);
    k = stages - ask_process_i;  // of the edge that is read; of the first process none
    bits = first_process ? stages - 5'd1 : k;
    a = program_of(6'(stages) + 6'd1, first_process || k == '0 ? 7'd1 : 7'd2, TurnsPacket);
    a.process.rounds = first_process || k == '0 ? 16'd1 << bits : 16'd1 << (bits - 5'd1);
    a.process.reversed = bits;
    a.step.block = vertex.rank ^ ones(bits);
    if (first_process) begin
      a.step.block = a.step.block ^ (16'd1 << bits);
      a.step.to_edges = exchange.doubling[bits[3:0]];
      a.step.from_host = 1'b1;
    end else begin
      a.step.from_edges = exchange.doubling[k[3:0]];
      a.step.from_host = ask_process_i == 5'd1;
      a.step.from_stages = ask_process_i == 5'd1 ? 64'd0 : 64'd2 << k;
      a.step.to_host = k == '0;
      if (k != '0 && ask_step_i == '0) a.step.to_edges = exchange.doubling[4'(k - 5'd1)];
      if (k != '0 && ask_step_i != '0) a.step.to_stages = 64'd1 << k;
    end
    return a;
  endfunction

  // --- Scans: up to three processes in each stage, with buffers between them

  // What a rank's group of 2^(k+1) has together is sent on: there is a later bit m that the rank, or one to which it goes
  // with bits between cleared, has not, and a rank with it. `above`: k + 1.
  function automatic logic group_needed(logic [ScanBits-1:0] rank, int unsigned above);
    logic [ScanBits-1:0] cleared;
    group_needed = 1'b0;
    cleared = rank;
    for (int unsigned m = 0; m < ScanBits; m++) begin
      if (m >= above) begin
        if (!rank[m] && (16'(cleared) | (16'd1 << m)) < vertex.ranks) group_needed = 1'b1;
        cleared[m] = 1'b0;
      end
    end
  endfunction

  function automatic logic sends_group(logic [ScanBits-1:0] rank, int unsigned k);
    logic [ScanBits-1:0] peer;
    peer = rank ^ (ScanBits'(1) << k);
    return 16'(peer) < vertex.ranks && (!rank[k] || group_needed(peer, k + 1));
  endfunction

  function automatic answer_t scan(logic inclusive);
    answer_t a;
    logic [ScanBits-1:0] rank;
    logic [63:0] stage, result, partial, former, copy;  // `stage`: the next free one
    logic [5:0] processes;
    logic [ScanBits-1:0] has_edge, needed, sends;
    step_t step, out;
    a = program_of(6'd0, 7'd1, TurnsStream);
    rank = vertex.rank[ScanBits-1:0];
    stage = 64'd1;
    result = '0;
    partial = '0;
    processes = '0;
    for (int unsigned k = 0; k < ScanBits; k++) begin
      has_edge[k] = exchange.doubling[k] != '0;
      needed[k] = group_needed(rank, k + 1);
      sends[k] = sends_group(rank, k);
    end
    for (int unsigned above = 0; above <= ScanBits; above++) begin  // the start, then after stage above - 1
      automatic int unsigned k = above == 0 ? 0 : above - 1;
      automatic logic start = above == 0;
      automatic logic upper = start ? inclusive : rank[k] && has_edge[k];
      automatic logic more = start || (has_edge[k] && needed[k]);
      automatic logic [31:0] edge_bit = start ? 32'd0 : exchange.doubling[k];
      // The start: the group's part first, the result goes along with it.
      step = a_step();
      out = a_step();
      copy = '0;
      if (!start && upper) begin
        former = result;
        if (32'(rank) >> above != 0) begin
          out.to_stages = stage;
          result = stage;
          stage = stage << 1;
        end else begin
          out.to_host = 1'b1;
        end
        if (more) begin
          step.from_edges = edge_bit;
          copy = stage;
          step.to_stages = stage;
          stage = stage << 1;
          if (former != '0) begin
            out.from_stages = former | stage;
            step.to_stages = step.to_stages | stage;
            stage = stage << 1;
          end else begin
            step.to_stages = step.to_stages | out.to_stages;
            step.to_host = out.to_host;
          end
          if (processes == 6'(ask_process_i)) a.step = step;
          processes = processes + 6'd1;
        end else begin
          out.from_edges = edge_bit;
          out.from_stages = former;
        end
        if (out.from_edges != '0 || out.from_stages != '0) begin
          if (processes == 6'(ask_process_i)) a.step = out;
          processes = processes + 6'd1;
        end
      end
      if (more) begin
        step = a_step();
        step.from_stages = start ? 64'd0 : partial | copy;
        step.from_edges = start || upper ? 32'd0 : edge_bit;
        step.from_host = start;
        partial = '0;
        for (int unsigned later = 0; later < ScanBits; later++) begin
          if (later >= above && partial == '0 && has_edge[later]) begin
            if (sends[later]) step.to_edges = step.to_edges | exchange.doubling[later];
            if (needed[later]) begin
              step.to_stages = stage;
              partial = stage;
              stage = stage << 1;
            end
          end
        end
        if (start && inclusive) begin
          if (rank != '0) begin
            step.to_stages = step.to_stages | stage;
            result = stage;
            stage = stage << 1;
          end else begin
            step.to_host = 1'b1;
          end
        end
        if (!start || step.to_edges != '0 || step.to_stages != '0 || step.to_host) begin
          if (processes == 6'(ask_process_i)) a.step = step;
          processes = processes + 6'd1;
        end
      end
    end
    a.processes = processes;
    return a;
  endfunction

  always_comb begin
    unique case (ask_collective_i)
      CollectiveReduce: answer = reduce();
      CollectiveBroadcast: answer = broadcast();
      CollectiveGather: answer = gather();
      CollectiveScatter: answer = scatter();
      CollectiveReduceScatter:
      if (ask_algorithm_i == AlgorithmRing) answer = ring(1'b1);
      else if (ask_algorithm_i == AlgorithmHalving) answer = reduce_scatter_halving();
      else answer = reduce_scatter();
      CollectiveScan: answer = scan(1'b1);
      CollectiveExscan: answer = scan(1'b0);
      CollectiveAllgather:
      if (ask_algorithm_i == AlgorithmRing) answer = ring(1'b0);
      else if (ask_algorithm_i == AlgorithmExchange) answer = allgather_exchange();
      else answer = allgather_tree();
      default: answer = ask_algorithm_i == AlgorithmExchange ? allreduce_exchange() : allreduce_tree();
    endcase
  end

  always_ff @(posedge clk_i) begin
    {answer_processes_o, answer_process_o, answer_step_o} <= answer;
    if (rst_i) answer_valid_o <= 1'b0;
    else answer_valid_o <= ask_valid_i;
  end
endmodule
