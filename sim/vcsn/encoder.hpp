// SPDX-License-Identifier: Apache-2.0
// Makes Ethernet frames of virtual ports' words and gives them to the MAC.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "core/clock.hpp"
#include "core/usage.hpp"
#include "ethernet/frame.hpp"
#include "ethernet/line.hpp"
#include "thalweg_vcsn_spec.hpp"
#include "vcsn/circuits.hpp"
#include "vcsn/multiplexer.hpp"
#include "vcsn/send_buffer.hpp"

namespace thalweg::vcsn {

/// Of VCSN frames: the paper names none; for experiments on a local network (IEEE 802, section 9.2.4).
inline constexpr std::uint16_t kType = 0x88B5;
inline constexpr unsigned kHeader = 4;  ///< bytes

/// A port is chosen in a cycle; in the next one the first word of its frame is requested of the buffer, which reaches the MAC three cycles
/// later: memory, headers, register. As many words are requested ahead of the MAC as the FIFO before it has places.
class Encoder final : public Component {
 public:
  static constexpr Tick kToMac = 3;
  static constexpr std::int64_t kPlaces = 8;

  using Sent = std::function<void(Tick begin, const ethernet::Frame& frame)>;

  Encoder(Domain& domain, ethernet::Frames& frames, ethernet::Address address, CircuitTable& circuits,
          std::deque<SendBuffer>& buffers)
      : domain_(&domain),
        id_(domain.scheduler.add(*this)),
        frames_(&frames),
        address_(address),
        circuits_(&circuits),
        buffers_(&buffers),
        ports_(circuits.ports()),
        wanting_(circuits.ports()),
        taken_(kPlaces) {}

  ethernet::Line* line = nullptr;
  Sent sent;
  std::function<void(unsigned)> emptied;  ///< a virtual port has room again

  [[nodiscard]] Multiplexer& ports() { return ports_; }
  /// Something changed that may let a port send.
  void wake(Tick cycle) { domain_->wake(id_, std::max(cycle, domain_->scheduler.now() + (stepping_ ? 1 : 0))); }

  bool step(Tick now) override {
    if (!line) return false;
    stepping_ = true;
    if (now < free_)
      wake(free_);
    else
      choose(now);
    stepping_ = false;
    return false;
  }

 private:
  void choose(Tick now) {
    Tick later = kNever;
    for (unsigned port = 0; port < wanting_.size(); ++port) {
      const SendBuffer& buffer = (*buffers_)[port];
      wanting_[port] = !buffer.empty() && buffer.front().whole <= now && circuits_->of(port);
      if (!buffer.empty() && circuits_->of(port) && !(wanting_[port] && ports_.from(port) <= now))
        later = std::min(later, std::max({buffer.front().whole, ports_.from(port), now + 1}));
    }
    if (const auto port = ports_.next(wanting_, now))
      send(*port, now);
    else if (later != kNever)
      wake(later);
  }

  void send(unsigned port, Tick now) {
    SendBuffer& buffer = (*buffers_)[port];
    const Waiting frame = buffer.front();
    const Circuit& to = *circuits_->of(port);
    ports_.sends(port, frame.words, now);
    const auto header = spec::VcsnHeader{.destination_port = to.port,
                                         .source_port = static_cast<std::uint8_t>(port),
                                         .channel = frame.channel,
                                         .kind = spec::FrameKind::data,
                                         .first = frame.first,
                                         .last = frame.last}
                            .pack();
    const auto& rate = line->rate;
    Tick requested = now, begin = 0;
    const auto made = frames_->make(
        to.address, address_, kType, kHeader + std::size_t{frame.words} * kWord, [&](std::span<std::byte> payload) {
          std::memcpy(payload.data(), &header, kHeader);
          for (unsigned k = 0; k <= frame.words; ++k) {
            const auto number = static_cast<std::int64_t>(taken_.count());
            requested = std::max(requested + 1, after(taken_.of(number - kPlaces)));
            if (k == 0) begin = std::max((requested + kToMac) * rate.cycle, line->free());
            taken_.add(rate.seen(begin + rate.bytes(ethernet::kPreamble + std::int64_t{k} * kWord)));
            if (k < frame.words)
              std::memcpy(payload.data() + kHeader + std::size_t{k} * kWord, buffer.read(requested).bytes.data(),
                          kWord);
          }
        });
    buffer.pop(requested - 1);
    line->send(begin, made);
    if (sent) sent(begin / rate.cycle, *made);
    free_ = requested;
    wake(free_);
    emptied(port);
  }

  Domain* domain_;
  ComponentId id_;
  ethernet::Frames* frames_;
  ethernet::Address address_;
  CircuitTable* circuits_;
  std::deque<SendBuffer>* buffers_;
  Multiplexer ports_;
  std::vector<bool> wanting_;
  Times taken_;
  Tick free_ = 0;
  bool stepping_ = false;
};

}  // namespace thalweg::vcsn
