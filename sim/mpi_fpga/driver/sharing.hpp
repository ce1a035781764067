// SPDX-License-Identifier: Apache-2.0
// Division of a fabric among jobs.
#pragma once

#include "mpi_fpga/config.hpp"

namespace thalweg::mpi_fpga {

/// Throws std::invalid_argument with a one-line message if the fabric cannot be shared this way: too many sub-channels,
/// a slot without a cycle, a job without a node, or buffers or a communicator table too small to be divided.
void check_sharing(const FabricConfig& config, const Sharing& sharing);

/// A job's part of a fabric: the same nodes and links, and its share of the rate. Buffers of link ports and rows of the
/// communicator table are divided like the rate; the buffers of a row are as large as without sharing.
[[nodiscard]] FabricConfig part_of(const FabricConfig& config, const Sharing& sharing, std::uint32_t job);

}  // namespace thalweg::mpi_fpga
