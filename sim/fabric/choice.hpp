// Which algorithm a collective takes: what a user or a tuning file says, by the size of the communicator and of a block.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "thalweg_spec.hpp"

namespace thalweg {

class Choice {
 public:
  /// From so many ranks and, among those, so many bytes of a block on.
  struct From {
    std::uint32_t ranks = 0;
    std::uint64_t bytes = 0;
    spec::Collective collective = spec::Collective::barrier;
    spec::Algorithm algorithm = spec::Algorithm::tree;
  };

  Choice() = default;
  explicit Choice(std::vector<From> rows) : rows_(std::move(rows)) {}

  /// What is said last, by ranks and then by bytes; nothing where nothing is said.
  [[nodiscard]] std::optional<spec::Algorithm> of(spec::Collective collective, std::uint32_t ranks,
                                                  std::uint64_t bytes) const {
    const From* found = nullptr;
    for (const From& row : rows_)
      if (row.collective == collective && row.ranks <= ranks && row.bytes <= bytes &&
          (!found || std::tie(row.ranks, row.bytes) >= std::tie(found->ranks, found->bytes)))
        found = &row;
    return found ? std::optional(found->algorithm) : std::nullopt;
  }

 private:
  std::vector<From> rows_;
};

}  // namespace thalweg
