// SPDX-License-Identifier: Apache-2.0
// Common interface of all systems: time, completions of operations by handle, and the waits of blocked components after a
// deadlock. Submission of operations is specific to each system.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/blocked.hpp"
#include "core/types.hpp"

namespace thalweg {

/// Of an operation: chosen by who gives it, and returned in its completions.
using Handle = std::uint64_t;

/// The end of an operation, or of a part of it that is reported earlier.
struct Completion {
  Handle handle = 0;
  Tick at = 0;
  bool last = true;  ///< the handle has no further one
};

/// What a node has dropped since the begin.
struct Lost {
  NodeId node = 0;
  std::string what;  ///< "flits of packets without a route"
  std::uint64_t count = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;

  [[nodiscard]] virtual Tick now() const = 0;
  [[nodiscard]] virtual std::int64_t ticks_per_second() const = 0;
  /// Ticks until what is given to the engine can have an effect: it may be dated so far before now().
  [[nodiscard]] virtual Tick lookahead() const { return 0; }

  /// Runs until `until`, or until the end of the first tick in which something completed, which is appended. Afterwards
  /// now() is the time reached. Returns at once where the engine has failed.
  virtual void advance(Tick until, std::vector<Completion>& completed) = 0;
  /// True when nothing is queued, moving or due: time can pass, and nothing will happen.
  [[nodiscard]] virtual bool idle() const = 0;
  /// No later than the next tick in which something happens by itself; kNever where nothing will.
  [[nodiscard]] virtual Tick next() const { return idle() ? kNever : now(); }

  /// Who waits for whom. In an idle engine with unfinished operations: why they never end.
  [[nodiscard]] virtual std::vector<Blocked> blocked() const = 0;
  /// Why the engine cannot go on, though operations are unfinished: a line, or nothing.
  [[nodiscard]] virtual std::optional<std::string> failure() const { return std::nullopt; }
  /// Of the nodes that have dropped anything.
  [[nodiscard]] virtual std::vector<Lost> lost() const = 0;
};

}  // namespace thalweg
