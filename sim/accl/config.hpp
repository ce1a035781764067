// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "accl/call.hpp"
#include "accl/packet.hpp"
#include "core/types.hpp"
#include "ethernet/session_receiver.hpp"
#include "ethernet/tcp_connection.hpp"

namespace thalweg::accl {

/// What the engine's processor takes for a call: until its first move, and from the end of its last move to its result.
struct Handling {
  Tick command = 0, result = 0;
};

/// A node. Times are in cycles of its engine's clock, those of the line in the line's.
struct NodeConfig {
  Tick cycles_per_us = 250;
  double memory_bytes_per_cycle = 56;  ///< of each port of the board's memory
  double memory_latency = 30;          ///< from a read to its first word, and from the last word of a write to its end
  double host_bytes_per_cycle = 48;    ///< of the host's memory, across PCIe
  double host_latency = 250;
  std::uint64_t memory_limit = std::uint64_t{1}
                               << 33;          ///< bytes that can be allocated, of the board's memory and of the host's
  bool arithmetic = true, compression = true;  ///< plug-ins
  bool reliable = false;                       ///< packets that are lost are sent again
  bool rendezvous = false;                     ///< large messages go straight to their places
  Tick invocation = 0;                         ///< from a host's call to its command
  std::map<Scenario, Handling> processor{};    ///< of operations that take more than a sequencer in hardware
  unsigned contexts = 64;                      ///< calls that are under way at once
  std::uint32_t packet_bytes = 4096;           ///< of a packet's payload at most
  Tick port_latency = 60;                      ///< of the UDP stack and the MAC, each way
  std::uint64_t fifo_bytes = 65'536;           ///< of packets for which there is no receive buffer yet
  std::uint64_t send_bytes = 16'384;           ///< that the engine may be ahead of the line
  std::optional<ethernet::TcpConfig> tcp{};    ///< where it is reliable by TCP; in the line's cycles
  ethernet::SessionConfig session{};           ///< of a connection, where it is reliable; in the line's cycles

  /// Where it is reliable: packets of the largest size that can be sent while the other engine takes none.
  [[nodiscard]] std::size_t window() const {
    return tcp ? tcp->window / (kPacketHeader + packet_bytes) : session.window;
  }
};

}  // namespace thalweg::accl
