// SPDX-License-Identifier: Apache-2.0
// Streams: first in, first out, between two kernels, or a kernel and a component, of one clock or two.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "core/kernel.hpp"
#include "core/require.hpp"
#include "core/stream_end.hpp"

namespace thalweg {

/// Holds `depth` words. A word is seen `latency` cycles of its writer's clock after it was pushed, at the earliest at its reader's
/// next edge after that; the room of one that was popped, at its writer's next edge. A kernel's calls block in simulated time; a
/// component, or code between two advances, asks first, with the tick of its edge.
template <class T>
class Stream {
 public:
  /// Throws std::invalid_argument where depth or latency are not positive.
  explicit Stream(std::string called, std::size_t depth = 2, Tick latency = 1)
      : name(std::move(called)), depth_(static_cast<std::int64_t>(depth)), latency_(latency) {
    require(depth > 0, "stream " + name + " has no depth");
    require(latency > 0, "stream " + name + " has a latency of a cycle or more");
    grow(depth_);
  }

  const std::string name;
  StreamEnd writer{name}, reader{name};

  /// Words that have been pushed and not yet popped, by a kernel in a cycle to come as well.
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(pushed_ - popped_); }

  // Of kernels.

  void push(const T& value, Where where) {
    auto& kernel = writer.taken();
    kernel.open(writer.port_);
    const auto freed = room(kernel);
    if (freed >= popped_) [[unlikely]] {
      writer.waits_ = true;
      wanted_ = freed;
      kernel.block({"push into", &reader, where});
    }
    kernel.continue_after(slot(freed).popped, {"push into", &name});
    put(kernel, value);
  }
  void push(const T& value, std::source_location where = std::source_location::current()) { push(value, Where(where)); }

  [[nodiscard]] T pop(Where where) {
    auto& kernel = reader.taken();
    kernel.open(reader.port_);
    if (popped_ == pushed_) [[unlikely]] {
      reader.waits_ = true;
      kernel.block({"pop from", &writer, where});
    }
    kernel.continue_after(slot(popped_).pushed, {"pop from", &name});
    return get(kernel);
  }
  [[nodiscard]] T pop(std::source_location where = std::source_location::current()) { return pop(Where(where)); }

  /// Uses the end in this cycle either way. False: there was no room in this cycle.
  [[nodiscard]] bool try_push(const T& value) {
    auto& kernel = writer.taken();
    kernel.open(writer.port_);
    const auto freed = room(kernel);
    if (freed >= popped_) kernel.synchronize();
    kernel.close(writer.port_);
    if (freed >= popped_ || slot(freed).popped >= kernel.tick()) return false;
    put(kernel, value);
    return true;
  }
  /// Uses the end in this cycle either way. False: there was no word in this cycle.
  [[nodiscard]] bool try_pop(T& value) {
    auto& kernel = reader.taken();
    kernel.open(reader.port_);
    if (popped_ == pushed_) kernel.synchronize();
    kernel.close(reader.port_);
    if (popped_ == pushed_ || slot(popped_).pushed >= kernel.tick()) return false;
    value = get(kernel);
    return true;
  }

  // Of components, in the step of the edge at `now`; each at most once in it.

  /// Is there room for a word? If not, the writer is woken when there is.
  [[nodiscard]] bool can_push(Tick now) {
    const auto freed = wanted_ = pushed_ - depth_;
    if (freed >= popped_)
      writer.waits_ = true;
    else if (slot(freed).popped >= now)
      writer.awake(slot(freed).popped);
    else
      return true;
    return false;
  }
  /// Only where can_push().
  void push_at(Tick now, const T& value) { put(now + (latency_ - 1) * writer.period_, value); }

  /// Is there a word? If not, the reader is woken when there is.
  [[nodiscard]] bool can_pop(Tick now) {
    if (popped_ == pushed_)
      reader.waits_ = true;
    else if (slot(popped_).pushed >= now)
      reader.awake(slot(popped_).pushed);
    else
      return true;
    return false;
  }
  /// The next word; only where can_pop().
  [[nodiscard]] const T& front() const { return slot(popped_).value; }
  /// Only where can_pop(). The reader is woken when it can pop the next one.
  T pop_at(Tick now) {
    T value = get(now);
    if (popped_ == pushed_)
      reader.waits_ = true;
    else
      reader.awake(std::max(now, slot(popped_).pushed));
    return value;
  }

 private:
  struct Slot {
    T value{};
    Tick pushed = -1;  ///< seen after this tick
    Tick popped = -1;  ///< its room is seen after this tick
  };

  [[nodiscard]] Slot& slot(std::int64_t index) { return slots_[static_cast<std::size_t>(index & mask_)]; }
  [[nodiscard]] const Slot& slot(std::int64_t index) const { return slots_[static_cast<std::size_t>(index & mask_)]; }

  /// The word whose room the next one takes; a pipeline has room for what is in it.
  [[nodiscard]] std::int64_t room(const Kernel& kernel) {
    const auto words = depth_ + kernel.depth();
    if (words > mask_ + 1) [[unlikely]]
      grow(words);
    return pushed_ - words;
  }
  void grow(std::int64_t words) {
    std::vector<Slot> larger(std::bit_ceil(static_cast<std::size_t>(words)));
    const auto mask = static_cast<std::int64_t>(larger.size()) - 1;
    for (auto index = std::max<std::int64_t>(0, pushed_ - static_cast<std::int64_t>(slots_.size())); index < pushed_;
         ++index)
      larger[static_cast<std::size_t>(index & mask)] = std::move(slot(index));
    slots_ = std::move(larger);
    mask_ = mask;
  }

  void put(Kernel& kernel, const T& value) {
    kernel.close(writer.port_);
    put(kernel.tick() + kernel.depth_ticks() + (latency_ - 1) * writer.period_, value);
  }
  void put(Tick seen, const T& value) {
    auto& next = slot(pushed_++);
    next.value = value;
    next.pushed = seen;
    if (reader.waits_) [[unlikely]]
      reader.awake(seen);
  }
  T get(Kernel& kernel) {
    kernel.close(reader.port_);
    return get(kernel.tick());
  }
  T get(Tick now) {
    auto& first = slot(popped_++);
    first.popped = now;
    if (writer.waits_ && popped_ > wanted_) [[unlikely]]
      writer.awake(now);
    return first.value;
  }

  std::int64_t depth_;
  Tick latency_;
  std::vector<Slot> slots_;
  std::int64_t mask_ = 0;
  std::int64_t pushed_ = 0, popped_ = 0;
  std::int64_t wanted_ = 0;  ///< the word whose room the writer waits for
};

}  // namespace thalweg
