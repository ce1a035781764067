// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace thalweg::accl {

/// The received byte ranges of a segment or buffer.
class Pieces {
 public:
  /// Adds a range. Returns false if it was complete before.
  bool add(std::uint64_t from, std::uint64_t to) {
    auto at = have_.begin();
    while (at != have_.end() && at->second < from) ++at;
    if (at != have_.end() && at->first <= from && to <= at->second) return false;
    while (at != have_.end() && at->first <= to) {
      from = std::min(from, at->first);
      to = std::max(to, at->second);
      at = have_.erase(at);
    }
    have_.insert(at, {from, to});
    return true;
  }
  /// True if exactly this range has been received.
  [[nodiscard]] bool are(std::uint64_t from, std::uint64_t to) const {
    return from == to || (have_.size() == 1 && have_[0] == std::pair{from, to});
  }
  /// Number of bytes received.
  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const auto& [from, to] : have_) sum += to - from;
    return sum;
  }

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> have_;
};

}  // namespace thalweg::accl
