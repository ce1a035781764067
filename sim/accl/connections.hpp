// SPDX-License-Identifier: Apache-2.0
// Reliable connections between boards, over a network that loses, duplicates and reorders datagrams: every packet
// arrives once and in order, or is counted as lost. Each connection has a session (ethernet/session.hpp), which starts
// with the first packet in either direction.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "accl/packet.hpp"
#include "accl/transport.hpp"
#include "accl/udp_port.hpp"
#include "accl/windows.hpp"
#include "cluster/engine.hpp"
#include "core/clock.hpp"
#include "ethernet/session.hpp"

namespace thalweg::accl {

class Connections final : public Component, public Transport {
 public:
  using Session = ethernet::Session<SendWindow, ReceiveWindow>;

  /// The arguments must outlive the object. Takes over the port's received datagrams.
  Connections(const ethernet::SessionConfig& config, UdpPort& udp, Domain& line, ethernet::Frames& frames)
      : config_(config), udp_(udp), domain_(line), frames_(frames), id_(line.scheduler.add(*this)) {
    udp_.receive = [this](const ethernet::FrameRef& frame, Tick first, Tick end) {
      waiting_.push_back({frame, first, end});
      wake(domain_.clock.cycle_from(end));
    };
  }

  [[nodiscard]] unsigned with(const ethernet::UdpEnd& to, Lane lane) override {
    for (unsigned k = 0; k < all_.size(); ++k)
      if (all_[k].to == to && all_[k].lane == lane) return k;
    all_.emplace_back(to, lane, config_);
    const auto number = static_cast<unsigned>(all_.size() - 1);
    all_.back().receive.next = [this, number](const ReceiveWindow::Content& packet) {
      arrived(number, packet, domain_.clock.edge(domain_.scheduler.now()));
    };
    return number;
  }
  void greet(const ethernet::UdpEnd& to, Tick now) override {
    std::vector<std::byte> bytes(kPacketHeader);
    for (const Lane lane : {Lane::messages, Lane::others}) {
      put_packet(
          bytes,
          {.kind = spec::MessageKind::greeting, .stream = static_cast<std::uint8_t>(lane == Lane::others ? kOther : 0)},
          {});
      if (const auto connection = with(to, lane); room(connection) > 0) send(connection, bytes, now, now);
    }
  }
  [[nodiscard]] std::size_t room(unsigned connection) const override { return all_[connection].send.room(); }
  [[nodiscard]] std::string failure(unsigned connection) const override {
    if (all_[connection].session.state() != ethernet::SessionState::silent) return "";
    return "has not answered " + std::to_string(config_.tries) + " attempts";
  }
  void send(unsigned connection, std::vector<std::byte> bytes, Tick now, Tick last) override {
    Connection& of = all_[connection];
    if (!of.session.used() || has_ended(of)) restart(connection, now);
    of.send.add({.bytes = std::move(bytes), .whole = domain_.clock.cycle_after(last)});
    wake(domain_.clock.cycle_after(last));
  }
  void restart(unsigned connection, Tick now) override {
    open(all_[connection], domain_.clock.cycle_after(now));
    wake(domain_.clock.cycle_after(now));
  }
  void restart_all(Tick now) override {
    for (unsigned k = 0; k < all_.size(); ++k)
      if (all_[k].session.used()) restart(k, now);
  }
  void leave(unsigned connection, Tick tick) override {
    if (all_[connection].to == udp_.own) return;  // a board has no session with itself
    const Tick cycle = domain_.clock.cycle_after(tick);
    all_[connection].receive.leave(cycle);
    wake(cycle);
  }

  bool step(Tick now) override {
    for (Connection& of : all_) {
      if (of.session.acts_at() < now) {
        const auto before = of.send.room();
        of.session.run(now);
        if (of.send.room() != before) freed(domain_.clock.edge(now));
      }
      if (const Tick later = of.session.acts_at(); later != kNever) wake(std::max(later, now) + 1);
    }
    for (; !waiting_.empty() && domain_.clock.cycle_from(waiting_.front().end) <= now; waiting_.pop_front())
      hear(waiting_.front(), now);
    if (now < free_)
      wake(free_);
    else
      choose(now);
    return false;
  }

  void lost(NodeId node, std::vector<Lost>& all) const override {
    ethernet::SessionCounts sum;
    for (const Connection& of : all_) {
      sum.stale += of.session.counts().stale;
      sum.unknown += of.session.counts().unknown;
      sum.discarded += of.session.counts().discarded;
      if (has_ended(of)) sum.unknown += config_.window - of.send.room();
    }
    for (const auto& [what, count] :
         {std::pair{"packets of another session", sum.stale},
          {"packets sent in sessions that ended before they were acknowledged", sum.unknown},
          {"packets still unsent when such a session ended", sum.discarded},
          {"packets of no session", malformed_}})
      if (count > 0) all.push_back({node, what, count});
  }

 private:
  static constexpr unsigned kMost = 512;         ///< connections
  static constexpr Tick kBegins = 16;            ///< cycles to start a session
  static constexpr std::uint64_t kAhead = 2048;  ///< maximum number of bytes waiting in the UDP stack when a packet is
                                                 ///< chosen

  struct Connection {
    Connection(const ethernet::UdpEnd& peer, Lane of, const ethernet::SessionConfig& config)
        : to(peer), lane(of), send(config.window), session(config, send, receive) {}

