// SPDX-License-Identifier: Apache-2.0
// One end of a reliable connection over a network that loses, duplicates and reorders frames: every frame is delivered
// once and in order, or both ends detect that the session has ended. Frames are numbered. The sender keeps them until
// the receiver's user has taken them, and retransmits missing ones. The number of frames in flight therefore never
// exceeds the receive buffer.
//
// A session is a number that an end chooses when it opens the connection. An end accepts data only from a peer that
// names its session, so delayed frames of an earlier session are never accepted, and an end detects that its peer has
// restarted.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>

#include "core/types.hpp"
#include "ethernet/session_receiver.hpp"
#include "ethernet/session_sender.hpp"

namespace thalweg::ethernet {

inline constexpr unsigned kMostWindow = 64;  ///< number of bits in an acknowledgement

enum class SessionState : std::uint8_t { none, closing, opening, open, refused, silent };
[[nodiscard]] constexpr std::string_view name(SessionState state) {
  constexpr std::array<std::string_view, 6> names{"none", "closing", "opening", "open", "refused", "silent"};
  return names[static_cast<std::size_t>(state)];
}

/// The hardware's one-hot encoding of a state.
[[nodiscard]] constexpr unsigned bits(SessionState state) {
  return state == SessionState::none ? 0 : 1U << (5 - static_cast<unsigned>(state));
}

struct SessionCounts {
  std::uint64_t sent = 0;       ///< data frames, without retransmissions
  std::uint64_t resent = 0;     ///< retransmissions
  std::uint64_t repeated = 0;   ///< duplicate frames received
  std::uint64_t stale = 0;      ///< frames of another session
  std::uint64_t unknown = 0;    ///< words sent in sessions that ended before they were acknowledged
  std::uint64_t discarded = 0;  ///< words still unsent when such a session ended
};

enum class SessionFrame : std::uint8_t { data, acknowledgement, refusal };
/// The session fields of a frame.
struct Sequence {
  std::uint16_t session = 0;  ///< of the source; never 0
  std::uint16_t peer = 0;     ///< of the destination; 0: not known yet
  std::uint32_t number =
      0;  ///< data: the frame's number. Acknowledgement: all frames below it have left the receive buffer. Refusal: the
          ///< session that the refused frame named
  std::uint32_t base = 0;  ///< all frames of the source below it are acknowledged
};

/// Times are cycles of the MAC's clock. An event of a cycle takes effect in the next one; `run` advances the state to a
/// cycle. `SendBuffer` keeps frames until they are released. `ReceiveBuffer` has slots for frames; the caller of hear()
/// supplies their `Content`.
template <class SendBuffer, class ReceiveBuffer>
class Session {
 public:
  using Content = typename ReceiveBuffer::Content;
  static constexpr Tick kDecides = 2;  ///< cycles from a frame's end to its acceptance or rejection
  static constexpr Tick kSays = 2;     ///< cycles from the cause of a control frame to its choice

  Session(const SessionConfig& config, SendBuffer& send, ReceiveBuffer& receive)
      : config_(config), send_(&send), receive_(&receive), receiver_(config, receive), sender_(config, send, 0) {}

  // The host's side.

