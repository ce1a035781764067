// SPDX-License-Identifier: Apache-2.0
// Builds Ethernet frames from words of virtual ports, and sends them to the MAC.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/require.hpp"
#include "core/usage.hpp"
#include "ethernet/frame.hpp"
#include "ethernet/line.hpp"
#include "thalweg_vcsn_spec.hpp"
#include "vcsn/circuit_session.hpp"
#include "vcsn/circuit_table.hpp"
#include "vcsn/credits.hpp"
#include "vcsn/monitor.hpp"
#include "vcsn/multiplexer.hpp"
#include "vcsn/send_buffer.hpp"

namespace thalweg::vcsn {

inline constexpr unsigned kHeader = spec::vcsn_header::bits / 8;      ///< bytes
inline constexpr unsigned kSequence = spec::vcsn_sequence::bits / 8;  ///< follows the header in frames of a session

/// Reaction of a virtual port to an indication that it sends too fast.
struct Reaction {
  Tick cycles = 0;         ///< duration in cycles of the MAC's clock, less than 2^kTimerBits; 0: no reaction
  bool stops = true;       ///< sends nothing meanwhile
  std::uint32_t pace = 0;  ///< otherwise, sends no faster than this meanwhile (`Pace::cycle`)
};

/// A port is chosen in a cycle. In the next one, the first word of its frame is requested from the buffer; it reaches
/// the MAC three cycles later: memory, headers, register. Words are requested ahead of the MAC, up to the capacity of
/// the FIFO before it. It must be stepped before the decoder of its port. The decoder's reports take effect kHears
/// cycles later, as the hardware counts and chooses between control frames meanwhile.
///
/// `Session` numbers data frames, and provides control frames; it is vcsn::Session, except in unit tests.
template <class Session>
class EncoderOf final : public Component {
 public:
  static constexpr Tick kToMac = 3;
  static constexpr std::int64_t kEntries = 8;
  static constexpr Tick kHears = 4;

  using Sent = std::function<void(Tick begin, const ethernet::Frame& frame)>;

  EncoderOf(Domain& domain, ethernet::Frames& frames, ethernet::Address address, CircuitTable& circuits,
            std::deque<SendBuffer>& buffers, std::deque<Session>& sessions)
      : domain_(&domain),
        id_(domain.scheduler.add(*this)),
        frames_(&frames),
        address_(address),
        circuits_(&circuits),
        buffers_(&buffers),
        sessions_(&sessions),
        ports_(circuits.ports()),
        wanting_(circuits.ports()),
        reacting_(circuits.ports()),
        credits_(circuits.ports()),
        too_fast_(circuits.ports()),
        taken_(kEntries) {}

  ethernet::Line* line = nullptr;
  Sent sent;
  /// Called for each word of a frame with the cycle of its request, and the cycle in which the MAC takes it.
  std::function<void(Tick, Tick)> moved;
  std::function<void(unsigned)> emptied;  ///< a virtual port has space again
  std::function<void(unsigned)> filled;   ///< a virtual port has words
  /// Cycle in which a received word of a virtual port, by its number, leaves its buffer; kNever if unknown.
  std::function<Tick(unsigned, std::uint64_t)> left_at;

  [[nodiscard]] Multiplexer& ports() { return ports_; }
  /// Throws std::invalid_argument if the hardware's counters are too small.
  static void check(const Reaction& reaction) {
    require(reaction.cycles >= 0 && reaction.cycles < Tick{1} << kTimerBits,
            "a reaction lasts " + std::to_string(reaction.cycles) + " cycles; the maximum is " +
                std::to_string((1 << kTimerBits) - 1));
    require(reaction.pace <= kSlowest, "a reaction's pace is " + std::to_string(reaction.pace) +
                                           " / 256 cycles a word; the slowest is " + std::to_string(kSlowest));
  }
  /// Takes effect from cycle `first` on. Throws like `check`.
  void set(unsigned port, const Reaction& reaction, Tick first) {
    check(reaction);
    act(first);
    reacting_.at(port).reaction = reaction;
    ports_.set_slow(port, reaction.pace);
    wake(0);
  }
  /// Sends an indication to the other end of a virtual port's circuit, before any data.
  void indicate(unsigned port, Tick now) { hear({now + kHears, Heard::too_fast, port}); }
  /// Handles an indication for a virtual port.
  void react(unsigned port, Tick now) {
    ++reacting_.at(port).indications;
    hear({now + kHears, Heard::indication, port});
  }
  /// Call when a virtual port has a new circuit or new credits: forgets pending indications and credits of the former
  /// peer.
  void forget(unsigned port) {
    too_fast_[port] = false;
    forget_credits(port);
    forget(port, Heard::too_fast);
  }
  void forget_credits(unsigned port) { forget(port, Heard::credit); }
  [[nodiscard]] Credits& credits(unsigned port) { return credits_.at(port); }
  /// The other end of a virtual port's circuit has taken a total of `taken` words.
  void credit(unsigned port, std::uint32_t taken, Tick now) { hear({now + kHears, Heard::credit, port, taken}); }
  /// Received words of a virtual port have left its buffer, or their times are known.
  void left(unsigned port) {
    if (credits_[port].used() || (*sessions_)[port].used()) wake(0);
  }
  /// Restarts, except for the frame being sent.
  void reset() {
    ports_ = Multiplexer(circuits_->ports());
    reacting_.assign(circuits_->ports(), {});
    credits_.assign(circuits_->ports(), {});
    too_fast_.assign(circuits_->ports(), false);
    events_.clear();
    taken_ = Times(kEntries);
    free_ = 0;
  }
  void set_pace(unsigned port, const Pace& pace) {
    ports_.set(port, pace);
    wake(0);
  }
  /// Number of indications received for a virtual port.
  [[nodiscard]] std::uint64_t indications(unsigned port) const { return reacting_.at(port).indications; }

