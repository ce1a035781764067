// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "../../../sim/network/fat_tree.hpp"
#include "../../../sim/network/torus.hpp"
#include "bisim/bisim.hpp"
#include "mpi_fpga/collective_control.hpp"
#include "mpi_fpga/driver/group.hpp"

namespace {

using thalweg::mpi_fpga::Program, thalweg::mpi_fpga::Row;
using thalweg::mpi_fpga::spec::Algorithm, thalweg::mpi_fpga::spec::Collective;
using top::Inputs, top::Outputs, top::Parameters;

constexpr unsigned kEdges = Parameters::Edges;

/// Element i of a packed array whose elements have `bits` bits.
template <class Words>
std::uint32_t element(const Words& words, unsigned i, unsigned bits) {
  const unsigned at = i * bits;
  std::uint64_t value = words[at / 64] >> at % 64;
  if (at % 64 + bits > 64) value |= words[at / 64 + 1] << (64 - at % 64);
  return static_cast<std::uint32_t>(value & ((std::uint64_t{1} << bits) - 1));
}
template <class Words>
void set_element(Words& words, unsigned i, unsigned bits, std::uint64_t value) {
  const unsigned at = i * bits;
  words[at / 64] |= value << at % 64;
  if (at % 64 + bits > 64) words[at / 64 + 1] |= value >> (64 - at % 64);
}

top::step_t ports_of(const thalweg::mpi_fpga::Step& step) {
  return {.from_edges = step.from_edges,
          .to_edges = step.to_edges,
          .from_stages = step.from_stages,
          .to_stages = step.to_stages,
          .from_host = step.from_host,
          .to_host = step.to_host,
          .place = step.place,
          .streams = step.streams,
          .block = step.block,
          .upwards = step.upwards};
}

/// The step in the program of a row, three cycles after the request, and along a tree in the same cycle.
class Twin {
 public:
  void outputs(const Inputs& in, Outputs& out) const {
    const auto collective = static_cast<Collective>(in.request_collective_i.get());
    const bool tree = in.request_valid_i.get() &&
                      static_cast<Algorithm>(in.request_algorithm_i.get()) != Algorithm::exchange &&
                      (collective == Collective::barrier || collective == Collective::broadcast ||
                       collective == Collective::reduce || collective == Collective::allreduce);
    out.tree_valid_o.set(tree);
    if (tree) {
      const Answer answer = answer_to(in);
      out.tree_processes_o.set(answer.processes);
      out.tree_step_o.set(ports_of(answer.step));
    }
    const std::optional<Answer>& answer = answers_.back();
    out.answer_valid_o.set(answer.has_value());
    if (!answer) return;
    const auto& [processes, process, step] = *answer;
    out.answer_processes_o.set(processes);
    out.answer_process_o.set({.steps = process.steps,
                              .turns = static_cast<std::uint64_t>(process.turns) == 0      ? 0U
                                       : process.turns == thalweg::mpi_fpga::Turns::packet ? 1U
                                                                                           : 2U,
                              .rounds = process.rounds,
                              .reversed = process.reversed});
    out.answer_step_o.set(ports_of(step));
  }

  void step(const Inputs& in) {
    std::shift_right(answers_.begin(), answers_.end(), 1);
    answers_.front().reset();
    if (in.request_valid_i.get()) answers_.front() = answer_to(in);
  }

 private:
  static constexpr unsigned kLatency = 3;

  struct Answer {
    unsigned processes;
    thalweg::mpi_fpga::Process process;
    thalweg::mpi_fpga::Step step;
  };

  static Answer answer_to(const Inputs& in) {
    thalweg::mpi_fpga::Program program;
    const Row row = row_of(in);
    compile(static_cast<Collective>(in.request_collective_i.get()),
            static_cast<Algorithm>(in.request_algorithm_i.get()), row, root(in, row), program);
    const thalweg::mpi_fpga::Process& process = program.processes[in.request_process_i.get()];
    return {static_cast<unsigned>(program.processes.size()), process,
            program.steps[process.first + in.request_step_i.get()]};
  }