  /// Ends the current session and begins one with this number, which must be new on the circuit; 0: none. The command
  /// takes effect from cycle `first` on. Nothing is sent or accepted until the frame being sent has been read, unsent
  /// and unacknowledged frames of the former session are dropped, one per cycle, and all received frames have left the
  /// receive buffer.
  void open(std::uint16_t number, Tick first) {
    const Tick now = first - 1;
    run(now);
    if (next_event() == now) act(now, false);
    if (!used() && number == 0) return;
    if (closing_) {
      closing_->number = number;
      closing_->begins = first;
      return;
    }
    record_history(now);
    history_ &= ~std::uint64_t{1};
    unsigned under_way = 0;
    if (id_ != 0) {
      while (sender_.cycle() < first) sender_.run(first);
      under_way = sender_.under_way() + (sent_ == first && sender_.is_new());
      if (sender_.releases()) send_->release(first);
    }
    closing_ = Closing{.number = number, .stops = std::max(now + 2, read_until_ + 1), .under_way = under_way};
  }
  /// The circuit changes in the next cycle: drops control frames chosen for the former circuit.
  void cancel_choice() { history_ = 0; }
  /// Restarts the session and empties the buffers. Counts the dropped frames, sent and unsent.
  void reset(Tick now) {
    if (id_ != 0 && !(closing_ && closing_->ready != kNever))
      for (unsigned i = 0; !send_->empty(); ++i) drop(i < sender_.under_way(), now);
    const SessionCounts counts = counts_;
    *this = Session(config_, *send_, *receive_);
    counts_ = counts;
  }
  /// True if a session exists, or the former one has not ended yet.
  [[nodiscard]] bool used() const { return id_ != 0 || closing_; }
  [[nodiscard]] std::uint16_t number() const { return closing_ ? closing_->number : id_; }
  [[nodiscard]] SessionState state() const { return closing_ ? SessionState::closing : state_; }
  [[nodiscard]] const SessionCounts& counts() const { return counts_; }
  /// True if all received frames have left the receive buffer and this has been acknowledged to the sender.
  [[nodiscard]] bool settled() const { return !closing_ && receiver_.settled(); }
  /// Number of unacknowledged frames.
  [[nodiscard]] std::uint64_t under_way() const { return id_ == 0 || closing_ ? 0 : sender_.under_way(); }

  // The decoder's side.

  /// Result of a data frame's header: its position in the receive buffer, whether that slot is free, and whether it is
  /// within the window.
  struct Begun {
    std::uint64_t place = 0;
    bool is_free = false, fits = false;
  };
  /// `now`: the cycle in which the header is available; the session must be at the next one.
  [[nodiscard]] Begun begins(std::uint32_t number, Tick now) {
    if (closing_ || now <= started_at_) return {};
    const std::uint64_t left = receive_->frames_left(now);
    const std::uint32_t ahead = number - static_cast<std::uint32_t>(left);
    const std::uint64_t place = left + ahead % config_.window;
    const bool is_ending = std::ranges::any_of(ended_, [&](const Ended& of) {  // it may be kept
      return now - of.at <= kDecides && (place - of.place) % config_.window == 0;
    });
    return {place, !receive_->holds(place) && !is_ending, ahead < config_.window};
  }
  /// The words of a frame arrive until this cycle.
  void takes_until(Tick end) { takes_until_ = end; }
  struct Heard {
    SessionFrame kind{};
    Sequence of{};
    Content content{};  ///< of data frames
    Begun begun{};
    bool asks = false, knows = true;  ///< of acknowledgements, as in Saying
    std::uint64_t received = 0;       ///< of acknowledgements, as in Saying
    Tick end = 0;
  };
  /// Receives a frame whose headers name this circuit.
  void hear(const Heard& received) {
    if (received.kind == SessionFrame::data && received.begun.is_free) {
      ended_[1] = ended_[0];
      ended_[0] = {received.end, received.begun.place};
    }
    received_.push_back(received);
  }

  // The encoder's side.

  /// Earliest cycle in which a control frame can be chosen, as far as known; kNever if none. The session must be at
  /// `now` or one cycle earlier.
  [[nodiscard]] Tick says_at(Tick now) const {
    const Tick from = pending_from();
    for (Tick at = std::max(now - kSays, quiet_until_); at <= history_end_; ++at)
      if (was_pending(at)) return at + kSays;
    return from == kNever ? kNever : std::max({from, quiet_until_, now - kSays, history_end_ + 1}) + kSays;
  }
  struct Saying {
    SessionFrame kind = SessionFrame::acknowledgement;
    bool asks = false;  ///< requests a reply, as the last report is unacknowledged
    bool knows = true;  ///< knows the destination's session; otherwise its numbers are of another session
    Sequence sequence{};
    std::uint64_t received = 0;  ///< a bit for each frame from `sequence.number` on
  };
  /// The control frame chosen in this cycle; the session must be at this cycle.
  [[nodiscard]] Saying say(Tick now) {
    quiet_until_ = now + 2;
    chosen_control_ = {.at = now + 1, .refuses = refuse_.has_value(), .again = !refuse_ && !answer_ && is_retry(now)};
    if (refuse_)
      return {.kind = SessionFrame::refusal,
              .sequence = {.session = id_, .peer = refuse_->first, .number = refuse_->second, .base = 0}};
    const std::uint64_t left = closing_ ? 0 : receive_->frames_left(now);
    Saying frame{.sequence = sequence(left)};
    for (unsigned k = 0; !closing_ && k < config_.window; ++k)
      if (receive_->holds(left + k)) frame.received |= std::uint64_t{1} << k;
    if (answer_) {
      frame.sequence.peer = *answer_;
      frame.knows = *answer_ == peer_;
    }
    run(now + 1);
    frame.asks = !closing_ && receiver_.asks(now + 1);
    return frame;
  }

