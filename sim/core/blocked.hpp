// SPDX-License-Identifier: Apache-2.0
// Wait-for records, which each system reports in a deadlock.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/types.hpp"

namespace thalweg {

/// A kernel, processor or rank that waits.
struct Blocked {
  std::string who{};    ///< "kernel app of rank 1"
  std::string what{};   ///< "to pop from rank 0, port 3, element 1 of 8", "for 5 at 64 of its memory"
  std::string on{};     ///< the `who` of the one that must act; empty if unknown
  std::string why{};    ///< further details
  Tick since = 0;       ///< in ticks from the start
  std::string where{};  ///< "app.cl:12", the waiting line; empty if none

  void because(const std::string& reason) { why += (why.empty() ? "" : "; ") + reason; }
  /// One line for users; `time` is the formatted `since`.
  [[nodiscard]] std::string line(const std::string& time) const {
    return who + " has waited since " + time + " " + what + (on.empty() ? "" : ", for " + on) +
           (why.empty() ? "" : "; " + why) + (where.empty() ? "" : " (" + where + ")");
  }
};

/// Deadlock: work is left, but nothing can proceed. what() is for users, `blocked` has the same as records.
class Stuck : public std::runtime_error {
 public:
  explicit Stuck(const std::string& text, std::vector<Blocked> all = {})
      : std::runtime_error(text), blocked(std::move(all)) {}

  std::vector<Blocked> blocked;
  double ticks_per_second = 1;
};

}  // namespace thalweg
