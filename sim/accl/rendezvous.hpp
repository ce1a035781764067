// SPDX-License-Identifier: Apache-2.0
// Rendezvous of large messages: a receiver offers its destination buffer, and the sender writes to it directly.
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

/// A destination buffer that a receiver has offered.
struct OfferedPlace {
  Channel from{};  ///< source channel that may write to it
  bool host = false;
  std::uint64_t address = 0, length = 0;
  Pieces pieces{};
  Tick full = kNever;  ///< first cycle in which all of it can be read
};

/// Offers that a sender has received.
class Offers {
 public:
  struct Offer {
    std::uint32_t tag = 0, number = 0;
    std::uint64_t length = 0;  ///< 0: the message must use receive buffers
  };

  void add(const Channel& from, const Offer& offer) { offers_[from].push_back(offer); }
  /// Returns and removes the first offer for a message with this tag.
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
