// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/kernel.hpp"
#include "core/stream_end.hpp"

namespace thalweg {

/// The ring buffer of streams: words in order, each with the ticks after which the word and its free slot become
/// visible, and both ends. Derived streams define the capacity and the words per cycle.
template <class T>
class StreamRing {
 public:
  StreamRing(const StreamRing&) = delete;
  StreamRing& operator=(const StreamRing&) = delete;

  const std::string name;
  StreamEnd writer{name}, reader{name};

  /// Words pushed, and words pushed but not yet popped. Both include actions of kernels that run ahead.
  [[nodiscard]] std::size_t pushed() const { return static_cast<std::size_t>(pushed_); }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(pushed_ - popped_); }

 protected:
  struct Slot {
    T value{};
    Tick pushed = -1;  ///< visible after this tick
    Tick popped = -1;  ///< its free slot is visible after this tick
  };

  /// With slots for `words`; `empty`: initial value of a slot.
  StreamRing(std::string called, std::int64_t words, T empty = {}) : name(std::move(called)), empty_(std::move(empty)) {
    grow(words);
  }
  ~StreamRing() = default;

  [[nodiscard]] Slot& slot(std::int64_t index) { return slots_[static_cast<std::size_t>(index & mask_)]; }
  [[nodiscard]] const Slot& slot(std::int64_t index) const { return slots_[static_cast<std::size_t>(index & mask_)]; }

  /// Index of the word whose slot the next push reuses, with a capacity of `words`.
  [[nodiscard]] std::int64_t freed_by(std::int64_t words) {
    if (words > mask_ + 1) [[unlikely]]
      grow(words);
    return pushed_ - words;
  }
  /// True if word `freed` has not been popped, so that a push has no space.
  [[nodiscard]] bool full(std::int64_t freed) const { return freed >= popped_; }
  [[nodiscard]] bool empty() const { return popped_ == pushed_; }

  /// Blocks the writer's kernel until the slot of word `freed` is visibly free; `to`: the operation in reports, "push
  /// into".
  void await_room(Kernel& kernel, std::int64_t freed, const char* to, SourceLine where) {
    if (full(freed)) [[unlikely]] {
      writer.waits_ = true;
      wanted_ = freed;
      kernel.block({to, &reader, where});
    }
    kernel.continue_after(slot(freed).popped, {to, &name});
  }
  /// Blocks the reader's kernel until there is a word.
  void await_word(Kernel& kernel, const char* to, SourceLine where) {
    if (empty()) [[unlikely]] {
      reader.waits_ = true;
      kernel.block({to, &writer, where});
    }
    kernel.continue_after(slot(popped_).pushed, {to, &name});
  }
  /// Non-blocking forms of the two above, evaluated in the kernel's cycle.
  [[nodiscard]] bool has_room(Kernel& kernel, std::int64_t freed) {
    if (full(freed)) kernel.synchronize();
    return !full(freed) && slot(freed).popped < kernel.tick();
  }
  [[nodiscard]] bool has_word(Kernel& kernel) {
    if (empty()) kernel.synchronize();
    return !empty() && slot(popped_).pushed < kernel.tick();
  }

  /// The slot of the next push.
  [[nodiscard]] T& next() { return slot(pushed_).value; }
  /// Pushes the word written to next(); it is visible after tick `seen`. Wakes a waiting reader.
  void add(Tick seen) {
    slot(pushed_++).pushed = seen;
    if (reader.waits_) [[unlikely]]
      reader.awake(seen);
  }
  /// Pops the next word; its slot is visibly free after tick `seen`. Wakes a waiting writer.
  const T& remove(Tick seen) {
    auto& first = slot(popped_++);
    first.popped = seen;
    if (writer.waits_ && popped_ > wanted_) [[unlikely]]
      writer.awake(seen);
    return first.value;
  }

  std::int64_t pushed_ = 0, popped_ = 0;
  std::int64_t wanted_ = 0;  ///< index of the word whose slot the writer waits for

 private:
  void grow(std::int64_t words) {
    std::vector<Slot> larger(std::bit_ceil(static_cast<std::size_t>(words)), Slot{.value = empty_});
    const auto mask = static_cast<std::int64_t>(larger.size()) - 1;
    for (auto index = std::max<std::int64_t>(0, pushed_ - static_cast<std::int64_t>(slots_.size())); index < pushed_;
         ++index)
      larger[static_cast<std::size_t>(index & mask)] = std::move(slot(index));
    slots_ = std::move(larger);
    mask_ = mask;
  }

  T empty_;
  std::vector<Slot> slots_;
  std::int64_t mask_ = 0;
};

}  // namespace thalweg
