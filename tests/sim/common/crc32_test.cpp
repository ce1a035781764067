// SPDX-License-Identifier: Apache-2.0
// CRC-32C against its published values, and its guarantees for the frames of a link.
#include "common/crc32.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <unordered_set>
#include <vector>

namespace thalweg {
namespace {

// RFC 3720, B.4: 32 bytes of zeros, of ones, and counting up; and the check value of the catalogue of CRCs,
// "123456789".
TEST(Crc32, HasThePublishedValues) {
  EXPECT_EQ(crc32(std::array<std::uint64_t, 4>{}, 256), 0x8A9136AAu);
  EXPECT_EQ(crc32(std::array<std::uint64_t, 4>{~0ull, ~0ull, ~0ull, ~0ull}, 256), 0x62A8AB43u);
  EXPECT_EQ(crc32(std::array<std::uint64_t, 4>{0x0706050403020100, 0x0F0E0D0C0B0A0908, 0x1716151413121110,
                                               0x1F1E1D1C1B1A1918},
                  256),
            0x46DD794Eu);
  EXPECT_EQ(crc32(std::array<std::uint64_t, 2>{0x3837363534333231, 0x39}, 72), 0xE3069283u);
}

constexpr unsigned kBits = 384 - 32;  ///< of the largest frame, without its CRC

/// For each bit of the largest frame, CRC included: its effect on the difference between the received and the correct
/// CRC. A CRC is affine, so an error is missed if and only if the effects of its bits add up to zero.
std::vector<std::uint32_t> changes() {
  using Words = std::array<std::uint64_t, 6>;
  std::vector<std::uint32_t> result;
  for (unsigned bit = 0; bit < kBits; ++bit) {
    Words words{};
    words[bit / 64] = std::uint64_t{1} << (bit % 64);
    result.push_back(crc32(words, kBits) ^ crc32(Words{}, kBits));
  }
  for (unsigned bit = 0; bit < 32; ++bit) result.push_back(1u << bit);
  return result;
}

// No two or four wrong bits are missed if all sums of two effects differ; no odd number, if each effect has an odd
// number of bits.
TEST(Crc32, NoticesFiveWrongBitsInAFrame) {
  const auto change = changes();
  std::unordered_set<std::uint32_t> sums{0};
  for (std::size_t i = 0; i < change.size(); ++i) {
    EXPECT_EQ(std::popcount(change[i]) % 2, 1) << i;
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_TRUE(sums.insert(change[i] ^ change[j]).second) << "a sum of two is that of two others";
  }
}

// 32 consecutive bits have no sum of zero: their effects are linearly independent.
TEST(Crc32, NoticesABurstOf32BitsInAFrame) {
  const auto change = changes();
  for (std::size_t from = 0; from + 32 <= change.size(); ++from) {
    std::array<std::uint32_t, 32> basis{};  ///< by the highest bit
    for (std::size_t i = from; i < from + 32; ++i) {
      std::uint32_t rest = change[i];
      while (rest && basis[std::bit_width(rest) - 1u]) rest ^= basis[std::bit_width(rest) - 1u];
      ASSERT_NE(rest, 0u) << "bits " << from << " to " << i;
      basis[std::bit_width(rest) - 1u] = rest;
    }
  }
}

}  // namespace
}  // namespace thalweg
