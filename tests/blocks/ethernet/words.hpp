// SPDX-License-Identifier: Apache-2.0
// Words of frames at ports.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "ethernet/word.hpp"

namespace blocks {

using WordData = std::array<std::uint64_t, thalweg::ethernet::kWord / 8>;

[[nodiscard]] inline WordData data_of(const thalweg::ethernet::WordBytes& bytes) {
  return std::bit_cast<WordData>(bytes);
}
[[nodiscard]] inline thalweg::ethernet::WordBytes bytes_of(const WordData& data) {
  return std::bit_cast<thalweg::ethernet::WordBytes>(data);
}
[[nodiscard]] constexpr std::uint64_t keep_of(unsigned bytes) {
  return ~std::uint64_t{0} >> (thalweg::ethernet::kWord - bytes);
}
[[nodiscard]] constexpr unsigned size_of(std::uint64_t keep) {
  return static_cast<unsigned>(std::popcount(keep));
}

}  // namespace blocks
