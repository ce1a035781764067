// SPDX-License-Identifier: Apache-2.0
// Random datagrams given to a port of the UDP stack.
#pragma once

#include <algorithm>

#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "ethernet/frame.hpp"

namespace blocks {

/// Datagrams of all lengths to any destination, with pauses.
class RandomDatagrams {
 public:
  explicit RandomDatagrams(bisim::Dice& run) : load_(run.pick(1000, 500, 50)), short_(run.pick(0, 500, 1000)) {}

  void drive(const top::Outputs& seen, bisim::Dice sender, top::Inputs& next) {
    constexpr unsigned kMost = top::Parameters::MostBytes, kWord = thalweg::ethernet::kWord;
    if (!offers_ && sender.chance(load_)) {
      offers_ = true;
      const bool first = left_ == 0;
      if (first) left_ = size_ = std::min(kMost, sender.below(sender.chance(short_) ? 200 : kMost + 1));
      last_ = left_ <= kWord;
      left_ -= std::min(left_, kWord);
      fill(data_, sender);
      fill(to_, sender);
      bytes_ = first ? size_ : sender.below(1 << 16);
    }
    next.in_valid_i.set(offers_);
    next.in_data_i = data_;
    next.in_last_i.set(last_);
    next.in_to_i = to_;
    next.in_bytes_i.set(bytes_);
    if (seen.in_ready_o.get()) offers_ = false;
  }

 private:
  unsigned load_, short_;
  bool offers_ = false, last_ = false;
  unsigned left_ = 0, size_ = 0, bytes_ = 0;
  decltype(top::Inputs::in_data_i) data_;
  decltype(top::Inputs::in_to_i) to_;
};

}  // namespace blocks
