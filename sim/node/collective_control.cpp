#include "node/collective_control.hpp"

#include <algorithm>
#include <bit>

#include "common/bits.hpp"

namespace thalweg {
namespace {

using spec::Algorithm;
using spec::Collective;

constexpr std::uint32_t bit(unsigned edge) {
  return 1u << edge;
}

/// The binomial tree around one rank.
struct Tree {
  explicit Tree(const Row& row) : rank(row.rank), ranks(row.ranks) {
    up = rank == 0 ? row.edge_count() : static_cast<unsigned>(std::countr_zero(rank));
    for (unsigned k = 0; k < up; ++k)
      if (rank + bit(k) < ranks) down_edges |= bit(k);
    below = rank == 0 ? ranks : std::min(bit(up), ranks - rank);
  }

  [[nodiscard]] std::uint32_t edges() const { return down_edges | (rank == 0 ? 0 : bit(up)); }

  /// The edge towards another rank.
  [[nodiscard]] unsigned towards(std::uint32_t other) const {
    const bool inside = other > rank && other - rank < below;
    return inside ? static_cast<unsigned>(std::bit_width(other - rank)) - 1 : up;
  }

  /// Ranks behind an edge.
  [[nodiscard]] std::uint32_t behind(unsigned edge) const {
    return edge == up ? ranks - below : std::min(bit(edge), ranks - rank - bit(edge));
  }

  std::uint32_t rank, ranks;
  unsigned up;                   ///< the parent's edge; of rank 0 one beyond its last
  std::uint32_t down_edges = 0;  ///< the children's
  std::uint32_t below;           ///< ranks of the own subtree, [rank, rank + below)
};

class Compiler {
 public:
  Compiler(const Row& row, std::uint32_t root, Program& program)
      : row_(row), tree_(row), root_(root), program_(program) {
    program_.step_count = program_.process_count = 0;
    at_root_ = row.rank == root;
    parent_ = at_root_ ? 0 : bit(tree_.towards(root));
    children_ = tree_.edges() & ~parent_;
  }

  void reduce() {
    process();
    step({.from_edges = children_, .to_edges = parent_, .from_host = true, .to_host = at_root_});
  }

  void broadcast() {
    process();
    step({.from_edges = parent_, .to_edges = children_, .from_host = at_root_, .to_host = !at_root_});
  }

  /// The reduction to rank 0, which hands its result on at once, and the broadcast.
  void allreduce_tree() {
    process();
    if (at_root_) {
      step({.from_edges = children_, .to_edges = children_, .from_host = true, .to_host = true});
      return;
    }
    step({.from_edges = children_, .to_edges = parent_, .from_host = true});
    broadcast();
  }

  /// Recursive doubling over the largest power of two; a rank beyond it hands its part to its peer below, and gets the
  /// result from there.
  void allreduce_exchange() {
    const unsigned stages = static_cast<unsigned>(std::bit_width(row_.ranks)) - 1;
    const std::uint32_t beyond = bit(stages);
    if (row_.rank >= beyond) {
      process();
      step({.to_edges = beyond, .from_host = true});
      process();
      step({.from_edges = beyond, .to_host = true});
      return;
    }
    const std::uint32_t folded = row_.has_edge(stages) ? beyond : 0;
    for (unsigned stage = 0; stage <= stages; ++stage) {
      const bool first = stage == 0, last = stage == stages;
      process();
      step({.from_edges = first ? folded : bit(stage - 1),
            .to_edges = last ? folded : bit(stage),
            .from_host = first,
            .from_previous = !first,
            .to_host = last,
            .to_next = !last});
    }
  }

  /// In the order of the edges; at the root side by side, because every stream has a place of its own in memory.
  void gather() {
    process();
    step({.to_edges = parent_, .from_host = true, .to_host = at_root_});
    each_bit(children_, [&](unsigned k) {
      if (at_root_) process();
      step({.from_edges = bit(k), .to_edges = parent_, .to_host = at_root_, .streams = tree_.behind(k)});
    });
  }

