// SPDX-License-Identifier: Apache-2.0
// Sizes of a collective unit's buffers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "mpi_fpga/config.hpp"
#include "reduce/join.hpp"

namespace thalweg::mpi_fpga {

/// All in flits.
struct UnitSizes {
  UnitSizes(const CollectiveConfig& config, unsigned links)
      : slot(config.slot_packets * config.packet_flits),
        shortest_packet(config.long_packet_flits > config.packet_flits ? std::min(config.packet_flits, 4u)
                                                                       : config.packet_flits),
        host_queue(kQueuePackets * config.long_packet_flits),
        queue(host_queue + join_depth(links + 1) * config.lane_latency) {
    const std::uint32_t beside_burst = std::max(slot / 2, config.packet_flits) - config.packet_flits;
    credit_batch = std::max(1u, std::min({slot / 4, slot - config.long_packet_flits, beside_burst}));
  }

  static constexpr unsigned kQueuePackets = 4;  ///< what a unit runs ahead of a busy output

  std::uint32_t slot;
  /// Where packets may suit their streams, those of a short one have no more than 4 flits.
  unsigned shortest_packet;
  unsigned host_queue;  ///< of a port, for all-to-alls
  /// A queue between unit and output. A result has its place there from its issue on: the lanes of the widest join hold that many
  /// besides.
  unsigned queue;
  /// Of a slot, free before the other end is told: a quarter, or less, so that without what is not told a longest packet finds
  /// room, and one beside a burst, which fills half of the slot.
  std::uint32_t credit_batch;
};

}  // namespace thalweg::mpi_fpga
