// SPDX-License-Identifier: Apache-2.0
// Which virtual port of an external port sends the next frame: the highest priority first, ports of one priority in turn, and each no
// faster than its pace.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/types.hpp"

namespace thalweg::vcsn {

/// What hosts set of a virtual port.
struct Pace {
  unsigned priority = 0;  ///< a higher one goes first
  std::uint32_t cycle =
      0;  ///< cycles of the MAC's clock in 1/256 that a word of a frame takes at least, its two headers' included
};

class Multiplexer {
 public:
  explicit Multiplexer(unsigned ports) : ports_(ports) {}

  void set(unsigned port, const Pace& pace) { ports_.at(port).pace = pace; }
  [[nodiscard]] const Pace& of(unsigned port) const { return ports_.at(port).pace; }
  /// The cycle from which on a port may send.
  [[nodiscard]] Tick from(unsigned port) const { return ports_[port].from; }

  /// Of ports with a frame, `wanting`, the one that sends it in this cycle.
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
  /// It sends a frame of so many words in this cycle.
  void sends(unsigned port, unsigned words, Tick now) {
    last_ = port;
    ports_[port].from = now + static_cast<Tick>((std::uint64_t{words + 1} * ports_[port].pace.cycle + 255) >> 8);
  }

 private:
  struct Port {
    Pace pace;
    Tick from = 0;
  };
  std::vector<Port> ports_;
  unsigned last_ = 0;
};

}  // namespace thalweg::vcsn
