// SPDX-License-Identifier: Apache-2.0
// Ranks that form a box of a grid: all combinations of some coordinates of each dimension.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/types.hpp"

namespace thalweg::mpi_fpga {

struct Box {
  std::vector<unsigned> size;           ///< coordinates in use, per dimension
  std::vector<std::uint32_t> position;  ///< per rank: its index in the box, first dimension fastest

  /// Nothing if the members do not form a box, or there is no grid.
  [[nodiscard]] static std::optional<Box> of(std::span<const NodeId> members, std::span<const unsigned> grid) {
    Box box{{}, std::vector<std::uint32_t>(members.size())};
    std::uint32_t stride = 1, volume = 1;
    for (std::size_t d = 0; d < grid.size(); stride *= grid[d++]) {
      std::vector<bool> in_use(grid[d]);
      for (const NodeId node : members) in_use[node / stride % grid[d]] = true;
      for (std::size_t rank = 0; rank < members.size(); ++rank) {
        const auto end = in_use.begin() + static_cast<std::ptrdiff_t>(members[rank] / stride % grid[d]);
        box.position[rank] += volume * static_cast<std::uint32_t>(std::count(in_use.begin(), end, true));
      }
      box.size.push_back(static_cast<unsigned>(std::ranges::count(in_use, true)));
      volume *= box.size.back();
    }
    if (grid.empty() || volume != members.size()) return std::nullopt;
    return box;
  }

  /// The rank at each position.
  [[nodiscard]] std::vector<std::uint32_t> rank_at() const {
    std::vector<std::uint32_t> ranks(position.size());
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) ranks[position[rank]] = rank;
    return ranks;
  }

  [[nodiscard]] unsigned coordinate(std::uint32_t at, std::size_t dimension) const {
    for (std::size_t d = 0; d < dimension; ++d) at /= size[d];
    return at % size[dimension];
  }

  /// The position at the same offset from `origin` as `at` from position 0, modulo each dimension.
  [[nodiscard]] std::uint32_t beyond(std::uint32_t origin, std::uint32_t at) const {
    std::uint32_t result = 0, stride = 1;
    for (const unsigned n : size) {
      result += (origin / stride + at / stride) % n * stride;
      stride *= n;
    }
    return result;
  }
  [[nodiscard]] std::uint32_t opposite(std::uint32_t at) const {
    std::uint32_t result = 0, stride = 1;
    for (const unsigned n : size) {
      result += (n - at / stride % n) % n * stride;
      stride *= n;
    }
    return result;
  }
};

}  // namespace thalweg::mpi_fpga
