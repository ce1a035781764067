// SPDX-License-Identifier: Apache-2.0
// Description of a collective operation, passed from a front to the units of the nodes.
#pragma once

#include <cstdint>

#include "thalweg_mpi_fpga_spec.hpp"
#include "thalweg_spec.hpp"

namespace thalweg::mpi_fpga {

/// Position and size of a rank's block in a buffer, in elements of the operation's type.
struct Block {
  std::uint64_t first = 0, count = 0;
};

/// Ranks are those of the communicator.
struct Operation {
  spec::Collective collective = spec::Collective::barrier;
  spec::Algorithm algorithm = spec::Algorithm::tree;
  spec::Operator op = spec::Operator::none;
  spec::Datatype type = spec::Datatype::byte;
  /// A v-form: blocks may differ in size. All ranks must set it alike; their counts need not agree. For gather,
  /// scatter, allgather, reduce_scatter and alltoall (which then ignores `count`; alltoallw is an alltoall of bytes).
  bool vector = false;
  std::uint32_t root = 0;
  /// Elements of one block: this rank's contribution (MPI's sendcount); for scatter and reduce_scatter, the elements it
  /// receives.
  std::uint64_t count = 0;
};

}  // namespace thalweg::mpi_fpga
