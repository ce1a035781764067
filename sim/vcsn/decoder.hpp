// SPDX-License-Identifier: Apache-2.0
// Takes frames from the MAC, and lets through those of circuits: to this port, of the circuit's other end, of a right form.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "core/clock.hpp"
#include "ethernet/frame.hpp"
#include "ethernet/line.hpp"
#include "thalweg_vcsn_spec.hpp"
#include "vcsn/circuits.hpp"
#include "vcsn/encoder.hpp"
#include "vcsn/receive_buffer.hpp"

namespace thalweg::vcsn {

/// Frames by what became of them.
struct Received {
  std::uint64_t taken = 0;
  std::uint64_t damaged = 0;   ///< their FCS was wrong
  std::uint64_t strays = 0;    ///< to another address, of switches that flood
  std::uint64_t others = 0;    ///< no VCSN frames
  std::uint64_t foreign = 0;   ///< not of the circuit that the virtual port has
  std::uint64_t unformed = 0;  ///< not of whole words, of none or of too many
  std::uint64_t indications = 0, credits = 0;
  std::uint64_t full = 0;     ///< the virtual port had no room
  std::uint64_t misfits = 0;  ///< shorter or longer than the MAC takes
};

/// The reception monitor of an external port: where words of data come faster than a threshold, the other ends of the circuits that they come
/// over get an indication.
struct Monitor {
  Tick cycles = 0;          ///< of a window; 0: it is off
  std::uint64_t words = 0;  ///< more of them in a window are too many
};

/// What a frame is for is decided two cycles after the MAC's word with its headers, and the frame is passed on two cycles after its end.
class Decoder final : public Component {
 public:
  static constexpr Tick kDecides = 2;

  using Seen = std::function<void(Tick cycle, const ethernet::Frame& frame)>;

  /// `latency`: cycles of both MACs of a line.
  Decoder(Domain& domain, ethernet::Address address, CircuitTable& circuits, std::deque<ReceiveBuffer>& buffers,
          Tick latency, unsigned frame_words)
      : id(domain.scheduler.add(*this)),
        domain_(&domain),
        address_(address),
        circuits_(&circuits),
        buffers_(&buffers),
        latency_(latency),
        frame_words_(frame_words) {}

  const ComponentId id;
  ethernet::Line* line = nullptr;
  Seen seen;
  std::function<void(unsigned)> filled;                         ///< a virtual port has words
  std::function<void(unsigned, Tick)> too_fast;                 ///< what comes for a virtual port
  std::function<void(unsigned, std::uint64_t, Tick)> credited;  ///< the other end has taken so many words
  std::function<void(unsigned, Tick)> indicated;                ///< an indication came for it

  [[nodiscard]] const Received& received() const { return received_; }
  /// The MAC has dropped a frame that is no Ethernet frame.
  void misfit() { ++received_.misfits; }
  void set(const Monitor& monitor) { monitor_ = monitor; }

  bool step(Tick now) override {
    if (!line) return false;
    if (held_ && held_->ends <= now) end(now);
    while (const ethernet::Arrival* arrival = held_ ? nullptr : line->front(now)) {
      const Tick begins = line->rate.seen(arrival->word(0, line->rate)) + latency_ + kDecides;
      if (begins > now) {
        domain_->wake(id, begins);
        break;
      }
      // A word a cycle: the last one, whose few bytes may come with those before it, has a cycle of its own.
      const auto& rate = line->rate;
      const unsigned before = std::max(arrival->frame->words(), 2u) - 2;
      const Tick ends =
          std::max({rate.seen(arrival->end(rate)), rate.seen(arrival->word(before, rate)) + 1}) + latency_ + kDecides;
      held_ = Held{arrival->frame, arrival->damaged, ends, {}, 0};
      held_->to = decide(now);
      line->pop();
      domain_->wake(id, ends);
    }
    return false;
  }

 private:
  struct Held {
    ethernet::FrameRef frame;
    bool damaged = false;
    Tick ends = 0;
    std::uint64_t* to = nullptr;  ///< counts it
    std::uint8_t port = 0;
  };

  [[nodiscard]] spec::VcsnHeader header(const ethernet::Frame& frame) const {
    std::uint64_t word = 0;
    std::memcpy(&word, frame.payload().data(), kHeader);
    return spec::VcsnHeader::unpack(word);
  }

  /// What counts a frame that begins.
  std::uint64_t* decide(Tick now) {
    const ethernet::Frame& frame = *held_->frame;
    if (frame.destination() != address_) return &received_.strays;
    if (frame.type() != spec::kEtherType || frame.payload().size() < kHeader) return &received_.others;
    const auto fields = header(frame);
    if (!circuits_->joins(fields.destination_port, {frame.source(), fields.source_port})) return &received_.foreign;
    held_->port = fields.destination_port;
    if (fields.kind == spec::FrameKind::indication) return &received_.indications;
    if (fields.kind == spec::FrameKind::credit) return &received_.credits;
    if (fields.kind != spec::FrameKind::data) return &received_.unformed;
    if (!(*buffers_)[fields.destination_port].has_room(now)) return &received_.full;
    return &received_.taken;
  }

  void end(Tick now) {
    const Held held = *held_;
    held_.reset();
    if (seen) seen(now, *held.frame);
    if (held.damaged) {
      ++received_.damaged;
      return;
    }
    if (held.to != &received_.taken) {
      ++*held.to;
      if (held.to == &received_.indications) indicated(held.port, now);
      if (held.to == &received_.credits && held.frame->payload().size() == kHeader + kWord) {
        std::uint64_t taken = 0;
        std::memcpy(&taken, held.frame->payload().data() + kHeader, sizeof taken);
        credited(held.port, taken, now);
      }
      return;
    }
    const std::size_t bytes = held.frame->payload().size() - kHeader;
    if (bytes == 0 || bytes % kWord != 0 || bytes / kWord > frame_words_) {
      ++received_.unformed;
      return;
    }
    ++received_.taken;
    const auto fields = header(*held.frame);
    (*buffers_)[held.port].add(held.frame, ethernet::kHeader + kHeader,
                               {.words = static_cast<unsigned>(bytes / kWord),
                                .first = fields.first,
                                .last = fields.last,
                                .channel = fields.channel,
                                .whole = now + 1});
    filled(held.port);
    watch(held.port, bytes / kWord, now);
  }

  /// Counts words of data in windows of time. In a window with too many it reports, once, the virtual ports that they came for.
  void watch(unsigned port, std::uint64_t words, Tick now) {
    if (monitor_.cycles == 0) return;
    if (const Tick window = now / monitor_.cycles; window != window_) {
      window_ = window;
      counted_ = 0;
      from_.assign(circuits_->ports(), false);
      reported_ = false;
    }
    counted_ += words;
    from_[port] = true;
    if (counted_ <= monitor_.words || reported_) return;
    reported_ = true;
    for (unsigned each = 0; each < from_.size(); ++each)
      if (from_[each]) too_fast(each, now);
  }

  Domain* domain_;
  ethernet::Address address_;
  CircuitTable* circuits_;
  std::deque<ReceiveBuffer>* buffers_;
  Tick latency_;
  unsigned frame_words_;
  std::optional<Held> held_;
  Received received_;
  Monitor monitor_;
  Tick window_ = -1;
  std::uint64_t counted_ = 0;  ///< words of the window
  std::vector<bool> from_;     ///< virtual ports that they came for
  bool reported_ = false;
};

}  // namespace thalweg::vcsn
