// Copies a packet to several outputs, which take it asynchronously: a queue in front of each.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "common/ring.hpp"

namespace thalweg {

/// `Entry` is what an output has to know of a packet; the packet itself is stored once. A queue has room for so many flits, of
/// packets of any length.
template <class Entry>
class Fork {
 public:
  Fork() = default;
  Fork(unsigned outputs, unsigned flits) : queues_(outputs, Queue{.entries = {}, .room = flits}) {}

  /// Every one of the outputs, given as bits, can take an entry for so many flits.
  [[nodiscard]] bool room(std::uint32_t outputs, unsigned flits) const {
    for (; outputs; outputs &= outputs - 1)
      if (queues_[static_cast<std::size_t>(std::countr_zero(outputs))].room < flits) return false;
    return true;
  }
  [[nodiscard]] bool empty(unsigned output) const { return queues_[output].entries.empty(); }
  [[nodiscard]] Entry& front(unsigned output) { return queues_[output].entries.front(); }
  [[nodiscard]] const Entry& front(unsigned output) const { return queues_[output].entries.front(); }
  void push(unsigned output, const Entry& entry, unsigned flits) {
    queues_[output].entries.push_growing(entry);
    queues_[output].room -= flits;
  }
  void pop(unsigned output, unsigned flits) {
    queues_[output].entries.pop();
    queues_[output].room += flits;
  }

 private:
  struct Queue {
    Ring<Entry> entries;
    unsigned room = 0;
  };

  std::vector<Queue> queues_;
};

}  // namespace thalweg