  /// Call when a change may let a port send.
  void wake(Tick cycle) { domain_->wake(id_, std::max(cycle, domain_->next())); }

  bool step(Tick now) override {
    if (!line) return false;
    for (unsigned port = 0; port < sessions_->size(); ++port) {
      Session& session = (*sessions_)[port];
      if (session.acts_at() < now) {
        session.run(now);
        emptied(port);
        filled(port);
      }
      if (const Tick later = session.acts_at(); later != kNever) wake(std::max(later, now) + 1);
    }
    if (now < free_)
      wake(free_);
    else
      choose(now);
    return false;
  }

 private:
  struct Reacting {
    Reaction reaction;
    Tick until = 0;
    std::uint64_t indications = 0;
  };
  enum class Heard : std::uint8_t { too_fast, indication, credit };
  /// A report of the decoder; reports take effect in order.
  struct Event {
    Tick from = 0;
    Heard what{};
    unsigned port = 0;
    std::uint32_t taken = 0;
  };

  void forget(unsigned port, Heard what) {
    std::erase_if(events_, [&](const Event& each) { return each.port == port && each.what == what; });
  }
  void hear(const Event& event) {
    events_.push_back(event);
    wake(event.from);
  }
  /// Applies the reports that take effect in this cycle.
  void act(Tick now) {
    for (; !events_.empty() && events_.front().from <= now; events_.pop_front()) {
      const Event& event = events_.front();
      if (event.what == Heard::too_fast) {
        too_fast_[event.port] = true;
      } else if (event.what == Heard::credit) {
        credits_[event.port].credit(event.taken);
      } else if (Reacting& of = reacting_[event.port]; of.reaction.cycles > 0) {
        of.until = event.from + of.reaction.cycles;
      }
    }
  }

  void choose(Tick now) {
    act(now);
    for (unsigned port = 0; port < too_fast_.size(); ++port) {
      if (!too_fast_[port] || !circuits_->of(port)) continue;
      too_fast_[port] = false;
      send_word(port, now, spec::FrameKind::indication, 0);
      return;
    }
    Tick later = kNever;
    for (unsigned port = 0; port < sessions_->size(); ++port) {
      Session& session = (*sessions_)[port];
      if (!session.used() || !circuits_->of(port)) continue;
      const Tick at = session.says_at(now);
      if (at <= now) {
        const auto says = session.say(now);
        const bool refuses = says.kind == ethernet::SessionFrame::refusal;
        send_word(port, now, refuses ? spec::FrameKind::refusal : spec::FrameKind::acknowledgement, says.received,
                  &says);
        return;
      }
      later = std::min(later, at);
    }
    for (unsigned port = 0; port < credits_.size(); ++port) {
      Credits& credits = credits_[port];
      if (!credits.used() || !circuits_->of(port)) continue;
      const auto left = [&](std::uint64_t number) { return left_at(port, number); };
      if (const Tick at = credits.reports_at(left); at > now)
        later = std::min(later, at);
      else
        return send_word(port, now, spec::FrameKind::credit, credits.report(now, left));
    }
    for (unsigned port = 0; port < wanting_.size(); ++port) {
      const Waiting* frame = candidate(port);
      const Reacting& reacting = reacting_[port];
      const Tick held = reacting.reaction.stops ? reacting.until : 0;
      const bool open = frame && circuits_->of(port) && credits_[port].may_send();
      wanting_[port] = open && frame->whole <= now && held <= now;
      if (open && !(wanting_[port] && ports_.from(port) <= now))
        later = std::min(later, std::max({frame->whole, ports_.from(port), held, now + 1}));
    }
    if (const auto port = ports_.next(wanting_, now))
      send(*port, now);
    else if (later != kNever)
      wake(later);
  }

