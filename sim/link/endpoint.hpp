// SPDX-License-Identifier: Apache-2.0
// A unit's connections to its router: it sends into a local input port, receives from a local output port, and receives
// the flits that the router ejects at a link.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "core/wire.hpp"
#include "link/buffer.hpp"
#include "link/flit.hpp"
#include "link/flow.hpp"
#include "link/rate.hpp"

namespace thalweg {

/// Sends flits over one wire, at most one per cycle, under the receiver's flow control.
class FlitSender {
 public:
  static constexpr unsigned kMaxChannels = 16;

  [[nodiscard]] Inbox& inbox() { return inbox_; }
  void connect(FlitWire to, FlowControl flow, unsigned channels, unsigned depth, const Share& share = {}) {
    to_ = to;
    share_ = share;
    rate_ = RateLimit(share.flits, share.cycles);
    for (unsigned vc = 0; vc < channels; ++vc) flow_[vc] = FlowSender(flow, depth);
  }

  /// True if the wire accepts a flit in this cycle.
  [[nodiscard]] bool open(Tick now) const { return share_.open(now) && (!share_.narrow() || rate_.ready(now)); }
  [[nodiscard]] bool ready(unsigned vc) const { return flow_[vc].ready(); }
  /// Returns the entry for a flit on channel `vc`, which must be ready; at most once per cycle, which must be open. Its
  /// `vc` is set.
  Flit& send(Tick now, unsigned vc) {
    flow_[vc].send();
    if (share_.narrow()) rate_.send(now);
    return to_.write(now, vc);
  }
  /// Registers the credits or stop bits on the wires in `now`, and returns them, bit vc for channel vc. Call it last in
  /// every step of the component.
  std::uint64_t update(Tick now) {
    const std::uint64_t events = inbox_.take(now).events;
    for (auto rest = events; rest; rest &= rest - 1) flow_[static_cast<std::size_t>(std::countr_zero(rest))].event();
    return events;
  }

 private:
  Inbox inbox_;
  FlitWire to_;
  Share share_;
  RateLimit rate_;
  std::array<FlowSender, kMaxChannels> flow_{};
};

/// Receives flits, at most one per cycle, for which its owner always has room.
class FlitSink {
 public:
  static constexpr unsigned kMaxChannels = 16;

  static constexpr unsigned kMaxFlits = FlitBuffers::kMaxFlits;  ///< on the wire, and sent in a window (Scheduler)

  FlitSink() { queue_.set_depth(0, 0); }  // nothing arrives until it is connected

  [[nodiscard]] Inbox& inbox() { return inbox_; }
  FlitWire connect(Tick latency) {
    queue_.set_depth(0, std::min(static_cast<unsigned>(slots_for(latency)), kMaxFlits));  // flits on the wire
    return FlitWire(inbox_, queue_, latency);
  }

  /// The flit on the wires in `now`, or nullptr. Call it once in every step of the component. Valid until the next
  /// call.
  [[nodiscard]] const Flit* receive(Tick now) {
    if (!queue_.arrived(0, now)) return nullptr;
    flit_ = queue_.front(0);
    queue_.pop(0, now);
    return &flit_;
  }

 private:
  Inbox inbox_;
  FlitBuffers queue_;
  Flit flit_;
};

/// Receives flits, at most one per cycle, and returns room. The owner stores the flits until it releases them.
class FlitReceiver {
 public:
  static constexpr unsigned kMaxChannels = FlitSink::kMaxChannels;

  [[nodiscard]] Inbox& inbox() { return sink_.inbox(); }
  [[nodiscard]] unsigned depth() const { return depth_; }
  /// `depth`: flits per channel that the owner stores.
  FlitWire connect(Tick latency, EventWire back, FlowControl flow, unsigned channels, unsigned depth,
                   const Share& share = {}) {
    back_ = back;
    depth_ = depth;
    for (unsigned vc = 0; vc < channels; ++vc)
      flow_[vc] = FlowReceiver(flow, depth, static_cast<unsigned>(least_margin(1, share)));
    return sink_.connect(latency);
  }

  /// The flit on the wires in `now`, or nullptr. Call it once in every step of the component. Valid until the next
  /// call.
  [[nodiscard]] const Flit* receive(Tick now) {
    const Flit* flit = sink_.receive(now);
    if (!flit) return nullptr;
    flow_[flit->vc].push();
    changed_ |= 1u << flit->vc;
    return flit;
  }
  /// A flit of channel `vc` has left the owner's buffer; at most one per channel and cycle.
  void release(unsigned vc) {
    flow_[vc].pop();
    released_ |= 1u << vc;
  }
  /// Sends credits or stop bits back. Call it last in every step of the component.
  void update(Tick now) {
    for (auto rest = changed_ | released_; rest; rest &= rest - 1) {
      const auto vc = static_cast<unsigned>(std::countr_zero(rest));
      if (flow_[vc].update(released_ >> vc & 1)) back_.write(now, 1u << vc);
    }
    changed_ = released_ = 0;
  }

 private:
  FlitSink sink_;
  EventWire back_;
  std::array<FlowReceiver, kMaxChannels> flow_{};
  std::uint32_t changed_ = 0, released_ = 0;
  unsigned depth_ = 0;
};

}  // namespace thalweg
