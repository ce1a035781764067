// SPDX-License-Identifier: Apache-2.0
// Bisim: one process drives a C++ twin and its Verilated module with the same seeded stimulus and backpressure and
// compares their ports in every cycle, but never internal signals. A payload port `<channel>_<field>_o` is compared if
// `<channel>_valid_o` is set; every other output always. A failed assertion of the RTL is also a difference, and so is
// an exception of the twin.
//
// Interface of twin and stimulus (Inputs and Outputs are generated from the RTL):
//   struct Twin {                                      // state after reset
//     void outputs(const Inputs&, Outputs&) const;     // this cycle's outputs
//     void step(const Inputs&);                        // the clock edge
//   };
//   struct Stimulus {
//     static constexpr unsigned kLanes;                // independent actors, at most 63
//     explicit Stimulus(Dice run);                     // constants of a run: loads, pauses
//     void drive(const Outputs& seen, const Draws&, Inputs& next);  // inputs of this cycle, initially zero
//   };
// `seen` holds the outputs that depend on no input of this cycle. Some runs have a reset in the middle, unless the twin
// has a member kMemoryOutlivesReset: it would restart with an empty memory. A twin with a member reset() is kept, and
// restarts by that call.
//
// A module with several clocks is stepped from instant to instant, at which one or more of them have an edge: a cycle,
// above, is then an instant, and a port is compared at the edges of its own clock. Twin and stimulus receive the
// instant, and the periods and phases of the clocks in this run; a stimulus changes only the inputs of clocks that
// have an edge:
//   explicit Twin(const Clocks&);
//   void outputs(const Inputs&, const Instant&, Outputs&) const;
//   void step(const Inputs&, const Instant&);
//   void drive(const Outputs& seen, const Instant&, const Draws&, Inputs& next);  // initially the previous inputs
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "dice.hpp"
#include "ports.hpp"
#include "runtime.hpp"
#include "top.hpp"
#if VM_TRACE
#include <verilated_vcd_c.h>
#endif
#if VM_COVERAGE
#include <verilated_cov.h>
#endif

namespace bisim {

using top::Inputs;
using top::Outputs;
using Schedule = std::vector<Slot>;  ///< the cycles of a run, each with its draws

inline constexpr std::uint32_t kResetCycles = 2;
inline constexpr unsigned kResetLane = 63;
inline constexpr unsigned kPhaseLane = 62;
inline constexpr std::size_t kHistory = 1024;
inline constexpr std::uint32_t kRunDraws = ~std::uint32_t{0};  ///< the "cycle" of the draws made once per run

inline constexpr std::size_t kClocks = top::kPeriods.size();
inline constexpr unsigned kAllClocks = (1U << kClocks) - 1;

/// For each clock the period and the phase, which is less than the period, in ticks: half of the time that makes all
/// periods whole numbers, so that clocks may have edges in common or between each other's.
struct Clocks {
  std::array<std::uint64_t, kClocks> period = top::kPeriods, phase{};

  explicit Clocks(Dice dice) {
    for (std::size_t i = 0; i < kClocks; ++i) phase[i] = dice.below(static_cast<unsigned>(period[i]));
  }
};

/// A time at which clocks have edges, and for each clock the number of the cycle that ends next.
class Instant {
 public:
  explicit Instant(const Clocks& clocks) : period_(clocks.period), next_(clocks.phase) { find(); }

  [[nodiscard]] bool edge(std::size_t clock) const { return edges_ >> clock & 1; }
  [[nodiscard]] unsigned edges() const { return edges_; }
  [[nodiscard]] std::uint64_t cycle(std::size_t clock) const { return cycle_[clock]; }

  void advance() {
    if constexpr (kClocks == 1) return;
    for (std::size_t i = 0; i < kClocks; ++i) {
      if (!edge(i)) continue;
      next_[i] += period_[i];
      ++cycle_[i];
    }
    find();
  }

 private:
  void find() {
    const auto first = *std::ranges::min_element(next_);
    edges_ = 0;
    for (std::size_t i = 0; i < kClocks; ++i) edges_ |= static_cast<unsigned>(next_[i] == first) << i;
  }

