// SPDX-License-Identifier: Apache-2.0
// An engine with lines attached to network interfaces of this computer. Virtual time follows the wall clock; frames that reach the end
// of such a line are sent, and received frames enter it at the virtual time at which they are read.
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

/// Runs are not reproducible, as external frames depend on this computer's load and on other computers.
class Attached final : public Engine {
 public:
  struct Line {
    ethernet::Outside* outside;
    NodeId node;  ///< node of the attached line
    Interface interface;
  };
  /// `ratio`: seconds of virtual time per second of the wall clock. `limit_s`: time-out in seconds of the wall clock; 0: none.
  /// The engine and the lines' `outside` must outlive this object.
  Attached(Engine& engine, std::vector<Line> lines, double ratio, double limit_s);

  [[nodiscard]] const std::vector<Line>& lines() const { return lines_; }
  /// Seconds of the wall clock since the start, and by which virtual time has fallen behind (`session::WallClock`).
  [[nodiscard]] double wall_s() const;
  [[nodiscard]] double behind_s() const { return clock_.behind_s(); }
  /// Seconds of the wall clock from the start until virtual time reached a tick, accurate to some milliseconds.
  [[nodiscard]] double wall_s_at(Tick tick) const;

  [[nodiscard]] Tick now() const override { return engine_.now(); }
  [[nodiscard]] std::int64_t ticks_per_second() const override { return engine_.ticks_per_second(); }
  [[nodiscard]] Tick lookahead() const override { return engine_.lookahead(); }
  /// Returns when the wall clock permits.
  void advance(Tick until, std::vector<Completion>& completed) override;
  /// Never idle, as a frame may arrive at any time.
  [[nodiscard]] bool idle() const override { return false; }
  [[nodiscard]] Tick next() const override { return now(); }
  [[nodiscard]] std::vector<Blocked> blocked() const override { return engine_.blocked(); }
  [[nodiscard]] std::optional<std::string> failure() const override;
  [[nodiscard]] std::vector<Lost> lost() const override;

 private:
  using Time = session::WallClock::Time;

  // Seconds of the wall clock. A step of virtual time lasts at least a nap, so that frames move in batches, and at most a stride.
  static constexpr double kStrideS = 1e-3, kNapS = 50e-6;
  static constexpr double kNotedS = 10e-3;  ///< period of recording times

  void step(Tick until, std::vector<Completion>& completed);
  /// Reads only frames that a line can carry before `until`; others wait in the kernel, which drops and counts frames beyond its buffer.
  void receive(Tick until);
  /// False if a kernel buffer is full and frames are left.
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
  std::vector<std::pair<Tick, double>>
      noted_;  ///< ticks, and when virtual time reached them, in seconds since the start
  std::optional<std::string> failure_;
};

}  // namespace thalweg::attach
