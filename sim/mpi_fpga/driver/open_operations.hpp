// SPDX-License-Identifier: Apache-2.0
// The operations of a communicator that not all of its ranks have entered, and what their parts must have in common.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "mpi_fpga/engine.hpp"

namespace thalweg::mpi_fpga {

/// An operation until all ranks have submitted their parts.
struct OpenOperation {
  CollectiveRequest first;
  Tick at = 0;
  std::vector<bool> ranks;                            ///< that have entered
  std::uint32_t count = 0;                            ///< of them
  std::vector<std::optional<StoredRequest>> parts{};  ///< v-form: per rank that has entered
};

class OpenOperations {
 public:
  explicit OpenOperations(std::uint32_t ranks) : submitted_(ranks) {}

  /// Records a rank's part. False if it is inconsistent with an earlier one, which `mismatch` then holds unless it holds
  /// another, or if it follows such a part.
  [[nodiscard]] bool enter(const CollectiveRequest& request, Tick at, std::optional<Mismatch>& mismatch);

  /// Calls visit(number, operation).
  template <class Visit>
  void each(Visit&& visit) const {
    for (std::size_t i = 0; i < open_.size(); ++i) visit(complete_ + i, open_[i]);
  }

 private:
  std::vector<std::uint64_t> submitted_;  ///< parts, per rank
  std::uint64_t complete_ = 0;            ///< operations that all ranks have entered
  std::deque<OpenOperation> open_;        ///< later operations
  bool broken_ = false;                   ///< parts of one operation are inconsistent: later ones are not executed
};

}  // namespace thalweg::mpi_fpga
