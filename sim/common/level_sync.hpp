// SPDX-License-Identifier: Apache-2.0
// Synchronizer of a level into another clock domain, C++ model of rtl/common/tw_level_sync.sv. It is not stepped: times
// are computed.
#pragma once

#include <algorithm>
#include <vector>

#include "core/clock.hpp"

namespace thalweg {

/// A change is visible `stages` cycles after the reader's first later edge. The initial level is T{}.
template <class T>
class LevelSync {
 public:
  LevelSync(unsigned stages, Clock reader) : stages_(stages), clock_(reader) {}

  /// Woken in the cycle in which it sees a change.
  Waker reader;

  /// Writes the level at the edge of a tick.
  void write(Tick tick, const T& level) {
    if (level == samples_.back().level) return;
    const Tick first = clock_.cycle_after(tick), from = first + stages_;
    // Drops samples that can no longer be read.
    while (samples_.size() > 1 && samples_[1].from < first) samples_.erase(samples_.begin());
    if (samples_.back().from == from)
      samples_.back().level = level;
    else
      samples_.push_back({from, level});
    reader.wake(from);
  }

  /// Reads the level in a cycle of the reader.
  [[nodiscard]] const T& read(Tick cycle) const {
    return std::ranges::find_if(samples_.rbegin(), samples_.rend(),
                                [&](const Sample& sample) { return sample.from <= cycle; })
        ->level;
  }

 private:
  struct Sample {
    Tick from;
    T level;
  };

  unsigned stages_;
  Clock clock_;
  std::vector<Sample> samples_{{0, T{}}};  ///< in time order
};

}  // namespace thalweg
