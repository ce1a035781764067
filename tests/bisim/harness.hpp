// SPDX-License-Identifier: Apache-2.0
// Drives the two sides of a block with the same seeded stimulus, and compares their ports; see bisim.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pair.hpp"

namespace bisim {

using Schedule = std::vector<Slot>;  ///< the cycles of a run, each with its draws
using Words = std::vector<std::uint32_t>;

inline constexpr std::size_t kHistory = 1024;

struct Difference {
  std::size_t cycle;     ///< since the end of reset
  std::string port;      ///< or "assertion" (of the RTL), or "exception" (of the twin)
  std::string expected;  ///< of the twin
  std::string got;       ///< of the RTL
};

struct Cycle {
  bool reset;
  unsigned edges;  ///< clocks with an edge
  Words in, expected, got;
};

/// What was compared, over all runs.
struct Totals {
  std::uint64_t cycles = 0;
  std::vector<std::uint64_t> hash;
  /// For a payload port: lanes compared; for any other: cycles in which it changed.
  std::vector<std::uint64_t> activity;
};

[[nodiscard]] std::string hex(const std::uint32_t* words, unsigned lsb, unsigned bits);

class Harness {
 public:
  std::string coverage;  ///< folder for the coverage of each run, one file per run; for a program built with coverage

  explicit Harness(Pair& pair);

  /// Runs a schedule; if `waves` is given, writes the module's signals from cycle `from` on to it.
  std::optional<Difference> run(std::uint64_t seed, const Schedule& schedule, const std::string& waves = {},
                                std::size_t from = 0);

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] const Totals& totals() const { return totals_; }
  /// Cycle `t` of the last run; the last kHistory cycles are kept.
  [[nodiscard]] const Cycle& cycle(std::size_t t) const { return history_[t % kHistory]; }

  /// The shortest and quietest schedule found that still shows a difference: cycles are removed, then lanes silenced.
  [[nodiscard]] Schedule shrink(std::uint64_t seed, Schedule schedule, std::uint64_t cycle_budget);

 private:
  [[nodiscard]] Words garbage(Dice dice) const;
  void reset(const Words& in);
  std::optional<Difference> compare(std::size_t t, const Cycle& now);
  std::optional<Difference> compare(std::size_t t, const Cycle& now, unsigned index);

  Pair& pair_;
  Shape shape_;
  std::vector<Cycle> history_;
  Words counted_;  ///< last compared value of each output
  std::vector<bool> has_counted_;
  Totals totals_;
};

}  // namespace bisim
