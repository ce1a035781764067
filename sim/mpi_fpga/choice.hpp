// SPDX-License-Identifier: Apache-2.0
// Selects a collective's algorithm by the sizes of the communicator and of a block, as a user or a tuning file specifies.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "thalweg_mpi_fpga_spec.hpp"

namespace thalweg::mpi_fpga {

class Choice {
 public:
  /// From so many ranks and, among those, so many bytes of a block on.
  struct From {
    std::uint32_t ranks = 0;
    std::uint64_t bytes = 0;
    spec::Collective collective = spec::Collective::barrier;
    std::vector<spec::Algorithm> algorithms;  ///< the best first
  };

  Choice() = default;
  explicit Choice(std::vector<From> rows) : rows_(std::move(rows)) {}

  /// The best of the algorithms that there are (`known`, as bits), as is said from the largest number of ranks and of
  /// bytes on. Nothing where nothing is said.
  [[nodiscard]] std::optional<spec::Algorithm> of(spec::Collective collective, std::uint32_t ranks, std::uint64_t bytes,
                                                  std::uint32_t known) const {
    const From* found = nullptr;
    for (const From& row : rows_)
      if (row.collective == collective && row.ranks <= ranks && row.bytes <= bytes &&
          (!found || std::tie(row.ranks, row.bytes) > std::tie(found->ranks, found->bytes)))
        found = &row;
    if (found)
      for (const spec::Algorithm algorithm : found->algorithms)
        if (known >> static_cast<unsigned>(algorithm) & 1) return algorithm;
    return std::nullopt;
  }

 private:
  std::vector<From> rows_;
};

}  // namespace thalweg::mpi_fpga
