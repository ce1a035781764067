// SPDX-License-Identifier: Apache-2.0
// Input buffers and the wires that feed them. A wire and its buffer share storage: flow control reserves a flit's entry
// before it is sent, so it is written there at once, and enters the queue on arrival.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "core/wire.hpp"
#include "link/flit.hpp"

namespace thalweg {

/// Queues of a block's input channels, at most 128, of flits of any width. The entry freed last is used first, so that
/// a block with few flits touches few cache lines, however deep its buffers are.
template <class T>
class BuffersOf {
 public:
  static constexpr unsigned kMaxChannels = 128;
  static constexpr unsigned kMaxFlits = UINT16_MAX;

  /// Sets a channel's depth; call before the first flit. The default depth is 0.
  void set_depth(unsigned channel, unsigned flits) { set_common_depth(channel, 1, flits); }

  /// Sets a shared depth of `flits` for `channels` channels from `first`.
  void set_common_depth(unsigned first, unsigned channels, unsigned flits) {
    queues_.resize(std::max<std::size_t>(queues_.size(), first + channels));
    for (unsigned channel = first; channel < first + channels; ++channel)
      queues_[channel].depth = static_cast<std::uint16_t>(flits);
    add_places(flits);
  }

  /// Appends and returns the entry for a flit that arrives at `at`, no earlier than previous flits of the channel. It is
  /// valid until the next call.
  T& append(unsigned channel, Tick at) {
    Queue& queue = queues_[channel];
    if (queue.count == queue.depth)
      throw std::logic_error("an input buffer overflows: its sender ignores flow control");
    const auto index = free_;
    if (index == entries_.size()) entries_.emplace_back().next = static_cast<std::uint16_t>(index + 1);
    Entry& place = entries_[index];
    free_ = place.next;
    place.at = at;
    (queue.count ? entries_[queue.tail].next : queue.head) = index;
    queue.tail = index;
    ++queue.count;
    return place.flit;
  }

  /// The flit at the head; the channel must have an arrived flit.
  [[nodiscard]] const T& front(unsigned channel) const { return entries_[queues_[channel].head].flit; }

  /// True if a flit has arrived by `now`.
  [[nodiscard]] bool arrived(unsigned channel, Tick now) const {
    const Queue& queue = queues_[channel];
    return queue.count && entries_[queue.head].at <= now;
  }

  /// Frees the entry at the head. True if the next flit has arrived by `now`.
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
    std::uint16_t next = 0;  ///< in its queue, or in the free list
  };
  struct Queue {
    std::uint16_t head = 0, tail = 0;
    std::uint16_t count = 0;  ///< including flits in flight
    std::uint16_t depth = 0;
  };

  void add_places(unsigned flits) {
    places_ += flits;
    if (places_ > kMaxFlits) throw std::invalid_argument("input buffers hold at most 65535 flits in all");
  }

  std::uint16_t free_ = 0;
  std::vector<Entry> entries_;  ///< grows to the most flits that it has held
  std::size_t places_ = 0;      ///< depth of all queues
  std::vector<Queue> queues_;
};
using FlitBuffers = BuffersOf<Flit>;

/// Wire to the channels of one input port, or to a queue for all channels. One writer, at most one flit per tick.
template <class T>
class WireOf {
 public:
  /// A flit that waits for the end of a window, as its reader is in another partition (Scheduler).
  struct Kept {
    const WireOf* wire;
    Tick at;
    T flit;
    void deliver() const { wire->append(at, flit.vc) = flit; }
  };

  WireOf() = default;
  /// The latency, at least 1, is from the writer's step to the reader's, which is notified by bit (base + vc) % 64 of
  /// its inbox.
  WireOf(Inbox& inbox, BuffersOf<T>& buffers, unsigned base, Tick latency)
      : inbox_(&inbox), buffers_(&buffers), base_(base), latency_(static_cast<std::uint32_t>(latency)) {
    inbox.reserve(latency);
  }
  /// To a queue for all channels, whose reader finds the flits there; its inbox only wakes it.
  WireOf(Inbox& inbox, BuffersOf<T>& queue, Tick latency)
      : inbox_(&inbox), buffers_(&queue), latency_(static_cast<std::uint32_t>(latency)), merges_(true) {
    inbox.expect(latency);
  }
  void keep_in(std::vector<Kept>& kept) { kept_ = &kept; }

  /// Returns the entry for a flit on channel `vc`. Its `vc` is set; the writer sets the rest.
  T& write(Tick now, unsigned vc) {
    T& flit = kept_ ? kept_->emplace_back(this, now + latency_).flit : append(now + latency_, vc);
    flit.vc = static_cast<std::uint8_t>(vc);
    return flit;
  }
  [[nodiscard]] bool connected() const { return inbox_ != nullptr; }

 private:
  T& append(Tick at, unsigned vc) const {
    if (merges_) {
      inbox_->notify(at);
      return buffers_->append(0, at);
    }
    const unsigned channel = base_ + vc;
    inbox_->post_word(at, channel % 64);
    return buffers_->append(channel, at);
  }

  Inbox* inbox_ = nullptr;
  BuffersOf<T>* buffers_ = nullptr;
  std::vector<Kept>* kept_ = nullptr;
  std::uint32_t base_ = 0;
  std::uint32_t latency_ = 1;
  bool merges_ = false;
};
using FlitWire = WireOf<Flit>;

}  // namespace thalweg