  /// Next cycle with an internal event, as far as known; kNever if none.
  [[nodiscard]] Tick acts_at() const {
    const bool sends = !closing_ && state_ == SessionState::open;
    return std::min(next_event(), sends ? sender_.acts_at() : kNever);
  }
  /// Advances to the state of this cycle.
  void run(Tick now) {
    while (true) {
      const Tick next = next_event(), until = std::min(next, now);
      if (!closing_ && id_ != 0 && timed_out_ == kNever && sender_.cycle() < until) {
        const unsigned before = sender_.timeouts();
        sender_.run(until);
        if (sender_.timeouts() != before) {
          timed_out_ = sender_.cycle();
          continue;
        }
      }
      if (next >= now) return;
      act(next, true);
    }
  }
  /// Offset, from the oldest frame in the send buffer, of the frame that may be sent in this cycle; the session must
  /// have advanced to it.
  [[nodiscard]] std::optional<unsigned> next() const {
    return !closing_ && state_ == SessionState::open && sender_.is_offered() ? std::optional(sender_.offset())
                                                                             : std::nullopt;
  }
  /// Chooses that frame in this cycle; returns its session fields.
  [[nodiscard]] Sequence sends(Tick now) {
    ++(sender_.is_new() ? counts_.sent : counts_.resent);
    sent_ = now + 1;
    const auto header = sequence(sender_.number());
    sender_.choose(now + 1);
    return header;
  }
  /// The last word of a frame is read in this cycle.
  void reads_until(Tick cycle) {
    read_until_ = cycle;
    if (id_ != 0) sender_.reads_until(cycle);
  }

 private:
  struct Closing {
    std::uint16_t number = 0;  ///< number of the next session
    Tick stops = 0;            ///< cycle after which no frame is read
    unsigned under_way = 0;    ///< unacknowledged frames of the former session
    Tick ready = kNever;       ///< cycle in which these have been dropped
    Tick begins = 0;           ///< earliest start of the next session
  };
  struct Ended {
    Tick at = -1 - kDecides;
    std::uint64_t place = 0;
  };
  struct ChosenControl {
    Tick at = kNever;
    bool refuses = false, again = false;
  };
  /// An accepted frame, for the sender and the receiver.
  struct Accepted {
    Tick at = kNever;
    SessionFrame kind{};
    std::uint32_t number = 0, base = 0;
    bool is_stored = false, asks = false;
    std::uint64_t received = 0;
  };

  /// Session fields of a frame that is chosen now.
  [[nodiscard]] Sequence sequence(std::uint64_t number) const {
    return {.session = id_, .peer = peer_, .number = static_cast<std::uint32_t>(number), .base = sender_.base()};
  }
  void drop(bool was_sent, Tick now) {
    (was_sent ? counts_.unknown : counts_.discarded) += send_->front().words;
    send_->release(now);
  }

  // Pending control frames, and their history before the last event.

