// SPDX-License-Identifier: Apache-2.0
#include "mpi_fpga/collective_control.hpp"

#include <algorithm>
#include <bit>

#include "common/bits.hpp"

namespace thalweg::mpi_fpga {
namespace {

using spec::Algorithm;
using spec::Collective;

class Compiler {
 public:
  /// `root` is a label.
  Compiler(const Row& row, std::uint32_t root, Program& program) : row_(row), program_(program) {
    program_.steps.clear();
    program_.processes.clear();
    at_root_ = row.has_rank() && row.label == root;
    parent_ = row.towards(root);
    children_ = row.away_from(root);
  }

  void reduce() {
    process();
    step({.from_edges = children_, .to_edges = parent_, .from_host = row_.has_rank(), .to_host = at_root_});
  }

  void broadcast() {
    process();
    step(
        {.from_edges = parent_, .to_edges = children_, .from_host = at_root_, .to_host = row_.has_rank() && !at_root_});
  }

  /// Reduction to the top of the tree, which forwards its result at once, then broadcast.
  void allreduce_tree() {
    const bool host = row_.has_rank();
    process();
    if (!row_.up) {
      step({.from_edges = row_.down, .to_edges = row_.down, .from_host = host, .to_host = host});
      return;
    }
    step({.from_edges = row_.down, .to_edges = row_.up, .from_host = host});
    process();
    step({.from_edges = row_.up, .to_edges = row_.down, .to_host = host});
  }

  /// In each stage all ranks of a group exchange their partial results. A rank that takes no part in the stages sends
  /// its operand to a peer that does, and receives the result from it.
  void allreduce_exchange() {
    if (row_.beyond) {
      process();
      step({.to_edges = row_.fold, .from_host = true});
      process();
      step({.from_edges = row_.fold, .to_host = true});
      return;
    }
    for (unsigned stage = 0; stage <= row_.stage_count; ++stage) {
      const bool first = stage == 0, last = stage == row_.stage_count;
      process();
      step({.from_edges = first ? row_.fold : row_.stages[stage - 1].peers,
            .to_edges = last ? row_.fold : row_.stages[stage].peers,
            .from_stages = first ? 0 : std::uint64_t{1} << (stage - 1),
            .to_stages = last ? 0 : std::uint64_t{1} << stage,
            .from_host = first,
            .to_host = last,
            .place = first ? std::uint8_t{0} : row_.stages[stage - 1].place});
    }
  }

  /// In the order of the edges; at the root in parallel, because every stream has its own position in memory.
  void gather() {
    process();
    if (row_.has_rank()) step({.to_edges = parent_, .from_host = true, .to_host = at_root_, .block = row_.label});
    each_bit(children_, [&](unsigned k) {
      if (at_root_) process();
      step({.from_edges = 1u << k, .to_edges = parent_, .to_host = at_root_, .streams = row_.behind(1u << k)});
    });
  }

  /// The root sends one stream per rank, over all its edges in parallel, in descending label order per edge, so that
  /// every vertex forwards streams in order of arrival.
  void scatter() {
    if (!at_root_) {
      process();
      scatter_from(parent_);
      return;
    }
    each_bit(children_, [&](unsigned k) {
      process();
      step({.to_edges = 1u << k, .from_host = true, .streams = row_.behind(1u << k), .block = row_.last(1u << k)});
    });
    process();
    step({.from_host = true, .to_host = true, .block = row_.label});
  }

  /// Reduction of one stream per rank, in descending label order, to the top of the tree, which scatters the results at
  /// once.
  void reduce_scatter() {
    const bool host = row_.has_rank();
    process();
    if (!row_.up) {
      downwards(row_.ranks - 1, row_.ranks, [&](std::uint32_t edge, std::uint32_t last, std::uint32_t streams) {
        step({.from_edges = row_.down,
              .to_edges = edge,
              .from_host = host,
              .to_host = edge == 0,
              .streams = streams,
              .block = last});
      });
      return;
    }
    step({.from_edges = row_.down,
          .to_edges = row_.up,
          .from_host = host,
          .streams = row_.ranks,
          .block = row_.ranks - 1});
    process();
    scatter_from(row_.up);
  }

