// SPDX-License-Identifier: Apache-2.0
// A board's TCP endpoint. It has a connection with each other board, opened by the board with the lower address, with
// packets in the byte streams. A packet's header is followed by `base` bytes. As the checksum precedes the data that it
// covers, a segment is sent once it is read, and processed once its end has arrived.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "accl/packet.hpp"
#include "accl/transport.hpp"
#include "accl/udp_port.hpp"
#include "cluster/engine.hpp"
#include "core/clock.hpp"
#include "core/random.hpp"
#include "ethernet/tcp_connection.hpp"

namespace thalweg::accl {

class TcpConnections final : public Component, public Transport {
 public:
  /// `packet`: maximum data bytes of a packet. The arguments must outlive the object. Takes over the port's TCP
  /// segments.
  TcpConnections(const ethernet::TcpConfig& config, std::uint32_t packet, UdpPort& port, Domain& line,
                 ethernet::Frames& frames)
      : config_(config),
        packet_(kPacketHeader + packet),
        port_(port),
        domain_(line),
        frames_(frames),
        id_(line.scheduler.add(*this)) {
    port_.segment = [this](const ethernet::FrameRef& frame, Tick end) {
      if (!ethernet::is_tcp_to(*frame, port_.own)) return false;
      waiting_.push_back({frame, end});
      wake(domain_.clock.cycle_from(end));
      return true;
    };
  }

  [[nodiscard]] unsigned with(const ethernet::UdpEnd& to, Lane) override {
    for (unsigned k = 0; k < all_.size(); ++k)
      if (all_[k].to.ip == to.ip && all_[k].to.address == to.address) return k;
    const auto number = static_cast<unsigned>(all_.size());
    all_.emplace_back(to, number, config_.window + 2 * packet_);
    return number;
  }
  void greet(const ethernet::UdpEnd& to, Tick now) override {
    Peer& of = all_[with(to, Lane::messages)];
    if (!of.current && port_.own.address < of.to.address) begin(of, domain_.clock.cycle_after(now));
  }
  [[nodiscard]] std::size_t room(unsigned connection) const override { return all_[connection].send.room() / packet_; }
  [[nodiscard]] std::string failure(unsigned connection) const override {
    const Peer& of = all_[connection];
    const bool reset = of.current && of.current->state() == ethernet::TcpState::reset;
    if (reset) return "has reset its connection";
    if (!of.gone && (!of.current || of.current->state() != ethernet::TcpState::silent)) return "";
    return "has not answered " + std::to_string(config_.tries) + " attempts";
  }
  void send(unsigned connection, std::vector<std::byte> bytes, Tick now, Tick last) override {
    Peer& of = all_[connection];
    const Tick cycle = domain_.clock.cycle_after(now);
    if (of.current && of.current->ended()) begin(of, cycle);
    put_size(bytes);
    of.send.add(std::move(bytes), domain_.clock.cycle_after(last));
    if (!of.current && of.gives_up == kNever) begin(of, cycle);
    if (of.current) of.current->more(cycle);
    wake(cycle);
  }
  void restart(unsigned connection, Tick now) override {
    Peer& of = all_[connection];
    const Tick cycle = domain_.clock.cycle_after(now);
    unknown_ += of.send.restart(of.send.end());
    begin(of, cycle);
    freed_ = true;
    wake(cycle);
  }
  void leave(unsigned connection, Tick tick) override {
    Peer& of = all_[connection];
    if (of.to == port_.own) return;  // a board has no connection with itself
    const auto [size, generation] = of.untaken.front();
    of.untaken.pop_front();
    if (generation != of.generation) return;  // of a connection that has ended
    const Tick cycle = domain_.clock.cycle_after(tick);
    of.current->take(size, cycle);
    assemble(of, cycle);
    wake(cycle);
  }
  void close(Tick now) override {
    for (Peer& of : all_)
      if (of.current) of.current->close();
    wake(domain_.clock.cycle_after(now));
  }

  [[nodiscard]] std::size_t closing() const override {
    return static_cast<std::size_t>(
        std::ranges::count_if(all_, [](const Peer& of) { return of.current && of.current->closing(); }));
  }

