// SPDX-License-Identifier: Apache-2.0
// Streams: FIFOs between two kernels, or a kernel and a component, in one or two clock domains.
#pragma once

#include <algorithm>
#include <cstddef>
#include <source_location>
#include <string>
#include <utility>

#include "core/kernel.hpp"
#include "core/require.hpp"
#include "core/stream_ring.hpp"

namespace thalweg {

/// What a component knows beforehand of the words that it pops, or pushes, after the last one that it has transferred in
/// a step. The stream transfers such words without a step of the component.
template <class T>
class Foresight {
 public:
  virtual ~Foresight() = default;
  /// Pops a word, and returns true, if the component would pop it at the first edge at which it could, and would not
  /// change anything else because of it.
  [[nodiscard]] virtual bool pops(const T&) { return false; }
  /// The same for the next word that it would push.
  [[nodiscard]] virtual bool pushes(T&) { return false; }
};

/// A FIFO of `depth` words. A pushed word becomes visible `latency` cycles of the writer's clock later, at the reader's
/// next edge. The space of a popped word becomes visible at the writer's next edge. Calls of kernels block in simulated
/// time. Components, and code between two advances, first ask whether they can push or pop, with the tick of their
/// edge.
template <class T>
class Stream : public StreamRing<T> {
 public:
  using StreamRing<T>::name, StreamRing<T>::writer, StreamRing<T>::reader;

  /// Throws std::invalid_argument unless depth and latency are positive.
  explicit Stream(std::string called, std::size_t depth = 2, Tick latency = 1)
      : StreamRing<T>(std::move(called), static_cast<std::int64_t>(depth)),
        depth_(static_cast<std::int64_t>(depth)),
        latency_(latency) {
    require(depth > 0, "stream " + name + " must have a depth of at least 1");
    require(latency > 0, "stream " + name + " must have a latency of at least one cycle");
  }

  // For kernels.

  void push(const T& value, SourceLine where) {
    auto& kernel = writer.taken();
    kernel.open(writer.port_);
    this->await_room(kernel, room(kernel), "push into", where);
    put(kernel, value);
  }
  void push(const T& value, std::source_location where = std::source_location::current()) {
    push(value, SourceLine(where));
  }

  [[nodiscard]] T pop(SourceLine where) {
    auto& kernel = reader.taken();
    kernel.open(reader.port_);
    this->await_word(kernel, "pop from", where);
    return get(kernel);
  }
  [[nodiscard]] T pop(std::source_location where = std::source_location::current()) { return pop(SourceLine(where)); }

  /// Uses the end in this cycle in either case. Returns false if there is no space in this cycle.
  [[nodiscard]] bool try_push(const T& value) {
    auto& kernel = writer.taken();
    kernel.open(writer.port_);
    const bool can = this->has_room(kernel, room(kernel));
    kernel.close(writer.port_);
    if (can) put(kernel, value);
    return can;
  }
  /// Uses the end in this cycle in either case. Returns false if there is no word in this cycle.
  [[nodiscard]] bool try_pop(T& value) {
    auto& kernel = reader.taken();
    kernel.open(reader.port_);
    const bool can = this->has_word(kernel);
    kernel.close(reader.port_);
    if (can) value = get(kernel);
    return can;
  }

  /// Raises the depth to at least `depth` words. Call between two advances, or in a kernel before the stream is used.
  void deepen(std::size_t depth) { depth_ = std::max(depth_, static_cast<std::int64_t>(depth)); }

  /// True if a push would find space, or a pop a word, in this cycle. Does not use the end.
  [[nodiscard]] bool takes() {
    auto& kernel = writer.taken();
    return this->has_room(kernel, room(kernel));
  }
  [[nodiscard]] bool gives() {
    auto& kernel = reader.taken();
    return this->has_word(kernel);
  }

  // For components, in the step of the edge at `now`; each at most once per step.

