// SPDX-License-Identifier: Apache-2.0
// Replies of a host with an IPv4 address: to ARP requests (RFC 826) for its address, and to ICMP echo requests (RFC
// 792), as `ping` sends them. Processes whole frames, or word by word as the hardware does: C++ model of
// rtl/ethernet/tw_answers.sv.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ethernet/frame.hpp"
#include "ethernet/frame_fifo.hpp"
#include "ethernet/udp.hpp"
#include "ethernet/word.hpp"

namespace thalweg::ethernet {

inline constexpr std::uint16_t kArp = 0x0806;
inline constexpr unsigned kArpBytes = 28;
inline constexpr std::uint8_t kIcmp = 1;  ///< IPv4 protocol number

/// Requests that a host answers.
enum class Request : std::uint8_t { arp, echo };

/// Classifies the first bytes of a frame as a request to the host with these addresses; none if the host does not
/// answer it. The frame may be truncated.
[[nodiscard]] inline std::optional<Request> request_of(std::span<const std::byte> frame, const UdpEnd& own) {
  if (frame.size() < kUdpHeaders) return std::nullopt;
  const auto field = [&](std::size_t at, std::size_t size) { return detail::get_network(frame.subspan(at, size)); };
  // Ethernet, IPv4, addresses of 6 and 4 bytes, a request.
  if (field(12, 2) == kArp && field(14, 4) == 0x0001'0800 && field(18, 4) == 0x0604'0001 && field(38, 4) == own.ip)
    return Request::arp;
  const auto ip = frame.subspan(kHeader, kIpv4Header);
  if (field(12, 2) != kIpv4 || (Address{field(0, 2)} << 32 | field(2, 4)) != own.address || ip[0] != std::byte{0x45} ||
      ip[9] != std::byte{kIcmp} || (field(20, 2) & 0xBFFF) != 0 || field(16, 2) < kIpv4Header + 8 ||
      field(30, 4) != own.ip || detail::checksum(ip) != 0 || field(34, 2) != 0x0800)
    return std::nullopt;
  return Request::echo;
}

/// The answer to a frame by the host with these addresses; none if it is no request to this host.
[[nodiscard]] inline std::optional<FrameRef> answer(Frames& frames, const UdpEnd& own, const Frame& frame) {
  const auto request = request_of(frame.bytes(), own);
  if (!request) return std::nullopt;
  const auto asked = frame.payload();
  if (request == Request::arp)
    return frames.make(frame.source(), own.address, kArp, kArpBytes, [&](std::span<std::byte> made) {
      std::copy_n(asked.begin(), 6, made.begin());
      detail::put_network(made.subspan(6, 2), 2);
      detail::put_network(made.subspan(8, 6), own.address);
      detail::put_network(made.subspan(14, 4), own.ip);
      std::copy_n(asked.begin() + 8, 10, made.begin() + 18);
    });
  const auto total = detail::get_network(asked.subspan(2, 2));
  if (total > asked.size() || detail::checksum(asked.subspan(kIpv4Header, total - kIpv4Header)) != 0)
    return std::nullopt;
  return frames.make(frame.source(), own.address, kIpv4, total, [&](std::span<std::byte> made) {
    std::copy_n(asked.begin(), total, made.begin());
    detail::put_network(made.subspan(8, 1), 64);
    std::copy_n(asked.begin() + 12, 4, made.begin() + 16);
    detail::put_network(made.subspan(12, 4), own.ip);
    detail::put_network(made.subspan(10, 2), 0);
    detail::put_network(made.subspan(10, 2), detail::checksum(made.first(kIpv4Header)));
    // An echo reply. Its type is lower by 0x0800, and its checksum higher by the same. Of the two zeros of one's
    // complement, this sum gives the one that is right for all data.
    const auto icmp = made.subspan(kIpv4Header);
    const auto checksum = detail::get_network(icmp.subspan(2, 2)) + 0x0800;
    detail::put_network(icmp.first(2), 0);
    detail::put_network(icmp.subspan(2, 2), (checksum & 0xFFFF) + (checksum >> 16));
  });
}

/// Answers requests that arrive word by word, and buffers the answers for the MAC. The answers equal those of `answer`.
class Answers {
 public:
  struct In {
    WordBytes bytes{};
    bool first = false;
  };
  /// Requests; each is counted once.
  struct Counts {
    std::uint64_t wrong = 0, refused = 0, answered = 0;
  };

  /// `most`: words of the longest answer. `words`: capacity for waiting answers. `frames` must outlive the object.
  Answers(const UdpEnd& own, unsigned most, std::size_t words, Frames& frames)
      : own_(own), frames_(&frames), most_(most), fifo_(words, most) {}

  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] bool valid() const { return fifo_.valid(); }
  [[nodiscard]] Word front() const {
    const WordRef& place = fifo_.front();
    return word_of(**place.frame, place.number);
  }

  /// One clock edge. in: a word of a request, or nullptr; commit, drop: the request's words so far, including this one;
  /// pop: the MAC's ready.
  void step(const In* in, bool commit, bool drop, bool pop) {
    const Moved moved = delayed_.back();
    std::shift_right(delayed_.begin(), delayed_.end(), 1);
    if (moved.word) {
      const unsigned number = moved.word->number;
      keeps_ = number == 0 ? fifo_.room() : keeps_ && number < most_;
    }
    const bool right = moved.commit && static_cast<bool>(*moved.answer);
    const bool answered = right && keeps_;
    counts_.answered += answered;
    counts_.refused += right && !keeps_;
    counts_.wrong += moved.commit && !right;
    fifo_.step(moved.word && keeps_ ? &*moved.word : nullptr, answered, (moved.commit || moved.drop) && !answered, pop);
    delayed_.front() = {.word = std::nullopt, .answer = nullptr, .commit = commit, .drop = drop};
    if (in) {
      if (in->first) {
        request_.clear();
        answer_ = std::make_shared<FrameRef>();
      }
      delayed_.front().word = {answer_, static_cast<unsigned>(request_.size() / kWord)};
      request_.insert(request_.end(), in->bytes.begin(), in->bytes.end());
    }
    delayed_.front().answer = answer_;
    if (!commit) return;
    const auto field = [&](std::size_t at) { return detail::get_network(std::span(request_).subspan(at, 2)); };
    const std::size_t size = kHeader + (field(12) == kArp ? kArpBytes : field(16));
    if (auto made = answer(*frames_, own_, *frames_->copy(std::span(request_).first(size))))
      *answer_ = std::move(*made);
  }

 private:
  static constexpr unsigned kDelay = 10;  ///< cycles from the input to the FIFO

  /// A word of an answer, which is made when its request is committed; null if the request was wrong.
  struct WordRef {
    std::shared_ptr<FrameRef> frame;
    unsigned number = 0;
  };
  struct Moved {
    std::optional<WordRef> word;
    std::shared_ptr<FrameRef> answer;
    bool commit = false, drop = false;
  };

  UdpEnd own_;
  Frames* frames_;
  unsigned most_;
  FrameFifo<WordRef> fifo_;
  std::array<Moved, kDelay> delayed_{};
  std::vector<std::byte> request_;
  std::shared_ptr<FrameRef> answer_;
  bool keeps_ = false;
  Counts counts_;
};

}  // namespace thalweg::ethernet
