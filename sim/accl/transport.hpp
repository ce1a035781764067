// SPDX-License-Identifier: Apache-2.0
// How boards send packets to one another so that each arrives once and in order, or is counted: what the engine sees of it.
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

  /// Of a connection: the next packet in order that it has received, at a tick. Its first word and its end were there at the ticks of `packet`.
  std::function<void(unsigned connection, const ReceiveWindow::Content& packet, Tick now)> arrived;
  std::function<void(Tick)> freed;  ///< packets have been acknowledged, or dropped, at this tick

  /// The connection with a board, of one lane.
  [[nodiscard]] virtual unsigned with(const ethernet::UdpEnd& to, Lane lane) = 0;
  /// Begins to connect with a board.
  virtual void greet(const ethernet::UdpEnd& to, Tick now) = 0;
  /// Packets of the largest size for which there is room.
  [[nodiscard]] virtual std::size_t room(unsigned connection) const = 0;
  /// What the board of a connection that has ended has done, to follow its name; empty where it has not ended.
  [[nodiscard]] virtual std::string failure(unsigned connection) const = 0;
  /// At tick `now`, a packet whose last word is there at tick `last`. Only where there is room.
  virtual void send(unsigned connection, std::vector<std::byte> bytes, Tick now, Tick last) = 0;
  /// Begins anew. What has not been acknowledged is dropped, and counted.
  virtual void restart(unsigned connection, Tick now) = 0;
  /// The engine was reset: connections that have begun do so anew where packets of before could come later than the engine is set up again.
  virtual void restart_all(Tick /*now*/) {}
  /// The engine has taken the next packet of a connection, at a tick.
  virtual void leave(unsigned connection, Tick tick) = 0;
  /// Ends all connections when what was given is sent, where the other ends are told.
  virtual void close(Tick /*now*/) {}
  /// Connections whose other ends are still to be told so.
  [[nodiscard]] virtual std::size_t closing() const { return 0; }
  virtual void lost(NodeId node, std::vector<Lost>& all) const = 0;
};

}  // namespace thalweg::accl