  /// A root to which the given directions lead.
  static std::uint32_t root(const Inputs& in, const Row& row) {
    const auto towards = static_cast<std::uint32_t>(in.request_towards_i.get());
    if (in.request_at_root_i.get() || row.ranks == 1) return row.label;
    if (row.ring()) return (row.label + (in.request_away_i.get() ? 2 : 1)) % row.ranks;
    return row.rooted || !towards ? (row.label + 1) % row.ranks : row.first(towards);
  }

  static Row row_of(const Inputs& in) {
    const top::vertex_t vertex = in.request_vertex_i.get();
    const top::exchange_t exchange = in.request_exchange_i.get();
    const auto edges = [](std::uint64_t set) { return static_cast<std::uint32_t>(set); };
    Row row;
    row.ranks = static_cast<std::uint32_t>(vertex.ranks);
    row.rank = vertex.has_rank ? static_cast<std::uint32_t>(vertex.rank) : thalweg::mpi_fpga::kNoRank;
    row.label = static_cast<std::uint32_t>(vertex.label);
    row.below = static_cast<std::uint32_t>(vertex.below);
    row.up = edges(vertex.up);
    row.down = edges(vertex.down);
    row.previous = edges(vertex.previous);
    row.next = edges(vertex.next);
    row.beyond = exchange.beyond;
    row.stage_count = static_cast<unsigned>(exchange.stage_count);
    row.fold = edges(exchange.fold);
    for (unsigned k = 0; k < thalweg::mpi_fpga::kRankBits; ++k) {
      row.stages[k] = {.peers = element(exchange.stage_peers, k, 32),
                       .place = static_cast<std::uint8_t>(element(exchange.stage_place, k, 5))};
      row.doubling[k] = element(exchange.doubling, k, 32);
    }
    for (unsigned k = 0; k < kEdges; ++k) {
      row.edges[k].behind = static_cast<std::uint32_t>(in.request_behind_i.get(k));
      const auto last = static_cast<std::uint32_t>(in.request_last_i.get(k));
      row.edges[k].first = (last + row.ranks + 1 - row.edges[k].behind) % row.ranks;
    }
    if (vertex.rooted)
      row.rooted = [branch = Row::Branch{edges(in.request_towards_i.get()), edges(in.request_away_i.get())}](
                       std::uint32_t) { return branch; };
    return row;
  }

  std::array<std::optional<Answer>, kLatency> answers_;  ///< the latest first
};

/// Asks for every step of every program, for rows of groups of ranks on tori and fat trees, by rank and by topology;
/// and for rows of larger groups.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 1;

