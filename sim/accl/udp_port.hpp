// SPDX-License-Identifier: Apache-2.0
// A board's network port with its UDP stack. It receives the board's datagrams, answers ARP and ICMP requests, and
// drops and counts other frames.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "cluster/engine.hpp"
#include "core/clock.hpp"
#include "ethernet/answers.hpp"
#include "ethernet/line.hpp"
#include "ethernet/udp.hpp"

namespace thalweg::accl {

class UdpPort final : public Component {
 public:
  /// A datagram's frame, and the ticks of its first word and its end.
  using Receive = std::function<void(const ethernet::FrameRef& frame, Tick first, Tick end)>;
  /// A sent or received frame, and the line's cycle.
  using Seen = std::function<void(Tick cycle, const ethernet::Frame& frame)>;

  /// `latency`: cycles of the stack and the MAC, per direction. `frames` must outlive the object.
  UdpPort(ethernet::UdpEnd own, Tick latency, Domain& domain, ethernet::Frames& frames)
      : own(own), latency_(latency), frames_(&frames) {
    port.domain = &domain;
    port.component = domain.scheduler.add(*this);
  }

  const ethernet::UdpEnd own;
  ethernet::Port port;
  Receive receive;
  Seen seen;
  std::function<bool(const ethernet::FrameRef& frame, Tick end)>
      segment{};                                          ///< a TCP segment; returns false if it is not for this board
  std::function<void(const ethernet::Arrival&)> arrived;  ///< hardware that takes all frames instead, if set

  /// Sends a frame whose first and last words are available at these ticks. Returns the tick at which its end has left.
  Tick send(Tick first, Tick last, const ethernet::FrameRef& frame) {
    const ethernet::Rate& rate = port.out->rate;
    const Clock& clock = port.domain->clock;
    const auto length = rate.bytes(ethernet::wire_bytes(frame->size()));
    // The words on the line have no gaps: the last one must be available in its cycle.
    const Tick begins = std::max(clock.cycle_after(first), clock.cycle_after(last) - length / rate.cycle) + latency_;
    const ethernet::Units begin = port.out->send(begins * rate.cycle, frame);
    if (seen) seen(begin / rate.cycle, *frame);
    return clock.edge(rate.seen(begin + length));
  }
  /// The first tick at which a frame, if sent then, has at most `bytes` ahead of it.
  [[nodiscard]] Tick behind(std::uint64_t bytes) const {
    const ethernet::Rate& rate = port.out->rate;
    const auto at = port.out->free() - latency_ * rate.cycle - rate.bytes(static_cast<std::int64_t>(bytes));
    return at <= 0 ? 0 : port.domain->clock.edge(rate.seen(at));
  }

  bool step(Tick now) override {
    ethernet::Line& in = *port.in;
    while (const ethernet::Arrival* arrival = in.front(now)) {
      if (arrived) {
        if (seen && !arrival->damaged) seen(now, *arrival->frame);
        arrived(*arrival);
        in.pop();
        continue;
      }
      const Tick end = in.rate.seen(arrival->end(in.rate));
      if (end > now) {
        in.reader.wake(end);
        break;
      }
      const auto frame = arrival->frame;
      const bool damaged = arrival->damaged;
      const Tick first = in.rate.seen(arrival->word(0, in.rate));
      in.pop();
      const auto datagram = damaged ? std::nullopt : ethernet::udp_of(*frame);
      if (seen && !damaged) seen(now, *frame);
      if (damaged)
        ++damaged_;
      else if (const auto reply = ethernet::answer(*frames_, own, *frame))
        send(port.domain->clock.edge(now + latency_), port.domain->clock.edge(now + latency_), *reply);
      else if (segment && segment(frame, port.domain->clock.edge(now + latency_)))
        continue;
      else if (!receive || !datagram || datagram->to.address != own.address || datagram->to.ip != own.ip ||
               datagram->to.port != own.port)
        ++strays_;
      else
        receive(frame, port.domain->clock.edge(first + latency_), port.domain->clock.edge(now + latency_));
    }
    return false;
  }

  void lost(NodeId node, std::vector<Lost>& all) const {
    if (damaged_ > 0) all.push_back({node, "frames with a wrong FCS", damaged_});
    if (strays_ > 0) all.push_back({node, "frames to other addresses or ports", strays_});
  }

 private:
  Tick latency_;
  ethernet::Frames* frames_;
  std::uint64_t damaged_ = 0, strays_ = 0;
};

}  // namespace thalweg::accl
