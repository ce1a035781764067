// SPDX-License-Identifier: Apache-2.0
// Input buffers and the wires that feed them. A wire and its buffer share one storage: flow control has reserved the
// entry of a flit before it is sent, so it is written there at once, and enters the queue when it has arrived.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "core/wire.hpp"
#include "link/flit.hpp"

namespace thalweg {

/// The queues of a block's input channels, at most 128, of flits of any width. The place that was freed last is used first, so that a block which
/// holds few flits touches few cache lines, however deep its buffers are.
template <class T>
class BuffersOf {
 public:
  static constexpr unsigned kMaxChannels = 128;

  /// Before the first flit; a channel that is never set up holds nothing.
  void set_depth(unsigned channel, unsigned flits) {
    queues_[channel].depth = static_cast<std::uint16_t>(flits);
    add_places(flits);
  }

  /// `flits` for so many channels from `first` on together.
  void set_common_depth(unsigned first, unsigned channels, unsigned flits) {
    for (unsigned channel = first; channel < first + channels; ++channel)
      queues_[channel].depth = static_cast<std::uint16_t>(flits);
    add_places(flits);
  }

  /// The place for a flit that arrives at `at`, not before what was appended to this channel earlier.
  T& append(unsigned channel, Tick at) {
    Queue& queue = queues_[channel];
    if (queue.count == queue.depth)
      throw std::logic_error("an input buffer overflows: its sender ignores flow control");
    const auto index = free_;
    Entry& place = entries_[index];
    free_ = place.next;
    place.at = at;
    (queue.count ? entries_[queue.tail].next : queue.head) = index;
    queue.tail = index;
    ++queue.count;
    return place.flit;
  }

  /// Of a channel in which a flit has arrived.
  [[nodiscard]] const T& front(unsigned channel) const { return entries_[queues_[channel].head].flit; }

  /// Frees the front's place. True: the next flit has arrived by `now`.
  bool pop(unsigned channel, Tick now) {
    Queue& queue = queues_[channel];
    const auto index = queue.head;
    queue.head = entries_[index].next;
    entries_[index].next = free_;
    free_ = index;
    return --queue.count && entries_[queue.head].at <= now;
  }

 private:
  struct alignas(64) Entry {
    T flit;
    Tick at = 0;
    std::uint16_t next = 0;  ///< within a queue, or within the free places
  };
  struct Queue {
    std::uint16_t head = 0, tail = 0;
    std::uint16_t count = 0;  ///< what is on its way included
    std::uint16_t depth = 0;
  };

  void add_places(unsigned flits) {
    if (entries_.size() + flits > UINT16_MAX)
      throw std::invalid_argument("input buffers hold at most 65535 flits in all");
    for (unsigned i = 0; i < flits; ++i) {
      entries_.emplace_back();
      entries_.back().next = static_cast<std::uint16_t>(entries_.size());
    }
  }

  std::uint16_t free_ = 0;
  std::vector<Entry> entries_;
  std::array<Queue, kMaxChannels> queues_{};
};
using FlitBuffers = BuffersOf<Flit>;

/// Into the channels of one input port. One writer, at most one flit a tick.
template <class T>
class WireOf {
 public:
  WireOf() = default;
  /// Latency, at least 1, counts from the writer's step to the reader's, which is told by bit (base + vc) % 64 of its
  /// inbox.
  WireOf(Inbox& inbox, BuffersOf<T>& buffers, unsigned base, Tick latency)
      : inbox_(&inbox), buffers_(&buffers), base_(base), latency_(static_cast<std::uint32_t>(latency)) {
    inbox.reserve(latency);
  }

  /// The place to fill with a flit for channel `vc`; its `vc` is set, everything else is the writer's.
  T& write(Tick now, unsigned vc) {
    const unsigned channel = base_ + vc;
    inbox_->post_word(now + latency_, channel % 64);
    T& flit = buffers_->append(channel, now + latency_);
    flit.vc = static_cast<std::uint8_t>(vc);
    return flit;
  }
  [[nodiscard]] bool connected() const { return inbox_ != nullptr; }

 private:
  Inbox* inbox_ = nullptr;
  BuffersOf<T>* buffers_ = nullptr;
  std::uint32_t base_ = 0;
  std::uint32_t latency_ = 1;
};
using FlitWire = WireOf<Flit>;

}  // namespace thalweg
