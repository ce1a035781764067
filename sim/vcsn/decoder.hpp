// SPDX-License-Identifier: Apache-2.0
// Receives frames from the MAC, and accepts those of circuits: addressed to this port, from the circuit's other end,
// and well-formed.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>

#include "core/clock.hpp"
#include "ethernet/frame.hpp"
#include "ethernet/line.hpp"
#include "thalweg_vcsn_spec.hpp"
#include "vcsn/circuit_session.hpp"
#include "vcsn/circuit_table.hpp"
#include "vcsn/encoder.hpp"
#include "vcsn/monitor.hpp"
#include "vcsn/receive_buffer.hpp"

namespace thalweg::vcsn {

/// Number of frames by outcome.
struct Received {
  std::uint64_t taken = 0;
  std::uint64_t damaged = 0;   ///< wrong FCS
  std::uint64_t strays = 0;    ///< other destination, for example flooded by switches
  std::uint64_t others = 0;    ///< other protocols
  std::uint64_t foreign = 0;   ///< not from the virtual port's circuit
  std::uint64_t unformed = 0;  ///< payload is empty, too long, or not whole words
  std::uint64_t indications = 0, credits = 0;
  std::uint64_t full = 0;         ///< no space in the virtual port's receive buffer
  std::uint64_t misfits = 0;      ///< shorter or longer than the MAC accepts
  std::uint64_t sessionless = 0;  ///< with a session where the virtual port has none, or without where it has one
  std::uint64_t sequenced = 0;    ///< of the virtual port's session, which counts their outcomes
};

/// A frame is classified two cycles after the MAC's word with its headers, and forwarded two cycles after its end.
class Decoder final : public Component {
 public:
  static constexpr Tick kDecides = 2;

  using Seen = std::function<void(Tick cycle, const ethernet::Frame& frame)>;

  /// `latency`: cycles of both MACs of a line.
  Decoder(Domain& domain, ethernet::Address address, CircuitTable& circuits, std::deque<ReceiveBuffer>& buffers,
          std::deque<Session>& sessions, Tick latency, unsigned frame_words)
      : id(domain.scheduler.add(*this)),
        monitor(circuits.ports()),
        domain_(&domain),
        address_(address),
        circuits_(&circuits),
        buffers_(&buffers),
        sessions_(&sessions),
        latency_(latency),
        frame_words_(frame_words) {}

  const ComponentId id;
  Monitor monitor;
  ethernet::Line* line = nullptr;
  Seen seen;
  std::function<void(unsigned)> filled;                         ///< words of a virtual port were received
  std::function<void(unsigned, Tick)> too_fast;                 ///< words for a virtual port arrive too fast
  std::function<void(unsigned, std::uint32_t, Tick)> credited;  ///< the other end has taken a total of this many words
  std::function<void(unsigned, Tick)> indicated;                ///< an indication arrived for a virtual port
  std::function<void(unsigned, Tick)> heard;                    ///< a frame of a virtual port's session arrived
  std::function<void(const ethernet::Arrival&, Tick)>
      arrived;  ///< a frame starts; the second argument is the MACs' latency in cycles

  [[nodiscard]] const Received& received() const { return received_; }
  /// Counts a frame that the MAC has dropped because of its size.
  void misfit() { ++received_.misfits; }
  /// Restarts: drops the rest of a frame being received. Returns the number of its data words.
  std::uint64_t reset() {
    const auto words = held_ ? words_of(*held_->frame, kHeader, 0).words : 0;
    held_.reset();
    monitor = Monitor(circuits_->ports());
    hears_from_ = domain_->next();
    return words;
  }
  /// Words of frames that were arriving at a restart, and not yet received.
  [[nodiscard]] std::uint64_t cut() const { return cut_; }

