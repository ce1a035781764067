// SPDX-License-Identifier: Apache-2.0
// One end of a reliable link, between a router's port and a wire: session, replay and their codec. C++ model of
// rtl/link/tw_link_end.sv.
#pragma once

#include <cstdint>

#include "link/replay.hpp"
#include "link/replay_codec.hpp"
#include "link/session.hpp"

namespace thalweg {

class LinkEnd {
 public:
  /// Parameters as in Replay and ReplayCodec.
  LinkEnd(const FrameFormat& format, unsigned window, unsigned slack, unsigned down_cycles)
      : format_(format),
        window_(window),
        slack_(slack),
        down_cycles_(down_cycles),
        replay_(window, slack, down_cycles),
        codec_(format) {}

  [[nodiscard]] bool ready() const { return replay_.ready() && session_.fields().up; }
  /// The received word, or nullptr.
  [[nodiscard]] const LinkWord* received() const { return replay_.received(); }
  /// To the own output port, one bit per virtual channel: one more credit, or its stop level.
  [[nodiscard]] std::uint32_t back() const { return codec_.back(); }
  /// The frame on the wire, or nullptr before the first.
  [[nodiscard]] const WireFrame* wire() const { return codec_.wire(); }
  /// True if both ends have echoed each other's session, and good frames arrive.
  [[nodiscard]] bool up() const { return replay_.up(); }
  /// True if the session was lost, at this end or the other.
  [[nodiscard]] bool lost() const { return session_.lost(); }
  /// True if a good frame arrived.
  [[nodiscard]] bool received_frame() const { return codec_.peer() != nullptr; }
  /// True if a damaged frame arrived.
  [[nodiscard]] bool damaged() const { return had_frame_ && !codec_.peer(); }
  /// True if the next frame is a retransmission.
  [[nodiscard]] bool repeats() const { return replay_.frame().carries && replay_.frame().sequence != new_; }

  /// True if both ends are up, and all words and credits have been exchanged.
  [[nodiscard]] bool settled(const LinkEnd& other) const {
    return session_.fields().up && other.session_.fields().up && replay_.settled(other.replay_) &&
           codec_.settled(other.codec_);
  }
  /// Accounts for `frames` frames that were not stepped because they carried nothing new.
  void skip(Tick frames) { codec_.skip(frames); }

  void reset() {
    session_.reset();
    begin();
    codec_ = ReplayCodec(format_);
    had_frame_ = has_frame_ = false;
  }
  /// Sets the state that is reached after both ends have left reset.
  void bring_up() { session_.bring_up(); }

  /// One clock edge. word: to be sent, or nullptr. back: from the own input port, as in back(). taken: the wire takes a
  /// frame. arrived: the frame received from the wire, or nullptr. hold: after a lost session no other one is set up.
  void step(const LinkWord* word, std::uint32_t back, bool taken, const WireFrame* arrived, bool hold = false) {
    const ReplayFrame<LinkWord> next = replay_.frame();
    const SessionFields own = session_.fields();
    const bool flush = session_.flush();
    const ReplayFrame<LinkWord>* peer = codec_.peer();
    const SessionFields peer_fields = codec_.peer_session();

    if (taken && next.carries && !repeats()) new_ = (new_ + 1) % (2 * window_);
    if (flush) {
      begin();
    } else {
      replay_.step(own.up ? word : nullptr, taken, peer && session_.current(peer_fields, hold) ? peer : nullptr);
    }
    session_.step(peer ? &peer_fields : nullptr, hold);
    had_frame_ = has_frame_;
    has_frame_ = arrived != nullptr;
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
  unsigned new_ = 0;                            ///< sequence of the next word not sent before
  bool has_frame_ = false, had_frame_ = false;  ///< a frame in the codec's register, now and in the previous cycle
};

}  // namespace thalweg
