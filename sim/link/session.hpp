// SPDX-License-Identifier: Apache-2.0
// The session of one end of a link: frames sent and received between two resets of either end belong to one session of each end. C++ model
// of rtl/link/tw_session.sv; docs/links.md describes the protocol.
#pragma once

#include <cstdint>

namespace thalweg {

/// What a frame says of its sender's session.
struct SessionFields {
  bool lost = false;    ///< not up: the session before this one was lost
  bool up = false;      ///< this session and echo have been confirmed: words and credits count
  bool knows = false;   ///< echo is valid
  bool echo = false;    ///< number of the other end's session
  bool number = false;  ///< of the sender's session

  static constexpr unsigned kBits = 5;
  /// As in a frame, number first.
  [[nodiscard]] constexpr std::uint64_t bits() const {
    return std::uint64_t{number} | std::uint64_t{echo} << 1 | std::uint64_t{knows} << 2 | std::uint64_t{up} << 3 |
           std::uint64_t{lost} << 4;
  }
  [[nodiscard]] static constexpr SessionFields of(std::uint64_t bits) {
    return {.lost = (bits >> 4 & 1) != 0,
            .up = (bits >> 3 & 1) != 0,
            .knows = (bits >> 2 & 1) != 0,
            .echo = (bits >> 1 & 1) != 0,
            .number = (bits & 1) != 0};
  }
};

/// A frame with `peer` is of the session that `own` is in.
[[nodiscard]] constexpr bool same_session(const SessionFields& own, const SessionFields& peer) {
  return own.knows && peer.knows && peer.up && peer.number == own.echo && peer.echo == own.number;
}

class Session {
 public:
  /// Of every frame that is sent.
  [[nodiscard]] const SessionFields& fields() const { return own_; }
  /// A frame with `peer` belongs to this session: its words, credits and stop bits count.
  [[nodiscard]] bool current(const SessionFields& peer, bool hold) const {
    return same_session(own_, peer) && (own_.up || !hold);
  }
  /// This end has lost its session: all that belongs to it starts anew.
  [[nodiscard]] bool flush() const { return flush_; }
  /// It has, or the other end says that it has lost its own.
  [[nodiscard]] bool lost() const { return lost_; }

  /// All but the number of the next session is as at first.
  void reset() {
    own_ = {.number = next_};
    noted_ = flush_ = lost_ = false;
  }
  /// As after a handshake with another end that is made up, too.
  void make_up() {
    own_.knows = own_.up = true;
    next_ = !own_.number;
  }

  /// One clock edge. peer: of a good frame, or nullptr. hold: no session is set up.
  void step(const SessionFields* peer, bool hold) {
    flush_ = lost_ = false;
    if (!peer && !hold) return;
    const bool echoed = peer && peer->knows && peer->echo == own_.number;
    const bool known = peer && own_.knows && peer->number == own_.echo;
    if (own_.up) {
      if (!peer || (echoed && known)) return;
      own_ = {.lost = true, .number = next_};
      noted_ = flush_ = lost_ = true;
      return;
    }
    lost_ = peer && !peer->up && peer->lost && !noted_;
    noted_ |= lost_;
    if (hold) {
      own_.knows = false;
    } else if (!lost_) {
      const bool rises = echoed && (known || !peer->up);
      if (!peer->up) {
        own_.knows = true;
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
  bool next_ = false;  ///< number of the next one, which reset leaves alone
  bool noted_ = false, flush_ = false, lost_ = false;
};

}  // namespace thalweg
