// SPDX-License-Identifier: Apache-2.0
// Stimulus of a block that polls inputs: words are held until accepted; outputs have room or not.
#pragma once

#include <array>

#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"

namespace blocks {

template <unsigned Inputs>
class Polled {
 public:
  static constexpr unsigned kLanes = Inputs + 1;

  explicit Polled(bisim::Dice run) : load_(run.pick(1000, 700, 200, 20)), stall_(run.pick(0, 100, 500, 950)) {}

  /// Refills word i of `next` if a new one is due: `fill(i, dice)`.
  template <class Fill>
  void drive(const top::Outputs& seen, const bisim::Draws& draws, top::Inputs& next, const Fill& fill) {
    for (unsigned i = 0; i < Inputs; ++i) {
      bisim::Dice dice = draws.lane(i);
      if (!shown_[i] && dice.chance(load_)) {
        shown_[i] = true;
        fill(i, dice);
      }
      next.in_valid_i.set_bit(i, shown_[i]);
      if (seen.in_ready_o.bit(i)) shown_[i] = false;
    }
    next.out_goes_i.set(!draws.lane(Inputs).chance(stall_));
  }

 private:
  unsigned load_, stall_;
  std::array<bool, Inputs> shown_{};
};

}  // namespace blocks
