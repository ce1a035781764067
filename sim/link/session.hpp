// SPDX-License-Identifier: Apache-2.0
// Session of one end of a link: frames sent and received between two resets of either end belong to one session of each
// end. C++ model of rtl/link/tw_session.sv; docs/links.md describes the protocol.
#pragma once

#include <cstdint>

namespace thalweg {

/// Session fields of a frame.
struct SessionFields {
  bool lost = false;        ///< not up: the previous session was lost
  bool up = false;          ///< session and echo are confirmed: words and credits count
  bool echo_valid = false;  ///< echo is valid
  bool echo = false;        ///< number of the other end's session
  bool number = false;      ///< number of the sender's session

  static constexpr unsigned kBits = 5;
  /// The fields as in a frame, number first.
  [[nodiscard]] constexpr std::uint64_t bits() const {
    return std::uint64_t{number} | std::uint64_t{echo} << 1 | std::uint64_t{echo_valid} << 2 | std::uint64_t{up} << 3 |
           std::uint64_t{lost} << 4;
  }
  [[nodiscard]] static constexpr SessionFields of(std::uint64_t bits) {
    return {.lost = (bits >> 4 & 1) != 0,
            .up = (bits >> 3 & 1) != 0,
            .echo_valid = (bits >> 2 & 1) != 0,
            .echo = (bits >> 1 & 1) != 0,
            .number = (bits & 1) != 0};
  }
};

/// True if a frame with fields `peer` belongs to the session of `own`.
[[nodiscard]] constexpr bool same_session(const SessionFields& own, const SessionFields& peer) {
  return own.echo_valid && peer.echo_valid && peer.up && peer.number == own.echo && peer.echo == own.number;
}

class Session {
 public:
  /// Fields of every frame sent.
  [[nodiscard]] const SessionFields& fields() const { return own_; }
  /// True if a frame with `peer` belongs to this session: its words, credits and stop bits count.
  [[nodiscard]] bool current(const SessionFields& peer, bool hold) const {
    return same_session(own_, peer) && (own_.up || !hold);
  }
  /// True if this end has lost its session: its state restarts.
  [[nodiscard]] bool flush() const { return flush_; }
  /// True if this end has lost its session, or the other end reports that it has.
  [[nodiscard]] bool lost() const { return lost_; }

  /// Resets everything except the number of the next session.
  void reset() {
    own_ = {.number = next_};
    noted_ = flush_ = lost_ = false;
  }
  /// Sets the state after a handshake with another end that is also made up.
  void bring_up() {
    own_.echo_valid = own_.up = true;
    next_ = !own_.number;
  }

  /// One clock edge. peer: fields of a good frame, or nullptr. hold: no session is set up.
  void step(const SessionFields* peer, bool hold) {
    flush_ = lost_ = false;
    if (!peer && !hold) return;
    const bool echoed = peer && peer->echo_valid && peer->echo == own_.number;
    const bool echo_matches = peer && own_.echo_valid && peer->number == own_.echo;
    if (own_.up) {
      if (!peer || (echoed && echo_matches)) return;
      own_ = {.lost = true, .number = next_};
      noted_ = flush_ = lost_ = true;
      return;
    }
    lost_ = peer && !peer->up && peer->lost && !noted_;
    noted_ |= lost_;
    if (hold) {
      own_.echo_valid = false;
    } else if (!lost_) {
      const bool rises = echoed && (echo_matches || !peer->up);
      if (!peer->up) {
        own_.echo_valid = true;
        own_.echo = peer->number;
      }
      if (!rises) return;
      own_.up = true;
      own_.lost = noted_ = false;
      next_ = !own_.number;
    }
  }

 private:
  SessionFields own_;
  bool next_ = false;  ///< number of the next session, unaffected by reset
  bool noted_ = false, flush_ = false, lost_ = false;
};

}  // namespace thalweg
