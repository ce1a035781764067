// SPDX-License-Identifier: Apache-2.0
// Replay: go-back-N retransmission at one end of a link. C++ model of rtl/link/tw_replay.sv; docs/links.md describes
// the protocol.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace thalweg {

/// Contents of a frame. Sequence numbers count modulo twice the window.
template <class Word>
struct ReplayFrame {
  Word word{};  ///< if the frame carries none, the previous word
  bool carries = false;
  std::uint16_t sequence = 0;  ///< of the word or, if there is none, of the next one
  std::uint16_t expected = 0;  ///< next sequence expected by the frame's sender; acknowledges all before
  bool epoch = false;          ///< parity of the number of retransmissions
  bool request = false;        ///< parity of the number of retransmission requests
};

/// Words that enter one end leave the other exactly once and in order, even if frames are lost or repeated in a row, in
/// either direction. The wire must not reorder them.
template <class Word>
class Replay {
 public:
  /// `window`: words stored until acknowledged, a power of two from 2 to 32768. `slack`: words that may still arrive
  /// while ready() is false, below `window`. `down_cycles`: cycles without a good frame until the link is down.
  Replay(unsigned window, unsigned slack, unsigned down_cycles)
      : words_(window), mask_(2 * window - 1), slack_(slack), down_cycles_(down_cycles), silent_(down_cycles) {
    if (window < 2 || window > 32768 || (window & (window - 1)) != 0)
      throw std::invalid_argument("a replay's window is a power of two from 2 to 32768");
    if (slack >= window) throw std::invalid_argument("a replay's slack is below its window");
    if (down_cycles < 1) throw std::invalid_argument("a link must be down after at least 1 cycle");
  }

  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] bool up() const { return silent_ != down_cycles_; }
  /// The received word, or nullptr.
  [[nodiscard]] const Word* received() const { return received_ ? &*received_ : nullptr; }
  /// True if all words have left the other end, and both ends know it.
  [[nodiscard]] bool settled(const Replay& other) const {
    return base_ == write_ && next_ == write_ && other.expected_ == write_ && other.request_ == epoch_ &&
           !other.received_;
  }
  /// The next frame to send.
  [[nodiscard]] const ReplayFrame<Word>& frame() const { return frame_; }

  /// One clock edge. in: a word to be sent, or nullptr. taken: the frame is sent. peer: a good frame from the other
  /// end, or nullptr.
  void step(const Word* in, bool taken, const ReplayFrame<Word>* peer) {
    const bool send = next_ != write_;
    if (taken) {
      frame_.carries = send;
      if (send) frame_.word = words_[next_ & (mask_ >> 1)];
      frame_.sequence = static_cast<std::uint16_t>(next_);
      frame_.expected = static_cast<std::uint16_t>(expected_);
      frame_.epoch = epoch_;
      frame_.request = request_;
    }
    const unsigned sent = since_base(next_);
    if (taken && send) advance(next_);
    if (in) {
      if (since_base(write_) == words_.size()) throw std::logic_error("a replay overflows: its sender ignores ready");
      words_[write_ & (mask_ >> 1)] = *in;
      advance(write_);
    }
    received_.reset();
    if (peer) {
      if (since_base(peer->expected) <= sent) base_ = peer->expected;
      receive(*peer);
      if (peer->request != epoch_) {
        epoch_ = peer->request;
        next_ = base_;
      }
      silent_ = 0;
    } else if (up()) {
      ++silent_;
    }
    ready_ = since_base(write_) + slack_ < words_.size();
  }

 private:
  [[nodiscard]] unsigned since_base(unsigned sequence) const { return (sequence - base_) & mask_; }

  void advance(unsigned& sequence) const { sequence = (sequence + 1) & mask_; }

  void receive(const ReplayFrame<Word>& frame) {
    if (frame.epoch != request_) return;
    const unsigned ahead = (frame.sequence - expected_) & mask_;
    if (ahead == 0 && frame.carries) {
      received_ = frame.word;
      advance(expected_);
    } else if (ahead != 0 && ahead <= words_.size()) {
      request_ = !request_;
    }
  }

  std::vector<Word> words_;  ///< by sequence modulo window
  unsigned mask_, slack_, down_cycles_;
  unsigned base_ = 0, next_ = 0, write_ = 0;  ///< stored words: base .. write-1; unsent: next .. write-1
  unsigned expected_ = 0;
  unsigned silent_;  ///< cycles since the last good frame, at most down_cycles
  bool epoch_ = false, request_ = false, ready_ = true;
  std::optional<Word> received_;
  ReplayFrame<Word> frame_;
};

}  // namespace thalweg
