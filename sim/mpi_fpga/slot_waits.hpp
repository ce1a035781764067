// SPDX-License-Identifier: Apache-2.0
// Processes that wait for packets or credits at the edges of rows; C++ model of rtl/mpi_fpga/tw_slot_waits.sv.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

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

  explicit SlotWaits(std::uint32_t rows) : rows_(rows) {
    for (std::uint32_t row = 0; row < rows; ++row) clear(row);
  }
  void clear(std::uint32_t row) {
    for (auto& edge : rows_[row]) edge.fill(kNoProcess);
  }

  void await(std::uint32_t row, unsigned edge, bool credits, std::uint32_t process) {
    rows_[row][edge][credits] = process;
  }
  /// Calls give(link, process) for each process that waits for an arrival, and removes it.
  template <class Notify>
  void wake(std::span<const SlotArrival> arrivals, Notify&& notify) {
    for (const SlotArrival& arrival : arrivals) {
      std::uint32_t& process = rows_[arrival.row][arrival.edge][arrival.credits];
      if (process != kNoProcess) notify(unsigned{arrival.link}, std::exchange(process, kNoProcess));
    }
  }

 private:
  std::vector<std::array<std::array<std::uint32_t, 2>, kMaxEdges>> rows_;
};

}  // namespace thalweg::mpi_fpga
