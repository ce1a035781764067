// SPDX-License-Identifier: Apache-2.0
// Selects a collective's algorithm by the sizes of the communicator and of a block, as a user or a tuning file
// specifies.
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
  /// Thresholds: the row applies from this number of ranks and, for equal ranks, this block size in bytes.
  struct From {
    std::uint32_t ranks = 0;
    std::uint64_t bytes = 0;
    spec::Collective collective = spec::Collective::barrier;
    std::vector<spec::Algorithm> algorithms;  ///< best first
  };

  Choice() = default;
  explicit Choice(std::vector<From> rows) : rows_(std::move(rows)) {}

  /// Returns the first available algorithm (`known`: bit i for code i) of the matching row with the most ranks, then
  /// bytes; nothing if no row matches or none is available.
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
