// SPDX-License-Identifier: Apache-2.0
// The twin of any FIFO with one clock.
#pragma once

#include "blocks/handshake.hpp"

namespace blocks {

template <class Fifo>
struct FifoTwin {
  Fifo fifo{top::Parameters::Depth};

  void outputs(const top::Inputs&, top::Outputs& out) const {
    out.in_ready_o.set(fifo.ready());
    out.out_valid_o.set(fifo.valid());
    if (fifo.valid()) out.out_data_o.set(fifo.front());
    out.count_o.set(fifo.size());
  }
  void step(const top::Inputs& in) {
    const auto word = in.in_data_i.get();
    fifo.step(in.in_valid_i.get() ? &word : nullptr, in.out_ready_i.get() != 0);
  }
};

}  // namespace blocks
