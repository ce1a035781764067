// SPDX-License-Identifier: Apache-2.0
// Counts the host's packets for processes; C++ model of rtl/mpi_fpga/tw_uploads.sv.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

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
    if (has_arrival_ && std::exchange(of(received_).awaits, false)) notify(received_);
  }
  void keep() {
    if (has_arrival_) ++of(received_).there;
  }

  /// Packets available for a process.
  [[nodiscard]] unsigned there(std::uint32_t process) const {
    return process < processes_.size() ? processes_[process].there : 0;
  }
  void take(std::uint32_t process) { --of(process).there; }
  void await(std::uint32_t process) { of(process).awaits = true; }

 private:
  struct Process {
    unsigned there = 0;
    bool awaits = false;
  };

  [[nodiscard]] Process& of(std::uint32_t process) {
    if (process >= processes_.size()) processes_.resize(process + 1);
    return processes_[process];
  }

  std::vector<Process> processes_;  ///< grows as they take packets
  Ring<std::uint32_t> announced_;
  bool has_arrival_ = false;
  std::uint32_t received_ = 0;  ///< in this cycle
};

}  // namespace thalweg::mpi_fpga
