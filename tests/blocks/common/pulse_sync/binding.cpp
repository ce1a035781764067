// SPDX-License-Identifier: Apache-2.0
#include "bisim/main.hpp"
#include "blocks/clocks.hpp"
#include "common/pulse_sync.hpp"

namespace {

using bisim::Clocks, bisim::Instant, blocks::clock, blocks::cycle;
using top::Inputs, top::Outputs, top::Parameters;

constexpr unsigned kWriter = 0, kReader = 1;

struct Twin {
  thalweg::PulseSync sync;

  explicit Twin(const Clocks& clocks) : sync(Parameters::Stages, clock(clocks, kWriter), clock(clocks, kReader)) {}

  void outputs(const Inputs&, const Instant& now, Outputs& out) const {
    out.wr_ready_o.set(sync.ready(cycle(now, kWriter)));
    out.rd_pulse_o.set(sync.pulse(cycle(now, kReader)));
  }
  void step(const Inputs& in, const Instant& now) {
    const auto at = cycle(now, kWriter);
    if (now.edge(kWriter) && in.wr_pulse_i.get() && sync.ready(at)) sync.send(at);
  }
};

/// Pulses come when they like: those that find it not ready are ignored.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 1;

  explicit Stimulus(bisim::Dice run) : load_(run.pick(1000, 500, 100, 20)) {}

  void drive(const Outputs&, const Instant& now, const bisim::Draws& draws, Inputs& next) {
    if (now.edge(kWriter)) next.wr_pulse_i.set(draws.lane(0).chance(load_));
  }

 private:
  unsigned load_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
