// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "bisim/bisim.hpp"
#include "vcsn/monitor.hpp"

namespace {

using thalweg::Tick, thalweg::vcsn::Monitor;
using top::Inputs, top::Outputs, top::Parameters;

constexpr unsigned kPorts = Parameters::Ports, kMost = Parameters::FrameWords;

struct Twin {
  Monitor monitor{kPorts};
  std::array<unsigned, 2> reported{};  ///< bits of ports, in the cycle before and in the one before that
  Tick now = 0;

  void outputs(const Inputs&, Outputs& out) const {
    for (unsigned i = 0; i < kPorts; ++i) out.indicate_o.set_bit(i, reported[1] >> i & 1);
  }
  void step(const Inputs& in) {
    reported[1] = reported[0];
    reported[0] = 0;
    for (unsigned i = 0; i < kPorts; ++i)
      if (in.ends_i.bit(i))
        monitor.add(i, static_cast<unsigned>(in.words_i.get()), now, [&](unsigned port) { reported[0] |= 1U << port; });
    if (in.set_valid_i.get())
      monitor.set({.cycles = static_cast<Tick>(in.set_cycles_i.get()), .words = in.set_words_i.get()}, now + 2);
    for (unsigned i = 0; i < kPorts; ++i) {
      if (!in.forget_i.bit(i)) continue;
      monitor.forget(i);
      for (unsigned& each : reported) each &= ~(1U << i);
    }
    ++now;
  }
};

/// Frames, also closer than on a line, and windows from one cycle to many frames. Lanes: frames, settings.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(900, 300, 20)), sets_(run.pick(1, 10, 100)), forgets_(run.pick(0, 5, 50)) {}

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice frames = draws.lane(0), settings = draws.lane(1);
    if (frames.chance(load_)) {
      next.ends_i.set_bit(frames.below(kPorts), true);
      next.words_i.set(1 + frames.below(frames.chance(500) ? kMost : std::min(3U, kMost)));
    }
    for (unsigned i = 0; i < kPorts; ++i) next.forget_i.set_bit(i, settings.chance(forgets_));
    if (!settings.chance(sets_)) return;
    next.set_valid_i.set(true);
    next.set_cycles_i.set(settings.below(1U << (1 + settings.below(std::min<unsigned>(14, Parameters::CyclesBits)))));
    next.set_words_i.set(settings.below(1U << (1 + settings.below(std::min<unsigned>(12, Parameters::WordsBits)))));
  }

 private:
  unsigned load_, sets_, forgets_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