  /// Every rank's stream is sent down the tree rooted at that rank. On every edge, streams follow in label order. Those
  /// from below a vertex go up at once, and are kept in a stage until their turn on the down edges.
  void allgather_tree() {
    const bool host = row_.has_rank();
    constexpr std::uint64_t kept = 1;
    process();
    const auto upwards = [&](std::uint32_t edge, std::uint32_t streams) {
      Step out{.from_edges = edge, .to_edges = row_.down & ~edge, .from_host = edge == 0, .to_host = host};
      if (row_.up) {
        out.to_stages = out.to_edges ? kept : 0;
        out.to_edges = row_.up;
      }
      out.streams = streams;
      out.block = row_.label;
      step(out);
    };
    if (host) upwards(0, 1);
    each_bit(row_.down, [&](unsigned k) { upwards(1u << k, row_.behind(1u << k)); });
    if (!row_.up) return;

    process();
    const auto downwards = [&](std::uint32_t streams) {
      if (streams > 0) step({.from_edges = row_.up, .to_edges = row_.down, .to_host = host, .streams = streams});
    };
    const auto from_stage = [&](std::uint32_t edge, std::uint32_t streams) {
      if (row_.down & ~edge) step({.to_edges = row_.down & ~edge, .from_stages = kept, .streams = streams});
    };
    downwards(row_.label);
    if (host) from_stage(0, 1);
    each_bit(row_.down, [&](unsigned k) { from_stage(1u << k, row_.behind(1u << k)); });
    downwards(row_.ranks - row_.label - row_.below);
  }

  /// All ranks in parallel: each sends its own block round the ring, then forwards each block that it receives, and
  /// keeps the last one. Reduced: each sends the block of the farthest rank first, then combines each received block
  /// with its own; the last one is its result.
  void ring(bool reduced) {
    const std::uint32_t ranks = row_.ranks, own = row_.label;
    const std::uint32_t from = reduced ? row_.next : row_.previous, to = reduced ? row_.previous : row_.next;
    const auto further = [&](std::uint32_t ranks_on) { return (own + ranks_on) % ranks; };
    process(Turns::burst);
    step({.to_edges = to, .from_host = true, .to_host = !reduced, .block = further(reduced), .upwards = reduced});
    if (ranks > 2)
      step({.from_edges = from,
            .to_edges = to,
            .from_host = reduced,
            .to_host = !reduced,
            .streams = ranks - 2,
            .block = further(reduced ? 2 : ranks - 1),
            .upwards = reduced});
    step({.from_edges = from, .from_host = reduced, .to_host = true, .block = further(!reduced)});
  }

  /// Recursive doubling: packets from an edge are forwarded over the edges of later stages. Streams alternate by
  /// packet, because every edge carries many streams and no node could buffer a whole one.
  void allgather_exchange() {
    std::uint32_t later = 0;
    for (const std::uint32_t edge : row_.doubling) later |= edge;
    process(Turns::packet);
    step({.to_edges = later, .from_host = true, .to_host = true, .block = row_.rank});
    for (unsigned stage = 0; later; ++stage) {
      const std::uint32_t streams = 1u << stage;
      later &= ~row_.doubling[stage];
      step({.from_edges = row_.doubling[stage],
            .to_edges = later,
            .to_host = true,
            .streams = streams,
            .block = row_.rank ^ streams});
    }
  }

  /// Recursive halving, highest bit first: ranks that differ in bit k alone exchange their partial results for the
  /// other's half, and combine. Streams alternate by packet, one to forward and one to keep, so that none is held back.
  void reduce_scatter_halving() {
    const auto stages = static_cast<unsigned>(std::bit_width(row_.ranks)) - 1;
    const auto turn = [&](unsigned bits, unsigned steps) {
      process(Turns::packet);
      Process& process = program_.processes.back();
      process.rounds = (1u << bits) / steps;
      process.reversed = static_cast<std::uint8_t>(bits);
    };
    const auto first_of = [&](std::uint32_t rank, unsigned bits) { return rank ^ ((1u << bits) - 1); };
    const unsigned top = stages - 1;
    turn(top, 1);
    step({.to_edges = row_.doubling[top], .from_host = true, .block = first_of(row_.rank ^ 1u << top, top)});
    for (unsigned k = stages; k-- > 0;) {
      turn(k, k ? 2 : 1);
      Step half{.from_edges = row_.doubling[k],
                .from_stages = k == top ? 0 : std::uint64_t{1} << k,
                .from_host = k == top,
                .to_host = k == 0,
                .block = first_of(row_.rank, k)};
      if (k == 0) {
        step(half);
        continue;
      }
      half.to_edges = row_.doubling[k - 1];
      step(half);
      half.to_edges = 0;
      half.to_stages = std::uint64_t{1} << (k - 1);
      step(half);
    }
  }

