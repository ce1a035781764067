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

  static constexpr unsigned kQueuePackets = 4;  ///< packets that a unit may produce ahead of a busy output

  std::uint32_t slot;
  /// Where packet length adapts to the stream, full packets of short streams have at most 4 flits.
  unsigned shortest_packet;
  unsigned host_queue;  ///< per port, for all-to-alls
  /// Depth of a queue between unit and output. A result reserves room at its issue, so the depth includes the flits in
  /// the lanes of the widest join.
  unsigned queue;
  /// Freed flits of a slot per credit packet: at most a quarter, and few enough that a longest packet, or a packet
  /// beside a burst (half the slot), has room despite the withheld credits.
  std::uint32_t credit_batch;
};

}  // namespace thalweg::mpi_fpga
