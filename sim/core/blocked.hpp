// SPDX-License-Identifier: Apache-2.0
// Who waits for whom: what each system reports when nothing can go on.
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
  std::string on{};     ///< whose turn it is, named as that one's `who`; empty where it is not known
  std::string why{};    ///< more about it
  Tick since = 0;       ///< in ticks from the begin
  std::string where{};  ///< "app.cl:12", the line that waits; empty where there is none

  void because(const std::string& reason) { why += (why.empty() ? "" : "; ") + reason; }
  /// A line for people, in which the time stands as `time` says it.
  [[nodiscard]] std::string line(const std::string& time) const {
    return who + " waits since " + time + " " + what + (on.empty() ? "" : ", for " + on) +
           (why.empty() ? "" : "; " + why) + (where.empty() ? "" : " (" + where + ")");
  }
};

/// Nothing can go on, though work is left: what() is for people, `blocked` has the same as records.
class Stuck : public std::runtime_error {
 public:
  explicit Stuck(const std::string& text, std::vector<Blocked> all = {})
      : std::runtime_error(text), blocked(std::move(all)) {}

  std::vector<Blocked> blocked;
  double ticks_per_second = 1;
};

}  // namespace thalweg
