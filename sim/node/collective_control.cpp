#include "node/collective_control.hpp"

#include <algorithm>
#include <bit>

#include "common/bits.hpp"

namespace thalweg {
namespace {

using spec::Algorithm;
using spec::Collective;

class Compiler {
 public:
  /// `root` is a label.
  Compiler(const Row& row, std::uint32_t root, Program& program) : row_(row), program_(program) {
    program_.step_count = program_.process_count = 0;
    at_root_ = row.has_rank() && row.label == root;
    parent_ = at_root_ ? 0 : row.towards(root);
    children_ = row.tree() & ~parent_;
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

  /// The reduction to the top of the tree, which hands its result on at once, and the broadcast.
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

  /// In each stage all ranks of a group hand each other their partial results. A rank that takes no part in the stages hands
  /// its part to a peer that does, and gets the result from there.
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
            .from_host = first,
            .from_previous = !first,
            .to_host = last,
            .to_next = !last,
            .place = first ? std::uint8_t{0} : row_.stages[stage - 1].place});
    }
  }

  /// In the order of the edges; at the root side by side, because every stream has a place of its own in memory.
  void gather() {
    process();
    if (row_.has_rank()) step({.to_edges = parent_, .from_host = true, .to_host = at_root_});
    each_bit(children_, [&](unsigned k) {
      if (at_root_) process();
      step({.from_edges = 1u << k, .to_edges = parent_, .to_host = at_root_, .streams = row_.behind(k)});
    });
  }

  /// The streams of all ranks in the order of their labels, one after another, each down the tree that its rank is the root
  /// of.
  void allgather_tree() {
    const std::uint32_t edges = row_.tree();
    const bool host = row_.has_rank();
    const auto from = [&](std::uint32_t edge, std::uint32_t streams) {
      if (streams > 0) step({.from_edges = edge, .to_edges = edges & ~edge, .to_host = host, .streams = streams});
    };
    process();
    from(row_.up, row_.label);
    if (host) step({.to_edges = edges, .from_host = true, .to_host = true});
    each_bit(row_.down, [&](unsigned k) { from(1u << k, row_.behind(k)); });
    from(row_.up, row_.ranks - row_.label - row_.below);
  }

  /// Recursive doubling: what came on an edge goes on over those of later stages. Packet by packet, because every edge
  /// carries many streams and no node could hold back a whole one.
  void allgather_exchange() {
    std::uint32_t later = 0;
    for (unsigned stage = 0; stage < row_.stage_count; ++stage) later |= row_.stages[stage].peers;
    process(true);
    step({.to_edges = later, .from_host = true, .to_host = true, .source = row_.rank});
    for (unsigned stage = 0; stage < row_.stage_count; ++stage) {
      const std::uint32_t streams = 1u << stage;
      later &= ~row_.stages[stage].peers;
      step({.from_edges = row_.stages[stage].peers,
            .to_edges = later,
            .to_host = true,
            .streams = streams,
            .source = row_.rank ^ streams});
    }
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