  bool step(Tick now) override {
    for (Peer& of : all_) {
      if (of.gives_up <= now) {
        of.gives_up = kNever;
        of.gone = true;
        freed_ = true;
      }
      each(of, [&](ethernet::TcpConnection& connection) {
        if (connection.acts_at() > now) return;
        connection.run(now);
        freed_ |= connection.ended();
      });
    }
    for (; !waiting_.empty() && domain_.clock.cycle_from(waiting_.front().end) <= now; waiting_.pop_front())
      hear(*waiting_.front().frame, now);
    if (now >= free_) choose(now);
    if (std::exchange(freed_, false)) freed(domain_.clock.edge(now));
    schedule(now);
    return false;
  }

  void lost(NodeId node, std::vector<Lost>& all) const override {
    std::uint64_t unknown = unknown_;
    for (const Peer& of : all_)
      if (of.gone || (of.current && of.current->ended())) unknown += of.send.packets();
    for (const auto& [what, count] : {std::pair{"segments truncated or with a wrong checksum", wrong_},
                                      {"segments of no connection", strays_},
                                      {"packets sent in connections that ended before they were acknowledged", unknown},
                                      {"connections reset for invalid packets", malformed_}})
      if (count > 0) all.push_back({node, what, count});
  }
  /// Sum over all connections.
  [[nodiscard]] ethernet::TcpCounts counts() const {
    ethernet::TcpCounts sum = counts_;
    for (const Peer& of : all_)
      if (of.current) sum += of.current->counts();
    return sum;
  }

 private:
  static constexpr unsigned kMost = 512;         ///< peers
  static constexpr std::uint64_t kAhead = 2048;  ///< maximum bytes waiting for the line when a segment has been read
  static constexpr std::uint16_t kFirstPort = 49'152;  ///< first source port of opened connections (RFC 6335)
  static constexpr unsigned kPorts = 16'384;
  static constexpr std::size_t kMostPacket =
      ethernet::kMost - ethernet::kUdpHeaders;  ///< it is passed to the engine as a datagram

  struct Peer {
    Peer(const ethernet::UdpEnd& peer, unsigned of, std::uint64_t bytes) : to(peer), number(of), send(bytes) {}

    ethernet::UdpEnd to;
    unsigned number;
    ethernet::TcpSendBuffer send;
    std::unique_ptr<ethernet::TcpConnection> current;
    std::unique_ptr<ethernet::TcpConnection> next;  ///< a connection of the peer that will replace `current`
    unsigned generation = 0;                        ///< of `current`
    std::vector<std::byte> packet;                  ///< the packet being received
    std::size_t assembled = 0;                      ///< bytes of it that have left the receive window
    Tick first = 0;                                 ///< arrival of its first byte
    bool broken = false;                            ///< the stream contains an invalid packet
    std::deque<std::pair<std::uint64_t, unsigned>>
        untaken;             ///< packets that the engine has not taken: bytes, generation
    Tick gives_up = kNever;  ///< deadline of the peer to open a connection
    bool gone = false;       ///< the deadline has passed
  };
  struct Waiting {
    ethernet::FrameRef frame;
    Tick end;
  };

  void wake(Tick cycle) { domain_.wake(id_, std::max(cycle, domain_.next())); }
  template <class Each>
  static void each(Peer& of, Each&& function) {
    if (of.current) function(*of.current);
    if (of.next) function(*of.next);
  }
  [[nodiscard]] std::uint32_t first(const ethernet::UdpEnd& peer) {
    return static_cast<std::uint32_t>(mix(mix(port_.own.ip) + mix(peer.ip) * 3 + mix(opened_++)));
  }
  /// The board with the lower address opens a connection; the other waits for it.
  void begin(Peer& of, Tick cycle) {
    end(of);
    if (of.to.address == port_.own.address) return;
    if (port_.own.address < of.to.address) {
      ethernet::UdpEnd from = port_.own;
      from.port = static_cast<std::uint16_t>(kFirstPort + ports_++ % kPorts);
      adopt(of, std::make_unique<ethernet::TcpConnection>(config_, of.send, from, of.to, first(of.to), true));
      wake(cycle);
    } else if (!of.send.empty()) {
      of.gives_up = cycle + patience();
      wake(of.gives_up);
    }
  }
  /// Cycles after which the sender of a SYN gives up.
  [[nodiscard]] Tick patience() const {
    Tick sum = 0, wait = config_.resend;
    for (unsigned k = 0; k <= config_.tries && sum < config_.most * 64; ++k, wait = std::min(2 * wait, config_.most))
      sum += wait;
    return sum;
  }
  void end(Peer& of) {
    if (of.current) {
      counts_ += of.current->counts();
      unknown_ += of.send.restart(of.current->sent());
      freed_ = true;
    }
    of.current.reset();
    of.packet.clear();
    of.assembled = 0;
    of.broken = false;
    of.gives_up = kNever;
    of.gone = false;
    ++of.generation;
  }
  void adopt(Peer& of, std::unique_ptr<ethernet::TcpConnection> made) {
    of.current = std::move(made);
    of.current->received = [this, &of](std::span<const std::byte> data) { receive(of, data); };
  }

