// SPDX-License-Identifier: Apache-2.0
// Interface of the engine to a reliable transport between boards: each packet arrives once and in order, or is counted
// as lost.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "accl/packet.hpp"
#include "accl/windows.hpp"
#include "cluster/engine.hpp"
#include "core/types.hpp"
#include "ethernet/udp.hpp"

namespace thalweg::accl {

class Transport {
 public:
  virtual ~Transport() = default;

  /// Called at tick `now` with the next in-order packet of a connection. Its first word and end arrived at the ticks in
  /// `packet`.
  std::function<void(unsigned connection, const ReceiveWindow::Content& packet, Tick now)> arrived;
  std::function<void(Tick)> freed;  ///< called when packets were acknowledged or dropped, with the tick

  /// Returns the connection with a board for a lane.
  [[nodiscard]] virtual unsigned with(const ethernet::UdpEnd& to, Lane lane) = 0;
  /// Starts to connect with a board.
  virtual void greet(const ethernet::UdpEnd& to, Tick now) = 0;
  /// Number of maximum-size packets that can be sent.
  [[nodiscard]] virtual std::size_t room(unsigned connection) const = 0;
  /// Describes why a connection has failed, to follow the board's name; empty if it has not failed.
  [[nodiscard]] virtual std::string failure(unsigned connection) const = 0;
  /// Sends a packet at tick `now`; its last word is available at tick `last`. Requires room().
  virtual void send(unsigned connection, std::vector<std::byte> bytes, Tick now, Tick last) = 0;
  /// Restarts a connection. Unacknowledged packets are dropped and counted.
  virtual void restart(unsigned connection, Tick now) = 0;
  /// Call after a reset of the engine. Restarts used connections, if packets from before could still arrive after the
  /// next configuration.
  virtual void restart_all(Tick /*now*/) {}
  /// The engine has taken the next packet of a connection at this tick.
  virtual void leave(unsigned connection, Tick tick) = 0;
  /// Closes all connections after all queued data are sent, if the transport notifies its peers.
  virtual void close(Tick /*now*/) {}
  /// Closed connections that their peers have not acknowledged yet.
  [[nodiscard]] virtual std::size_t closing() const { return 0; }
  virtual void lost(NodeId node, std::vector<Lost>& all) const = 0;
};

}  // namespace thalweg::accl