  explicit Stimulus(bisim::Dice run) {
    while (rows_.empty()) {
      const bool torus = kEdges <= 16 || run.chance(300);
      thalweg::mpi_fpga::FabricConfig config =
          torus ? some_torus(run) : thalweg::test::fat_tree(3, 2 + run.below(5), 2);
      config.collective.trees =
          run.chance(700) ? thalweg::mpi_fpga::Trees::by_topology : thalweg::mpi_fpga::Trees::by_rank;
      const unsigned hosts = config.nodes - config.switches;
      std::vector<thalweg::NodeId> members(hosts);
      std::iota(members.begin(), members.end(), 0U);
      if (run.chance(600)) {
        for (unsigned i = hosts; i > 1; --i) std::swap(members[i - 1], members[run.below(i)]);
        if (run.chance(700)) members.resize(1 + run.below(hosts));
      }
      const thalweg::Graph graph(config);
      const auto any = [](thalweg::NodeId) { return true; };
      if (const auto group = thalweg::mpi_fpga::Group::make(config, graph, members, any, run.below(4)))
        add(*group, {.doubles = group->doubles()}, ~0U);
      if (config.collective.trees == thalweg::mpi_fpga::Trees::by_topology)
        for (const thalweg::mpi_fpga::Group& group : thalweg::mpi_fpga::Group::by_links(config, graph, members))
          add(group, {.doubles = group.doubles(), .trees = true}, bit(Algorithm::trees));
      for (const thalweg::mpi_fpga::Group& group : thalweg::mpi_fpga::Group::by_rings(config, graph, members))
        add(group, {.doubles = group.doubles(), .rings = true}, bit(Algorithm::ring));
    }
    for (unsigned i = 0; i < 4; ++i) {
      add(large_tree(run), {.doubles = false}, bit(Algorithm::tree));
      add(large_exchange(run), {.doubles = true}, ~bit(Algorithm::tree));
      add(large_ring(run), {.rings = true}, bit(Algorithm::ring));
    }
  }

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice dice = draws.lane(0);
    if (!dice.chance(950)) return;
    const Choice& choice = rows_[dice.below(static_cast<unsigned>(rows_.size()))];
    const auto [collective, algorithm] = choice.programs[dice.below(static_cast<unsigned>(choice.programs.size()))];
    const Row& row = choice.row;
    const std::uint32_t root = thalweg::mpi_fpga::rooted(collective) ? dice.below(row.ranks) : 0;
    compile(collective, algorithm, row, root, program_);
    if (program_.processes.empty()) return;  // an exclusive scan of one rank
    const unsigned process = dice.below(static_cast<unsigned>(program_.processes.size()));
    next.request_valid_i.set(1);
    next.request_collective_i.set(static_cast<std::uint64_t>(collective));
    next.request_algorithm_i.set(static_cast<std::uint64_t>(algorithm));
    next.request_process_i.set(process);
    next.request_step_i.set(dice.below(program_.processes[process].steps));
    next.request_at_root_i.set(row.has_rank() && row.label == root);
    ask_of(row, root, next);
  }

 private:
  struct Choice {
    Row row;
    std::vector<std::pair<Collective, Algorithm>> programs;
  };

  static thalweg::mpi_fpga::FabricConfig some_torus(bisim::Dice& run) {
    static const std::vector<std::vector<unsigned>> shapes{{2, 2, 2}, {4, 4}, {3, 2, 2}, {5, 3}, {8}, {2, 2}, {3, 3}};
    const std::vector<unsigned>& sides = shapes[run.below(static_cast<unsigned>(shapes.size()))];
    thalweg::mpi_fpga::FabricConfig config = thalweg::test::torus(sides);
    config.grid = sides;
    return config;
  }

  static constexpr std::uint32_t bit(Algorithm algorithm) { return 1U << static_cast<unsigned>(algorithm); }

  void add(const thalweg::mpi_fpga::Group& group, const thalweg::mpi_fpga::Abilities& abilities,
           std::uint32_t allowed) {
    for (const thalweg::mpi_fpga::Group::Vertex& vertex : group.vertices()) {
      if (kEdges < 32 && vertex.row.used >> kEdges) continue;
      const bool tree_alone = !vertex.row.has_rank() && !abilities.trees;
      add(vertex.row, abilities, tree_alone ? allowed & bit(Algorithm::tree) : allowed);
    }
  }

  void add(const Row& row, thalweg::mpi_fpga::Abilities abilities, std::uint32_t allowed) {
    abilities.ranks = row.ranks;
    abilities.slot_packets = 65535;
    Choice choice{.row = row, .programs = {}};
    for (unsigned c = 1; c <= static_cast<unsigned>(Collective::exscan); ++c) {
      const auto collective = static_cast<Collective>(c);
      if (collective == Collective::alltoall) continue;  // it has no processes
      for (std::uint32_t rest = algorithms(collective, abilities) & allowed; rest; rest &= rest - 1)
        choice.programs.emplace_back(collective, static_cast<Algorithm>(std::countr_zero(rest)));
    }
    if (!choice.programs.empty()) rows_.push_back(std::move(choice));
  }

  // Rows of communicators beyond the fabrics' sizes, up to the maximum number of ranks: for each kind of row, the
  // fields that its programs read.

  static Row large(bisim::Dice& run) {
    Row row;
    row.ranks = 2 + run.below(run.pick(62, 1022, 65534));
    row.rank = run.below(row.ranks);
    return row;
  }

  static Row large_tree(bisim::Dice& run) {
    Row row = large(run);
    if (run.chance(300)) row.rank = thalweg::mpi_fpga::kNoRank;
    if (run.chance(700)) row.up = 1U << run.below(kEdges);
    const unsigned labels = row.ranks - (row.up != 0);  // something is above it
    const unsigned most = std::min(labels - row.has_rank(), kEdges - 1);
    const unsigned likely = run.pick(100, 500, 950);
    for (unsigned k = 0; k < kEdges; ++k)
      if ((row.up >> k & 1) == 0 && run.chance(likely) && static_cast<unsigned>(std::popcount(row.down)) < most)
        row.down |= 1U << k;
    if (!row.up && !row.down) row.down = 1;
    auto children = static_cast<unsigned>(std::popcount(row.down));
    if (children + (row.up != 0) < 2) row.rank = run.below(row.ranks);  // a vertex that forwards nothing is a rank
    const unsigned own = row.has_rank(), least = children + own;
    row.below = !row.up ? row.ranks : children == 0 ? 1 : least + run.below(labels - least + 1);
    row.label = run.below(row.ranks - row.below + 1);
    std::uint32_t first = row.label + own, left = row.below - own;
    for (std::uint32_t rest = row.down; rest; rest &= rest - 1) {
      --children;
      const std::uint32_t behind = children ? 1 + run.below(left - children) : left;
      row.edges[static_cast<unsigned>(std::countr_zero(rest))] = {.first = first, .behind = behind};
      first += behind;
      left -= behind;
    }
    return row;
  }

  static Row large_exchange(bisim::Dice& run) {
    constexpr unsigned stages = std::min(kEdges, thalweg::mpi_fpga::kRankBits);  // each has an edge of its own
    Row row = large(run);
    if (stages < thalweg::mpi_fpga::kRankBits) row.ranks = 2 + (row.ranks - 2) % ((1U << stages) - 1);
    if (run.chance(500)) row.ranks = std::bit_floor(row.ranks);
    row.rank %= row.ranks;
    row.below = row.ranks;
    row.beyond = run.chance(200);
    row.stage_count = run.below(stages + 1);
    if (row.beyond || run.chance(300)) row.fold = 1U << run.below(kEdges);
    const unsigned first = run.below(kEdges);
    for (unsigned k = 0; k < thalweg::mpi_fpga::kRankBits; ++k) {
      if (k < row.stage_count) {
        row.stages[k].peers = static_cast<std::uint32_t>(run.bits() & ((std::uint64_t{1} << kEdges) - 1));
        row.stages[k].place = static_cast<std::uint8_t>(run.below(32));
      }
      if ((row.rank ^ 1U << k) < row.ranks) row.doubling[k] = 1U << (first + k) % kEdges;
    }
    return row;
  }

  static Row large_ring(bisim::Dice& run) {
    Row row = large(run);
    row.label = run.below(row.ranks);
    row.below = 1;
    row.previous = 1U << run.below(kEdges);
    row.next = 1U << run.below(kEdges);
    return row;
  }

  static void ask_of(const Row& row, std::uint32_t root, Inputs& next) {
    next.request_vertex_i.set({.has_rank = row.has_rank(),
                               .rooted = row.rooted != nullptr,
                               .ring = row.ring(),
                               .ranks = row.ranks,
                               .rank = row.rank & 0xFFFF,
                               .label = row.label,
                               .below = row.below,
                               .up = row.up,
                               .down = row.down,
                               .previous = row.previous,
                               .next = row.next});
    top::exchange_t exchange{.beyond = row.beyond, .stage_count = row.stage_count, .fold = row.fold};
    for (unsigned k = 0; k < thalweg::mpi_fpga::kRankBits; ++k) {
      set_element(exchange.stage_peers, k, 32, row.stages[k].peers);
      set_element(exchange.stage_place, k, 5, row.stages[k].place);
      set_element(exchange.doubling, k, 32, row.doubling[k]);
    }
    next.request_exchange_i.set(exchange);
    next.request_towards_i.set(row.towards(root));
    next.request_away_i.set(row.away_from(root));
    for (unsigned k = 0; k < kEdges; ++k) {
      next.request_behind_i.set(row.behind(1U << k), k);
      next.request_last_i.set(row.last(1U << k), k);
    }
  }

  std::vector<Choice> rows_;
  Program program_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