  /// The next frame of a virtual port; it may be incomplete.
  [[nodiscard]] const Waiting* candidate(unsigned port) const {
    const SendBuffer& buffer = (*buffers_)[port];
    const Session& session = (*sessions_)[port];
    if (!session.used()) return buffer.empty() ? nullptr : &buffer.front();
    const auto next = session.next();
    return next ? &buffer.frame(*next) : nullptr;
  }
  /// The packed header of a virtual port's frame.
  [[nodiscard]] std::uint64_t header(unsigned port, spec::FrameKind kind, const Waiting& frame, bool sequenced) const {
    return spec::VcsnHeader{.destination_port = circuits_->of(port)->port,
                            .source_port = static_cast<std::uint8_t>(port),
                            .channel = frame.channel,
                            .kind = kind,
                            .first = frame.first,
                            .last = frame.last,
                            .sequenced = sequenced}
        .pack();
  }
  /// Writes the headers of a frame. Returns their size in bytes.
  std::size_t put(std::span<std::byte> payload, std::uint64_t header, const ethernet::Sequence* sequence) const {
    std::memcpy(payload.data(), &header, kHeader);
    if (!sequence) return kHeader;
    const auto packed =
        spec::VcsnSequence{
            .session = sequence->session, .peer = sequence->peer, .number = sequence->number, .base = sequence->base}
            .pack();
    std::memcpy(payload.data() + kHeader, packed.data(), kSequence);
    return kHeader + kSequence;
  }
  /// Sends a control frame: one word that starts with `number`.
  void send_word(unsigned port, Tick now, spec::FrameKind kind, std::uint64_t number,
                 const typename Session::Saying* says = nullptr) {
    const Circuit& to = *circuits_->of(port);
    const auto header = this->header(
        port, kind, {.words = 1, .first = !says || says->asks, .last = !says || says->knows}, says != nullptr);
    finish(frames_->make(to.address, address_, spec::kEtherType, kHeader + (says ? kSequence : 0) + kWord,
                         [&](std::span<std::byte> payload) {
                           std::memset(payload.data(), 0, payload.size());
                           const auto headers = put(payload, header, says ? &says->sequence : nullptr);
                           std::memcpy(payload.data() + headers, &number, sizeof number);
                         }),
           move(1, now, [](unsigned, Tick) {}));
  }

  /// Determines the cycles in which a frame's words are requested; calls `word(k, cycle)` for words with data. Returns
  /// the start of the frame, and the last request.
  template <class Word>
  std::pair<Tick, Tick> move(unsigned words, Tick now, Word&& word) {
    const auto& rate = line->rate;
    Tick requested = now, begin = 0;
    for (unsigned k = 0; k <= words; ++k) {
      const auto number = static_cast<std::int64_t>(taken_.count());
      requested = std::max(requested + 1, after(taken_.of(number - kEntries)));
      const Tick next = after(taken_.of(number - 1)), there = requested + kToMac;
      // A frame available when the MAC has taken the previous one follows it with the minimum gap.
      if (k == 0) begin = there <= next ? line->free() : std::max(there * rate.cycle, line->free());
      taken_.add(std::max(next, rate.seen(begin + rate.bytes(ethernet::kPreamble + std::int64_t{k} * kWord))));
      if (moved) moved(requested, taken_.of(number));
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
    Session& session = (*sessions_)[port];
    const Waiting frame = *candidate(port);
    const Circuit& to = *circuits_->of(port);
    ports_.sends(port, frame.words, now, now < reacting_[port].until);
    credits_[port].sends(frame.words);
    std::optional<ethernet::Sequence> sequence;
    if (session.used()) sequence = session.sends(now);
    const auto header = this->header(port, spec::FrameKind::data, frame, sequence.has_value());
    std::pair<Tick, Tick> times;
    Tick read = now;
    const auto made = frames_->make(
        to.address, address_, spec::kEtherType, kHeader + (sequence ? kSequence : 0) + std::size_t{frame.words} * kWord,
        [&](std::span<std::byte> payload) {
          std::byte* data = payload.data() + put(payload, header, sequence ? &*sequence : nullptr);
          times = move(frame.words, now, [&](unsigned k, Tick requested) {
            read = requested;
            const Word& word = sequence ? buffer.word(frame.begin + k) : buffer.read(requested);
            std::memcpy(data + std::size_t{k} * kWord, word.bytes.data(), kWord);
          });
        });
    session.reads_until(read);
    if (!sequence) buffer.pop(read);
    finish(made, times);
    if (!sequence) emptied(port);
  }

  Domain* domain_;
  ComponentId id_;
  ethernet::Frames* frames_;
  ethernet::Address address_;
  CircuitTable* circuits_;
  std::deque<SendBuffer>* buffers_;
  std::deque<Session>* sessions_;
  Multiplexer ports_;
  std::vector<bool> wanting_;
  std::vector<Reacting> reacting_;
  std::vector<Credits> credits_;
  std::deque<Event> events_;
  std::vector<bool> too_fast_;  ///< words for a virtual port arrive too fast; its other end gets an indication
  Times taken_;
  Tick free_ = 0;
};

using Encoder = EncoderOf<Session>;

}  // namespace thalweg::vcsn
