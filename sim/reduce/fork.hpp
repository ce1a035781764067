// Copies a packet to several outputs, which take it asynchronously: a queue in front of each.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "common/ring.hpp"

namespace thalweg {

/// `Entry` is what an output has to know of a packet; the packet itself is stored once.
template <class Entry>
class Fork {
 public:
  Fork() = default;
  Fork(unsigned outputs, std::size_t depth) : queues_(outputs, Ring<Entry>(depth)) {}

  /// Every one of the outputs, given as bits, can take an entry.
  [[nodiscard]] bool room(std::uint32_t outputs) const {
    for (; outputs; outputs &= outputs - 1)
      if (queues_[static_cast<std::size_t>(std::countr_zero(outputs))].full()) return false;
    return true;
  }
  [[nodiscard]] Ring<Entry>& operator[](unsigned output) { return queues_[output]; }
  [[nodiscard]] const Ring<Entry>& operator[](unsigned output) const { return queues_[output]; }

 private:
  std::vector<Ring<Entry>> queues_;
};

}  // namespace thalweg
