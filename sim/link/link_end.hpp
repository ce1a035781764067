// SPDX-License-Identifier: Apache-2.0
// One end of a reliable link, between a router's port and a wire: session, replay and their codec. C++ model of rtl/link/tw_link_end.sv.
#pragma once

#include <cstdint>

#include "link/replay.hpp"
#include "link/replay_codec.hpp"
#include "link/session.hpp"

namespace thalweg {

class LinkEnd {
 public:
  /// As Replay and ReplayCodec have them.
  LinkEnd(const FrameFormat& format, unsigned window, unsigned slack, unsigned down_cycles)
      : format_(format),
        window_(window),
        slack_(slack),
        down_cycles_(down_cycles),
        replay_(window, slack, down_cycles),
        codec_(format) {}

  [[nodiscard]] bool ready() const { return replay_.ready() && session_.fields().up; }
  /// The word that was received, or nullptr.
  [[nodiscard]] const LinkWord* received() const { return replay_.received(); }
  /// To the own output port, a bit for each virtual channel: one credit more, or its stop level.
  [[nodiscard]] std::uint32_t back() const { return codec_.back(); }
  /// The frame that the wire has, or nullptr before the first.
  [[nodiscard]] const WireFrame* wire() const { return codec_.wire(); }
  /// Both ends have echoed each other's session, and good frames come in.
  [[nodiscard]] bool up() const { return replay_.up(); }
  /// The session was lost, at this end or at the other one.
  [[nodiscard]] bool lost() const { return session_.lost(); }
  /// A good frame came in.
  [[nodiscard]] bool heard() const { return codec_.peer() != nullptr; }
  /// A frame came in that was damaged.
  [[nodiscard]] bool damaged() const { return came_ && !codec_.peer(); }
  /// If the wire takes a frame, it makes one whose word was sent before.
  [[nodiscard]] bool repeats() const { return replay_.frame().carries && replay_.frame().sequence != new_; }

  /// All that was said at either end is known at this one.
  [[nodiscard]] bool settled(const LinkEnd& other) const {
    return session_.fields().up && other.session_.fields().up && replay_.settled(other.replay_) &&
           codec_.settled(other.codec_);
  }
  /// Makes up for so many frames that were not stepped, for they said nothing new.
  void skip(Tick frames) { codec_.skip(frames); }

  void reset() {
    session_.reset();
    begin();
    codec_ = ReplayCodec(format_);
    came_ = comes_ = false;
  }
  /// As a while after both ends have left reset.
  void make_up() { session_.make_up(); }

  /// One clock edge. word: to be sent, or nullptr. back: of the own input port, as back(). taken: the wire takes a frame. arrived: the
  /// frame that comes in from the wire, or nullptr. hold: a session that was lost is not followed by another one.
  void step(const LinkWord* word, std::uint32_t back, bool taken, const WireFrame* arrived, bool hold = false) {
    const ReplayFrame<LinkWord> next = replay_.frame();
    const SessionFields own = session_.fields();
    const bool flush = session_.flush();
    const ReplayFrame<LinkWord>* peer = codec_.peer();
    const SessionFields heard = codec_.peer_session();

    if (taken && next.carries && !repeats()) new_ = (new_ + 1) % (2 * window_);
    if (flush) {
      begin();
    } else {
      replay_.step(own.up ? word : nullptr, taken, peer && session_.current(heard, hold) ? peer : nullptr);
    }
    session_.step(peer ? &heard : nullptr, hold);
    came_ = comes_;
    comes_ = arrived != nullptr;
    codec_.step(next, own, flush, back, taken, arrived);
  }

 private:
  void begin() {
    replay_ = Replay<LinkWord>(window_, slack_, down_cycles_);
    new_ = 0;
  }

  FrameFormat format_;
  unsigned window_, slack_, down_cycles_;
  Session session_;
  Replay<LinkWord> replay_;
  ReplayCodec codec_;
  unsigned new_ = 0;                   ///< sequence of the next word that is sent for the first time
  bool comes_ = false, came_ = false;  ///< a frame in the codec's register, and in the cycle before
};

}  // namespace thalweg
