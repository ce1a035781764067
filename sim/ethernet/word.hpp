// SPDX-License-Identifier: Apache-2.0
// Words of a MAC's stream of frames.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "ethernet/frame.hpp"

namespace thalweg::ethernet {

using WordBytes = std::array<std::byte, kWord>;

struct Word {
  WordBytes bytes{};
  unsigned size = kWord;  ///< valid bytes
  bool last = false;      ///< last word of the frame
};

/// 64 bytes from `from` on, padded with zeros.
[[nodiscard]] inline WordBytes cut(std::span<const std::byte> bytes, std::size_t from) {
  WordBytes word{};
  if (from < bytes.size())
    std::memcpy(word.data(), bytes.data() + from, std::min<std::size_t>(kWord, bytes.size() - from));
  return word;
}

/// Words of a frame (`words_of` is their number) as the MAC takes them: zero-padded to the minimum frame size.
[[nodiscard]] inline unsigned words_of(const Frame& frame) {
  return (std::max(frame.size(), kShortest) + kWord - 1) / kWord;
}
[[nodiscard]] inline Word word_of(const Frame& frame, unsigned number) {
  const unsigned left = std::max(frame.size(), kShortest) - number * kWord;
  return {
      .bytes = cut(frame.bytes(), std::size_t{number} * kWord), .size = std::min(left, kWord), .last = left <= kWord};
}

}  // namespace thalweg::ethernet