  std::array<std::uint64_t, kClocks> period_, next_, cycle_{};
  unsigned edges_ = 0;
};

struct Difference {
  std::size_t cycle;     ///< since the end of reset
  std::string port;      ///< or "assertion" (of the RTL), or "exception" (of the twin)
  std::string expected;  ///< of the twin
  std::string got;       ///< of the RTL
};

struct Cycle {
  bool reset;
  unsigned edges;  ///< clocks with an edge
  Inputs in;
  Outputs expected, got;
};

/// What was compared, over all runs.
struct Totals {
  std::uint64_t cycles = 0;
  std::array<std::uint64_t, top::kOutputs.size()> hash{};
  /// For a payload port: lanes compared; for any other: cycles in which it changed.
  std::array<std::uint64_t, top::kOutputs.size()> activity{};
};

[[nodiscard]] inline std::string hex(const std::uint32_t* words, unsigned lsb, unsigned bits) {
  std::string text;
  char digit[2];
  for (unsigned nibble = (bits + 3) / 4; nibble-- > 0;) {
    const unsigned from = 4 * nibble;
    std::snprintf(digit, sizeof digit, "%x",
                  static_cast<unsigned>(get_bits(words, lsb + from, std::min(4U, bits - from))));
    text += digit;
  }
  return text;
}

template <class Struct>
[[nodiscard]] const std::uint32_t* words_of(const Struct& ports, const PortInfo& port) {
  return reinterpret_cast<const std::uint32_t*>(&ports) + port.word;
}

#if VM_TRACE
/// The module's signals from cycle `from` on, as VCD; two time units per cycle.
class Waves {
 public:
  Waves(Vtop& model, const std::string& name, std::size_t from) : from_(from) {
    model.trace(&file_, 99);
    file_.open(name.c_str());
  }
  void dump(std::size_t cycle, unsigned phase) {
    if (cycle >= from_) file_.dump(2 * cycle + phase);
  }

 private:
  VerilatedVcdC file_;
  std::size_t from_;
};
#else
struct Waves {
  Waves(Vtop&, const std::string&, std::size_t) {}
  void dump(std::size_t, unsigned) {}
};
#endif

template <class Twin, class Stimulus>
class Bisim {
 public:
  std::string coverage;  ///< folder for the coverage of each run, one file per run; for a program built with coverage

  /// Runs a schedule; if `waves` is given, writes the module's signals from cycle `from` on to it.
  std::optional<Difference> run(std::uint64_t seed, const Schedule& schedule, const std::string& waves = {},
                                std::size_t from = 0) {
    VerilatedContext context;
    context.randReset(2);  // registers start at random values, so that a missing reset is detected
    context.randSeed(static_cast<int>(mix(seed) & 0x7FFFFFFF) | 1);
    Vtop model{&context};
    context.traceEverOn(!waves.empty());
    std::optional<Waves> trace;
    if (!waves.empty()) trace.emplace(model, waves, from);
    assertion_failure().clear();
    history_.resize(kHistory);
    has_counted_ = {};

    const Draws run_draws{seed, {kRunDraws}};
    unsigned resets = run_draws.lane(kResetLane).chance(250) ? 1 : 0;  // per thousand cycles
    if constexpr (requires { Twin::kMemoryOutlivesReset; }) resets = 0;
    const Clocks clocks{run_draws.lane(kPhaseLane)};
    Instant instant{clocks};
    std::optional<Twin> twin;
    std::optional<Stimulus> stimulus;
    Outputs seen;
    for (std::uint32_t t = 0; t < kResetCycles; ++t) reset(model, garbage(run_draws.lane(t + 1)));
    const auto restart = [&] {
      if constexpr (requires { twin->reset(); }) {
        if (!twin) twin.emplace();
        twin->reset();
      } else if constexpr (kClocks == 1) {
        twin.emplace();
      } else {
        twin.emplace(clocks);
      }
      stimulus.emplace(run_draws.lane(0));
      previous_ = Inputs{};
    };
    const auto outputs = [&](const Inputs& in, Outputs& out) {
      if constexpr (kClocks == 1) {
        twin->outputs(in, out);
      } else {
        twin->outputs(in, instant, out);
      }
    };
    restart();

    unsigned resetting = 0;  // clocks without an edge yet in the current reset
    for (std::size_t t = 0; t < schedule.size(); ++t) {
      Cycle& now = history_[t % kHistory];
      const Draws draws{seed, schedule[t]};
      outputs(previous_, seen);
      if constexpr (kClocks == 1) {
        now.in = Inputs{};
        stimulus->drive(seen, draws, now.in);
      } else {
        now.in = previous_;
        stimulus->drive(seen, instant, draws, now.in);
      }
      if (draws.lane(kResetLane).chance(resets)) resetting = kAllClocks;
      now.reset = resetting != 0;
      now.edges = instant.edges();
      outputs(now.in, now.expected);
      top::load(model, now.in);
      top::set_resets(model, now.reset);
      top::set_clocks(model, 0);
      model.eval();
      if (trace) trace->dump(t, 0);
      top::store(model, now.got);
      if (!now.reset) {
        if (auto difference = compare(t, now)) return difference;
      }
      top::set_clocks(model, instant.edges());
      model.eval();
      if (trace) trace->dump(t, 1);
      if (!assertion_failure().empty()) return Difference{t, "assertion", "", assertion_failure()};
      if (now.reset) {
        resetting &= ~instant.edges();
        restart();
      } else {
        try {
          if constexpr (kClocks == 1) {
            twin->step(now.in);
          } else {
            twin->step(now.in, instant);
          }
        } catch (const std::exception& exception) {
          return Difference{t, "exception", exception.what(), ""};
        }
        previous_ = now.in;
      }
      instant.advance();
    }
    totals_.cycles += schedule.size();
#if VM_COVERAGE
    if (!coverage.empty()) context.coveragep()->write(coverage + "/" + std::to_string(seed) + ".dat");
#endif
    return std::nullopt;
  }

