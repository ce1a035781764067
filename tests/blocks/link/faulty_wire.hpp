// SPDX-License-Identifier: Apache-2.0
// A wire between two ends of a link that delays frames, loses some and repeats others several times in a row, but never
// reorders them.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

namespace blocks {

enum class Fault { none, loss, repetition, pause };

template <class Frame>
class FaultyWire {
 public:
  /// `latency`: cycles between input and output, without faults.
  explicit FaultyWire(std::size_t latency) : latency_(latency), frames_(latency) {}

  /// One cycle: takes the input frame, if any; returns the output frame. A wire that paused for long loses the excess
  /// frames.
  std::optional<Frame> step(const std::optional<Frame>& in, Fault fault) {
    if (frames_.size() <= 2 * latency_) frames_.push_back(in);
    if (fault == Fault::pause) return {};
    const auto out = frames_.front();
    if (fault != Fault::repetition) frames_.pop_front();
    if (frames_.size() < latency_) frames_.emplace_back();
    return fault == Fault::loss ? std::nullopt : out;
  }

 private:
  std::size_t latency_;
  std::deque<std::optional<Frame>> frames_;
};

}  // namespace blocks
