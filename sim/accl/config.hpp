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

/// Cycles of the engine's processor per call: before the first move, and from the end of the last move to the result.
struct Handling {
  Tick command = 0, result = 0;
};

/// Configuration of a node. Times are in cycles of the engine's clock, except those of the line, in cycles of the
/// line's clock.
struct NodeConfig {
  Tick cycles_per_us = 250;
  double memory_bytes_per_cycle = 56;  ///< per port of the board's memory
  double memory_latency = 30;          ///< from a read to its first word, and from the last word of a write to its
                                       ///< completion
  double host_bytes_per_cycle = 48;    ///< of host memory, across PCIe
  double host_latency = 250;
  std::uint64_t memory_limit = std::uint64_t{1}
                               << 33;          ///< bytes that can be allocated, each in board memory and host memory
  bool arithmetic = true, compression = true;  ///< plug-ins
  bool reliable = false;                       ///< lost packets are retransmitted
  bool rendezvous = false;                     ///< large messages are written directly to their destination buffers
  Tick invocation = 0;                         ///< cycles from a host's call to its command
  std::map<Scenario, Handling> processor{};    ///< operations that take longer than a hardware sequencer
  unsigned contexts = 64;                      ///< maximum number of calls in flight
  std::uint32_t packet_bytes = 4096;           ///< maximum payload of a packet
  Tick port_latency = 60;                      ///< of the UDP stack and the MAC, per direction
  std::uint64_t fifo_bytes = 65'536;           ///< for packets that still have no receive buffer
  std::uint64_t send_bytes = 16'384;           ///< bytes by which the engine may run ahead of the line
  std::optional<ethernet::TcpConfig> tcp{};    ///< if reliable by TCP; in the line's cycles
  ethernet::SessionConfig session{};           ///< per connection, if reliable; in the line's cycles

  /// If reliable: maximum-size packets that can be sent while the other engine accepts none.
  [[nodiscard]] std::size_t window() const {
    return tcp ? tcp->window / (kPacketHeader + packet_bytes) : session.window;
  }
};

}  // namespace thalweg::accl