  void hear(const ethernet::Frame& frame, Tick now) {
    const auto read = ethernet::tcp_of(frame);
    if (!read || !read->right) {
      ++wrong_;
      return;
    }
    const auto& segment = *read;
    const bool opens = segment.heading.syn && !segment.heading.ack && segment.to.port == port_.own.port &&
                       segment.from.ip != port_.own.ip;
    Peer* of = find(segment);
    if (!of && opens && all_.size() < kMost)
      of = &all_[with({segment.from.address, segment.from.ip, port_.own.port}, Lane::messages)];
    if (of && of->current && is_of(*of->current, segment) && !(of->current->ended() && opens))
      return hear(*of, *of->current, segment, now);
    if (of && of->next && is_of(*of->next, segment)) return hear(*of, *of->next, segment, now);
    if (of && opens) {
      ethernet::UdpEnd own = port_.own;
      of->next = std::make_unique<ethernet::TcpConnection>(config_, of->send, own, segment.from, first(of->to), false);
      return hear(*of, *of->next, segment, now);
    }
    refuse(segment);
  }
  void hear(Peer& of, ethernet::TcpConnection& connection, const ethernet::TcpSegment& segment, Tick now) {
    // The peer has given up the previous connection.
    if (of.next.get() == &connection && connection.is_opened_by(segment)) {
      auto made = std::move(of.next);
      end(of);
      adopt(of, std::move(made));
    }
    const auto room = of.send.room();
    hearing_ = now;
    if (!connection.hear(segment, now)) refuse(segment);
    connection.run(now);
    if (of.broken && !connection.ended()) {
      ++malformed_;
      refusals_.push_back(frame_of(connection, connection.abort()));
    }
    freed_ |= of.send.room() != room || (of.current && of.current->ended());
    if (of.next.get() == &connection && connection.ended()) of.next.reset();
  }
  [[nodiscard]] Peer* find(const ethernet::TcpSegment& segment) {
    const auto found = std::ranges::find_if(all_, [&](const Peer& of) { return of.to.ip == segment.from.ip; });
    return found == all_.end() ? nullptr : &*found;
  }
  [[nodiscard]] static bool is_of(const ethernet::TcpConnection& connection, const ethernet::TcpSegment& segment) {
    return connection.peer.ip == segment.from.ip && connection.peer.port == segment.from.port &&
           connection.own.port == segment.to.port;
  }
  /// Answers a segment of an unknown connection with a reset (RFC 9293, section 3.10.7.1).
  void refuse(const ethernet::TcpSegment& segment) {
    ++strays_;
    const auto& heading = segment.heading;
    if (heading.rst || refusals_.size() >= kMost) return;
    ethernet::TcpHeading made{.rst = true};
    if (heading.ack) {
      made.sequence = heading.acknowledgement;
    } else {
      made.ack = true;
      made.acknowledgement =
          heading.sequence + static_cast<std::uint32_t>(segment.data.size()) + heading.syn + heading.fin;
    }
    refusals_.push_back(ethernet::make_tcp(frames_, segment.to, segment.from, made, 0, [](std::span<std::byte>) {}));
  }

  // Packets.

