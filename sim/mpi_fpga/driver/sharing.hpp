// SPDX-License-Identifier: Apache-2.0
// How a fabric is divided among jobs.
#pragma once

#include "mpi_fpga/config.hpp"

namespace thalweg::mpi_fpga {

/// Throws std::invalid_argument, one line, when the fabric cannot be shared so: more sub-channels than there are, a slot
/// without a cycle, a job without a node, buffers or a communicator table that cannot be divided so far.
void check_sharing(const FabricConfig& config, const Sharing& sharing);

/// What a job has of a fabric: the same nodes and links, and its share of the rate. Buffers of link ports and rows of the
/// communicator table are divided like the rate; the buffers behind a row are as large as without sharing.
[[nodiscard]] FabricConfig part_of(const FabricConfig& config, const Sharing& sharing, std::uint32_t job);

}  // namespace thalweg::mpi_fpga
