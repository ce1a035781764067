// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <optional>
#include <vector>

#include "bisim/bisim.hpp"
#include "vcsn/multiplexer.hpp"

namespace {

using thalweg::vcsn::Multiplexer;
using top::Inputs, top::Outputs, top::Parameters;

constexpr unsigned kPorts = Parameters::Ports;

struct Twin {
  Multiplexer ports{kPorts};
  std::optional<unsigned> chosen;
  thalweg::Tick now = 0;

  void outputs(const Inputs&, Outputs& out) const {
    for (unsigned i = 0; i < kPorts; ++i) out.chosen_o.set_bit(i, chosen == i);
    out.any_o.set(chosen.has_value());
  }
  void step(const Inputs& in) {
    std::vector<bool> wanting(kPorts);
    for (unsigned i = 0; i < kPorts; ++i) wanting[i] = in.wanting_i.bit(i);
    chosen = in.choose_i.get() ? ports.next(wanting, now) : std::nullopt;
    if (chosen) ports.sends(*chosen, static_cast<unsigned>(in.words_i.get(*chosen)), now, in.slow_i.bit(*chosen));
    if (in.set_valid_i.get())
      ports.set(static_cast<unsigned>(in.set_port_i.get()), {.priority = static_cast<unsigned>(in.set_priority_i.get()),
                                                             .cycle = static_cast<std::uint32_t>(in.set_pace_i.get())});
    if (in.slow_valid_i.get())
      ports.set_slow(static_cast<unsigned>(in.slow_port_i.get()), static_cast<std::uint32_t>(in.slow_pace_i.get()));
    ++now;
  }
};

/// Frames that arrive and are sometimes withdrawn, as when a circuit is cut. The line is busy for a frame's words and
/// those of the headers. Lanes: the line, settings, frames of each port.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2 + kPorts;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 500, 50, 5)),
        short_(run.pick(0, 500, 1000)),
        sets_(run.pick(2, 20, 200)),
        free_(run.pick(1000, 300)),
        slows_(run.pick(0, 5, 100)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice line = draws.lane(0), settings = draws.lane(1);
    if (busy_ > 0) --busy_;
    for (unsigned i = 0; i < kPorts; ++i) {
      bisim::Dice frames = draws.lane(2 + i);
      if (seen.chosen_o.bit(i)) {
        busy_ = words_[i];
        words_[i] = 0;
      }
      if (words_[i] > 0 && frames.chance(5)) words_[i] = 0;
      if (words_[i] == 0 && frames.chance(load_))
        words_[i] = 1 + frames.below(frames.chance(short_) ? std::min(4U, kMost) : kMost);
      next.wanting_i.set_bit(i, words_[i] > 0);
      next.words_i.set(words_[i], i);
    }
    next.choose_i.set(busy_ == 0 && line.chance(free_));
    for (unsigned i = 0; i < kPorts; ++i) {
      if (line.chance(slows_)) slow_[i] = !slow_[i];
      next.slow_i.set_bit(i, slow_[i]);
    }
    if (settings.chance(sets_)) {
      next.slow_valid_i.set(true);
      next.slow_port_i.set(settings.below(kPorts));
      next.slow_pace_i.set(
          settings.below(settings.chance(300) ? 1024 : std::min(1U << Parameters::PaceBits, 1U << 13)));
    }
    if (!settings.chance(sets_)) return;
    next.set_valid_i.set(true);
    next.set_port_i.set(settings.below(kPorts));
    next.set_priority_i.set(settings.below(settings.chance(500) ? 2 : 1U << Parameters::PriorityBits));
    next.set_pace_i.set(settings.below(settings.chance(300) ? 1024 : std::min(1U << Parameters::PaceBits, 1U << 13)));
  }

 private:
  static constexpr unsigned kMost = Parameters::FrameWords;

  unsigned load_, short_, sets_, free_, slows_, busy_ = 0;
  std::array<bool, kPorts> slow_{};
  std::array<unsigned, kPorts> words_{};  ///< of the waiting frame; 0: none
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
