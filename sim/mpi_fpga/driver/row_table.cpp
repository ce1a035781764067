// SPDX-License-Identifier: Apache-2.0
#include "mpi_fpga/driver/row_table.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "common/bits.hpp"

namespace thalweg::mpi_fpga {

/// A tree may need nodes that are not members. So the first communicators get rows that are free at all nodes. Half of
/// those rows remain for communicators of many nodes: the others get the rows that the fewest nodes use.
std::vector<std::uint32_t> RowTable::free(std::span<const NodeId> members, unsigned spare) const {
  std::uint32_t used = 0;
  for (const NodeId node : members) {
    used |= in_use_[node];
    if (std::popcount(in_use_[node]) + spare >= rows_) return {};
  }
  std::array<std::size_t, 32> users{};
  for (const std::uint32_t in_use : in_use_) each_bit(in_use, [&](unsigned row) { ++users[row]; });
  const auto whole = static_cast<unsigned>(std::count(users.begin(), users.begin() + rows_, 0u));
  std::vector<std::uint32_t> free;
  for (std::uint32_t row = 0; row < rows_; ++row)
    if (!(used >> row & 1)) free.push_back(row);
  std::ranges::stable_sort(
      free, {}, [&](std::uint32_t row) { return users[row] > 0 || 2 * whole > rows_ ? users[row] : in_use_.size(); });
  return free;
}

}  // namespace thalweg::mpi_fpga