  [[nodiscard]] Tick opens_from() const {
    return send_->empty() ? kNever : std::max(send_->front().whole, receiver_.has_said() ? receiver_.rests_until() : 0);
  }
  [[nodiscard]] Tick pending_from() const {
    if (closing_ || id_ == 0) return kNever;
    if (refuse_ || answer_) return 0;
    return state_ == SessionState::opening ? opens_from() : state_ == SessionState::open ? receiver_.says_at() : kNever;
  }
  [[nodiscard]] bool was_pending(Tick at) const {
    return history_end_ - at < 64 && (history_ >> (history_end_ - at) & 1) != 0;
  }
  void record_history(Tick cycle) {
    if (cycle <= history_end_) return;
    const Tick from = pending_from();
    for (Tick at = std::max(history_end_ + 1, cycle - 8); at <= cycle; ++at)
      history_ = history_ << 1 | (from <= at && at >= quiet_until_ ? 1 : 0);
    history_end_ = cycle;
  }
  /// True if the next control frame repeats one that got no reply.
  [[nodiscard]] bool is_retry(Tick now) const {
    if (state_ == SessionState::opening) return receiver_.has_said() && opens_from() <= now;
    return state_ == SessionState::open && receiver_.again(now);
  }
  /// Cycle in which the session ends after too many retries, as far as known.
  [[nodiscard]] Tick ends_at() const {
    if (closing_ || silent_ < config_.tries || answer_) return kNever;
    Tick at = kNever;
    if (state_ == SessionState::opening && receiver_.has_said()) at = opens_from();
    if (state_ == SessionState::open) at = receiver_.again_at();
    if (at == kNever) return at;
    at = std::max(at, history_end_ + 1);
    return is_retry(at) ? at : kNever;
  }
  [[nodiscard]] Tick start_at() const {
    if (!closing_ || closing_->ready == kNever) return kNever;
    const Tick idle = receive_->idle_from();
    return idle == kNever ? kNever : std::max({closing_->ready, closing_->begins, takes_until_ + 2, idle});
  }
  [[nodiscard]] Tick drops_at() const { return closing_ && closing_->ready == kNever ? closing_->stops : kNever; }

  [[nodiscard]] Tick next_event() const {
    return std::min({chosen_control_.at, sent_, accepted_.at, timed_out_,
                     received_.empty() ? kNever : received_.front().end + kDecides, ends_at(), start_at(), drops_at()});
  }
  /// Executes the events of a cycle. `begins`: a new session may begin.
  void act(Tick cycle, bool begins) {
    if (begins && start_at() == cycle) return begin(cycle);
    if (drops_at() == cycle) drop_frames(cycle);
    record_history(cycle);
    const bool timed_out = std::exchange(timed_out_, timed_out_ == cycle ? kNever : timed_out_) == cycle;
    const bool is_open = !closing_ && (state_ == SessionState::opening || state_ == SessionState::open);
    const bool ends = is_open && silent_ == config_.tries && (timed_out || (!answer_ && is_retry(cycle)));
    if (ends) history_ &= ~std::uint64_t{1};
    if (sent_ == cycle) {
      sent_ = kNever;
      if (!closing_) receiver_.sent();
    }
    unsigned tries = timed_out ? 1 : 0;
    if (chosen_control_.at == cycle) {
      chosen_control_.at = kNever;
      if (!closing_) {
        receiver_.say(cycle);
        if (chosen_control_.refuses)
          refuse_.reset();
        else
          answer_.reset();
        tries += chosen_control_.again;
      }
    }
    if (accepted_.at == cycle) {
      if (!closing_) deliver(cycle);
      accepted_.at = kNever;
    }
    bool belongs_here = false;
    if (!received_.empty() && received_.front().end + kDecides == cycle) {
      belongs_here = decide(received_.front(), cycle);
      received_.pop_front();
    }
    if (belongs_here) {
      silent_ = 0;
    } else if (ends) {
      state_ = SessionState::silent;
    } else if (is_open) {
      silent_ = std::min(silent_ + tries, config_.tries);
    }
  }
  void deliver(Tick cycle) {
    receiver_.hear(accepted_.base);
    if (accepted_.kind == SessionFrame::acknowledgement) {
      if (accepted_.asks) receiver_.ask(cycle);
      sender_.hear(accepted_.number, accepted_.received, cycle);
    } else if (accepted_.is_stored) {
      receiver_.take(accepted_.number, cycle);
    } else {
      receiver_.repeat(cycle);
    }
  }
  /// True if the frame belongs to this session.
  bool decide(const Heard& received, Tick cycle) {
    const auto& of = received.of;
    if (closing_ || id_ == 0 || cycle - 1 <= started_at_) {
      ++counts_.stale;
      return false;
    }
    if (received.kind == SessionFrame::refusal) {
      if (state_ == SessionState::open && of.peer == id_ && of.number == peer_) end(SessionState::refused, of.session);
      return false;
    }
    const bool has_ended = state_ == SessionState::refused || state_ == SessionState::silent;
    if (of.peer == 0 && received.kind == SessionFrame::acknowledgement) {
      if (!has_ended) answer_ = of.session;  // otherwise the peer retries until the host here begins another session
      return false;
    }
    if (of.peer != id_ || has_ended) {
      ++counts_.stale;
      if (of.session != 0) refuse_ = {of.session, of.peer};
      return false;
    }
    if (state_ == SessionState::open && of.session != peer_) {
      ++counts_.stale;
      end(SessionState::refused, of.session);
      return false;
    }
    peer_ = of.session;
    state_ = SessionState::open;
    // The reply to an opening carries the numbers of the peer's previous session, until the peer knows this one.
    if (received.kind == SessionFrame::acknowledgement && !received.knows) return true;
    accepted_ = {.at = cycle + 1,
                 .kind = received.kind,
                 .number = of.number,
                 .base = of.base,
                 .is_stored = received.begun.is_free && received.begun.fits,
                 .asks = received.asks,
                 .received = received.received};
    if (received.kind == SessionFrame::data) {
      if (accepted_.is_stored)
        receive_->place(received.begun.place, received.content, cycle);
      else
        ++counts_.repeated;
    }
    return true;
  }
  void end(SessionState state, std::uint16_t peer) {
    state_ = state;
    if (peer != 0) refuse_ = {peer, id_};
  }