  [[nodiscard]] const Totals& totals() const { return totals_; }
  /// Cycle `t` of the last run; the last kHistory cycles are kept.
  [[nodiscard]] const Cycle& cycle(std::size_t t) const { return history_[t % kHistory]; }

  /// The shortest and quietest schedule found that still shows a difference: cycles are removed, then lanes silenced.
  [[nodiscard]] Schedule shrink(std::uint64_t seed, Schedule schedule, std::uint64_t cycle_budget) {
    std::uint64_t spent = 0;
    const auto differs = [&](Schedule& candidate) {
      spent += candidate.size();
      const auto difference = run(seed, candidate);
      if (difference) candidate.resize(difference->cycle + 1);
      return difference.has_value();
    };
    for (std::size_t chunk = schedule.size() / 2; chunk > 0; chunk /= 2) {
      for (std::size_t from = 0; from + chunk < schedule.size() && spent < cycle_budget;) {
        Schedule candidate = schedule;
        candidate.erase(candidate.begin() + static_cast<std::ptrdiff_t>(from),
                        candidate.begin() + static_cast<std::ptrdiff_t>(from + chunk));
        if (differs(candidate)) {
          schedule = std::move(candidate);
        } else {
          from += chunk;
        }
      }
    }
    for (std::size_t t = 0; t < schedule.size(); ++t) {
      for (unsigned lane = 0; lane <= kResetLane && t < schedule.size(); ++lane) {
        const std::uint64_t bit = std::uint64_t{1} << lane;
        if (lane >= Stimulus::kLanes && lane != kResetLane) {
          schedule[t].lanes &= ~bit;
        } else if (spent < cycle_budget) {
          Schedule candidate = schedule;
          candidate[t].lanes &= ~bit;
          if (differs(candidate)) schedule = std::move(candidate);
        }
      }
    }
    return schedule;
  }

 private:
  static Inputs garbage(Dice dice) {
    Inputs in;
    for (const PortInfo& port : top::kInputs) {
      for (unsigned bit = 0; bit < port.bits; bit += 32) {
        put_bits(reinterpret_cast<std::uint32_t*>(&in) + port.word, bit, std::min(32U, port.bits - bit), dice.bits());
      }
    }
    return in;
  }

  static void reset(Vtop& model, const Inputs& in) {
    top::load(model, in);
    top::set_resets(model, true);
    for (const unsigned edges : {0U, kAllClocks}) {
      top::set_clocks(model, edges);
      model.eval();
    }
  }

  std::optional<Difference> compare(std::size_t t, const Cycle& now) {
    for (unsigned index = 0; index < top::kOutputs.size(); ++index) {
      const PortInfo& port = top::kOutputs[index];
      if (kClocks > 1 && !(now.edges >> port.clock & 1)) continue;
      const std::uint32_t* expected = words_of(now.expected, port);
      const std::uint32_t* got = words_of(now.got, port);
      const unsigned lanes = port.bits / port.lane_bits;
      const std::uint32_t* gate =
          port.gate < 0 ? nullptr : words_of(now.expected, top::kOutputs[static_cast<unsigned>(port.gate)]);
      for (unsigned lane = 0; lane < lanes; ++lane) {
        if (gate && !(gate[lane / 32] >> (lane % 32) & 1)) continue;
        const unsigned lsb = lane * port.lane_bits;
        std::uint64_t& hash = totals_.hash[index];
        bool differs = false;
        for (unsigned done = 0; done < port.lane_bits; done += 64) {
          const unsigned bits = std::min(64U, port.lane_bits - done);
          const std::uint64_t value = get_bits(got, lsb + done, bits);
          differs |= value != get_bits(expected, lsb + done, bits);
          hash = (hash ^ value) * 0x9E3779B97F4A7C15U;
          hash ^= hash >> 29;
        }
        if (differs) {
          const std::string name = lanes > 1 ? port.name + ("[" + std::to_string(lane) + "]") : port.name;
          return Difference{t, name, hex(expected, lsb, port.lane_bits), hex(got, lsb, port.lane_bits)};
        }
        if (gate) ++totals_.activity[index];
      }
      if (gate) continue;
      std::uint32_t* before = reinterpret_cast<std::uint32_t*>(&counted_) + port.word;  // at its clock's previous edge
      const unsigned words = (port.bits + 31) / 32;
      if (has_counted_[index]) totals_.activity[index] += std::equal(got, got + words, before) ? 0 : 1;
      std::copy_n(got, words, before);
      has_counted_[index] = true;
    }
    return std::nullopt;
  }

  std::vector<Cycle> history_;
  Outputs counted_;  ///< last compared value of each output
  std::array<bool, top::kOutputs.size()> has_counted_{};
  Inputs previous_;
  Totals totals_;
};

}  // namespace bisim
