// SPDX-License-Identifier: Apache-2.0
// Messages that go straight to their places: a receiver offers the place, and the sender writes to it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "accl/call.hpp"
#include "accl/pieces.hpp"
#include "accl/receive_buffers.hpp"
#include "core/types.hpp"

namespace thalweg::accl {

/// A place in the memory that a receiver has offered.
struct OfferedPlace {
  Channel from{};  ///< who may write to it
  bool host = false;
  std::uint64_t address = 0, length = 0;
  Pieces pieces{};
  Tick full = kNever;  ///< the cycle from which on all of it can be read
};

/// Offers that a sender has got.
class Offers {
 public:
  struct Offer {
    std::uint32_t tag = 0, number = 0;
    std::uint64_t length = 0;  ///< 0: the message is to come into receive buffers
  };

  void add(const Channel& from, const Offer& offer) { offers_[from].push_back(offer); }
  /// The first one for a message with that tag.
  [[nodiscard]] std::optional<Offer> take(const Channel& from, std::uint32_t tag) {
    const auto found = offers_.find(from);
    if (found == offers_.end()) return std::nullopt;
    auto& all = found->second;
    for (auto it = all.begin(); it != all.end(); ++it) {
      if (tag != kAnyTag && it->tag != kAnyTag && it->tag != tag) continue;
      const Offer offer = *it;
      all.erase(it);
      if (all.empty()) offers_.erase(found);
      return offer;
    }
    return std::nullopt;
  }

 private:
  std::map<Channel, std::deque<Offer>> offers_;
};

}  // namespace thalweg::accl
