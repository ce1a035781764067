// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "bisim/bisim.hpp"
#include "smi/synchs.hpp"

namespace {

using top::Inputs, top::Outputs;

struct Twin {
  thalweg::smi::Synchs synchs;

  void outputs(const Inputs&, Outputs& out) const { out.available_o.set(synchs.available()); }
  void step(const Inputs& in) {
    thalweg::smi::Packet synch;
    synch.set_header(static_cast<unsigned>(in.in_source_i.get()), 0, 0, thalweg::smi::Operation::synch, 1);
    synchs.step(in.in_valid_i.get() ? &synch : nullptr, static_cast<unsigned>(in.query_i.get()), in.use_i.get() != 0);
  }
};

/// At most three synchronizations of a rank wait; of all ranks, or of a few. Lanes: arrivals, requests.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(500, 1000, 100)),
        queries_(run.pick(500, 1000, 100)),
        uses_(run.pick(500, 1000, 100)),
        ranks_(run.pick(256, 20, 2)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice arrivals = draws.lane(0), queries = draws.lane(1);
    const bool uses = seen.available_o.get() && queries.chance(uses_);
    next.use_i.set(uses);
    const unsigned previous = queried_;
    if (queries.chance(queries_)) queried_ = queries.below(ranks_);
    next.query_i.set(queried_);
    const unsigned source = arrivals.below(ranks_);
    next.in_source_i.set(source);
    if (pending_[source] < 3 && arrivals.chance(load_)) {
      next.in_valid_i.set(true);
      ++pending_[source];
    }
    if (uses) --pending_[previous];
  }

 private:
  unsigned load_, queries_, uses_, ranks_, queried_ = 0;
  std::array<unsigned, 256> pending_{};
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