  /// Drops frames of the former session from the send buffer.
  void drop_frames(Tick cycle) {
    Tick next = cycle + 1;
    if (id_ != 0) {
      unsigned complete_frames = 0;
      while (send_->whole_at(complete_frames) <= cycle) ++complete_frames;
      for (unsigned i = 0; i < complete_frames; ++i) drop(i < closing_->under_way, next++);
      next += 2;
    }
    closing_->ready = next;
  }
  void begin(Tick cycle) {
    const SessionCounts counts = counts_;
    const Tick read_until = read_until_, takes_until = takes_until_;
    const std::uint16_t number = closing_->number;
    auto received = std::move(received_);
    *this = Session(config_, *send_, *receive_);
    counts_ = counts;
    read_until_ = read_until;
    takes_until_ = takes_until;
    received_ = std::move(received);
    history_end_ = quiet_until_ = started_at_ = cycle;
    sender_ = SessionSender<SendBuffer>(config_, *send_, cycle + 1);
    receive_->set_slots(number == 0 ? 0 : config_.window);
    id_ = number;
    state_ = number == 0 ? SessionState::none : SessionState::opening;
  }

  SessionConfig config_;
  SendBuffer* send_;
  ReceiveBuffer* receive_;
  SessionReceiver<ReceiveBuffer> receiver_;
  SessionSender<SendBuffer> sender_;
  std::uint16_t id_ = 0, peer_ = 0;
  SessionState state_ = SessionState::none;
  SessionCounts counts_;
  std::optional<Closing> closing_;
  std::optional<std::uint16_t> answer_;  ///< session of a peer that requests this one's number
  std::optional<std::pair<std::uint16_t, std::uint16_t>>
      refuse_;           ///< session of a refused frame, and the one that it named
  unsigned silent_ = 0;  ///< retries without a reply
  // Pending events.
  std::deque<Heard> received_;
  Accepted accepted_;
  ChosenControl chosen_control_;
  Tick sent_ = kNever, timed_out_ = kNever;
  // Recent events that affect the next received frame.
  std::array<Ended, 2> ended_;  ///< frames just written into their slots
  Tick started_at_ = -1, takes_until_ = -1, read_until_ = -1;
  std::uint64_t history_ = 0;  ///< bit k: a control frame was pending in cycle `history_end_` - k
  Tick history_end_ = -1, quiet_until_ = 0;
};

}  // namespace thalweg::ethernet
