// SPDX-License-Identifier: Apache-2.0
// Takes frames from the MAC word by word, and outputs datagrams and requests for one endpoint. C++ model of
// rtl/ethernet/tw_udp_receiver.sv. A frame is classified by its first word, with udp_heading_of and request_of.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ethernet/answers.hpp"
#include "ethernet/udp.hpp"
#include "ethernet/word.hpp"

namespace thalweg::ethernet {

class UdpReceiver {
 public:
  struct In {
    Word word;
    bool damaged = false;  ///< with a frame's last word
  };
  /// A word of a datagram.
  struct Out {
    WordBytes bytes{};
    bool first = false, last = false;
    UdpEnd from;
    std::uint16_t size = 0;
  };
  /// A word of a request.
  struct Ask {
    WordBytes bytes{};
    bool first = false, last = false, arp = false;
  };
  /// Frames; each is counted once.
  struct Counts {
    std::uint64_t strays = 0, damaged = 0, asked = 0, taken = 0;

    Counts& operator+=(const Counts& other) {
      strays += other.strays;
      damaged += other.damaged;
      asked += other.asked;
      taken += other.taken;
      return *this;
    }
  };
  /// Outputs in a cycle.
  struct Shown {
    std::optional<Out> out;
    bool commits = false, drops = false;
    std::optional<Ask> ask;
    bool ask_commits = false, ask_drops = false;
    Counts counts;  ///< counted at the end of the previous cycle
  };

  explicit UdpReceiver(const UdpEnd& own) : own_(own) {}

  [[nodiscard]] const Shown& shown() const { return ahead_.front(); }
  [[nodiscard]] const Counts& counts() const { return counts_; }
  /// The frame whose last word came in the previous cycle, and how it was counted; none if there was no such frame.
  struct Ended {
    std::span<const std::byte> frame;
    Counts counts;
  };
  [[nodiscard]] std::optional<Ended> ended() const { return ended_; }

  /// One clock edge. in: the MAC's word, or nullptr.
  void step(const In* in) {
    std::shift_left(ahead_.begin(), ahead_.end(), 1);
    ahead_.back() = {};
    counts_ += ahead_.front().counts;
    ended_.reset();
    if (!in) return;
    if (!inside_) frame_.clear();
    const bool first = !inside_;
    const std::size_t number = frame_.size() / kWord;
    frame_.insert(frame_.end(), in->word.bytes.begin(), in->word.bytes.begin() + in->word.size);
    inside_ = !in->word.last;
    if (first) begin();
    give(number);
    if (in->word.last) end(in->damaged);
  }

 private:
  /// Output delay in cycles from the edge that takes a word: kNow for its own output, kNext for an additional word
  /// after it.
  static constexpr std::size_t kNow = 7, kNext = 8;

  void begin() {
    const WordBytes word = cut(frame_, 0);
    heading_ = udp_heading_of(word);
    if (heading_ && heading_->to != own_) heading_.reset();
    request_ = request_of(word, own_);
    const auto arp = detail::get_network(std::span(word).subspan(12, 2)) == kArp;
    size_ = arp ? kHeader + kArpBytes : kHeader + detail::get_network(std::span(word).subspan(16, 2));
  }
  /// Outputs what is complete with the received word of this number.
  void give(std::size_t number) {
    const auto bytes = std::span<const std::byte>(frame_).first(std::min(frame_.size(), size_));
    const std::size_t end = (size_ - 1) / kWord;  // the word with the datagram's end
    if (number > end) return;
    if (request_)
      ahead_[kNow].ask = {.bytes = cut(bytes, number * kWord),
                          .first = number == 0,
                          .last = number == end,
                          .arp = request_ == Request::arp};
    if (!heading_) return;
    const auto out = [&](std::size_t at, bool last) {
      return Out{.bytes = cut(bytes, kUdpHeaders + at * kWord),
                 .first = at == 0,
                 .last = last,
                 .from = heading_->from,
                 .size = static_cast<std::uint16_t>(heading_->size)};
    };
    const bool more = number == 0 || size_ > number * kWord + kUdpHeaders;  // a word of data starts in this one
    if (number > 0) ahead_[kNow].out = out(number - 1, number == end && !more);
    if (number == end && more) ahead_[kNext].out = out(number, true);
  }
  void end(bool damaged) {
    const bool whole = frame_.size() >= size_, good = whole && !damaged;
    Counts counts;
    if (damaged)
      counts.damaged = 1;
    else if (whole && heading_)
      counts.taken = 1;
    else if (whole && request_)
      counts.asked = 1;
    else
      counts.strays = 1;
    ahead_[kNext].counts = counts;
    ahead_[kNext].commits = heading_ && good;
    ahead_[kNext].drops = heading_ && !good;
    ahead_[kNow].ask_commits = request_ && good;
    ahead_[kNow].ask_drops = request_ && !good;
    ended_ = {frame_, counts};
  }

  UdpEnd own_;
  std::array<Shown, kNext + 1> ahead_{};  ///< outputs of the next cycles
  Counts counts_;
  std::vector<std::byte> frame_;
  bool inside_ = false;
  std::optional<UdpHeading> heading_;
  std::optional<Request> request_;
  std::size_t size_ = 0;  ///< frame size by its header; the frame may be padded
  std::optional<Ended> ended_;
};

}  // namespace thalweg::ethernet