    ethernet::UdpEnd to;
    Lane lane;
    SendWindow send;
    ReceiveWindow receive;
    Session session;
    std::uint16_t number = 0;  ///< of the session opened last
    Tick heard = 0;            ///< cycle in which it processes the last received packet
  };
  struct Datagram {
    ethernet::FrameRef frame;
    Tick first, end;
  };

  void wake(Tick cycle) { domain_.wake(id_, std::max(cycle, domain_.next())); }
  static bool has_ended(const Connection& of) {
    const auto state = of.session.state();
    return state == ethernet::SessionState::refused || state == ethernet::SessionState::silent;
  }
  static void open(Connection& of, Tick first) {
    if (++of.number == 0) of.number = 1;
    of.session.open(of.number, first);
  }

  void hear(const Datagram& datagram, Tick now) {
    const auto udp = *ethernet::udp_of(*datagram.frame);
    const auto packet = packet_of(udp.payload);
    if (!packet || packet->session == 0 || (all_.size() == kMost && !knows(udp.from, lane_of(*packet)))) {
      ++malformed_;
      return;
    }
    Connection& of = all_[with(udp.from, lane_of(*packet))];
    of.session.run(now);
    const bool begins = !of.session.used() || has_ended(of);
    if (begins) open(of, now + 1);
    const Tick end = of.heard = std::max(begins ? now + kBegins : now, of.heard + 2);
    const bool is_data = packet->kind < spec::MessageKind::acknowledgement;
    Session::Begun begun;
    if (is_data) begun = of.session.begins(packet->sequence, end - 1);
    of.session.hear(
        {.kind = is_data                                      ? ethernet::SessionFrame::data
                 : packet->kind == spec::MessageKind::refusal ? ethernet::SessionFrame::refusal
                                                              : ethernet::SessionFrame::acknowledgement,
         .of = {.session = packet->session, .peer = packet->peer, .number = packet->sequence, .base = packet->base},
         .content = {datagram.frame, datagram.first, datagram.end},
         .begun = begun,
         .asks = (packet->stream & kAsks) != 0,
         .knows = (packet->stream & kKnows) != 0,
         .received = packet->received,
         .end = end});
    wake(end + Session::kDecides + 1);
  }
  [[nodiscard]] bool knows(const ethernet::UdpEnd& end, Lane lane) const {
    return std::ranges::any_of(all_, [&](const Connection& of) { return of.to == end && of.lane == lane; });
  }

  void choose(Tick now) {
    Tick later = kNever;
    for (unsigned k = 0; k < all_.size(); ++k) {
      Connection& of = all_[(next_ + k) % all_.size()];
      if (!of.session.used()) continue;
      if (const Tick at = of.session.says_at(now); at > now) {
        later = std::min(later, at);
        continue;
      }
      const auto says = of.session.say(now);
      const bool refuses = says.kind == ethernet::SessionFrame::refusal;
      spec::AcclPacket header{.kind = refuses ? spec::MessageKind::refusal : spec::MessageKind::acknowledgement,
                              .stream = static_cast<std::uint8_t>((says.asks ? kAsks : 0) | (says.knows ? kKnows : 0) |
                                                                  (of.lane == Lane::others ? kOther : 0)),
                              .received = says.received};
      send(of, header, {}, says.sequence, now);
      return;
    }
    for (unsigned k = 0; k < all_.size(); ++k) {
      const auto number = static_cast<unsigned>((next_ + k) % all_.size());
      Connection& of = all_[number];
      const auto offset = of.session.used() ? of.session.next() : std::nullopt;
      if (!offset) continue;
      const SendWindow::Packet& packet = of.send.packet(*offset);
      if (packet.whole > now) {
        later = std::min(later, packet.whole);
        continue;
      }
      next_ = number + 1;
      const auto sequence = of.session.sends(now);
      const std::span<const std::byte> bytes = packet.bytes;
      const Tick read = send(of, *packet_of(bytes), bytes.subspan(kPacketHeader), sequence, now);
      return of.session.reads_until(read);
    }
    if (later != kNever) wake(later);
  }
  /// Returns the cycle in which the packet's last word has been read.
  Tick send(const Connection& of, spec::AcclPacket header, std::span<const std::byte> data,
            const ethernet::Sequence& sequence, Tick now) {
    header.session = sequence.session;
    header.peer = sequence.peer;
    header.sequence = sequence.number;
    header.base = sequence.base;
    const Tick read = now + 1 + static_cast<Tick>((kPacketHeader + data.size() + kWord - 1) / kWord);
    udp_.send(domain_.clock.edge(now + 1), domain_.clock.edge(read), datagram(frames_, udp_.own, of.to, header, data));
    free_ = std::max(read, domain_.clock.cycle_from(udp_.behind(kAhead)));
    wake(free_);
    return read;
  }

  const ethernet::SessionConfig config_;
  UdpPort& udp_;
  Domain& domain_;
  ethernet::Frames& frames_;
  ComponentId id_;
  std::deque<Connection> all_;
  std::deque<Datagram> waiting_;
  std::size_t next_ = 0;  ///< first connection in the round-robin order
  Tick free_ = 0;         ///< first cycle in which the next packet may be chosen
  std::uint64_t malformed_ = 0;
};

}  // namespace thalweg::accl
