// SPDX-License-Identifier: Apache-2.0
// The reception monitor of an external port: counts data words in time windows and, once per window above the
// threshold, reports the virtual ports that received them. C++ model of rtl/vcsn/tw_monitor.sv, which reports two
// cycles after a frame's end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/require.hpp"
#include "core/types.hpp"

namespace thalweg::vcsn {

inline constexpr unsigned kTimerBits = 24;           ///< of timers set by hosts, in cycles
inline constexpr unsigned kMonitorWords = 1U << 15;  ///< the count per window stays below this

struct MonitorConfig {
  Tick cycles = 0;          ///< per window; 0: off
  std::uint64_t words = 0;  ///< threshold: more words per window trigger indications
};

class Monitor {
 public:
  explicit Monitor(unsigned ports) : from_(ports) {}

  /// Throws std::invalid_argument if the hardware's counters are too small.
  static void check(const MonitorConfig& config) {
    require(config.cycles >= 0 && config.cycles < Tick{1} << kTimerBits,
            "a monitor's window has " + std::to_string(config.cycles) + " cycles; the maximum is " +
                std::to_string((1 << kTimerBits) - 1));
    require(config.words < kMonitorWords, "a monitor's threshold is " + std::to_string(config.words) +
                                              " words; the highest is " + std::to_string(kMonitorWords - 1));
  }
  /// The first window starts in cycle `first`. Throws like `check`.
  void set(const MonitorConfig& config, Tick first) {
    check(config);
    config_ = config;
    first_ = first;
    window_ = -1;
  }
  /// A new circuit has not sent anything.
  void forget(unsigned port) { from_[port] = false; }

  /// A frame of `words` words ended in this cycle; `report(port)` is called for each virtual port that must send an
  /// indication.
  template <class Report>
  void add(unsigned port, unsigned words, Tick now, Report&& report) {
    if (config_.cycles == 0 || now < first_) return;
    if (const Tick window = (now - first_) / config_.cycles; window != window_) {
      window_ = window;
      counted_ = 0;
      reported_ = false;
      from_.assign(from_.size(), false);
    }
    counted_ += words;
    from_[port] = true;
    if (counted_ <= config_.words || reported_) return;
    reported_ = true;
    for (unsigned each = 0; each < from_.size(); ++each)
      if (from_[each]) report(each);
  }

 private:
  MonitorConfig config_;
  Tick first_ = 0, window_ = -1;
  std::uint64_t counted_ = 0;  ///< words in the current window
  std::vector<bool> from_;     ///< virtual ports that received them
  bool reported_ = false;
};

}  // namespace thalweg::vcsn
