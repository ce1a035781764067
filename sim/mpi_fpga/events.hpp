// SPDX-License-Identifier: Apache-2.0
// Scheduled events inside a node, in order of time.
#pragma once

#include <algorithm>
#include <bit>
#include <compare>
#include <cstdint>
#include <functional>
#include <tuple>
#include <vector>

#include "core/types.hpp"

namespace thalweg::mpi_fpga {

struct Event {
  enum class Kind : std::uint8_t {
    command,   ///< a collective's command has arrived; subject: context
    message,   ///< a message's command has arrived
    table,     ///< a row's command has arrived
    loaded,    ///< a row has been written; subject: context
    upload,    ///< an upload's packet is in the node; subject: source
    download,  ///< a download's packet is in host memory; subject: queue
    ready,     ///< an upload's packet has passed the user-defined unit; subject: process
    step,      ///< a process's first step is available; subject: process
    none,      ///< only causes a step: a result reaches an output queue, or a process can be tried
    complete,  ///< the host sees a completion
  };
  Tick at;
  Kind kind;
  std::uint32_t subject = 0;
  std::uint32_t order = 0;  ///< of a host's command among the commands for its node

  /// A total order, so that ties are deterministic: the host's commands first, as they were given, whatever their kind and subject.
  [[nodiscard]] auto key() const { return std::tuple(at, kind > Kind::table, order, kind, subject); }
  friend auto operator<=>(const Event& a, const Event& b) { return a.key() <=> b.key(); }
};

class Events {
 public:
  /// A step of the unit in cycle `now`.
  void begin(Tick now) {
    now_ = now;
    near_ &= ~(std::uint64_t{1} << (now & 63));
    find_next();
  }
  /// Causes a step in a later cycle.
  void step_in(Tick at) {
    if (at - now_ >= 64) return add({at, Event::Kind::none});
    near_ |= std::uint64_t{1} << (at & 63);
    next_ = std::min(next_, at);
  }
  void add(const Event& event) {
    heap_.push_back(event);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    next_ = std::min(next_, event.at);
  }
  /// The first event or step.
  [[nodiscard]] Tick next() const { return next_; }
  [[nodiscard]] Tick next_event() const { return heap_.empty() ? kNever : heap_.front().at; }
  Event take() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const Event event = heap_.back();
    heap_.pop_back();
    find_next();
    return event;
  }

 private:
  void find_next() {
    const Tick near = near_ ? now_ + std::countr_zero(std::rotr(near_, static_cast<int>(now_ & 63))) : kNever;
    next_ = std::min(near, next_event());
  }

  Tick now_ = 0;
  std::uint64_t near_ = 0;  ///< causes of steps: bit t % 64 for cycle t, from now_ + 1 to now_ + 63
  Tick next_ = kNever;
  std::vector<Event> heap_;
};

}  // namespace thalweg::mpi_fpga
