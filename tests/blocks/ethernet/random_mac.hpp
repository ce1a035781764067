// SPDX-License-Identifier: Apache-2.0
// Random frames from a MAC to a port of the UDP stack.
#pragma once

#include <algorithm>
#include <cstdint>

#include "bisim/bisim.hpp"
#include "blocks/ethernet/frames.hpp"
#include "blocks/ethernet/words.hpp"
#include "blocks/random_port.hpp"
#include "ethernet/frame.hpp"

namespace blocks {

/// Random frames, with gaps between and in them, some of them damaged.
class RandomMac {
 public:
  explicit RandomMac(bisim::Dice& run)
      : load_(run.pick(1000, 500, 50)),
        gaps_(run.pick(0, 300, 700)),
        damaged_(run.pick(0, 20, 200)),
        frames_(run, run.pick(400, 400, thalweg::ethernet::kMost)) {}

  void drive(bisim::Dice mac, top::Inputs& next) {
    fill(next.rx_data_i, mac);
    if (sent_ == frame_.size() && mac.chance(load_)) {
      frame_ = frames_.make(mac);
      sent_ = 0;
    } else if (sent_ == frame_.size() || mac.chance(gaps_)) {
      return;
    }
    const auto bytes = static_cast<unsigned>(std::min<std::size_t>(thalweg::ethernet::kWord, frame_.size() - sent_));
    auto data = bytes_of(next.rx_data_i.get());
    std::copy_n(frame_.begin() + static_cast<std::ptrdiff_t>(sent_), bytes, data.begin());
    sent_ += bytes;
    next.rx_data_i.set(data_of(data));
    next.rx_valid_i.set(true);
    next.rx_keep_i.set(keep_of(bytes));
    next.rx_last_i.set(sent_ == frame_.size());
    next.rx_error_i.set(sent_ == frame_.size() && mac.chance(damaged_));
  }

 private:
  unsigned load_, gaps_, damaged_;
  RandomFrames frames_;
  RandomFrames::Bytes frame_;
  std::size_t sent_ = 0;
};

}  // namespace blocks
