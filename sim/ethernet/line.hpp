// SPDX-License-Identifier: Apache-2.0
// Lines between Ethernet ports. A frame is one object; the time of its first bit determines when each of its words
// arrives. A byte takes a fraction of a cycle, so times are exact integers in a unit that divides both the cycle and
// the byte time.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "cluster/assembly.hpp"
#include "common/ring.hpp"
#include "core/clock.hpp"
#include "core/require.hpp"
#include "core/usage.hpp"
#include "ethernet/frame.hpp"
#include "link/noisy_wire.hpp"

namespace thalweg::ethernet {

/// A time in units of a line, from the start of cycle 0.
using Units = std::int64_t;

/// A line's rate. At 100 Gb/s and 322.265625 MHz, a cycle has 1280 units and a byte 33: 38.79 bytes per cycle.
struct Rate {
  Units cycle = 1280, byte = 33;

  /// `gbit_s`: data rate without line code, a multiple of 1 kb/s. `period`: of the clock, in ticks.
  [[nodiscard]] static Rate of(double gbit_s, Tick period, Tick ticks_per_second) {
    const auto bytes_per_second = std::int64_t{125} * std::llround(gbit_s * 1e6);
    require(bytes_per_second > 0, "a line of " + std::to_string(gbit_s) + " Gb/s");
    // In lowest terms: bytes per second x period over ticks per second, whose product may be too large.
    const auto one = std::gcd(bytes_per_second, ticks_per_second);
    const auto other = std::gcd(period, ticks_per_second / one);
    Rate rate{bytes_per_second / one * (period / other), ticks_per_second / one / other};
    require(rate.cycle < kMostUnits && rate.byte < kMostUnits,
            "a line of " + std::to_string(gbit_s) + " Gb/s has no short enough common period with its clock");
    return rate;
  }

  /// The first cycle that sees an event at `at`.
  [[nodiscard]] constexpr Tick seen(Units at) const { return (at + cycle - 1) / cycle; }
  [[nodiscard]] constexpr Units bytes(std::int64_t count) const { return count * byte; }
  [[nodiscard]] Units cycles(double count) const { return std::llround(count * static_cast<double>(cycle)); }
  /// Converts a time in units of another line, rounded up to the next unit.
  [[nodiscard]] constexpr Units from(Units at, const Rate& other) const {
    if (cycle == other.cycle) return at;
    return static_cast<Units>((static_cast<__int128>(at) * cycle + other.cycle - 1) / other.cycle);
  }
  /// True if this line has more bytes per cycle than the other.
  [[nodiscard]] constexpr bool faster_than(const Rate& other) const { return cycle * other.byte > other.cycle * byte; }

  friend bool operator==(const Rate&, const Rate&) = default;

 private:
  static constexpr std::int64_t kMostUnits = std::int64_t{1} << 24;  ///< per cycle; an hour at 1 GHz then fits
};

/// A frame at the end of a line.
struct Arrival {
  FrameRef frame;
  Units begin = 0;       ///< first bit of its preamble
  bool damaged = false;  ///< its FCS is wrong

  /// Arrival of word `k` of the MAC's stream: after the preamble and (k + 1) times 64 bytes, or the whole frame.
  [[nodiscard]] Units word(unsigned k, const Rate& rate) const {
    return begin + rate.bytes(kPreamble + std::min(std::max(frame->size(), kShortest), (k + 1) * kWord));
  }
  /// Arrival of the end of its FCS.
  [[nodiscard]] Units end(const Rate& rate) const { return begin + rate.bytes(wire_bytes(frame->size()) - kGap); }
  /// Cycle in which a MAC delivers word `k`: at most one word per cycle, the last one with the FCS.
  [[nodiscard]] Tick cycle(unsigned k, const Rate& rate) const {
    if (k + 1 < words()) return rate.seen(word(k, rate));
    return std::max(rate.seen(end(rate)), k == 0 ? 0 : rate.seen(word(k - 1, rate)) + 1);
  }
  [[nodiscard]] unsigned words() const { return std::max(frame->words(), 1U); }
};

/// One direction of a link: frames arrive in the order in which they were sent.
class Line {
 public:
  struct Config {
    Rate rate{};
    Units latency = 0;
    WireFaults faults{};          ///< `reset_at` is ignored
    double frames_reordered = 0;  ///< share of frames that arrive after the next one
    std::uint64_t seed = 1;
  };
  explicit Line(const Config& config)
      : rate(config.rate),
        latency_(config.latency),
        faults_(config.faults),
        errors_(faults_.bit_error_rate, mix(config.seed) + 1),
        losses_(faults_.frames_lost, mix(config.seed) + 2),
        repetitions_(faults_.frames_duplicated, mix(config.seed) + 3),
        swaps_(config.frames_reordered, mix(config.seed) + 4) {
    require(latency_ + rate.bytes(kPreamble + kShortest) > rate.cycle,
            "an Ethernet link on which a frame's first word takes less than a cycle; needs a lower gbit_s, a longer "
            "latency_ns or a faster clock");
  }

