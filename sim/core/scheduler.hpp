// SPDX-License-Identifier: Apache-2.0
// Event scheduler of one clock. Idle components are not stepped, and idle time is skipped.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <queue>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/types.hpp"

namespace thalweg {

using ComponentId = std::uint32_t;

/// A schedulable unit: a node, a switch, a host. Its inner blocks are plain values, stepped by its step().
class Component {
 public:
  virtual ~Component() = default;
  /// One clock cycle. Reads only values written for `now`, writes only for later cycles. Returns true to be stepped in
  /// the next cycle too.
  virtual bool step(Tick now) = 0;
};

/// Steps the components that are awake, tick by tick. Wakes in the near future are bits of a timing wheel, others are
/// in a heap.
class Scheduler {
 public:
  /// `horizon`: ticks ahead that the wheel covers, where a wake costs one bit; should be at least the longest wire
  /// latency.
  explicit Scheduler(Tick horizon = 64, Tick start = 0)
      : now_(start),
        slots_(static_cast<Tick>(std::bit_ceil(static_cast<std::uint64_t>(std::max<Tick>(horizon + 1, 64))))),
        any_(static_cast<std::size_t>(slots_ / 64)) {}

  /// The tick being stepped, or the next to be stepped.
  [[nodiscard]] Tick now() const { return now_; }
  /// The first tick in which a component can be woken now.
  [[nodiscard]] Tick next() const { return now_ + (stepping_ ? 1 : 0); }

  /// The component must outlive the scheduler's use. It is first stepped when woken.
  ComponentId add(Component& component) {
    components_.push_back(&component);
    const auto words = (components_.size() + 63) / 64;
    if (words != words_) {  // components are added before time starts or between two advances: rebuild the wheel
      std::vector<std::uint64_t> grown(static_cast<std::size_t>(slots_) * words);
      for (std::size_t slot = 0; slot < static_cast<std::size_t>(slots_); ++slot)
        std::copy_n(wheel_.begin() + static_cast<std::ptrdiff_t>(slot * words_), words_,
                    grown.begin() + static_cast<std::ptrdiff_t>(slot * words));
      wheel_ = std::move(grown);
      words_ = words;
    }
    return static_cast<ComponentId>(components_.size() - 1);
  }

  /// Steps component `id` in tick `at`, which must be later than the tick being stepped; between two advances, now() or
  /// later.
  void wake(ComponentId id, Tick at) {
    if (at - now_ < slots_) [[likely]]
      mark(id, at);
    else
      far_.emplace(at, id);
  }

  /// Steps everything due before `until`; afterwards now() is `until`, or the tick after an interrupt.
  void advance(Tick until) {
    interrupted_ = stepping_ = false;  // a step may have thrown
    while (!interrupted_) {
      const Tick next = next_due();
      if (next >= until) {
        now_ = std::max(now_, until);
        return;
      }
      now_ = next;
      stepping_ = true;
      step_all();
      stepping_ = false;
      ++now_;
    }
  }

  /// Called in a step: advance() returns at the end of this tick.
  void interrupt() { interrupted_ = true; }

  /// The tick of the next step, kNever if nothing is awake.
  [[nodiscard]] Tick next_due() const {
    const Tick far = far_.empty() ? kNever : far_.top().first;
    const auto start = static_cast<std::size_t>(now_ & (slots_ - 1));
    std::size_t word = start / 64;
    std::uint64_t bits = any_[word] & ~std::uint64_t{0} << start % 64;
    for (std::size_t scanned = 0; scanned <= any_.size(); ++scanned) {
      if (bits) {
        const auto slot = static_cast<Tick>(word * 64) + std::countr_zero(bits);
        return std::min(far, now_ + ((slot - now_) & (slots_ - 1)));
      }
      word = word + 1 == any_.size() ? 0 : word + 1;
      bits = any_[word];
    }
    return far;
  }

 private:
  void mark(ComponentId id, Tick at) {
    const auto slot = static_cast<std::size_t>(at & (slots_ - 1));
    wheel_[slot * words_ + id / 64] |= std::uint64_t{1} << id % 64;
    any_[slot / 64] |= std::uint64_t{1} << slot % 64;
  }

  void step_all() {
    for (; !far_.empty() && far_.top().first <= now_; far_.pop()) mark(far_.top().second, now_);
    const auto slot = static_cast<std::size_t>(now_ & (slots_ - 1));
    any_[slot / 64] &= ~(std::uint64_t{1} << slot % 64);
    for (std::size_t word = 0; word < words_; ++word)
      for (auto bits = std::exchange(wheel_[slot * words_ + word], 0); bits; bits &= bits - 1) {
        const auto id = static_cast<ComponentId>(word * 64 + static_cast<unsigned>(std::countr_zero(bits)));
        if (components_[id]->step(now_)) mark(id, now_ + 1);
      }
    // The component would be stepped a wheel revolution late.
    if (any_[slot / 64] >> slot % 64 & 1) [[unlikely]]
      throw std::logic_error("a component was woken in the tick that was being stepped");
  }

  using Wake = std::pair<Tick, ComponentId>;

  Tick now_;
  Tick slots_;
  std::size_t words_ = 0;
  std::vector<std::uint64_t> wheel_;  ///< a row per slot, a bit per component
  std::vector<std::uint64_t> any_;    ///< a bit per slot: 1 if its row is not empty
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> far_;
  std::vector<Component*> components_;
  bool interrupted_ = false, stepping_ = false;
};

}  // namespace thalweg
