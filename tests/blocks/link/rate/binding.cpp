// SPDX-License-Identifier: Apache-2.0
#include "bisim/bisim.hpp"
#include "link/rate.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;

struct Twin {
  thalweg::RateLimit rate{Parameters::Flits, Parameters::Cycles};
  thalweg::Tick now = 0;

  void outputs(const Inputs&, Outputs& out) const { out.ready_o.set(rate.ready(now)); }
  void step(const Inputs& in) {
    if (in.send_i.get()) rate.send(now);
    ++now;
  }
};

class Stimulus {
 public:
  static constexpr unsigned kLanes = 1;

  explicit Stimulus(bisim::Dice run) : send_(run.pick(1000, 900, 500, 50)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    next.send_i.set(seen.ready_o.get() && draws.lane(0).chance(send_));
  }

 private:
  unsigned send_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
