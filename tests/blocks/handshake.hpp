// SPDX-License-Identifier: Apache-2.0
// Stimulus of a block with one valid/ready stream in and one out. A sender repeats its word until it is accepted, as
// the handshake demands.
#pragma once

#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"

namespace blocks {

class Handshake {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Handshake(bisim::Dice run)
      : load_(run.pick(1000, 900, 500, 100, 20)), stall_(run.pick(0, 100, 500, 900, 980)) {}

  void drive(const top::Outputs& seen, const bisim::Draws& draws, top::Inputs& next) {
    bisim::Dice sender = draws.lane(0), receiver = draws.lane(1);
    if (!waiting_ && sender.chance(load_)) {
      waiting_ = true;
      fill(data_, sender);
    }
    next.in_valid_i.set(waiting_);
    next.in_data_i = data_;
    next.out_ready_i.set(!receiver.chance(stall_));
    if (seen.in_ready_o.get()) waiting_ = false;
  }

 private:
  unsigned load_, stall_;
  bool waiting_ = false;
  decltype(top::Inputs::in_data_i) data_;
};

}  // namespace blocks
