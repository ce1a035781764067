// SPDX-License-Identifier: Apache-2.0
// FIFO between two clock domains, C++ model of rtl/common/tw_async_fifo.sv. It is not stepped: the cycle in which the other side sees a
// word or a free entry is computed from the edge at which it was written or read.
#pragma once

#include <algorithm>
#include <cstddef>

#include "common/ring.hpp"
#include "core/clock.hpp"

namespace thalweg {

/// Cycles are those of the side that asks. What one side does at an edge, the other sees from later edges on alone, so that
/// sides whose edges coincide may be stepped in either order.
template <class T>
class AsyncFifo {
 public:
  AsyncFifo(std::size_t depth, unsigned stages, Clock writer_clock, Clock reader_clock)
      : stages_(stages), from_(writer_clock), to_(reader_clock), words_(depth + 1), places_(depth) {
    while (!places_.full()) places_.push(0);
  }

  /// Is woken in the cycle in which a word is there, or the next one.
  Waker reader;
  /// Is woken in the cycle in which there is a place again, where it `awaits_place`.
  Waker writer;

  /// May a word be pushed in this cycle?
  [[nodiscard]] bool ready(Tick cycle) const { return place() <= cycle; }
  /// The first cycle in which a word may be pushed; kNever: a pop has to come first.
  [[nodiscard]] Tick place() const { return places_.empty() ? kNever : places_.front(); }
  /// The writer found no place.
  void await_place() {
    if (places_.empty())
      awaited_ = true;
    else
      writer.wake(places_.front());
  }
  /// Only when ready.
  void push(Tick cycle, const T& word) {
    const Tick seen = to_.cycle_after(from_.edge(cycle)) + stages_;
    places_.pop();
    words_.push({word, seen});
    if (words_.size() == 1) show(std::max(seen, popped_));
  }

  /// Words that are in it, or on their way to the reader.
  [[nodiscard]] std::size_t size() const { return words_.size(); }
  /// Nothing is in it, not even on its way to the reader.
  [[nodiscard]] bool empty() const { return words_.empty(); }
  /// Is a word at the output in this cycle?
  [[nodiscard]] bool valid(Tick cycle) const { return shown() <= cycle; }
  /// The first cycle in which the front word is at the output; kNever: nothing is in it.
  [[nodiscard]] Tick shown() const { return words_.empty() ? kNever : words_.front().from; }
  /// Only when valid.
  [[nodiscard]] const T& front() const { return words_.front().word; }
  void pop(Tick cycle) {
    words_.pop();
    popped_ = cycle;
    if (!words_.empty()) show(std::max(words_.front().from, cycle));
  }

 private:
  struct Entry {
    T word;
    Tick from;  ///< the cycle in which it may go to the output; of the first one, that in which it is there
  };

  /// The first word goes to the output at the end of a cycle, and leaves its place in the memory.
  void show(Tick cycle) {
    words_.front().from = cycle + 1;
    reader.wake(cycle + 1);
    places_.push(from_.cycle_after(to_.edge(cycle)) + stages_);
    if (std::exchange(awaited_, false)) writer.wake(places_.front());
  }

  unsigned stages_;
  Clock from_, to_;
  Ring<Entry> words_;
  Ring<Tick> places_;  ///< free places: from which cycle on the writer sees each
  Tick popped_ = -1;   ///< the word before; it may be ahead of what is pushed
  bool awaited_ = false;
};

}  // namespace thalweg
