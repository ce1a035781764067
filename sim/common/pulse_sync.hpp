// SPDX-License-Identifier: Apache-2.0
// A pulse that crosses into another clock, twin of rtl/common/tw_pulse_sync.sv. Nothing is stepped: times are computed.
#pragma once

#include "core/clock.hpp"

namespace thalweg {

/// A pulse is seen `stages` cycles after the reader's first edge that is later than it; the next may be sent `stages` cycles after the
/// writer's first edge that is later than the end of that cycle.
class PulseSync {
 public:
  PulseSync(unsigned stages, Clock writer_clock, Clock reader_clock)
      : stages_(stages), from_(writer_clock), to_(reader_clock) {}

  /// Is woken in the cycle of the pulse.
  Waker reader;
  /// Is woken in the cycle in which it may send again.
  Waker writer;

  [[nodiscard]] bool ready(Tick cycle) const { return cycle >= ready_; }  ///< in a cycle of the writer's
  [[nodiscard]] bool pulse(Tick cycle) const { return cycle == pulse_; }  ///< in a cycle of the reader's

  /// In a cycle of the writer's in which it is ready.
  void send(Tick cycle) {
    pulse_ = to_.cycle_after(from_.edge(cycle)) + stages_;
    ready_ = from_.cycle_after(to_.edge(pulse_)) + stages_;
    reader.wake(pulse_);
    writer.wake(ready_);
  }

 private:
  unsigned stages_;
  Clock from_, to_;
  Tick pulse_ = kNever;
  Tick ready_ = 0;
};

}  // namespace thalweg
