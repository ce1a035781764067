// SPDX-License-Identifier: Apache-2.0
// Round-robin arbiter, C++ model of rtl/common/tw_arbiter.sv.
#pragma once

#include <concepts>
#include <cstdint>

#include "common/bits.hpp"

namespace thalweg {

/// Grants the first requester at or after a pointer, cyclically. The pointer moves past the winner only when the grant
/// is taken (accept), so that a persistent requester is served after at most size-1 accepted grants of others.
class Arbiter {
 public:
  /// Returns the winner among the set bits of `requests`, which must not be 0. Does not change the pointer.
  [[nodiscard]] unsigned pick(std::uint64_t requests) const { return pick_of(requests); }
  template <std::same_as<Wide> Mask>
  [[nodiscard]] unsigned pick(Mask requests) const {
    return pick_of(requests);
  }
  /// Records that the grant of `winner`, one of `size` requesters, was taken.
  void accept(unsigned winner, unsigned size) {
    next_ = static_cast<std::uint8_t>(winner + 1 == size ? 0 : winner + 1);
  }

  [[nodiscard]] unsigned next() const { return next_; }

 private:
  template <class Mask>
  [[nodiscard]] unsigned pick_of(Mask requests) const {
    const Mask ahead = requests >> next_ << next_;
    return first(ahead ? ahead : requests);
  }

  std::uint8_t next_ = 0;
};

}  // namespace thalweg
