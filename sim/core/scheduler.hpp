// SPDX-License-Identifier: Apache-2.0
// Event scheduler of one clock. Idle components are not stepped, and idle time is skipped.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/team.hpp"
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

/// The components that one thread steps. Wakes in the near future are bits of a timing wheel, others are in a heap.
class Partition {
 public:
  Partition(Tick slots, Tick start)
      : start_(start), end_(start), slots_(slots), any_(static_cast<std::size_t>(slots / 64)) {}

  /// Returns the component's index in this partition.
  std::uint32_t add(Component& component) {
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
    return static_cast<std::uint32_t>(components_.size() - 1);
  }

  void wake(std::uint32_t index, Tick at) {
    if (at < end_ && stepped_ != kNone && !(index == stepped_ && at > tick_)) [[unlikely]]
      refuse();
    if (at - start_ < slots_) [[likely]]
      mark(index, at);
    else
      wake_far(index, at);
  }
  void interrupt(Tick at) { interrupts_.push(at); }

  /// The first tick from `now` on in which a component is awake, kNever if there is none.
  [[nodiscard]] Tick next_due(Tick now) const {
    const Tick far = far_.empty() ? kNever : far_.top().first;
    const auto start = static_cast<std::size_t>(now & (slots_ - 1));
    std::size_t word = start / 64;
    std::uint64_t bits = any_[word] & ~std::uint64_t{0} << start % 64;
    for (std::size_t scanned = 0; scanned <= any_.size(); ++scanned) {
      if (bits) {
        const auto slot = static_cast<Tick>(word * 64) + std::countr_zero(bits);
        return std::min(far, now + ((slot - now) & (slots_ - 1)));
      }
      word = word + 1 == any_.size() ? 0 : word + 1;
      bits = any_[word];
    }
    return far;
  }
  /// The first announced interrupt.
  [[nodiscard]] Tick next_interrupt() const { return interrupts_.empty() ? kNever : interrupts_.top(); }

  /// Steps the components, each by itself, in the ticks from `start` to before `end`. Nothing is due before.
  void step(Tick start, Tick end) {
    const Rest rest{stepped_};
    start_ = start;
    end_ = end;
    last_ = start - 1;
    for (; !far_.empty() && far_.top().first < end; far_.pop()) mark(far_.top().second, far_.top().first);
    for (; !interrupts_.empty() && interrupts_.top() < end; interrupts_.pop()) {
    }
    clear(start, end);
    if (end == start + 1) return step_tick(start);
    for (std::size_t word = 0; word < words_; ++word) {
      std::uint64_t awake = 0;
      for (Tick tick = start; tick < end; ++tick) awake |= row(tick)[word];
      for (; awake; awake &= awake - 1) step_alone(word, static_cast<unsigned>(std::countr_zero(awake)));
    }
    clear(start, end);  // components may wake themselves within the window
  }
  /// The last tick of step() in which a component was stepped; before its start if none was.
  [[nodiscard]] Tick last() const { return last_; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  using Wake = std::pair<Tick, std::uint32_t>;
  /// Ends a step also if a component throws.
  struct Rest {
    std::uint32_t& stepped;
    ~Rest() { stepped = kNone; }
  };

  // Not inlined into those who wake.
  [[noreturn, gnu::noinline]] static void refuse() {
    throw std::logic_error("a component was woken in ticks that are being stepped");
  }
  [[gnu::noinline]] void wake_far(std::uint32_t index, Tick at) { far_.emplace(at, index); }

  /// A window of one tick.
  void step_tick(Tick tick) {
    tick_ = tick;
    std::uint64_t* const awake = row(tick);
    for (std::size_t word = 0; word < words_; ++word)
      for (std::uint64_t bits = std::exchange(awake[word], 0); bits; bits &= bits - 1) {
        stepped_ = static_cast<std::uint32_t>(word * 64 + static_cast<unsigned>(std::countr_zero(bits)));
        last_ = tick;
        if (components_[stepped_]->step(tick)) mark(stepped_, end_);
      }
  }

  void step_alone(std::size_t word, unsigned bit) {
    stepped_ = static_cast<std::uint32_t>(word * 64 + bit);
    Component& component = *components_[stepped_];
    bool busy = false;
    for (tick_ = start_; tick_ < end_; ++tick_) {
      std::uint64_t& bits = row(tick_)[word];
      if (!busy && !(bits >> bit & 1)) continue;
      bits &= ~(std::uint64_t{1} << bit);
      last_ = std::max(last_, tick_);
      busy = component.step(tick_);
    }
    if (busy) mark(stepped_, end_);
  }

  /// Marks the rows of these ticks as empty.
  void clear(Tick start, Tick end) {
    for (Tick tick = start; tick < end; ++tick) {
      const std::size_t slot = slot_of(tick);
      any_[slot / 64] &= ~(std::uint64_t{1} << slot % 64);
    }
  }
  [[nodiscard]] std::size_t slot_of(Tick tick) const { return static_cast<std::size_t>(tick & (slots_ - 1)); }
  [[nodiscard]] std::uint64_t* row(Tick tick) { return &wheel_[slot_of(tick) * words_]; }
  void mark(std::uint32_t index, Tick at) {
    const std::size_t slot = slot_of(at);
    wheel_[slot * words_ + index / 64] |= std::uint64_t{1} << index % 64;
    any_[slot / 64] |= std::uint64_t{1} << slot % 64;
  }

  Tick start_, end_;  ///< of the ticks that are being stepped, or were last
  Tick tick_ = 0, last_ = 0;
  std::uint32_t stepped_ = kNone;
  Tick slots_;
  std::size_t words_ = 0;
  std::vector<std::uint64_t> wheel_;  ///< a row per slot, a bit per component
  std::vector<std::uint64_t> any_;    ///< a bit per slot: 1 if its row is not empty
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> far_;
  std::priority_queue<Tick, std::vector<Tick>, std::greater<>> interrupts_;
  std::vector<Component*> components_;
};

/// Steps the components that are awake. What one does may reach others only after a window of ticks: each is then
/// stepped by itself to the window's end, while its data are in the cache, and partitions are stepped by threads.
class Scheduler {
 public:
  /// `horizon`: ticks ahead that the wheel covers, where a wake costs one bit; should be at least the longest wire
  /// latency plus the window.
  explicit Scheduler(Tick horizon = 64, Tick start = 0, unsigned threads = 1)
      : now_(start),
        slots_(static_cast<Tick>(std::bit_ceil(static_cast<std::uint64_t>(std::max<Tick>(horizon + 1, 64))))),
        team_(threads, [this](unsigned partition) { partitions_[partition].step(now_, end_); }) {
    for (unsigned partition = 0; partition < threads; ++partition) partitions_.emplace_back(slots_, start);
  }
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Effects of a component reach others `window` ticks later or more, and its interrupts are announced as long before.
  void set_window(Tick window) { window_ = std::clamp<Tick>(window, 1, slots_ / 2); }
  /// Wires between partitions keep what is written on them in a window, since their readers run at the same time; `deliver`
  /// hands it on at its end.
  void after_windows(std::function<void()> deliver) { deliver_ = std::move(deliver); }
  [[nodiscard]] unsigned partitions() const { return static_cast<unsigned>(partitions_.size()); }
  [[nodiscard]] static unsigned partition_of(ComponentId id) { return id >> kIndexBits; }
  /// A component's partition, and its index there.
  [[nodiscard]] Partition& partition(ComponentId id) { return partitions_[partition_of(id)]; }
  [[nodiscard]] static std::uint32_t index_of(ComponentId id) { return id & kIndex; }