  /// In stage k, ranks that differ in bit k alone exchange the partial results of their groups of 2^k ranks, if they
  /// are needed. The upper rank combines the received one with its result; both combine it with their group's.
  void scan(bool inclusive) {
    const std::uint32_t rank = row_.rank;
    std::uint64_t result = 0, partial = 0;    // stages that hold them
    const auto result_to = [&](unsigned k) {  // destination of the result that stage k or later combines
      Step out;
      if (const std::uint32_t later = rank >> k)
        out.to_stages = result = held(k + static_cast<unsigned>(std::countr_zero(later)), Held::result);
      else
        out.to_host = true;
      return out;
    };
    Step start = partial_from(0);
    partial = start.to_stages;
    if (inclusive) {
      const Step out = result_to(0);
      start.to_stages |= out.to_stages;
      start.to_host = out.to_host;
    }
    start.from_host = true;
    if (start.to_edges || start.to_stages || start.to_host) {
      process();
      step(start);
    }
    for (unsigned k = 0; k < kRankBits; ++k) {
      const std::uint32_t edge = row_.doubling[k];
      const bool upper = rank >> k & 1, needed = edge && group_needed(rank, k);
      std::uint64_t copy = 0;
      if (upper) {
        const std::uint64_t former = result;
        Step out = result_to(k + 1);
        if (needed) {  // the received partial result is used twice
          copy = held(k, Held::copy);
          Step fork{.from_edges = edge, .to_stages = copy};
          if (former) {
            fork.to_stages |= held(k, Held::fresh);
            out.from_stages = former | held(k, Held::fresh);
          } else {
            fork.to_stages |= out.to_stages;
            fork.to_host = out.to_host;
          }
          process();
          step(fork);
        } else {
          out.from_edges = edge;
          out.from_stages = former;
        }
        if (out.from_edges || out.from_stages) {
          process();
          step(out);
        }
      }
      if (needed) {
        Step out = partial_from(k + 1);
        out.from_stages = partial | copy;
        out.from_edges = upper ? 0 : edge;
        partial = out.to_stages;
        process();
        step(out);
      }
    }
  }

 private:
  /// Scan: whether the partial result of a rank's group of 2^(k+1) is sent in a later stage.
  [[nodiscard]] bool group_needed(std::uint32_t rank, unsigned k) const {
    for (unsigned later = k + 1; later < kRankBits && 1u << later < row_.ranks; ++later)
      if (sends_group(rank, later)) return true;
    return false;
  }
  [[nodiscard]] bool sends_group(std::uint32_t rank, unsigned k) const {
    const std::uint32_t peer = rank ^ (1u << k);
    return peer < row_.ranks && (peer > rank || group_needed(peer, k));
  }
  /// Destinations of the own group's partial result from stage k, until a stage changes it.
  [[nodiscard]] Step partial_from(unsigned k) const {
    Step out;
    for (; k < kRankBits && !out.to_stages; ++k) {
      if (!row_.doubling[k]) continue;
      if (sends_group(row_.rank, k)) out.to_edges |= row_.doubling[k];
      if (group_needed(row_.rank, k)) out.to_stages = held(k, Held::partial);
    }
    return out;
  }
  /// Scan: buffers for the operands of stage k of the exchange; their numbers follow from k alone.
  enum class Held : unsigned { result, partial, copy, fresh };
  static std::uint64_t held(unsigned k, Held what) { return std::uint64_t{1} << (4 * k + static_cast<unsigned>(what)); }

  /// Streams for all ranks except those behind an edge, in descending label order.
  void scatter_from(std::uint32_t parent) {
    const std::uint32_t below_first = row_.first(parent) + row_.ranks - 1;
    downwards(below_first % row_.ranks, row_.ranks - row_.behind(parent),
              [&](std::uint32_t edge, std::uint32_t, std::uint32_t streams) {
                step({.from_edges = parent, .to_edges = edge, .to_host = edge == 0, .streams = streams});
              });
  }

  /// Visits `count` labels in descending order from `last`, modulo ranks, which must end an interval behind an edge:
  /// per interval the edge as a bit (0: the own rank), its last label and its length.
  template <class Visit>
  void downwards(std::uint32_t last, std::uint32_t count, Visit&& visit) const {
    while (count > 0) {
      const std::uint32_t edge = row_.towards(last);
      const std::uint32_t n = edge ? row_.behind(edge) : 1;
      visit(edge, last, n);
      last = (last + row_.ranks - n) % row_.ranks;
      count -= n;
    }
  }

  void process(Turns turns = Turns::stream) {
    program_.processes.push_back({static_cast<std::uint8_t>(program_.steps.size()), 0, turns});
  }
  void step(const Step& step) {
    program_.steps.push_back(step);
    ++program_.processes.back().steps;
  }

