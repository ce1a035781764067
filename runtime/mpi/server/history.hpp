// SPDX-License-Identifier: Apache-2.0
// History of a recorded run: calls that took virtual time, collectives, messages, and link utilization.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mpi_fpga/engine.hpp"

namespace thalweg::mpi {

using namespace mpi_fpga;  // the system that this front serves
namespace spec = mpi_fpga::spec;

class History {
 public:
  struct Call {  ///< a call in which a thread of a rank waited
    std::uint32_t rank;
    std::string thread;  ///< its place among the rank's threads, such as 2.1
    std::uint16_t function;
    Tick begin, end;
  };
  struct Collective {
    std::string communicator, function, how;  ///< the algorithm, or software
    std::uint64_t bytes;                      ///< of one block
    Tick first_entry, last_entry, end;
  };
  struct Message {
    std::uint32_t sender, receiver;
    std::int32_t tag;
    std::uint64_t bytes;
    Tick sent, arrived;
  };

  explicit History(Tick window) : window_(window) {}

  std::vector<Call> calls;
  std::vector<Collective> collectives;
  std::vector<Message> messages;

  /// Time of the next sample of the links.
  [[nodiscard]] Tick due() const { return window_ * static_cast<Tick>(flits_.size() + 1); }
  /// Records the flits that each link has carried so far, for each window that has ended. Doubles the window's length when
  /// there are too many windows.
  void look(const CollectiveEngine& engine) {
    if (engine.now() < due()) return;
    const std::vector<LinkUse> seen = engine.link_use();
    while (due() <= engine.now()) {
      flits_.push_back(seen);
      if (flits_.size() == kWindows) halve();
    }
  }
  [[nodiscard]] Tick window() const { return window_; }
  /// Cumulative flits of the links at the end of each window.
  [[nodiscard]] const std::vector<std::vector<LinkUse>>& flits() const { return flits_; }

 private:
  static constexpr std::size_t kWindows = 512;

  void halve() {
    for (std::size_t i = 0; i < kWindows / 2; ++i) flits_[i] = std::move(flits_[2 * i + 1]);
    flits_.resize(kWindows / 2);
    window_ *= 2;
  }

  Tick window_;
  std::vector<std::vector<LinkUse>> flits_;
};

}  // namespace thalweg::mpi