  /// True if there is space for a word. If not, the writer is woken when there is.
  [[nodiscard]] bool can_push(Tick now) {
    const auto freed = wanted_ = pushed_ - depth_;
    if (full(freed))
      writer.waits_ = true;
    else if (const Tick before = std::max(slot(freed).popped, used_); before >= now)
      writer.awake(before);
    else
      return true;
    return false;
  }
  /// Requires can_push().
  void push_at(Tick now, const T& value) {
    this->next() = value;
    this->add(now + (latency_ - 1) * writer.period_);
  }

  /// True if there is a word. If not, the reader is woken when there is.
  [[nodiscard]] bool can_pop(Tick now) {
    if (empty())
      reader.waits_ = true;
    else if (const Tick before = std::max(slot(popped_).pushed, used_); before >= now)
      reader.awake(before);
    else
      return true;
    return false;
  }
  /// The next word; requires can_pop().
  [[nodiscard]] const T& front() const { return slot(popped_).value; }
  /// Requires can_pop(). The reader is woken when it can pop the next word.
  T pop_at(Tick now) {
    T value = this->remove(now);
    if (empty())
      reader.waits_ = true;
    else
      reader.awake(std::max(now, slot(popped_).pushed));
    return value;
  }

  /// The component, whose other end is a kernel's, transfers words that it foresees. `by` must outlive the stream's use.
  void foresee_by(Foresight<T>& by) { foresight_ = &by; }
  /// After a step in which the component has popped or pushed: transfers the next words that it foresees.
  void pop_foreseen(Tick now) {
    used_ = now;
    while (!empty() && foresight_->pops(front())) {
      used_ = next_edge(reader, slot(popped_).pushed);
      this->remove(used_);
    }
  }
  void push_foreseen(Tick now) {
    used_ = now;
    push_foreseen();
  }

 private:
  using StreamRing<T>::slot, StreamRing<T>::empty, StreamRing<T>::full, StreamRing<T>::pushed_, StreamRing<T>::popped_,
      StreamRing<T>::wanted_;

  /// Words in a pipeline occupy its stages in addition to the stream's depth.
  [[nodiscard]] std::int64_t room(const Kernel& kernel) { return this->freed_by(depth_ + kernel.depth()); }
  void put(Kernel& kernel, const T& value) {
    kernel.close(writer.port_);
    const Tick now = kernel.tick() + kernel.depth_ticks();
    if (foresight_ && empty() && foresight_->pops(value)) {
      const Tick seen = now + (latency_ - 1) * writer.period_;
      used_ = next_edge(reader, seen);
      slot(pushed_++).pushed = seen;
      slot(popped_++).popped = used_;
      return;
    }
    push_at(now, value);
  }
  T get(Kernel& kernel) {
    kernel.close(reader.port_);
    if (!foresight_) return this->remove(kernel.tick());
    auto& first = slot(popped_++);
    first.popped = kernel.tick();
    const T value = first.value;
    if (writer.waits_ && popped_ > wanted_) push_foreseen();
    return value;
  }

  /// Pushes foreseen words up to the stream's depth. Wakes the component for the next word if that is not foreseen.
  void push_foreseen() {
    while (!full(wanted_ = pushed_ - depth_)) {
      const Tick freed = slot(wanted_).popped;
      if (!foresight_->pushes(this->next())) return writer.awake(std::max(used_, freed));
      used_ = next_edge(writer, freed);
      this->add(used_ + (latency_ - 1) * writer.period_);
    }
    writer.waits_ = true;
  }
  /// The first edge of a component's end that is later than `tick` and than its last use.
  [[nodiscard]] Tick next_edge(const StreamEnd& end, Tick tick) const {
    const Tick next = used_ + end.period_;
    return next > tick ? next : end.domain_->clock.edge(end.domain_->clock.cycle_after(tick));
  }

  std::int64_t depth_;
  Tick latency_;
  Foresight<T>* foresight_ = nullptr;
  Tick used_ = -1;  ///< last use of the end of a component with foresight
};

}  // namespace thalweg