  /// The streams of all ranks, one after another, each down the tree that its rank is the root of.
  void allgather_tree() {
    const std::uint32_t edges = tree_.edges();
    const auto from = [&](unsigned edge, std::uint32_t streams) {
      if (streams > 0)
        step({.from_edges = bit(edge), .to_edges = edges & ~bit(edge), .to_host = true, .streams = streams});
    };
    process();
    from(tree_.up, row_.rank);
    step({.to_edges = edges, .from_host = true, .to_host = true});
    each_bit(tree_.down_edges, [&](unsigned k) { from(k, tree_.behind(k)); });
    from(tree_.up, row_.ranks - row_.rank - tree_.below);
  }

  /// Recursive doubling: what came on an edge goes on over the higher ones. Packet by packet, because every edge carries
  /// many streams and no node could hold back a whole one.
  void allgather_exchange() {
    const std::uint32_t all = row_.ranks - 1;
    process(true);
    step({.to_edges = bit(row_.edge_count()) - 1, .from_host = true, .to_host = true, .source = row_.rank});
    for (std::uint32_t edge = 1; edge <= all; edge <<= 1)
      step({.from_edges = edge,
            .to_edges = all & ~(2 * edge - 1),
            .to_host = true,
            .streams = edge,
            .source = row_.rank ^ edge});
  }

 private:
  void process(bool interleaved = false) {
    program_.processes[program_.process_count++] = {static_cast<std::uint8_t>(program_.step_count), 0, interleaved};
  }
  void step(const Step& step) {
    program_.steps[program_.step_count++] = step;
    ++program_.processes[program_.process_count - 1].steps;
  }

  const Row& row_;
  Tree tree_;
  std::uint32_t root_;
  Program& program_;
  bool at_root_;
  std::uint32_t parent_, children_;
};

}  // namespace

bool offloaded(Collective collective) {
  return collective >= Collective::barrier && collective <= Collective::allgather;
}

bool gives_data(Collective collective, std::uint32_t rank, std::uint32_t root) {
  return collective == Collective::broadcast ? rank == root : collective != Collective::barrier;
}

std::uint32_t received_blocks(Collective collective, std::uint32_t rank, std::uint32_t root, std::uint32_t ranks) {
  switch (collective) {
    case Collective::broadcast:
      return rank == root ? 0 : 1;
    case Collective::reduce:
      return rank == root ? 1 : 0;
    case Collective::allreduce:
      return 1;
    case Collective::gather:
      return rank == root ? ranks : 0;
    case Collective::allgather:
      return ranks;
    default:
      return 0;
  }
}

Algorithm effective_algorithm(Collective collective, Algorithm wanted, std::uint32_t ranks, unsigned slot_packets) {
  if (wanted != Algorithm::exchange) return Algorithm::tree;
  switch (collective) {
    case Collective::barrier:
    case Collective::allreduce:
      return Algorithm::exchange;
    case Collective::allgather:
      return std::has_single_bit(ranks) && ranks / 2 <= slot_packets ? Algorithm::exchange : Algorithm::tree;
    default:
      return Algorithm::tree;
  }
}

void compile(Collective collective, Algorithm algorithm, const Row& row, std::uint32_t root, Program& program) {
  Compiler compiler(row, root, program);
  switch (collective) {
    case Collective::reduce:
      return compiler.reduce();
    case Collective::broadcast:
      return compiler.broadcast();
    case Collective::gather:
      return compiler.gather();
    case Collective::allgather:
      return algorithm == Algorithm::exchange ? compiler.allgather_exchange() : compiler.allgather_tree();
    default:
      return algorithm == Algorithm::exchange ? compiler.allreduce_exchange() : compiler.allreduce_tree();
  }
}

}  // namespace thalweg
