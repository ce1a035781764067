// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "bisim/bisim.hpp"
#include "smi/synchs.hpp"

namespace {

using top::Inputs, top::Outputs;

struct Twin {
  thalweg::smi::Synchs synchs;

  void outputs(const Inputs&, Outputs& out) const { out.there_o.set(synchs.there()); }
  void step(const Inputs& in) {
    thalweg::smi::Packet synch;
    synch.set_header(static_cast<unsigned>(in.in_source_i.get()), 0, 0, thalweg::smi::Operation::synch, 1);
    synchs.step(in.in_valid_i.get() ? &synch : nullptr, static_cast<unsigned>(in.ask_i.get()), in.use_i.get() != 0);
  }
};

/// At most three synchronizations of a rank wait; of all ranks, or of a few. Lanes: arrivals, requests.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(500, 1000, 100)),
        asks_(run.pick(500, 1000, 100)),
        uses_(run.pick(500, 1000, 100)),
        ranks_(run.pick(256, 20, 2)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice coming = draws.lane(0), asking = draws.lane(1);
    const bool uses = seen.there_o.get() && asking.chance(uses_);
    next.use_i.set(uses);
    const unsigned asked = asked_;
    if (asking.chance(asks_)) asked_ = asking.below(ranks_);
    next.ask_i.set(asked_);
    const unsigned source = coming.below(ranks_);
    next.in_source_i.set(source);
    if (there_[source] < 3 && coming.chance(load_)) {
      next.in_valid_i.set(true);
      ++there_[source];
    }
    if (uses) --there_[asked];
  }

 private:
  unsigned load_, asks_, uses_, ranks_, asked_ = 0;
  std::array<unsigned, 256> there_{};
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
