// SPDX-License-Identifier: Apache-2.0
// An engine with lines attached to network interfaces of this computer: its virtual time follows the wall clock, frames that reach the
// end of such a line are sent, and received frames enter it at the virtual time at which they are read.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attach/interface.hpp"
#include "cluster/engine.hpp"
#include "ethernet/outside.hpp"
#include "session/wall_clock.hpp"

namespace thalweg::attach {

/// What comes from outside depends on this computer's load and on others, so that no two runs are the same.
class Attached final : public Engine {
 public:
  struct Line {
    ethernet::Outside* outside;
    NodeId node;  ///< whose line leads out
    Interface interface;
  };
  /// `ratio`: seconds of virtual time in a second of the wall clock. `limit_s`: seconds of the wall clock after which it fails; 0: none.
  /// The engine and what the lines lead to outlive it.
  Attached(Engine& engine, std::vector<Line> lines, double ratio, double limit_s);

  [[nodiscard]] const std::vector<Line>& lines() const { return lines_; }
  /// Seconds of the wall clock since the begin, and those that virtual time did not keep up with (`session::WallClock`).
  [[nodiscard]] double wall_s() const;
  [[nodiscard]] double behind_s() const { return clock_.behind_s(); }
  /// Seconds of the wall clock from the begin to when virtual time reached a tick, to some milliseconds.
  [[nodiscard]] double wall_s_at(Tick tick) const;

  [[nodiscard]] Tick now() const override { return engine_.now(); }
  [[nodiscard]] std::int64_t ticks_per_second() const override { return engine_.ticks_per_second(); }
  [[nodiscard]] Tick lookahead() const override { return engine_.lookahead(); }
  /// Returns when the wall clock lets it.
  void advance(Tick until, std::vector<Completion>& completed) override;
  /// Something may always come.
  [[nodiscard]] bool idle() const override { return false; }
  [[nodiscard]] Tick next() const override { return now(); }
  [[nodiscard]] std::vector<Blocked> blocked() const override { return engine_.blocked(); }
  [[nodiscard]] std::optional<std::string> failure() const override;
  [[nodiscard]] std::vector<Lost> lost() const override;

 private:
  using Time = session::WallClock::Time;

  // Of the wall clock. A step of virtual time is as long as a nap, so that frames move in batches, and a stride at most.
  static constexpr double kStrideS = 1e-3, kNapS = 50e-6;
  static constexpr double kNotedS = 10e-3;  ///< between times that are noted

  void step(Tick until, std::vector<Completion>& completed);
  /// Lines take no more than they have time for before `until`: what else comes waits in the kernel, which drops and counts what it has no room for.
  void receive(Tick until);
  /// False where a kernel has no room for some frames now.
  [[nodiscard]] bool send();
  void sleep(Time until, bool sent) const;
  [[nodiscard]] Tick ticks(double wall_s) const {
    return std::llround(wall_s * ratio_ * static_cast<double>(ticks_per_second()));
  }

  Engine& engine_;
  std::vector<Line> lines_;
  double ratio_, limit_s_;
  Time begin_;
  session::WallClock clock_;
  std::vector<std::pair<Tick, double>> noted_;  ///< when virtual time has reached a tick, in seconds from the begin
  std::optional<std::string> failure_;
};

}  // namespace thalweg::attach
