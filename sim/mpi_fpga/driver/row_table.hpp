// SPDX-License-Identifier: Apache-2.0
// Which rows of the nodes' communicator tables are in use.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mpi_fpga/config.hpp"

namespace thalweg::mpi_fpga {

class RowTable {
 public:
  /// `rows` of each node: at most 32.
  RowTable(NodeId nodes, unsigned rows) : rows_(rows), in_use_(nodes) {}

  [[nodiscard]] bool is_free(NodeId node, std::uint32_t row) const { return !(in_use_[node] >> row & 1); }
  void take(NodeId node, std::uint32_t row) { in_use_[node] |= 1u << row; }
  void release(NodeId node, std::uint32_t row) { in_use_[node] &= ~(1u << row); }
  /// Rows that are free at all members, in the order in which a communicator should try them; none if a member has no
  /// more than `spare` free rows.
  [[nodiscard]] std::vector<std::uint32_t> free(std::span<const NodeId> members, unsigned spare) const;

 private:
  unsigned rows_;
  std::vector<std::uint32_t> in_use_;  ///< per node: one bit per row
};

}  // namespace thalweg::mpi_fpga
