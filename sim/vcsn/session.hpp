// SPDX-License-Identifier: Apache-2.0
// An end of a circuit over a network that loses, repeats and reorders frames: every frame is passed on once and in order, or both ends know
// that their session has ended. Frames have numbers; the sender keeps them until the receiver's user has taken them, and sends those again
// that are missing. So no more are under way than the receiver has room for.
//
// A session is a number that the host of an end draws when it opens the circuit. An end takes data only from who knows its session, so
// that frames of an earlier one, which the network has kept, are never taken, and an end whose peer has started again notices.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/types.hpp"
#include "ethernet/frame.hpp"
#include "thalweg_vcsn_spec.hpp"
#include "vcsn/receive_buffer.hpp"
#include "vcsn/send_buffer.hpp"
#include "vcsn/session_receiver.hpp"

namespace thalweg::vcsn {

inline constexpr unsigned kMostWindow = 64;  ///< frames that an acknowledgement has bits for

enum class SessionState : std::uint8_t { none, opening, open, refused, silent };
[[nodiscard]] constexpr std::string_view name(SessionState state) {
  constexpr std::array<std::string_view, 5> names{"none", "opening", "open", "refused", "silent"};
  return names[static_cast<std::size_t>(state)];
}

struct SessionCounts {
  std::uint64_t sent = 0;       ///< frames of data, each once
  std::uint64_t resent = 0;     ///< times that one was sent again
  std::uint64_t repeated = 0;   ///< frames that came again
  std::uint64_t stale = 0;      ///< frames of another session
  std::uint64_t unknown = 0;    ///< words that were sent in sessions that ended before their arrival was acknowledged
  std::uint64_t discarded = 0;  ///< words that waited for such a session
};

class Session {
 public:
  Session(const SessionConfig& config, SendBuffer& send, ReceiveBuffer& receive)
      : config_(config), send_(&send), receive_(&receive), receiver_(config, receive), flights_(config.window) {}

  // The host's side.

  /// Begins a session of this number, which none of the circuit had before; 0: none.
  void open(std::uint16_t number, Tick now) {
    if (id_ != 0) {
      for (std::uint64_t each = base_; !send_->empty(); ++each) {
        (each < next_ ? counts_.unknown : counts_.discarded) += send_->front().words;
        send_->release(now);
      }
    }
    const SessionCounts counts = counts_;
    *this = Session(config_, *send_, *receive_);
    counts_ = counts;
    id_ = number;
    if (number != 0) receive_->set_slots(config_.window);
    state_ = number == 0 ? SessionState::none : SessionState::opening;
  }
  [[nodiscard]] bool used() const { return id_ != 0; }
  [[nodiscard]] std::uint16_t number() const { return id_; }
  [[nodiscard]] SessionState state() const { return state_; }
  [[nodiscard]] const SessionCounts& counts() const { return counts_; }
  /// Everything that came has left the receive buffer, and its sender knows.
  [[nodiscard]] bool settled() const { return receiver_.settled(); }
  /// Frames that are not acknowledged.
  [[nodiscard]] std::uint64_t under_way() const { return next_ - base_; }

  // The decoder's side, which acts in the encoder from the next cycle on.

  /// A frame came whose headers name this circuit. `data`: its words, of frames of data. `acknowledged`: the bits of an acknowledgement.
  void hear(spec::FrameKind kind, const spec::VcsnSequence& of, const ethernet::FrameRef& frame, std::size_t data,
            const Waiting& words, std::uint64_t acknowledged, Tick now) {
    if (kind == spec::FrameKind::refusal) {
      if (state_ == SessionState::open && of.peer == id_ && of.number == peer_) end(SessionState::refused, of.session);
      return;
    }
    const bool has_ended = state_ == SessionState::refused || state_ == SessionState::silent;
    if (of.peer == 0 && kind == spec::FrameKind::acknowledgement) {
      if (!has_ended) answer_ = of.session;  // else its peer asks again, until the host here has begun another session
      return;
    }
    if (of.peer != id_ || has_ended) {
      ++counts_.stale;
      refuse_ = {of.session, of.peer};
      return;
    }
    if (state_ == SessionState::open && of.session != peer_) {
      ++counts_.stale;
      end(SessionState::refused, of.session);
      return;
    }
    peer_ = of.session;
    state_ = SessionState::open;
    silent_ = 0;
    // The answer to an opening has the numbers of the peer's session with another, until it knows this one.
    if (kind == spec::FrameKind::acknowledgement && !words.last) return;
    receiver_.hear(of.base);
    if (kind == spec::FrameKind::acknowledgement) {
      acknowledge(near(base_, of.number), acknowledged, words.first, now);
    } else if (receiver_.is_new(of.number, now)) {
      receiver_.take(of.number, frame, data, words, now);
    } else {
      ++counts_.repeated;
      receiver_.repeat(now);
    }
  }

  // The encoder's side.