  const Rate rate;
  Waker reader;  ///< woken when the first word of a frame has arrived

  /// The time from which on the line is free.
  [[nodiscard]] Units free() const { return free_; }

  /// Sends a frame as soon as the line is free, at `ready` at the earliest; returns its start. `damaged`: it was
  /// received with errors and is forwarded before its end (cut-through).
  Units send(Units ready, const FrameRef& frame, bool damaged = false) {
    const Units begin = std::max(ready, free_);
    const auto bytes = wire_bytes(frame->size());
    free_ = begin + rate.bytes(bytes);
    usage_.add(begin / rate.cycle, frame->words());
    ++use_.frames;
    errors_.each(static_cast<std::uint64_t>(8 * (bytes - kPreamble - kGap)), [&](unsigned) { damaged = true; });
    use_.damaged += damaged;
    const Tick now = begin / rate.cycle;
    if ((now >= faults_.down_at && now < faults_.up_at) || losses_.next()) {
      ++use_.lost;
      return begin;
    }
    if (!late_.frame && swaps_.next()) {
      late_ = {frame, 0, damaged};
      return begin;
    }
    arrive({frame, begin + latency_, damaged});
    if (repetitions_.next()) {  // the copy takes time of the line, which would be idle otherwise
      ++use_.duplicated;
      arrive({frame, free_ + latency_, damaged});
      free_ += rate.bytes(bytes);
    }
    if (late_.frame) {
      late_.begin = free_ + latency_;
      free_ += rate.bytes(wire_bytes(late_.frame->size()));
      arrive(std::exchange(late_, {}));
    }
    return begin;
  }

  /// The first frame if its first word has arrived, else nullptr.
  [[nodiscard]] const Arrival* front(Tick now) const {
    return !arrivals_.empty() && rate.seen(arrivals_.front().word(0, rate)) <= now ? &arrivals_.front() : nullptr;
  }
  /// Requires front().
  void pop() {
    arrivals_.front().frame = {};
    arrivals_.pop();
  }

  [[nodiscard]] bool empty() const { return arrivals_.empty(); }
  [[nodiscard]] const Usage& usage() const { return usage_; }
  [[nodiscard]] const WireUse& use() const { return use_; }
  /// Number of frames that will not arrive, including a delayed frame that only a next frame would release.
  [[nodiscard]] std::uint64_t lost() const { return use_.lost + static_cast<bool>(late_.frame); }

 private:
  void arrive(Arrival arrival) {
    reader.wake(rate.seen(arrival.word(0, rate)));
    arrivals_.push_growing(arrival);
  }

  Units latency_, free_ = 0;
  WireFaults faults_;
  Trials errors_, losses_, repetitions_, swaps_;
  Arrival late_;  ///< delayed until after the next one
  Ring<Arrival> arrivals_;
  Usage usage_;  ///< in words
  WireUse use_;
};

/// A node's end of a link.
struct Port final : LinkPort {
  Domain* domain = nullptr;
  ComponentId component = 0;
  Line *out = nullptr, *in = nullptr;  ///< null if unconnected

  [[nodiscard]] std::string carries() const override { return "Ethernet"; }
};

/// Both directions of a link.
class Cable final : public AssembledLink {
 public:
  /// Both ends must have the same clock. The faults of the second direction should have another seed.
  Cable(Line::Config there, Line::Config back, Port& a, Port& b) : there_(there), back_(back) {
    require(a.domain == b.domain, "both ends of an Ethernet link must have the same clock");
    period_ = a.domain->clock.period;
    join(a, there_, back_);
    join(b, back_, there_);
  }
  [[nodiscard]] std::array<Carried, 2> carried() const override {
    return {{{&there_.usage(), period_}, {&back_.usage(), period_}}};
  }
  void lost(const std::array<std::pair<NodeId, unsigned>, 2>& ends, std::vector<Lost>& all) const override {
    const std::array<const Line*, 2> lines{&there_, &back_};
    for (std::size_t end = 0; end < 2; ++end)
      if (const auto count = lines[end]->lost(); count > 0)
        all.push_back({ends[end].first, "frames lost on the link of port " + std::to_string(ends[end].second), count});
  }

 private:
  static void join(Port& port, Line& out, Line& in) {
    port.out = &out;
    port.in = &in;
    in.reader.bind(*port.domain, port.component);
  }

  Line there_, back_;
  Tick period_ = 1;
};

}  // namespace thalweg::ethernet
