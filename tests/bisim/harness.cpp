// SPDX-License-Identifier: Apache-2.0
#include "harness.hpp"

#include <verilated_cov.h>
#include <verilated_vcd_c.h>

#include <algorithm>
#include <cstdio>
#include <exception>

#include "runtime.hpp"

namespace bisim {
namespace {

constexpr std::uint32_t kResetCycles = 2;
constexpr unsigned kResetLane = 63;
constexpr unsigned kPhaseLane = 62;
constexpr std::uint32_t kRunDraws = ~std::uint32_t{0};  ///< the "cycle" of the draws made once per run

/// The module's signals from cycle `from` on, as VCD; two time units per cycle.
class Waves {
 public:
  Waves(VerilatedContext& context, const std::string& name, std::size_t from) : from_(from) {
    context.trace(&file_, 99);
    file_.open(name.c_str());
  }
  void dump(std::size_t cycle, unsigned phase) {
    if (cycle >= from_) file_.dump(2 * cycle + phase);
  }

 private:
  VerilatedVcdC file_;
  std::size_t from_;
};

}  // namespace

std::string hex(const std::uint32_t* words, unsigned lsb, unsigned bits) {
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

Harness::Harness(Pair& pair) : pair_(pair), shape_(pair.shape()), counted_(shape_.output_words) {
  totals_.hash.resize(shape_.outputs.size());
  totals_.activity.resize(shape_.outputs.size());
  const Words in(shape_.input_words), out(shape_.output_words);
  history_.assign(kHistory, {false, 0, in, out, out});
}

std::optional<Difference> Harness::run(std::uint64_t seed, const Schedule& schedule, const std::string& waves,
                                       std::size_t from) {
  VerilatedContext context;
  context.randReset(2);  // registers start at random values, so that a missing reset is detected
  context.randSeed(static_cast<int>(mix(seed) & 0x7FFFFFFF) | 1);
  context.traceEverOn(!waves.empty());
  pair_.begin(context);
  std::optional<Waves> trace;
  if (!waves.empty()) trace.emplace(context, waves, from);
  assertion_failure().clear();
  has_counted_.assign(shape_.outputs.size(), false);

  const Draws run_draws{seed, {kRunDraws}};
  unsigned resets = run_draws.lane(kResetLane).chance(250) ? 1 : 0;  // per thousand cycles
  if (shape_.memory_outlives_reset) resets = 0;
  const Clocks clocks{shape_.periods, run_draws.lane(kPhaseLane)};
  Instant instant{clocks};
  const bool one_clock = shape_.periods.size() == 1;
  Words previous, seen(shape_.output_words);
  for (std::uint32_t t = 0; t < kResetCycles; ++t) reset(garbage(run_draws.lane(t + 1)));
  const auto restart = [&] {
    pair_.restart(clocks, run_draws.lane(0));
    previous.assign(shape_.input_words, 0);
  };
  restart();

  unsigned resetting = 0;  // clocks without an edge yet in the current reset
  for (std::size_t t = 0; t < schedule.size(); ++t) {
    Cycle& now = history_[t % kHistory];
    const Draws draws{seed, schedule[t]};
    pair_.outputs(previous.data(), instant, seen.data());
    if (one_clock) {
      std::ranges::fill(now.in, 0);
    } else {
      now.in = previous;
    }
    pair_.drive(seen.data(), instant, draws, now.in.data());
    if (draws.lane(kResetLane).chance(resets)) resetting = (1U << shape_.periods.size()) - 1;
    now.reset = resetting != 0;
    now.edges = instant.edges();
    pair_.outputs(now.in.data(), instant, now.expected.data());
    pair_.set(now.in.data(), now.reset);
    pair_.eval(0);
    if (trace) trace->dump(t, 0);
    pair_.get(now.got.data());
    if (!now.reset) {
      if (auto difference = compare(t, now)) return difference;
    }
    pair_.eval(instant.edges());
    if (trace) trace->dump(t, 1);
    if (!assertion_failure().empty()) return Difference{t, "assertion", "", assertion_failure()};
    if (now.reset) {
      resetting &= ~instant.edges();
      restart();
    } else {
      try {
        pair_.step(now.in.data(), instant);
      } catch (const std::exception& exception) {
        return Difference{t, "exception", exception.what(), ""};
      }
      previous = now.in;
    }
    instant.advance();
  }
  totals_.cycles += schedule.size();
  if (!coverage.empty()) context.coveragep()->write(coverage + "/" + std::to_string(seed) + ".dat");
  return std::nullopt;
}

Schedule Harness::shrink(std::uint64_t seed, Schedule schedule, std::uint64_t cycle_budget) {
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
      if (lane >= shape_.lanes && lane != kResetLane) {
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

Words Harness::garbage(Dice dice) const {
  Words in(shape_.input_words);
  for (const PortInfo& port : shape_.inputs) {
    for (unsigned bit = 0; bit < port.bits; bit += 32) {
      put_bits(in.data() + port.word, bit, std::min(32U, port.bits - bit), dice.bits());
    }
  }
  return in;
}

void Harness::reset(const Words& in) {
  pair_.set(in.data(), true);
  for (const unsigned edges : {0U, (1U << shape_.periods.size()) - 1}) pair_.eval(edges);
}

std::optional<Difference> Harness::compare(std::size_t t, const Cycle& now) {
  for (unsigned index = 0; index < shape_.outputs.size(); ++index) {
    if (!(now.edges >> shape_.outputs[index].clock & 1)) continue;
    if (auto difference = compare(t, now, index)) return difference;
  }
  return std::nullopt;
}

std::optional<Difference> Harness::compare(std::size_t t, const Cycle& now, unsigned index) {
  const PortInfo& port = shape_.outputs[index];
  const std::uint32_t* expected = now.expected.data() + port.word;
  const std::uint32_t* got = now.got.data() + port.word;
  const unsigned lanes = port.bits / port.lane_bits;
  const std::uint32_t* gate =
      port.gate < 0 ? nullptr : now.expected.data() + shape_.outputs[static_cast<unsigned>(port.gate)].word;
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
  if (gate) return std::nullopt;
  std::uint32_t* before = counted_.data() + port.word;  // at its clock's previous edge
  const unsigned words = (port.bits + 31) / 32;
  if (has_counted_[index]) totals_.activity[index] += std::equal(got, got + words, before) ? 0 : 1;
  std::copy_n(got, words, before);
  has_counted_[index] = true;
  return std::nullopt;
}

}  // namespace bisim
