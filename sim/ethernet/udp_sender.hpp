// SPDX-License-Identifier: Apache-2.0
// Makes frames of datagrams that arrive word by word. C++ model of rtl/ethernet/tw_udp_sender.sv. The frames equal
// those of make_udp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ethernet/frame.hpp"
#include "ethernet/frame_fifo.hpp"
#include "ethernet/udp.hpp"
#include "ethernet/word.hpp"

namespace thalweg::ethernet {

class UdpSender {
 public:
  struct In {
    WordBytes bytes{};
    bool last = false;
    UdpEnd to;               ///< with the first word
    std::uint16_t size = 0;  ///< bytes of the datagram; with the first word
  };

  /// `words`: capacity for waiting frames. `frames` must outlive the object.
  UdpSender(const UdpEnd& own, std::size_t words, Frames& frames) : own_(own), frames_(&frames), fifo_(words, kRoom) {}

  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] bool valid() const { return fifo_.valid(); }
  [[nodiscard]] Word front() const {
    const WordRef& place = fifo_.front();
    return word_of(**place.frame, place.number);
  }

  /// One clock edge. in: an offered word or nullptr, taken if ready(). pop: the MAC's ready.
  void step(const In* in, bool pop) {
    const bool room = fifo_.room();
    const auto& [arrived, whole] = delayed_.back();
    fifo_.step(arrived ? &*arrived : nullptr, whole, false, pop);
    std::move_backward(delayed_.begin(), delayed_.end() - 1, delayed_.end());
    const bool accepts = in && ready_, adds = more_;
    ready_ = room;
    more_ = false;
    delayed_.front() = {};
    if (adds) put(true);
    if (!accepts) return;
    if (!frame_) {
      first_ = *in;
      payload_.clear();
      frame_ = std::make_shared<FrameRef>();
      words_ = 0;
    }
    payload_.insert(payload_.end(), in->bytes.begin(), in->bytes.end());
    if (in->last)
      *frame_ = make_udp(*frames_, own_, first_.to, first_.size,
                         [&](std::span<std::byte> bytes) { std::memcpy(bytes.data(), payload_.data(), bytes.size()); });
    more_ = in->last && words_of(**frame_) > words_ + 1;
    if (more_) ready_ = false;
    put(in->last && !more_);
  }

 private:
  static constexpr unsigned kDelay = 7;  ///< cycles from the input to the FIFO
  static constexpr std::size_t kRoom = 12;

  /// A word of a frame, which is complete once its last word has arrived.
  struct WordRef {
    std::shared_ptr<FrameRef> frame;
    unsigned number = 0;
  };
  struct Moved {
    std::optional<WordRef> place;
    bool last = false;
  };

  void put(bool last) {
    delayed_.front() = {.place = WordRef{frame_, words_++}, .last = last};
    if (last) frame_.reset();
  }

  UdpEnd own_;
  Frames* frames_;
  FrameFifo<WordRef> fifo_;
  std::array<Moved, kDelay> delayed_{};
  bool ready_ = false;
  bool more_ = false;                ///< the frame has one word more than the datagram
  std::shared_ptr<FrameRef> frame_;  ///< the frame being received
  unsigned words_ = 0;
  In first_;
  std::vector<std::byte> payload_;
};

}  // namespace thalweg::ethernet