  /// The tick being stepped, or the next to be stepped.
  [[nodiscard]] Tick now() const { return now_; }
  /// The first tick in which a component can be woken now.
  [[nodiscard]] Tick next() const { return now_ + (stepping_ ? 1 : 0); }

  /// The component must outlive the scheduler's use. It is first stepped when woken.
  ComponentId add(Component& component, unsigned partition = 0) {
    return partition << kIndexBits | partitions_[partition].add(component);
  }

  /// Steps component `id` in tick `at`, which must be later than the tick being stepped; between two advances, now() or
  /// later.
  void wake(ComponentId id, Tick at) { partition(id).wake(index_of(id), at); }

  /// Steps everything due before `until`; afterwards now() is `until`, or the tick after an interrupt. Without an end
  /// (kNever), now() is the tick after the last one in which a component was awake.
  void advance(Tick until) {
    interrupted_ = stepping_ = false;  // a step may have thrown
    while (!interrupted_) {
      const Tick next = next_due();
      if (next >= until) {
        if (until != kNever) now_ = std::max(now_, until);
        return;
      }
      now_ = next;
      end_ = std::min(until, now_ + window_);
      for (const Partition& partition : partitions_)
        if (const Tick at = partition.next_interrupt(); at < end_) {
          end_ = std::max(at, now_) + 1;
          interrupted_ = true;
        }
      stepping_ = true;
      team_.run();
      if (deliver_) deliver_();
      stepping_ = false;
      for (const Partition& partition : partitions_) now_ = std::max(now_, partition.last());
      ++now_;
    }
  }

  /// Called in a step of a window of one tick: advance() returns at its end.
  void interrupt() { interrupted_ = true; }
  /// advance() will return at the end of tick `at`. The component announces it a window ahead.
  void interrupt(ComponentId id, Tick at) { partition(id).interrupt(at); }

  /// The tick of the next step, kNever if nothing is awake.
  [[nodiscard]] Tick next_due() const {
    Tick next = kNever;
    for (const Partition& partition : partitions_) next = std::min(next, partition.next_due(now_));
    return next;
  }

 private:
  static constexpr unsigned kIndexBits = 24;
  static constexpr ComponentId kIndex = (ComponentId{1} << kIndexBits) - 1;

  Tick now_, end_ = 0;
  Tick slots_;
  Tick window_ = 1;
  bool interrupted_ = false, stepping_ = false;
  std::deque<Partition> partitions_;
  std::function<void()> deliver_;
  Team team_;
};

}  // namespace thalweg
