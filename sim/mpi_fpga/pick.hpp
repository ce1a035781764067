// SPDX-License-Identifier: Apache-2.0
// Selects the next process of a collective unit to try; C++ model of rtl/mpi_fpga/tw_pick.sv.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/arbiter.hpp"
#include "common/bits.hpp"
#include "common/ring.hpp"
#include "core/types.hpp"

namespace thalweg::mpi_fpga {

/// Each candidate process is held once: by the unit that reads its packet, or in the queue of the event that enabled
/// it. Queues and units are served round-robin; one process is selected per cycle and tried in the next.
class Pick {
 public:
  Pick(unsigned links, unsigned units)
      : links_(links), units_(units), queues_(links + units + kOthers), reading_(units) {}

  // Events that enable a process.

  /// Arrival over a link of a packet or credits that it waited for.
  void link(unsigned link, std::uint32_t process) { push(link, process); }
  /// A unit's result is complete in a stage.
  void stage(unsigned unit, std::uint32_t process) { push(links_ + unit, process); }
  void host(std::uint32_t process) { push(links_ + units_ + kHost, process); }
  /// Start of its operation along a tree; for others, collective control's answer.
  void start(std::uint32_t process) { push(links_ + units_ + kStart, process); }
  void answer(std::uint32_t process) { push(links_ + units_ + kAnswer, process); }
  /// It lacks only time: it is retried until it succeeds.
  void time(std::uint32_t process) { push(links_ + units_ + kTime, process); }
  /// It lacks room in queues: it is retried when some is freed.
  void room(std::uint32_t process) { room_.push(process); }
  /// It waits for an earlier operation: it is retried when a process ends.
  void turn(std::uint32_t process) { turn_.push(process); }
  /// Held by the unit that reads its packet; selectable from `at`.
  void unit(unsigned unit, std::uint32_t process, Tick at) {
    reading_[unit] = {process, at};
    read_ |= std::uint64_t{1} << unit;
  }
  /// Units that hold a process, as bits.
  [[nodiscard]] std::uint64_t kept() const { return read_; }

  void room_freed() { room_.retry(); }
  void process_ended() { turn_.retry(); }

  [[nodiscard]] std::optional<std::uint32_t> choose(Tick now) {
    if (!waiting() && !read_) return std::nullopt;
    return sources() <= 64 ? choose_of<std::uint64_t>(now) : choose_of<Wide>(now);
  }
  /// True if a queue has a process to select.
  [[nodiscard]] bool waiting() const { return waiting_ || room_.ready() || turn_.ready(); }

 private:
  enum : unsigned { kHost, kStart, kAnswer, kTime, kRoom, kTurn, kOthers };

  template <class Mask>
  [[nodiscard]] std::optional<std::uint32_t> choose_of(Tick now) {
    auto ready = static_cast<Mask>(waiting_);
    if (room_.ready()) ready |= Mask{1} << (links_ + units_ + kRoom);
    if (turn_.ready()) ready |= Mask{1} << (links_ + units_ + kTurn);
    each_bit(read_, [&](unsigned unit) {
      if (reading_[unit].at <= now) ready |= Mask{1} << (sources() - units_ + unit);
    });
    if (!ready) return std::nullopt;
    const unsigned source = turns_.pick(ready);
    turns_.accept(source, sources());
    if (source >= sources() - units_) {
      read_ &= ~(std::uint64_t{1} << (source - (sources() - units_)));
      return reading_[source - (sources() - units_)].process;
    }
    if (source == links_ + units_ + kRoom) return room_.take();
    if (source == links_ + units_ + kTurn) return turn_.take();
    Ring<std::uint32_t>& queue = queues_[source];
    const std::uint32_t process = queue.front();
    queue.pop();
    if (queue.empty()) waiting_ &= ~bit(source);
    return process;
  }
  struct Reading {
    std::uint32_t process = 0;
    Tick at = 0;
  };

  /// Processes that wait for a shared resource: each is tried once after it is freed.
  class Retry {
   public:
    void push(std::uint32_t process) { queue_.push_growing(process); }
    void retry() { left_ = queue_.size(); }
    [[nodiscard]] bool ready() const { return left_ > 0; }
    [[nodiscard]] std::uint32_t take() {
      const std::uint32_t process = queue_.front();
      queue_.pop();
      --left_;
      return process;
    }

   private:
    Ring<std::uint32_t> queue_;
    std::size_t left_ = 0;
  };

  [[nodiscard]] static Wide bit(unsigned source) { return Wide{1} << source; }
  [[nodiscard]] unsigned sources() const { return links_ + 2 * units_ + kOthers; }
  void push(unsigned source, std::uint32_t process) {
    queues_[source].push_growing(process);
    waiting_ |= bit(source);
  }

  unsigned links_, units_;
  std::vector<Ring<std::uint32_t>> queues_;
  Retry room_, turn_;
  std::vector<Reading> reading_;  ///< per unit
  std::uint64_t read_ = 0;        ///< units that hold a process
  Wide waiting_ = 0;              ///< non-empty queues
  Arbiter turns_;
};

}  // namespace thalweg::mpi_fpga
