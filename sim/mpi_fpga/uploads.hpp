// SPDX-License-Identifier: Apache-2.0
// Counts the host's packets for processes; C++ model of rtl/mpi_fpga/tw_uploads.sv.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "common/paged.hpp"
#include "common/ring.hpp"

namespace thalweg::mpi_fpga {

/// The host announces packets. One announcement per cycle is received and visible in the next; a process that waits for
/// it is woken at once.
class Uploads {
 public:
  void announce(std::uint32_t process) { announced_.push_growing(process); }
  [[nodiscard]] bool announced() const { return !announced_.empty(); }

  // Per cycle: `begin`, `wake`, the process that is tried, `wake`, `keep`.

  void begin() {
    has_arrival_ = announced();
    if (!has_arrival_) return;
    received_ = announced_.front();
    announced_.pop();
  }
  [[nodiscard]] std::optional<std::uint32_t> received() const {
    return has_arrival_ ? std::optional(received_) : std::nullopt;
  }
  /// Calls give(process) if a process waits for the received announcement, and removes it.
  template <class Notify>
  void wake(Notify&& notify) {
    if (has_arrival_ && std::exchange(processes_[received_].awaits, false)) notify(received_);
  }
  void keep() {
    if (has_arrival_) ++processes_[received_].there;
  }

  /// Packets available for a process.
  [[nodiscard]] unsigned there(std::uint32_t process) const { return processes_[process].there; }
  void take(std::uint32_t process) { --processes_[process].there; }
  void await(std::uint32_t process) { processes_[process].awaits = true; }

 private:
  struct Process {
    unsigned there = 0;
    bool awaits = false;
  };

  Paged<Process> processes_;
  Ring<std::uint32_t> announced_;
  bool has_arrival_ = false;
  std::uint32_t received_ = 0;  ///< in this cycle
};

}  // namespace thalweg::mpi_fpga
