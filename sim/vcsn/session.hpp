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
#include "vcsn/session_sender.hpp"

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
  Session(const SessionConfig& config, SendBuffer& send, ReceiveBuffer& receive, Tick begin = 0)
      : config_(config), send_(&send), receive_(&receive), receiver_(config, receive), sender_(config, send, begin) {}

  // The host's side.

  /// Begins a session of this number, which none of the circuit had before; 0: none.
  void open(std::uint16_t number, Tick now) {
    if (id_ != 0) {
      for (unsigned each = 0; !send_->empty(); ++each) {
        (each < sender_.under_way() ? counts_.unknown : counts_.discarded) += send_->front().words;
        send_->release(now);
      }
    }
    const SessionCounts counts = counts_;
    *this = Session(config_, *send_, *receive_, now);
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
  [[nodiscard]] std::uint64_t under_way() const { return sender_.under_way(); }

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
      if (words.first) receiver_.ask(now);
      sender_.hear(of.number, acknowledged, now);
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

  /// From which cycle on its sending side does something by itself, as far as that is known; kNever.
  [[nodiscard]] Tick acts_at() const { return state_ == SessionState::open ? sender_.acts_at() : kNever; }
  /// To the state of this cycle.
  void run(Tick now) {
    sender_.run(now);
    silent_ += sender_.timeouts() - std::exchange(timeouts_, sender_.timeouts());
    if (silent_ > config_.tries) end(SessionState::silent, 0);
  }
  /// The frame of the send buffer, counted from the oldest, that may be sent in this cycle.
  [[nodiscard]] std::optional<unsigned> next() const {
    return state_ == SessionState::open && sender_.is_offered() ? std::optional(sender_.offset()) : std::nullopt;
  }
  /// It is sent in this cycle, with this header.
  [[nodiscard]] spec::VcsnSequence sends(Tick now) {
    ++(sender_.is_new() ? counts_.sent : counts_.resent);
    receiver_.sent();
    sender_.choose(now + 1);
    return sequence(sender_.number());
  }
  /// Its last word is read in this cycle.
  void reads_until(Tick cycle) { sender_.reads_until(cycle); }

 private:
  /// Of a frame that is sent now.
  [[nodiscard]] spec::VcsnSequence sequence(std::uint64_t number) const {
    return {.session = id_, .peer = peer_, .number = static_cast<std::uint32_t>(number), .base = sender_.base()};
  }

  void end(SessionState state, std::uint16_t peer) {
    state_ = state;
    receiver_.end();
    if (peer != 0) refuse_ = {peer, id_};
  }

  SessionConfig config_;
  SendBuffer* send_;
  ReceiveBuffer* receive_;
  SessionReceiver<ReceiveBuffer> receiver_;
  SessionSender<SendBuffer> sender_;
  unsigned timeouts_ = 0;
  std::uint16_t id_ = 0, peer_ = 0;
  SessionState state_ = SessionState::none;
  SessionCounts counts_;
  std::optional<std::uint16_t> answer_;  ///< a session that wants to know this one
  std::optional<std::pair<std::uint16_t, std::uint16_t>>
      refuse_;           ///< a session of which a frame came, and the one that it named
  unsigned silent_ = 0;  ///< tries without an answer
};

}  // namespace thalweg::vcsn
