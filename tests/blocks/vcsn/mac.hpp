// SPDX-License-Identifier: Apache-2.0
// A MAC that takes words of frames at the pace of its line.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "bisim/dice.hpp"
#include "ethernet/frame.hpp"
#include "ethernet/line.hpp"

namespace blocks {

[[nodiscard]] inline thalweg::ethernet::Rate draw_rate(bisim::Dice& dice) {
  constexpr std::array<thalweg::ethernet::Rate, 4> kRates{{{1280, 33}, {64, 1}, {64, 3}, {97, 7}}};
  return kRates[dice.below(4)];
}

class MacPace {
 public:
  using Tick = thalweg::Tick;

  explicit MacPace(thalweg::ethernet::Rate rate) : rate_(rate) {}

  /// True if the MAC takes an offered word in this cycle.
  [[nodiscard]] bool takes(Tick now) {
    if (!begin_) begin_ = now == taken_ + 1 ? free_ : std::max(now * rate_.cycle, free_);
    if (rate_.seen(*begin_ + rate_.bytes(thalweg::ethernet::kPreamble + word_ * thalweg::ethernet::kWord)) > now)
      return false;
    taken_ = now;
    ++word_;
    return true;
  }
  /// For the frame whose word was taken: the start of the frame on the line, and the word's index.
  [[nodiscard]] thalweg::ethernet::Units begin() const { return *begin_; }
  [[nodiscard]] unsigned word() const { return word_ - 1; }
  /// Ends a frame of `bytes` bytes with that word; then the line is occupied for the bytes of `others` other frames,
  /// with their gaps.
  void ends(unsigned bytes, std::int64_t others) {
    free_ = *begin_ + rate_.bytes(thalweg::ethernet::wire_bytes(bytes) + others);
    begin_.reset();
    word_ = 0;
  }

 private:
  thalweg::ethernet::Rate rate_;
  std::optional<thalweg::ethernet::Units> begin_;  ///< of the frame that it takes
  thalweg::ethernet::Units free_ = 0;
  Tick taken_ = -1;
  unsigned word_ = 0;  ///< index of that frame's next word
};

}  // namespace blocks