  bool step(Tick now) override {
    if (!line) return false;
    if (held_ && held_->ends <= now) end(now);
    while (const ethernet::Arrival* arrival = held_ ? nullptr : line->front(now)) {
      const Tick comes = arrival->cycle(0, line->rate) + latency_, begins = comes + kDecides;
      if (begins > now) {
        domain_->wake(id, begins);
        break;
      }
      if (comes < hears_from_) {  // cut by a restart
        cut_ += words_of(*arrival->frame, kHeader, 0).words;
        line->pop();
        continue;
      }
      if (arrived) arrived(*arrival, latency_);
      const Tick ends = arrival->cycle(arrival->words() - 1, line->rate) + latency_ + kDecides;
      held_ = Held{arrival->frame,
                   arrival->damaged,
                   ends,
                   begin(
                       *arrival->frame, [&](unsigned port) { return (*buffers_)[port].has_room(now); },
                       [&](unsigned port) {
                         Session& session = (*sessions_)[port];
                         session.run(now);
                         return session.used();
                       }),
                   {}};
      begin_words(*held_, now);
      line->pop();
      if (ends <= now)
        end(now);
      else
        domain_->wake(id, ends);
    }
    return false;
  }

  /// Classification of a frame: its counter, and the virtual port if it belongs to a circuit.
  struct Verdict {
    std::uint64_t Received::* counts = nullptr;
    std::uint8_t port = 0;
  };

  /// Classifies a frame at its start, by its headers; missing header bytes of a short frame count as zero padding.
  /// `has_room(port)`: that virtual port has space for the longest frame. `has_session(port)`: it has a session.
  template <class HasRoom, class HasSession>
  [[nodiscard]] Verdict begin(const ethernet::Frame& frame, HasRoom&& has_room, HasSession&& has_session) const {
    const auto fields = header(frame);
    const Circuit source{frame.source(), fields.source_port};
    const std::uint8_t port = fields.destination_port;
    const bool is_ours = frame.destination() == address_;
    const bool has_type = frame.type() == spec::kEtherType, is_joined = circuits_->joins(port, source);
    if (!is_ours && !(frame.destination() == group_of(source) && has_type && is_joined)) return {&Received::strays};
    if (!has_type) return {&Received::others};
    if (!is_joined) return {&Received::foreign};
    if (fields.kind == spec::FrameKind::indication) return {&Received::indications, port};
    if (fields.sequenced != has_session(port)) return {&Received::sessionless};
    if (fields.sequenced) return {&Received::sequenced, port};
    if (fields.kind == spec::FrameKind::credit) return {&Received::credits, port};
    if (fields.kind != spec::FrameKind::data) return {&Received::unformed};
    if (!has_room(port)) return {&Received::full};
    return {&Received::taken, port};
  }
  /// Final classification at the end of a frame, whose first one was `begun`.
  [[nodiscard]] std::uint64_t Received::* end(const ethernet::Frame& frame, const Verdict& begun, bool damaged) const {
    if (damaged) return &Received::damaged;
    const bool sequenced = begun.counts == &Received::sequenced;
    if (begun.counts != &Received::taken && !sequenced) return begun.counts;
    const auto kind = header(frame).kind;
    const bool known =
        kind == spec::FrameKind::data || kind == spec::FrameKind::acknowledgement || kind == spec::FrameKind::refusal;
    return !known || words_of(frame, kHeader + (sequenced ? kSequence : 0), 0).words == 0 ? &Received::unformed
                                                                                          : begun.counts;
  }

 private:
  struct Held {
    ethernet::FrameRef frame;
    bool damaged = false;
    Tick ends = 0;
    Verdict begun;
    Session::Begun place;  ///< for a data frame of a session
  };

  [[nodiscard]] static spec::VcsnHeader header(const ethernet::Frame& frame) {
    std::uint64_t word = 0;
    std::memcpy(&word, frame.payload().data(), std::min<std::size_t>(frame.payload().size(), kHeader));
    return spec::VcsnHeader::unpack(word);
  }

