// SPDX-License-Identifier: Apache-2.0
// FIFO between two clock domains, C++ model of rtl/common/tw_async_fifo.sv. It is not stepped: the cycle in which the
// other side sees a word or a free entry is computed from the edge of the write or read.
#pragma once

#include <algorithm>
#include <cstddef>

#include "common/ring.hpp"
#include "core/clock.hpp"

namespace thalweg {

/// Cycles are those of the calling side. An action at an edge is visible to the other side at later edges only, so
/// sides with coincident edges may be stepped in either order.
template <class T>
class AsyncFifo {
 public:
  AsyncFifo(std::size_t depth, unsigned stages, Clock writer_clock, Clock reader_clock)
      : stages_(stages), from_(writer_clock), to_(reader_clock), words_(depth + 1), places_(depth) {
    while (!places_.full()) places_.push(0);
  }

  /// Woken in the cycle in which a word is available, or the next one.
  Waker reader;
  /// Woken in the cycle in which an entry is free, after await_place().
  Waker writer;

  /// True if a word may be pushed in this cycle.
  [[nodiscard]] bool ready(Tick cycle) const { return place() <= cycle; }
  /// The first cycle in which a word may be pushed; kNever: not before a pop.
  [[nodiscard]] Tick place() const { return places_.empty() ? kNever : places_.front(); }
  /// Wakes the writer when an entry is free.
  void await_place() {
    if (places_.empty())
      awaited_ = true;
    else
      writer.wake(places_.front());
  }
  /// Requires ready(cycle).
  void push(Tick cycle, const T& word) {
    const Tick seen = to_.cycle_after(from_.edge(cycle)) + stages_;
    places_.pop();
    words_.push({word, seen});
    if (words_.size() == 1) show(std::max(seen, popped_));
  }

  /// Number of words, including those not visible to the reader yet.
  [[nodiscard]] std::size_t size() const { return words_.size(); }
  /// True if it has no words, not even ones invisible to the reader.
  [[nodiscard]] bool empty() const { return words_.empty(); }
  /// True if a word is at the output in this cycle.
  [[nodiscard]] bool valid(Tick cycle) const { return shown() <= cycle; }
  /// The first cycle in which the first word is at the output; kNever: empty.
  [[nodiscard]] Tick shown() const { return words_.empty() ? kNever : words_.front().from; }
  /// Requires valid().
  [[nodiscard]] const T& front() const { return words_.front().word; }
  void pop(Tick cycle) {
    words_.pop();
    popped_ = cycle;
    if (!words_.empty()) show(std::max(words_.front().from, cycle));
  }

 private:
  struct Entry {
    T word;
    Tick from;  ///< cycle in which it may move to the output; for the first word, cycle in which it is there
  };

  /// Moves the first word to the output at the end of a cycle, which frees its memory entry.
  void show(Tick cycle) {
    words_.front().from = cycle + 1;
    reader.wake(cycle + 1);
    places_.push(from_.cycle_after(to_.edge(cycle)) + stages_);
    if (std::exchange(awaited_, false)) writer.wake(places_.front());
  }

  unsigned stages_;
  Clock from_, to_;
  Ring<Entry> words_;
  Ring<Tick> places_;  ///< free entries: first cycle in which the writer sees each
  Tick popped_ = -1;   ///< cycle of the last pop; it may be later than a push
  bool awaited_ = false;
};

}  // namespace thalweg
