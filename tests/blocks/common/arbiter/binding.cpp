// SPDX-License-Identifier: Apache-2.0
#include "bisim/bisim.hpp"
#include "common/arbiter.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;

struct Twin {
  thalweg::Arbiter arbiter;

  void outputs(const Inputs& in, Outputs& out) const {
    const std::uint64_t requests = in.request_i.get();
    out.winner_valid_o.set(requests != 0);
    out.grant_o.set(0);
    if (requests == 0) return;
    const unsigned winner = arbiter.pick(requests);
    out.grant_o.set(std::uint64_t{1} << winner);
    out.winner_index_o.set(winner);
  }
  void step(const Inputs& in) {
    if (in.served_i.get()) arbiter.accept(arbiter.pick(in.request_i.get()), Parameters::Inputs);
  }
};

/// One lane per requester, one for the acceptance of grants.
class Stimulus {
 public:
  static constexpr unsigned kLanes = std::min<unsigned>(Parameters::Inputs, 62) + 1;

  explicit Stimulus(bisim::Dice run) : load_(run.pick(300, 20, 700, 1000)), stall_(run.pick(0, 300, 900)) {}

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    for (unsigned i = 0; i < Parameters::Inputs; ++i) {
      bisim::Dice requester = draws.lane(i % (kLanes - 1));
      for (unsigned skip = i / (kLanes - 1); skip > 0; --skip) (void)requester.bits();
      next.request_i.set_bit(i, requester.chance(load_));
    }
    next.served_i.set(next.request_i.get() != 0 && !draws.lane(kLanes - 1).chance(stall_));
  }

 private:
  unsigned load_, stall_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