  const Row& row_;
  Program& program_;
  bool at_root_;
  std::uint32_t parent_, children_;
};

}  // namespace

bool reduces(Collective collective) {
  return collective == Collective::reduce || collective == Collective::allreduce ||
         collective == Collective::reduce_scatter || collective == Collective::scan || collective == Collective::exscan;
}

bool rooted(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::reduce || collective == Collective::gather ||
         collective == Collective::scatter;
}

bool has_vector(Collective collective) {
  return collective == Collective::gather || collective == Collective::allgather || collective == Collective::scatter ||
         collective == Collective::reduce_scatter || collective == Collective::alltoall;
}

Holding send_holding(Collective collective, bool at_root) {
  switch (collective) {
    case Collective::barrier:
      return Holding::nothing;
    case Collective::broadcast:
      return at_root ? Holding::block : Holding::nothing;
    case Collective::scatter:
      return at_root ? Holding::block_per_rank : Holding::nothing;
    case Collective::reduce_scatter:
    case Collective::alltoall:
      return Holding::block_per_rank;
    default:
      return Holding::block;
  }
}

Holding receive_holding(Collective collective, std::uint32_t rank, bool at_root) {
  switch (collective) {
    case Collective::barrier:
      return Holding::nothing;
    case Collective::broadcast:
      return at_root ? Holding::nothing : Holding::block;
    case Collective::reduce:
      return at_root ? Holding::block : Holding::nothing;
    case Collective::gather:
      return at_root ? Holding::block_per_rank : Holding::nothing;
    case Collective::allgather:
    case Collective::alltoall:
      return Holding::block_per_rank;
    case Collective::exscan:
      return rank == 0 ? Holding::nothing : Holding::block;
    default:
      return Holding::block;
  }
}

std::uint32_t algorithms(Collective collective, const Abilities& abilities, bool vector) {
  constexpr auto bit = [](Algorithm algorithm) { return 1u << static_cast<unsigned>(algorithm); };
  const std::uint32_t ranks = abilities.ranks, tree = bit(Algorithm::tree), exchange = bit(Algorithm::exchange);
  const std::uint32_t rings = abilities.rings && !vector ? bit(Algorithm::ring) : 0,
                      several = rings | (abilities.trees && !vector ? bit(Algorithm::trees) : 0),
                      turning = abilities.slot_packets > 1 ? rings : 0;
  const bool halves = abilities.doubles && !vector && std::has_single_bit(ranks);
  switch (collective) {
    case Collective::point_to_point:
      return 0;
    case Collective::alltoall:
      return exchange;
    case Collective::scan:
    case Collective::exscan: {  // up to three processes per stage
      const bool fits = 3 * static_cast<unsigned>(std::bit_width(ranks - 1)) + 1 <= Program::kMaxProcesses;
      return abilities.doubles && fits ? exchange : 0;
    }
    case Collective::barrier:
      return tree | exchange;
    case Collective::allreduce:
      return tree | exchange | several;
    case Collective::broadcast:
    case Collective::reduce:
      return tree | several;
    case Collective::allgather:
      return tree | turning | (halves && ranks / 2 <= abilities.slot_packets ? exchange : 0);
    case Collective::reduce_scatter:
      return tree | turning | (halves && ranks > 1 ? bit(Algorithm::halving) : 0);
    default:
      return tree;
  }
}

Algorithm effective_algorithm(const CollectiveRequest& request, const Abilities& abilities) {
  const std::uint32_t known = algorithms(request.collective, abilities, request.vector);
  if (known >> static_cast<unsigned>(request.algorithm) & 1) return request.algorithm;
  return static_cast<Algorithm>(std::countr_zero(known));
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
    case Collective::scatter:
      return compiler.scatter();
    case Collective::reduce_scatter:
      if (algorithm == Algorithm::ring) return compiler.ring(true);
      return algorithm == Algorithm::halving ? compiler.reduce_scatter_halving() : compiler.reduce_scatter();
    case Collective::scan:
    case Collective::exscan:
      return compiler.scan(collective == Collective::scan);
    case Collective::allgather:
      if (algorithm == Algorithm::ring) return compiler.ring(false);
      return algorithm == Algorithm::exchange ? compiler.allgather_exchange() : compiler.allgather_tree();
    default:
      return algorithm == Algorithm::exchange ? compiler.allreduce_exchange() : compiler.allreduce_tree();
  }
}

}  // namespace thalweg::mpi_fpga
