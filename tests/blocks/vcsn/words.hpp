// SPDX-License-Identifier: Apache-2.0
// VCSN's words at ports.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "vcsn/word.hpp"

namespace blocks {

using WordData = std::array<std::uint64_t, thalweg::vcsn::kWord / 8>;

[[nodiscard]] inline WordData data_of(const thalweg::vcsn::Word& word) {
  WordData data;
  std::memcpy(data.data(), word.bytes.data(), sizeof data);
  return data;
}

[[nodiscard]] inline thalweg::vcsn::Word word_of(const WordData& data, bool first, bool last, std::uint64_t channel) {
  thalweg::vcsn::Word word{.first = first, .last = last, .channel = static_cast<std::uint8_t>(channel)};
  std::memcpy(word.bytes.data(), data.data(), sizeof data);
  return word;
}

}  // namespace blocks
