// SPDX-License-Identifier: Apache-2.0
// The current and next steps of processes; C++ model of rtl/mpi_fpga/tw_steps.sv.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/types.hpp"

namespace thalweg::mpi_fpga {

/// Of each process the step that it is at and the one after it, in two places in turn: the first step in place 0. Collective
/// control's answers come when they come; a process whose step has not come cannot be tried.
class Steps {
 public:
  explicit Steps(std::uint32_t processes) : processes_(processes) {}

  /// A process begins; its first step is kept in `at`.
  void start(std::uint32_t process, Tick at) { processes_[process] = {.kept = {at, kNever}, .current = 0}; }
  /// The step of a place is kept in `at`.
  void keep(std::uint32_t process, unsigned place, Tick at) { processes_[process].kept[place] = at; }
  /// On to the next step; the place that has become free.
  unsigned advance(std::uint32_t process) {
    Process& of = processes_[process];
    const unsigned former = of.current;
    of.kept[former] = kNever;
    of.current = 1 - former;
    return former;
  }

  /// The process's step was kept when it was chosen, the cycle before `now`.
  [[nodiscard]] bool known(std::uint32_t process, Tick now) const {
    const Process& of = processes_[process];
    return of.kept[of.current] < now;
  }
  /// Where it is.
  [[nodiscard]] unsigned place(std::uint32_t process) const { return processes_[process].current; }

 private:
  struct Process {
    std::array<Tick, 2> kept{kNever, kNever};
    unsigned current = 0;
  };

  std::vector<Process> processes_;
};

}  // namespace thalweg::mpi_fpga
