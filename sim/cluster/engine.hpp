// SPDX-License-Identifier: Apache-2.0
// Common interface of all systems: time, completions of operations by handle, and the waits of blocked components after
// a deadlock. Submission of operations is specific to each system.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/blocked.hpp"
#include "core/types.hpp"

namespace thalweg {

/// Identifies an operation: chosen by the caller, and returned in its completions.
using Handle = std::uint64_t;

/// Completion of an operation, or of a part of it that is reported earlier.
struct Completion {
  Handle handle = 0;
  Tick at = 0;
  bool last = true;  ///< the last completion of this handle
};

/// Data dropped by a node since the start.
struct Lost {
  NodeId node = 0;
  std::string what;  ///< e.g. "flits of packets without a route"
  std::uint64_t count = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;

  [[nodiscard]] virtual Tick now() const = 0;
  [[nodiscard]] virtual std::int64_t ticks_per_second() const = 0;
  /// Minimum latency, in ticks, from a submission to its first effect; submissions may be dated this far before now().
  [[nodiscard]] virtual Tick lookahead() const { return 0; }

  /// Runs until `until`, or until the end of the first tick with completions, which are appended. Afterwards now() is
  /// the time reached. Returns at once if the engine has failed.
  virtual void advance(Tick until, std::vector<Completion>& completed) = 0;
  /// True if nothing is queued, in flight or scheduled: nothing will happen as time passes.
  [[nodiscard]] virtual bool idle() const = 0;
  /// A lower bound of the next tick with an event; kNever if there will be none.
  [[nodiscard]] virtual Tick next() const { return idle() ? kNever : now(); }

  /// Waits between components. In an idle engine with unfinished operations: the reason why they never end.
  [[nodiscard]] virtual std::vector<Blocked> blocked() const = 0;
  /// One-line reason why the engine cannot continue with unfinished operations, or nothing.
  [[nodiscard]] virtual std::optional<std::string> failure() const { return std::nullopt; }
  /// Counts of all nodes that have dropped data.
  [[nodiscard]] virtual std::vector<Lost> lost() const = 0;
};

}  // namespace thalweg
