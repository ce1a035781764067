// SPDX-License-Identifier: Apache-2.0
#include "bisim/bisim.hpp"
#include "smi/open_ports.hpp"
#include "smi/tree_neighbours.hpp"

namespace {

using thalweg::smi::Open;
using top::Inputs, top::Outputs;

struct Twin {
  thalweg::smi::TreeNeighbours neighbours;

  void outputs(const Inputs&, Outputs& out) const {
    out.out_valid_o.set(neighbours.valid());
    out.out_parent_o.set(neighbours.parent());
    out.out_children_o.set(neighbours.children());
    top::member_t child;
    child.own = neighbours.child().own;
    child.rank = neighbours.child().rank;
    out.out_child_o.set(child);
  }
  void step(const Inputs& in) {
    const Open open = blocks::open_of(in.open_i.get());
    neighbours.step(in.open_valid_i.get() ? &open : nullptr);
  }
};

/// Communicators of all sizes, trees of all arities. Lanes: opens.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 1;

  explicit Stimulus(bisim::Dice run) : load_(run.pick(1000, 200)), ranks_(run.pick(256, 8)), arity_(run.pick(3, 255)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice opens = draws.lane(0);
    if ((under_way_ && !seen.out_valid_o.get()) || !opens.chance(load_)) return;
    under_way_ = true;
    Open open;
    open.ranks = 1 + opens.below(ranks_);
    open.arity = 1 + opens.below(std::min(arity_, std::max(1u, open.ranks - 1)));
    open.own = opens.below(open.ranks);
    open.root = opens.below(open.ranks);
    open.first = opens.below(256);
    open.stride = opens.below(256);
    next.open_valid_i.set(true);
    next.open_i.set(blocks::open_port(open));
  }

 private:
  unsigned load_, ranks_, arity_;
  bool under_way_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
