// SPDX-License-Identifier: Apache-2.0
// Description of a collective operation, passed from a front to the units of the nodes.
#pragma once

#include <cstdint>

#include "thalweg_mpi_fpga_spec.hpp"
#include "thalweg_spec.hpp"

namespace thalweg::mpi_fpga {

/// Where a rank's block lies in a buffer, in elements of the operation's type.
struct Block {
  std::uint64_t first = 0, count = 0;
};

/// Rank numbers are those of the communicator.
struct Operation {
  spec::Collective collective = spec::Collective::barrier;
  spec::Algorithm algorithm = spec::Algorithm::tree;
  spec::Operator op = spec::Operator::none;
  spec::Datatype type = spec::Datatype::byte;
  /// A v-form: blocks may differ in size. All ranks say the same; their counts need not agree. With gather, scatter,
  /// allgather, reduce_scatter and alltoall (whose `count` is not used then; alltoallw is one of bytes).
  bool vector = false;
  std::uint32_t root = 0;
  /// Elements of one block: what this rank contributes (MPI's sendcount); of scatter and reduce_scatter, what it receives.
  std::uint64_t count = 0;
};

}  // namespace thalweg::mpi_fpga
