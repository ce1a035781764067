// SPDX-License-Identifier: Apache-2.0
// The current and next steps of processes; C++ model of rtl/mpi_fpga/tw_steps.sv.
#pragma once

#include <array>
#include <cstdint>

#include "common/paged.hpp"
#include "core/types.hpp"

namespace thalweg::mpi_fpga {

/// Keeps each process's current step and the next one in two entries used alternately; the first step is in entry 0.
/// Collective control's answers arrive at varying times; a process whose step has not arrived cannot be tried.
class Steps {
 public:
  /// A process starts; its first step is stored in cycle `at`.
  void start(std::uint32_t process, Tick at) { processes_[process] = {.kept = {at, kNever}, .current = 0}; }
  /// The step of entry `place` is stored in cycle `at`.
  void keep(std::uint32_t process, unsigned place, Tick at) { processes_[process].kept[place] = at; }
  /// Advances to the next step and returns the entry that became free.
  unsigned advance(std::uint32_t process) {
    Process& of = processes_[process];
    const unsigned former = of.current;
    of.kept[former] = kNever;
    of.current = 1 - former;
    return former;
  }

  /// True if the process's step was stored when it was selected, in the cycle before `now`.
  [[nodiscard]] bool known(std::uint32_t process, Tick now) const {
    const Process& of = processes_[process];
    return of.kept[of.current] < now;
  }
  /// Entry of the current step.
  [[nodiscard]] unsigned place(std::uint32_t process) const { return processes_[process].current; }

 private:
  struct Process {
    std::array<Tick, 2> kept{kNever, kNever};
    unsigned current = 0;
  };

  Paged<Process> processes_;
};

}  // namespace thalweg::mpi_fpga
