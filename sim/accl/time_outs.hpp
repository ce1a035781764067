// SPDX-License-Identifier: Apache-2.0
// Cancels moves of the hardware's calls that wait too long, cycle by cycle, as Node::expire does. C++ model of
// rtl/accl/parts/tw_time_outs.sv.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace thalweg::accl {

class TimeOuts {
 public:
  struct In {
    std::uint32_t time_out = 0;  ///< in microseconds
    bool resets = false;
    std::uint64_t waits = 0;  ///< a bit per slot
    std::optional<unsigned> moves{}, ended{};
    bool cancel_ready = false;
  };

  TimeOuts(unsigned slots, unsigned cycles_per_us) : slots_(slots), cycles_per_us_(cycles_per_us) {}

  /// The slot whose move is to be cancelled.
  [[nodiscard]] std::optional<unsigned> cancel(bool resets) const {
    if (state_ == State::background) return slot_ ^ 1U;
    if (state_ == State::cancel && (resets || slots_[slot_].waits)) return slot_;
    return std::nullopt;
  }

  void step(const In& in) {
    const auto cancels = cancel(in.resets);
    const bool taken = cancels && in.cancel_ready, idle = state_ == State::idle;
    switch (state_) {
      case State::idle:
        slot_ = 0;
        if (due_ || in.resets) scan();
        break;
      case State::scan:
        if (--left_ == 1) counts_ = !slots_[slot_].fresh;
        if (left_ > 0) break;
        store(in);
        break;
      case State::cancel:
        if (taken) state_ = State::background;
        if (!cancels) next();
        break;
      case State::background:
        if (taken) next();
        break;
    }
    const bool ticks = cycle_ == cycles_per_us_ - 1;
    cycle_ = ticks ? 0 : cycle_ + 1;
    due_ = ticks || (due_ && !idle);
    for (unsigned k = 0; k < slots_.size(); ++k) {
      Slot& slot = slots_[k];
      const bool over = in.moves == k || in.ended == k || (taken && *cancels == k);
      slot.waits = (slot.waits || (in.waits >> k & 1) != 0) && !over;
      if (over) slot.fresh = true;
    }
  }

 private:
  enum class State : std::uint8_t { idle, scan, cancel, background };
  static constexpr unsigned kScan = 5;  ///< cycles
  struct Slot {
    bool waits = false, fresh = true;
    std::uint32_t count = 0;  ///< in microseconds
  };

  void scan() {
    left_ = kScan;
    state_ = State::scan;
  }
  void next() {
    slot_ = (slot_ + 1) % static_cast<unsigned>(slots_.size());
    if (slot_ == 0)
      state_ = State::idle;
    else
      scan();
  }
  void store(const In& in) {
    Slot& slot = slots_[slot_];
    const bool counts = slot.waits && counts_;
    const std::uint32_t sum = slot.count + 1;
    slot.count = counts ? sum : 0;
    if (slot.waits) slot.fresh = false;
    if (in.resets || (counts && timed_out(in.time_out, sum)))
      state_ = State::cancel;
    else
      next();
  }
  [[nodiscard]] static bool timed_out(std::uint32_t limit, std::uint32_t count) { return limit != 0 && count >= limit; }

  std::vector<Slot> slots_;
  unsigned cycles_per_us_, cycle_ = 0, slot_ = 0, left_ = 0;
  bool due_ = false, counts_ = false;
  State state_ = State::idle;
};

}  // namespace thalweg::accl
