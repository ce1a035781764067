// The input buffers of a router: one queue per virtual channel, places shared among them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/types.hpp"

namespace thalweg {

/// A queue of flits inside a FlitStore; its length is its flow control's business.
struct FlitQueue {
  std::uint16_t head = 0;
  std::uint16_t tail = 0;
};

/// Places for the flits of all queues of a router. The place that was freed last is used first, so that a router which
/// holds few flits touches few cache lines, however deep its buffers are.
class FlitStore {
 public:
  void resize(std::size_t places) {
    flits_.resize(places);
    next_.resize(places);
    for (std::size_t i = 0; i < places; ++i) next_[i] = static_cast<std::uint16_t>(i + 1);
  }

  [[nodiscard]] const Flit& front(const FlitQueue& queue) const { return flits_[queue.head]; }

  /// `empty`: the queue holds nothing.
  void push(FlitQueue& queue, bool empty, const Flit& flit) {
    const auto place = free_;
    free_ = next_[place];
    flits_[place] = flit;
    (empty ? queue.head : next_[queue.tail]) = place;
    queue.tail = place;
  }

  void pop(FlitQueue& queue) {
    const auto place = queue.head;
    queue.head = next_[place];
    next_[place] = free_;
    free_ = place;
  }

 private:
  std::vector<Flit> flits_;
  std::vector<std::uint16_t> next_;  ///< within a queue, or within the free places
  std::uint16_t free_ = 0;
};

}  // namespace thalweg
