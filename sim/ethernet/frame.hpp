// SPDX-License-Identifier: Apache-2.0
// Ethernet frames as on the wire (IEEE 802.3): 8 bytes of preamble, the frame from destination address to payload, 4
// bytes of frame check sequence (FCS), and at least 12 bytes of gap.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/require.hpp"

namespace thalweg::ethernet {

inline constexpr unsigned kPreamble = 8, kHeader = 14, kFcs = 4, kGap = 12;
inline constexpr unsigned kShortest = 60;    ///< bytes of a frame without FCS; shorter ones are padded with zeros
inline constexpr unsigned kLongest = 9'216;  ///< with FCS: a jumbo frame, as switches accept it
inline constexpr unsigned kMost = kLongest - kFcs;  ///< bytes of a frame without FCS
inline constexpr unsigned kWord = 64;               ///< bytes of a word of a MAC's stream

/// 48 bits; the byte that is sent first is the highest.
using Address = std::uint64_t;
inline constexpr Address kBroadcast = 0xFFFF'FFFF'FFFF;

/// Multicast addresses and the broadcast address.
[[nodiscard]] constexpr bool is_group(Address address) {
  return address >> 40 & 1;
}

/// Bytes on the wire of a frame of `size` bytes without FCS, from its preamble to the end of the gap.
[[nodiscard]] constexpr std::int64_t wire_bytes(unsigned size) {
  return std::int64_t{kPreamble} + std::max(size, kShortest) + kFcs + kGap;
}

class Frames;

/// A frame from the destination address to the end of the payload, without FCS.
class Frame {
 public:
  [[nodiscard]] unsigned size() const { return size_; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {bytes_.data(), size_}; }
  [[nodiscard]] Address destination() const { return field(0, 6); }
  [[nodiscard]] Address source() const { return field(6, 6); }
  [[nodiscard]] std::uint16_t type() const { return static_cast<std::uint16_t>(field(12, 2)); }
  [[nodiscard]] std::span<const std::byte> payload() const { return bytes().subspan(kHeader); }
  /// Number of words of a MAC's stream.
  [[nodiscard]] unsigned words() const { return (size_ + kWord - 1) / kWord; }

 private:
  friend Frames;
  friend class FrameRef;

  [[nodiscard]] std::uint64_t field(unsigned at, unsigned bytes) const {
    std::uint64_t value = 0;
    for (unsigned k = 0; k < bytes; ++k) value = value << 8 | std::to_integer<std::uint64_t>(bytes_[at + k]);
    return value;
  }

  Frames* home_ = nullptr;
  unsigned users_ = 0, size_ = 0;
  std::array<std::byte, kMost> bytes_;
};

/// A reference-counted frame: it returns to its pool with the last reference.
class FrameRef {
 public:
  FrameRef() = default;
  FrameRef(const FrameRef& other) : frame_(other.frame_) {
    if (frame_) ++frame_->users_;
  }
  FrameRef(FrameRef&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  FrameRef& operator=(FrameRef other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  inline ~FrameRef();

  [[nodiscard]] const Frame& operator*() const { return *frame_; }
  [[nodiscard]] const Frame* operator->() const { return frame_; }
  [[nodiscard]] explicit operator bool() const { return frame_ != nullptr; }

 private:
  friend Frames;
  explicit FrameRef(Frame* frame) : frame_(frame) { frame_->users_ = 1; }

  Frame* frame_ = nullptr;
};

/// Pool of frames. It must outlive all of them.
class Frames {
 public:
  Frames() = default;
  Frames(const Frames&) = delete;
  Frames& operator=(const Frames&) = delete;

  /// Copies a frame, from the destination address on. Throws std::invalid_argument if its size is invalid.
  [[nodiscard]] FrameRef copy(std::span<const std::byte> bytes) {
    Frame& frame = take(static_cast<unsigned>(bytes.size()), bytes.size());
    std::memcpy(frame.bytes_.data(), bytes.data(), bytes.size());
    return FrameRef(&frame);
  }
  /// `fill(payload)` writes the payload, of `payload_size` bytes.
  template <class Fill>
  [[nodiscard]] FrameRef make(Address destination, Address source, std::uint16_t type, std::size_t payload_size,
                              Fill&& fill) {
    Frame& frame = take(static_cast<unsigned>(kHeader + payload_size), kHeader + payload_size);
    put(frame, 0, destination, 6);
    put(frame, 6, source, 6);
    put(frame, 12, type, 2);
    fill(std::span(frame.bytes_).subspan(kHeader, payload_size));
    return FrameRef(&frame);
  }

  /// Number of referenced frames.
  [[nodiscard]] std::size_t in_use() const { return all_.size() - free_.size(); }

 private:
  friend FrameRef;

  static void put(Frame& frame, unsigned at, std::uint64_t value, unsigned bytes) {
    for (unsigned k = bytes; k-- > 0; value >>= 8) frame.bytes_[at + k] = static_cast<std::byte>(value & 0xFF);
  }
  Frame& take(unsigned size, std::size_t given) {
    require(given >= kHeader && given <= kMost, "a frame of " + std::to_string(given) +
                                                    " bytes without FCS; must have " + std::to_string(kHeader) +
                                                    " to " + std::to_string(kMost));
    if (free_.empty()) {
      free_.push_back(all_.emplace_back(std::make_unique<Frame>()).get());
      free_.back()->home_ = this;
    }
    Frame& frame = *free_.back();
    free_.pop_back();
    frame.size_ = size;
    return frame;
  }

  std::vector<std::unique_ptr<Frame>> all_;
  std::vector<Frame*> free_;
};

inline FrameRef::~FrameRef() {
  if (frame_ && --frame_->users_ == 0) frame_->home_->free_.push_back(frame_);
}

}  // namespace thalweg::ethernet
