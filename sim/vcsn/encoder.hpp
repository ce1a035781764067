// SPDX-License-Identifier: Apache-2.0
// Makes Ethernet frames of virtual ports' words and gives them to the MAC.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <utility>
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
/// What a virtual port does where an indication says that it sends too fast.
struct Reaction {
  Tick cycles = 0;         ///< of the MAC's clock for which it lasts; 0: none
  bool stops = true;       ///< it sends nothing meanwhile
  std::uint32_t pace = 0;  ///< or at this one (`Pace::cycle`)
};

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
        reacting_(circuits.ports()),
        taken_(kPlaces) {}

  ethernet::Line* line = nullptr;
  Sent sent;
  std::function<void(unsigned)> emptied;  ///< a virtual port has room again

  [[nodiscard]] Multiplexer& ports() { return ports_; }
  void set(unsigned port, const Reaction& reaction) { reacting_.at(port).reaction = reaction; }
  /// Sends an indication to the other end of a virtual port's circuit, before any data.
  void indicate(unsigned port, Tick now) {
    indications_.push_back(port);
    wake(now + 1);
  }
  /// One came for a virtual port.
  void react(unsigned port, Tick now) {
    Reacting& of = reacting_.at(port);
    ++of.indications;
    if (of.reaction.cycles == 0) return;
    if (of.until <= now && !of.reaction.stops) {
      const Pace usual = ports_.of(port);
      of.usual = usual;
      ports_.set(port, {usual.priority, of.reaction.pace});
    }
    of.until = now + of.reaction.cycles;
    wake(of.until);
  }
  /// Indications that came for a virtual port.
  [[nodiscard]] std::uint64_t indications(unsigned port) const { return reacting_.at(port).indications; }

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
  struct Reacting {
    Reaction reaction;
    Tick until = 0;
    std::optional<Pace> usual;  ///< that comes back then
    std::uint64_t indications = 0;
  };

  void choose(Tick now) {
    if (!indications_.empty()) {
      const unsigned port = indications_.front();
      indications_.pop_front();
      if (circuits_->of(port)) {
        send_indication(port, now);
        return;
      }
    }
    Tick later = indications_.empty() ? kNever : now + 1;
    for (unsigned port = 0; port < wanting_.size(); ++port) {
      const SendBuffer& buffer = (*buffers_)[port];
      Reacting& reacting = reacting_[port];
      if (reacting.usual && reacting.until <= now) {
        ports_.set(port, *reacting.usual);
        reacting.usual.reset();
      }
      const Tick held = reacting.reaction.stops ? reacting.until : 0;
      wanting_[port] = !buffer.empty() && buffer.front().whole <= now && circuits_->of(port) && held <= now;
      if (!buffer.empty() && circuits_->of(port) && !(wanting_[port] && ports_.from(port) <= now))
        later = std::min(later, std::max({buffer.front().whole, ports_.from(port), held, now + 1}));
    }
    if (const auto port = ports_.next(wanting_, now))
      send(*port, now);
    else if (later != kNever)
      wake(later);
  }

  /// A frame of a word of zeros.
  void send_indication(unsigned port, Tick now) {
    const Circuit& to = *circuits_->of(port);
    const auto header = spec::VcsnHeader{.destination_port = to.port,
                                         .source_port = static_cast<std::uint8_t>(port),
                                         .channel = 0,
                                         .kind = spec::FrameKind::indication,
                                         .first = true,
                                         .last = true}
                            .pack();
    finish(frames_->make(to.address, address_, kType, kHeader + kWord,
                         [&](std::span<std::byte> payload) {
                           std::memset(payload.data(), 0, payload.size());
                           std::memcpy(payload.data(), &header, kHeader);
                         }),
           move(1, now, [](unsigned, Tick) {}));
  }

  /// The cycles in which a frame's words are requested, `word(k, cycle)` of those with data; when the frame begins, and the last request.
  template <class Word>
  std::pair<Tick, Tick> move(unsigned words, Tick now, Word&& word) {
    const auto& rate = line->rate;
    Tick requested = now, begin = 0;
    for (unsigned k = 0; k <= words; ++k) {
      const auto number = static_cast<std::int64_t>(taken_.count());
      requested = std::max(requested + 1, after(taken_.of(number - kPlaces)));
      if (k == 0) begin = std::max((requested + kToMac) * rate.cycle, line->free());
      taken_.add(rate.seen(begin + rate.bytes(ethernet::kPreamble + std::int64_t{k} * kWord)));
      if (k < words) word(k, requested);
    }
    return {begin, requested};
  }
  void finish(const ethernet::FrameRef& frame, const std::pair<Tick, Tick>& times) {
    line->send(times.first, frame);
    if (sent) sent(times.first / line->rate.cycle, *frame);
    free_ = times.second;
    wake(free_);
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
    std::pair<Tick, Tick> times;
    const auto made = frames_->make(
        to.address, address_, kType, kHeader + std::size_t{frame.words} * kWord, [&](std::span<std::byte> payload) {
          std::memcpy(payload.data(), &header, kHeader);
          times = move(frame.words, now, [&](unsigned k, Tick requested) {
            std::memcpy(payload.data() + kHeader + std::size_t{k} * kWord, buffer.read(requested).bytes.data(), kWord);
          });
        });
    buffer.pop(times.second - 1);
    finish(made, times);
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
  std::vector<Reacting> reacting_;
  std::deque<unsigned> indications_;
  Times taken_;
  Tick free_ = 0;
  bool stepping_ = false;
};

}  // namespace thalweg::vcsn
