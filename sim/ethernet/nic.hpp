// SPDX-License-Identifier: Apache-2.0
// A computer's Ethernet port: sends frames in order, and delivers a received frame at its end.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cluster/assembly.hpp"
#include "cluster/engine.hpp"
#include "core/clock.hpp"
#include "ethernet/frame.hpp"
#include "ethernet/line.hpp"

namespace thalweg::ethernet {

class Nic final : public Component, public AssembledNode {
 public:
  /// A frame for this port's address or a group, in the cycle that sees its end, and the time of its end.
  using Receive = std::function<void(Tick now, const Arrival& arrival, Units end)>;
  /// A sent frame, and the cycle of its start.
  using Sent = std::function<void(Tick begin, const Frame& frame)>;

  Nic(Address address, Domain& domain) : address(address) {
    port_.domain = &domain;
    port_.component = domain.scheduler.add(*this);
  }

  const Address address;
  Receive receive;
  Sent sent;

  [[nodiscard]] LinkPort& port(unsigned number) override {
    require(number == 0, "port " + std::to_string(number) + " does not exist; a NIC has only port 0");
    return port_;
  }

  [[nodiscard]] const Rate& rate() const { return port_.out->rate; }
  /// The time from which on its line is free.
  [[nodiscard]] Units free() const { return port_.out->free(); }
  [[nodiscard]] Domain& domain() const { return *port_.domain; }

  /// Sends a frame at `ready` at the earliest, after earlier frames; returns its start.
  Units send(Units ready, const FrameRef& frame) {
    const Units begin = port_.out->send(ready, frame);
    if (sent) sent(begin / rate().cycle, *frame);
    return begin;
  }

  bool step(Tick now) override {
    Line& in = *port_.in;
    while (const Arrival* first = in.front(now)) {
      const Units end = first->end(in.rate);
      if (in.rate.seen(end) > now) {
        in.reader.wake(in.rate.seen(end));
        break;
      }
      const Arrival arrival = *first;
      in.pop();
      if (arrival.damaged)
        ++damaged_;
      else if (arrival.frame->destination() != address && !is_group(arrival.frame->destination()))
        ++strays_;
      else if (receive)
        receive(now, arrival, end);
    }
    return false;
  }

  void lost(NodeId node, std::vector<Lost>& all) const override {
    if (damaged_ > 0) all.push_back({node, "frames with a wrong FCS", damaged_});
  }
  /// Frames to other addresses, for example flooded by a switch that has not learned them.
  [[nodiscard]] std::uint64_t strays() const { return strays_; }

 private:
  Port port_;
  std::uint64_t damaged_ = 0, strays_ = 0;
};

}  // namespace thalweg::ethernet
