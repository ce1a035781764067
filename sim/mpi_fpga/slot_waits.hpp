// SPDX-License-Identifier: Apache-2.0
// Processes that wait for packets or credits at the edges of rows; C++ model of rtl/mpi_fpga/tw_slot_waits.sv.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "common/growing.hpp"
#include "mpi_fpga/context_table.hpp"

namespace thalweg::mpi_fpga {

/// An arrival over a link in a cycle: a packet for a slot, or credits.
struct SlotArrival {
  std::uint8_t link, edge;
  bool credits;
  std::uint32_t row;
  std::uint32_t value;  ///< packet, or flits of credit
};

/// At most one process waits per row, edge and kind of arrival.
class SlotWaits {
 public:
  static constexpr std::uint32_t kNoProcess = ~std::uint32_t{0};

  void clear(std::uint32_t row) { rows_[row] = {}; }

  void await(std::uint32_t row, unsigned edge, bool credits, std::uint32_t process) {
    rows_[row].process[edge][credits] = process;
  }
  /// Calls give(link, process) for each process that waits for an arrival, and removes it.
  template <class Notify>
  void wake(std::span<const SlotArrival> arrivals, Notify&& notify) {
    for (const SlotArrival& arrival : arrivals) {
      std::uint32_t& process = rows_[arrival.row].process[arrival.edge][arrival.credits];
      if (process != kNoProcess) notify(unsigned{arrival.link}, std::exchange(process, kNoProcess));
    }
  }

 private:
  struct Row {
    Row() {
      for (auto& edge : process) edge.fill(kNoProcess);
    }
    std::array<std::array<std::uint32_t, 2>, kMaxEdges> process;
  };

  Growing<Row> rows_;
};

}  // namespace thalweg::mpi_fpga
