// SPDX-License-Identifier: Apache-2.0
// An external port of the direct network (DCN): packets of words on a serial link, with credits for the receiver's
// buffer, so that none is lost. A packet has one header word before its data, and a gap of half a word after it
// (Equation 1 of the paper). C++ model of rtl/vcsn/tw_serial_port.sv.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cluster/assembly.hpp"
#include "common/ring.hpp"
#include "core/clock.hpp"
#include "core/require.hpp"
#include "core/usage.hpp"
#include "ethernet/frame.hpp"
#include "vcsn/external.hpp"
#include "vcsn/receive_buffer.hpp"
#include "vcsn/send_buffer.hpp"

namespace thalweg::vcsn {

class SerialPort;

/// A port's end of a link.
struct SerialEnd final : LinkPort {
  SerialPort* port = nullptr;
  [[nodiscard]] std::string carries() const override { return "serial packets of words of 64 bytes"; }
};

/// A packet is chosen in a cycle; its header leaves two cycles later, followed by one word per cycle. The link's clock
/// rate equals the word rate of its lanes.
class SerialPort final : public External, public Component {
 public:
  SerialPort(const NodeConfig& config, Domain& shell, Domain& link, ethernet::Frames& frames)
      : domain(link),
        id_(link.scheduler.add(*this)),
        frames_(&frames),
        transceivers_(config.line_cycles),
        buffer_words_(config.receive_words),
        send_(shell.clock, link.clock, config.send_words, config.frame_words, config.frames),
        receive_(shell.clock, link.clock, config.receive_words, config.frame_words) {
    end_.port = this;
    send_.whole = [this](Tick cycle) { wake(cycle); };
    receive_.leaves = [this] {
      for (; credits_given_ < receive_.left(); ++credits_given_) {
        const Tick cycle = receive_.left(static_cast<std::int64_t>(credits_given_));
        if (freed) freed(cycle);
        if (peer_ && peer_->credited) peer_->credited(cycle + latency_);
      }
      if (peer_) peer_->wake(0);
    };
  }

  Domain& domain;
  Usage usage;  ///< words sent
  /// Called with the cycle in which a packet's header leaves, and its data, which follow with one word per cycle.
  std::function<void(Tick, const Waiting&, std::span<const std::byte>)> sent;
  std::function<void(Tick, const Waiting&, std::span<const std::byte>)> came;  ///< the same for received packets
  std::function<void(Tick)> freed;                                             ///< a word leaves the receive buffer
  std::function<void(Tick)> credited;  ///< a credit arrives for a word that has left the peer's buffer

  [[nodiscard]] LinkPort& end() override { return end_; }
  [[nodiscard]] Sink& sink(unsigned) override { return send_; }
  [[nodiscard]] Source& source(unsigned) override { return receive_; }
  std::uint64_t reset() override {
    throw std::logic_error("a serial link's ends count each other's words: one end cannot be restarted alone");
  }
  void start() override {}
  void lost(const std::string&, NodeId, std::vector<Lost>&) const override {}

  /// `latency`: cycles of the link; a word that leaves in cycle t arrives in t + latency.
  void join(SerialPort& peer, Tick latency) {
    peer_ = &peer;
    latency_ = latency + transceivers_;
  }

  bool step(Tick now) override {
    while (!arriving_.empty() && arriving_.front().of.whole <= now + 1) {
      const Arriving first = arriving_.front();
      arriving_.pop();
      receive_.add(first.words, 0, first.of);
      filled(0);
    }
    if (!arriving_.empty()) domain.wake(id_, arriving_.front().of.whole - 1);
    if (peer_) send(now);
    return false;
  }

 private:
  struct Arriving {
    ethernet::FrameRef words;
    Waiting of;
  };

  void wake(Tick cycle) { domain.wake(id_, std::max(cycle, domain.next())); }

  void send(Tick now) {
    if (send_.empty()) return;
    const Waiting packet = send_.front();
    const Tick freed =
        peer_->receive_.left(static_cast<std::int64_t>(sent_ + packet.words) - std::int64_t{buffer_words_} - 1);
    if (freed == kNever) return;  // the receiver wakes this port
    const Tick credit = freed < 0 ? 0 : freed + latency_ + 1;
    const Tick from = std::max({packet.whole, credit, free_ / 2 - 2});
    if (from > now) {
      domain.wake(id_, from);
      return;
    }
    const Tick begins = std::max(2 * (now + 2), free_), header = (begins + 1) / 2;
    free_ = begins + 2 * (Tick{packet.words} + 1) + 1;
    sent_ += packet.words;
    usage.add(header, packet.words + 1);
    bytes_.resize(std::size_t{packet.words} * kWord);
    for (unsigned k = 0; k < packet.words; ++k)
      std::memcpy(bytes_.data() + std::size_t{k} * kWord, send_.read(header - 1 + k).bytes.data(), kWord);
    send_.pop(header - 2 + packet.words);
    if (sent) sent(header, packet, bytes_);
    if (peer_->came) peer_->came(header + latency_, packet, bytes_);
    Waiting there = packet;
    there.whole = header + 1 + latency_ + 1;  // its first word is in the buffer
    peer_->arrive({frames_->copy(bytes_), there});
    domain.wake(id_, std::max(now + 1, free_ / 2 - 2));
    emptied(0);
  }
  void arrive(const Arriving& packet) {
    arriving_.push_growing(packet);
    domain.wake(id_, packet.of.whole - 1);
  }

  ComponentId id_;
  ethernet::Frames* frames_;
  SerialEnd end_;
  Tick transceivers_, latency_ = 0;
  unsigned buffer_words_;
  SendBuffer send_;
  ReceiveBuffer receive_;
  SerialPort* peer_ = nullptr;
  Ring<Arriving> arriving_;
  std::vector<std::byte> bytes_;
  std::uint64_t sent_ = 0, credits_given_ = 0;
  Tick free_ = 0;  ///< in half cycles
};

/// Connects two ports.
class SerialLink final : public AssembledLink {
 public:
  SerialLink(SerialPort& a, SerialPort& b, Tick latency) : a_(&a), b_(&b) {
    require(&a.domain == &b.domain, "both ends of a serial link must have the same clock");
    require(latency > 0, "a serial link must have a latency of at least one cycle");
    a.join(b, latency);
    b.join(a, latency);
  }
  [[nodiscard]] std::array<Carried, 2> carried() const override {
    const Tick period = a_->domain.clock.period;
    return {{{&a_->usage, period}, {&b_->usage, period}}};
  }

 private:
  SerialPort *a_, *b_;
};

}  // namespace thalweg::vcsn
