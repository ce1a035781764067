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
  unsigned size = kWord;  ///< of them, those of the frame
  bool last = false;      ///< of the frame
};

/// 64 bytes from `from` on, with zeros behind the end.
[[nodiscard]] inline WordBytes cut(std::span<const std::byte> bytes, std::size_t from) {
  WordBytes word{};
  if (from < bytes.size())
    std::memcpy(word.data(), bytes.data() + from, std::min<std::size_t>(kWord, bytes.size() - from));
  return word;
}

/// Of a frame its words, of which there are `words_of`, as the MAC takes them: with zeros up to the shortest frame.
[[nodiscard]] inline unsigned words_of(const Frame& frame) {
  return (std::max(frame.size(), kShortest) + kWord - 1) / kWord;
}
[[nodiscard]] inline Word word_of(const Frame& frame, unsigned number) {
  const unsigned left = std::max(frame.size(), kShortest) - number * kWord;
  return {
      .bytes = cut(frame.bytes(), std::size_t{number} * kWord), .size = std::min(left, kWord), .last = left <= kWord};
}

}  // namespace thalweg::ethernet