  static void put_size(std::vector<std::byte>& bytes) {
    auto header = *packet_of(bytes);
    header.base = static_cast<std::uint32_t>(bytes.size() - kPacketHeader);
    const auto words = header.pack();
    std::memcpy(bytes.data(), words.data(), kPacketHeader);
  }
  /// Size of a packet from its first bytes; 0: invalid.
  [[nodiscard]] static std::size_t size_of(std::span<const std::byte> packet) {
    const auto header = packet_of(packet);
    return header && header->base <= kMostPacket - kPacketHeader ? kPacketHeader + header->base : 0;
  }
  void receive(Peer& of, std::span<const std::byte> data) {
    while (!data.empty() && !of.broken) {
      if (of.packet.empty()) of.first = hearing_;
      const auto want = of.packet.size() < kPacketHeader ? kPacketHeader : size_of(of.packet);
      const auto part = data.first(std::min(want - of.packet.size(), data.size()));
      of.packet.insert(of.packet.end(), part.begin(), part.end());
      data = data.subspan(part.size());
      if (of.packet.size() < kPacketHeader) return;
      const auto size = size_of(of.packet);
      of.broken = size == 0;
      if (of.packet.size() == size) deliver(of);
    }
    assemble(of, hearing_);
  }
  /// Moves a partly received packet from the receive window to a separate buffer, once the engine has taken all earlier
  /// packets.
  static void assemble(Peer& of, Tick cycle) {
    if (!of.untaken.empty() || of.packet.size() == of.assembled) return;
    of.current->take(of.packet.size() - of.assembled, cycle);
    of.assembled = of.packet.size();
  }
  void deliver(Peer& of) {
    of.untaken.emplace_back(of.packet.size() - std::exchange(of.assembled, 0), of.generation);
    const auto frame = ethernet::make_udp(frames_, of.to, port_.own, of.packet.size(), [&](std::span<std::byte> bytes) {
      std::ranges::copy(of.packet, bytes.begin());
    });
    of.packet.clear();
    const auto& clock = domain_.clock;
    arrived(of.number, {frame, clock.edge(of.first), clock.edge(hearing_)}, clock.edge(hearing_));
  }

  // Segments.

  [[nodiscard]] ethernet::FrameRef frame_of(const ethernet::TcpConnection& connection,
                                            const ethernet::TcpConnection::Saying& says) {
    return ethernet::make_tcp(frames_, connection.own, connection.peer, says.heading, says.size,
                              [&](std::span<std::byte> data) { connection.buffer().copy(says.offset, data); });
  }
  void choose(Tick now) {
    if (!refusals_.empty()) {
      transmit(refusals_.front(), now);
      return refusals_.pop_front();
    }
    for (std::size_t k = 0; k < all_.size(); ++k) {
      Peer& of = all_[(next_ + k) % all_.size()];
      for (auto* connection : {of.current.get(), of.next.get()})
        if (const auto says = connection ? connection->say(now) : std::nullopt) {
          next_ = of.number + 1;
          return transmit(frame_of(*connection, *says), now);
        }
    }
  }
  void transmit(const ethernet::FrameRef& frame, Tick now) {
    const Tick read = now + 1 + frame->words(), at = domain_.clock.edge(read);
    port_.send(at, at, frame);
    free_ = std::max(read, domain_.clock.cycle_from(port_.behind(kAhead + config_.segment)));
  }
  void schedule(Tick now) {
    Tick at = kNever, says = refusals_.empty() ? kNever : now + 1;
    for (Peer& of : all_) {
      at = std::min(at, of.gives_up);
      each(of, [&](const ethernet::TcpConnection& connection) {
        at = std::min(at, connection.acts_at());
        says = std::min(says, connection.says_at(now + 1));
      });
    }
    if (says != kNever) at = std::min(at, std::max(says, free_));
    if (at != kNever) wake(std::max(at, now + 1));
  }

  const ethernet::TcpConfig config_;
  const std::uint64_t packet_;  ///< maximum bytes of a packet with header
  UdpPort& port_;
  Domain& domain_;
  ethernet::Frames& frames_;
  ComponentId id_;
  std::deque<Peer> all_;
  std::deque<Waiting> waiting_;
  std::deque<ethernet::FrameRef> refusals_;
  std::size_t next_ = 0;  ///< first peer in the round-robin order
  Tick free_ = 0;         ///< first cycle in which the next segment may be chosen
  Tick hearing_ = 0;      ///< cycle in which the current segment is processed
  bool freed_ = false;
  unsigned ports_ = 0, opened_ = 0;
  ethernet::TcpCounts counts_;  ///< of ended connections
  std::uint64_t wrong_ = 0, strays_ = 0, unknown_ = 0, malformed_ = 0;
};

}  // namespace thalweg::accl