  /// When it has something to say besides data, as far as that is known; kNever.
  [[nodiscard]] Tick says_at(Tick now) {
    if (refuse_ || answer_) return now;
    if (state_ == SessionState::opening)
      return send_->empty() ? kNever
                            : std::max(send_->front().whole,
                                       receiver_.said_at() == kNever ? 0 : receiver_.said_at() + config_.resend);
    return state_ == SessionState::open ? receiver_.says_at(now) : kNever;
  }
  struct Saying {
    spec::FrameKind kind = spec::FrameKind::acknowledgement;
    bool asks = false;  ///< for an answer: what has left is not known to be known
    bool knows = true;  ///< the session that it is for; else its numbers are of another
    spec::VcsnSequence sequence{};
    std::uint64_t received = 0;  ///< a bit for each frame from `sequence.number` on
  };
  /// What it says in this cycle, where that is due; none where the session has ended instead.
  [[nodiscard]] std::optional<Saying> say(Tick now) {
    if (refuse_) {
      const auto [to, named] = *refuse_;
      refuse_.reset();
      return Saying{.kind = spec::FrameKind::refusal,
                    .sequence = {.session = id_, .peer = to, .number = named, .base = 0}};
    }
    const bool again = !answer_ && (state_ == SessionState::opening
                                        ? receiver_.said_at() != kNever && now >= receiver_.said_at() + config_.resend
                                        : receiver_.again(now));
    if (again && ++silent_ > config_.tries) {
      end(SessionState::silent, 0);
      return std::nullopt;
    }
    Saying saying{.asks = receiver_.asks(now),
                  .sequence = sequence(receive_->frames_left(now)),
                  .received = receiver_.received(now)};
    if (answer_) {
      saying.sequence.peer = *answer_;
      saying.knows = *answer_ == peer_;
    }
    receiver_.say(now);
    answer_.reset();
    return saying;
  }

  /// The frame of the send buffer, counted from the oldest, that is sent next.
  [[nodiscard]] std::optional<unsigned> next() const {
    if (state_ != SessionState::open) return std::nullopt;
    for (std::uint64_t each = base_; each < next_; ++each)
      if (flight(each).lost) return static_cast<unsigned>(each - base_);
    const std::uint64_t waiting = next_ - base_;
    if (waiting == config_.window || waiting == send_->frames()) return std::nullopt;
    return static_cast<unsigned>(waiting);
  }
  /// It is sent in this cycle, with this header.
  [[nodiscard]] spec::VcsnSequence sends(unsigned offset, Tick now) {
    const std::uint64_t each = base_ + offset;
    if (each == next_) {
      ++next_;
      ++counts_.sent;
    } else {
      ++counts_.resent;
    }
    flight(each) = {.order = ++order_};
    if (timer_ == kNever) timer_ = now + config_.resend;
    receiver_.sent();
    return sequence(each);
  }
  /// When nothing has been heard of what is under way for too long; kNever.
  [[nodiscard]] Tick times_out_at() const { return timer_; }
  void time_out() {
    timer_ = kNever;
    if (++silent_ > config_.tries) {
      end(SessionState::silent, 0);
      return;
    }
    for (std::uint64_t each = base_; each < next_; ++each)
      if (!flight(each).received) {
        flight(each).lost = true;
        return;
      }
  }

 private:
  struct Flight {
    std::uint64_t order = 0;  ///< of its last sending among all
    bool received = false, lost = false;
  };

  [[nodiscard]] Flight& flight(std::uint64_t number) { return flights_[number % config_.window]; }
  [[nodiscard]] const Flight& flight(std::uint64_t number) const { return flights_[number % config_.window]; }
  [[nodiscard]] static std::uint64_t near(std::uint64_t to, std::uint32_t number) {
    return to + static_cast<std::uint64_t>(
                    static_cast<std::int64_t>(static_cast<std::int32_t>(number - static_cast<std::uint32_t>(to))));
  }

  /// Of a frame that is sent now.
  [[nodiscard]] spec::VcsnSequence sequence(std::uint64_t number) const {
    return {.session = id_,
            .peer = peer_,
            .number = static_cast<std::uint32_t>(number),
            .base = static_cast<std::uint32_t>(base_)};
  }

  void acknowledge(std::uint64_t number, std::uint64_t received, bool asks, Tick now) {
    if (number > next_) return;
    if (asks) receiver_.ask(now);
    if (number < base_) return;
    bool progress = number > base_;
    for (; base_ < number; ++base_) {
      newest_ = std::max(newest_, flight(base_).order);
      send_->release(now);
    }
    for (unsigned k = 0; k < config_.window && base_ + k < next_; ++k) {
      Flight& of = flight(base_ + k);
      if (!(received >> k & 1) || of.received) continue;
      of = {.order = of.order, .received = true};
      newest_ = std::max(newest_, of.order);
      progress = true;
    }
    bool all = true;
    for (std::uint64_t each = base_; each < next_; ++each) {
      Flight& of = flight(each);
      all &= of.received;
      if (!of.received && of.order + config_.reorder < newest_) of.lost = true;
    }
    if (all)
      timer_ = kNever;
    else if (progress)
      timer_ = now + config_.resend;
  }

  void end(SessionState state, std::uint16_t peer) {
    state_ = state;
    timer_ = kNever;
    receiver_.end();
    if (peer != 0) refuse_ = {peer, id_};
  }

  SessionConfig config_;
  SendBuffer* send_;
  ReceiveBuffer* receive_;
  SessionReceiver<ReceiveBuffer> receiver_;
  std::uint16_t id_ = 0, peer_ = 0;
  SessionState state_ = SessionState::none;
  SessionCounts counts_;
  std::optional<std::uint16_t> answer_;  ///< a session that wants to know this one
  std::optional<std::pair<std::uint16_t, std::uint16_t>>
      refuse_;           ///< a session of which a frame came, and the one that it named
  unsigned silent_ = 0;  ///< tries without an answer
  // What it sends.
  std::vector<Flight> flights_;
  std::uint64_t base_ = 0, next_ = 0;  ///< the oldest frame that is not acknowledged, and the next new one
  std::uint64_t order_ = 0, newest_ = 0;
  Tick timer_ = kNever;
};

}  // namespace thalweg::vcsn
