// SPDX-License-Identifier: Apache-2.0
// Selects the virtual port of an external port that sends the next frame: highest priority first, round-robin within a
// priority, and each port no faster than its pace. C++ model of rtl/vcsn/tw_multiplexer.sv, which outputs a choice one
// cycle later.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/require.hpp"
#include "core/types.hpp"

namespace thalweg::vcsn {

inline constexpr unsigned kPriorities = 8;                ///< supported by the hardware
inline constexpr std::uint32_t kSlowest = (1 << 20) - 1;  ///< maximum value of a pace

/// Settings of a virtual port by hosts.
struct Pace {
  unsigned priority = 0;  ///< higher goes first; below kPriorities
  /// Minimum cycles of the MAC's clock per word of a frame, in 1/256, with one word for the headers; at most kSlowest.
  std::uint32_t cycle = 0;
};

class Multiplexer {
 public:
  explicit Multiplexer(unsigned ports) : ports_(ports) {}

  /// Throws std::invalid_argument if the hardware lacks such a priority or pace.
  static void check(const Pace& pace) {
    require(pace.priority < kPriorities, "a virtual port has priority " + std::to_string(pace.priority) +
                                             "; priorities are 0 to " + std::to_string(kPriorities - 1));
    require(pace.cycle <= kSlowest, "a virtual port has a pace of " + std::to_string(pace.cycle) +
                                        " / 256 cycles a word; the slowest is " + std::to_string(kSlowest));
  }
  /// Throws like `check`.
  void set(unsigned port, const Pace& pace) {
    check(pace);
    ports_.at(port).pace = pace;
  }
  /// Sets the lower bound of `Pace::cycle` for frames that are sent slowly.
  void set_slow(unsigned port, std::uint32_t cycle) { ports_.at(port).slow = cycle; }
  /// The first cycle in which a port may send.
  [[nodiscard]] Tick from(unsigned port) const { return ports_[port].from; }

  /// Selects the port that sends in this cycle among ports with a frame, `wanting`.
  [[nodiscard]] std::optional<unsigned> next(const std::vector<bool>& wanting, Tick now) const {
    std::optional<unsigned> best;
    for (unsigned k = 1; k <= ports_.size(); ++k) {
      const unsigned port = (last_ + k) % static_cast<unsigned>(ports_.size());
      if (wanting[port] && ports_[port].from <= now &&
          (!best || ports_[port].pace.priority > ports_[*best].pace.priority))
        best = port;
    }
    return best;
  }
  /// A port sends a frame of `words` words in this cycle. Choose no port while the line transfers these and the header
  /// word.
  void sends(unsigned port, unsigned words, Tick now, bool slowly) {
    last_ = port;
    Port& of = ports_[port];
    const std::uint32_t cycle = slowly ? std::max(of.pace.cycle, of.slow) : of.pace.cycle;
    of.from = now + static_cast<Tick>((std::uint64_t{words + 1} * cycle + 255) >> 8);
  }

 private:
  struct Port {
    Pace pace;
    std::uint32_t slow = 0;
    Tick from = 0;
  };
  std::vector<Port> ports_;
  unsigned last_ = 0;
};

}  // namespace thalweg::vcsn