  void end(Tick now) {
    const Held held = *held_;
    held_.reset();
    const unsigned port = held.begun.port;
    if (seen) seen(now, *held.frame);
    const auto counts = end(*held.frame, held.begun, held.damaged);
    ++(received_.*counts);
    if (counts == &Received::indications) indicated(port, now);
    if (counts == &Received::credits && words_of(*held.frame, kHeader, now).words == 1) {
      std::uint32_t taken = 0;
      std::memcpy(&taken, held.frame->payload().data() + kHeader, sizeof taken);
      credited(port, taken, now);
    }
    if (counts == &Received::sequenced) hear(held, now);
    if (counts != &Received::taken) return;
    const Waiting words = words_of(*held.frame, kHeader, now);
    (*buffers_)[port].add(held.frame, ethernet::kHeader + kHeader, words);
    filled(port);
    watch(port, words.words, now);
  }

  /// A frame's words after its headers; 0 words if they are not whole, none or too many.
  [[nodiscard]] Waiting words_of(const ethernet::Frame& frame, unsigned headers, Tick now) const {
    const std::size_t size = std::max(frame.size(), ethernet::kShortest) - ethernet::kHeader;
    const auto fields = header(frame);
    Waiting words{.first = fields.first, .last = fields.last, .channel = fields.channel, .whole = now + 1};
    if (size >= headers && (size - headers) % kWord == 0 && (size - headers) / kWord <= frame_words_)
      words.words = static_cast<unsigned>((size - headers) / kWord);
    return words;
  }

  [[nodiscard]] static ethernet::Sequence sequence(const ethernet::Frame& frame) {
    std::array<std::uint64_t, 2> words{};
    const auto payload = frame.payload();
    if (payload.size() > kHeader)
      std::memcpy(words.data(), payload.data() + kHeader, std::min<std::size_t>(kSequence, payload.size() - kHeader));
    const auto of = spec::VcsnSequence::unpack(words);
    return {.session = of.session, .peer = of.peer, .number = of.number, .base = of.base};
  }
  /// The words of a frame are passed to its virtual port as they arrive.
  void begin_words(Held& held, Tick now) {
    Session& session = (*sessions_)[held.begun.port];
    const bool is_data = header(*held.frame).kind == spec::FrameKind::data;
    if (held.begun.counts == &Received::sequenced && is_data)
      held.place = session.begins(sequence(*held.frame).number, now - 1);
    if (held.begun.counts == &Received::taken || held.place.is_free) session.takes_until(held.ends);
  }
  void hear(const Held& held, Tick now) {
    const unsigned port = held.begun.port;
    std::uint64_t received = 0;
    std::memcpy(&received, held.frame->payload().data() + kHeader + kSequence, sizeof received);
    const auto kind = header(*held.frame).kind;
    const Waiting words = words_of(*held.frame, kHeader + kSequence, now);
    (*sessions_)[port].hear({.kind = kind == spec::FrameKind::data      ? ethernet::SessionFrame::data
                                     : kind == spec::FrameKind::refusal ? ethernet::SessionFrame::refusal
                                                                        : ethernet::SessionFrame::acknowledgement,
                             .of = sequence(*held.frame),
                             .content = {held.frame, ethernet::kHeader + kHeader + kSequence, words},
                             .begun = held.place,
                             .asks = words.first,
                             .knows = words.last,
                             .received = received,
                             .end = now});
    heard(port, now);
    if (kind == spec::FrameKind::data && held.place.is_free) watch(port, words.words, now);
  }

  void watch(unsigned port, unsigned words, Tick now) {
    monitor.add(port, words, now, [&](unsigned each) { too_fast(each, now); });
  }

  Domain* domain_;
  ethernet::Address address_;
  CircuitTable* circuits_;
  std::deque<ReceiveBuffer>* buffers_;
  std::deque<Session>* sessions_;
  Tick latency_;
  unsigned frame_words_;
  std::optional<Held> held_;
  Tick hears_from_ = 0;    ///< frames that started before a restart are dropped
  std::uint64_t cut_ = 0;  ///< words of these frames
  Received received_;
};

}  // namespace thalweg::vcsn
