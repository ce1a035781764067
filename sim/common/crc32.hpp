// SPDX-License-Identifier: Apache-2.0
// CRC-32C, C++ model of rtl/common/tw_crc32.sv, which cites its source.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace thalweg {

namespace detail {

constexpr std::uint32_t crc32_shifted(std::uint32_t crc) {
  return crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
}

/// [k][byte]: change of the CRC by a byte that k bytes follow.
inline constexpr auto kCrc32Bytes = [] {
  std::array<std::array<std::uint32_t, 256>, 8> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (auto& of_distance : table) {
      for (int bit = 0; bit < 8; ++bit) crc = crc32_shifted(crc);
      of_distance[byte] = crc;
    }
  }
  return table;
}();

}  // namespace detail

/// CRC of the lowest `bits` bits, the lowest of the first word first.
[[nodiscard]] constexpr std::uint32_t crc32(std::span<const std::uint64_t> words, unsigned bits) {
  std::uint32_t crc = ~std::uint32_t{0};
  std::size_t word = 0;
  for (; bits >= 64; bits -= 64, ++word) {
    const std::uint64_t mixed = words[word] ^ crc;
    crc = 0;
    for (unsigned byte = 0; byte < 8; ++byte) crc ^= detail::kCrc32Bytes[7 - byte][mixed >> (8 * byte) & 0xFF];
  }
  if (bits == 0) return ~crc;
  std::uint64_t rest = words[word];
  for (; bits >= 8; bits -= 8, rest >>= 8) crc = crc >> 8 ^ detail::kCrc32Bytes[0][(crc ^ rest) & 0xFF];
  for (; bits > 0; --bits, rest >>= 1) crc = detail::crc32_shifted(crc ^ static_cast<std::uint32_t>(rest & 1));
  return ~crc;
}

}  // namespace thalweg
