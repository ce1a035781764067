// CRC-32C against its published values, and what it promises for the frames of a link.
#include "common/crc32.hpp"

#include <gtest/gtest.h>

#include <unordered_set>

namespace thalweg {
namespace {

// RFC 3720, B.4: 32 bytes of zeros, of ones, and counting up; and the check value of the catalogue of CRCs, "123456789".
TEST(Crc32, HasThePublishedValues) {
  EXPECT_EQ(crc32(std::array<std::uint64_t, 4>{}, 256), 0x8A9136AAu);
  EXPECT_EQ(crc32(std::array<std::uint64_t, 4>{~0ull, ~0ull, ~0ull, ~0ull}, 256), 0x62A8AB43u);
  EXPECT_EQ(crc32(std::array<std::uint64_t, 4>{0x0706050403020100, 0x0F0E0D0C0B0A0908, 0x1716151413121110,
                                               0x1F1E1D1C1B1A1918},
                  256),
            0x46DD794Eu);
  EXPECT_EQ(crc32(std::array<std::uint64_t, 2>{0x3837363534333231, 0x39}, 72), 0xE3069283u);
}

// Up to five wrong bits anywhere in a frame of at most 384 bits, CRC included, are noticed. A CRC is affine, so that an error
// is missed if and only if what its bits change is nothing in sum. No two bits and no three or four do, if all sums of two
// differ, and no odd number does if each bit changes an odd number of bits.
TEST(Crc32, NoticesFiveWrongBitsInAFrame) {
  constexpr unsigned kBits = 384 - 32;
  using Words = std::array<std::uint64_t, 6>;
  std::vector<std::uint32_t> changes;
  for (unsigned bit = 0; bit < kBits; ++bit) {
    Words words{};
    words[bit / 64] = std::uint64_t{1} << (bit % 64);
    changes.push_back(crc32(words, kBits) ^ crc32(Words{}, kBits));
  }
  for (unsigned bit = 0; bit < 32; ++bit) changes.push_back(1u << bit);
  std::unordered_set<std::uint32_t> sums;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    EXPECT_EQ(std::popcount(changes[i]) % 2, 1) << i;
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_TRUE(sums.insert(changes[i] ^ changes[j]).second) << "a sum of two is that of two others";
  }
  EXPECT_FALSE(sums.contains(0));
}

}  // namespace
}  // namespace thalweg
