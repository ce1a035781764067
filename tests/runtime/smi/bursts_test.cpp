// SPDX-License-Identifier: Apache-2.0
// Are adjacent accesses merged into a burst, and others not?
#include "smi/bursts.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <tuple>
#include <vector>

namespace thalweg::smi {
namespace {

using Asked = std::vector<std::tuple<std::uint64_t, std::uint64_t, bool>>;  ///< address, bytes, writes

struct Units {
  Bursts bursts{64};
  Asked asked{};

  auto to() {
    return
        [this](std::uint64_t address, std::uint64_t bytes, bool writes) { asked.emplace_back(address, bytes, writes); };
  }
  void use(std::uint64_t address, std::uint64_t bytes = 4, bool writes = false) {
    bursts.use(address, bytes, writes, to());
  }
  Asked all() {
    bursts.end(to());
    return asked;
  }
};

TEST(Bursts, AStreamIsAskedForBlockByBlock) {
  Units up, down, wide;
  for (std::uint64_t at = 256; at < 3000; at += 4) up.use(at);
  EXPECT_EQ(up.all(), (Asked{{256, 768, false}, {1024, 1024, false}, {2048, 952, false}}));
  for (std::uint64_t at = 2048; at > 0; at -= 4) down.use(at - 4);
  EXPECT_EQ(down.all(), (Asked{{1024, 1024, false}, {0, 1024, false}}));
  wide.use(1000, 2048);
  EXPECT_EQ(wide.all(), (Asked{{1000, 24, false}, {1024, 1024, false}, {2048, 1000, false}}));
}

TEST(Bursts, LoadsAndStoresBetweenEachOtherAreTwoStreams) {
  Units units;
  for (std::uint64_t at = 0; at < 1024; at += 4) {
    units.use(at);
    units.use(at, 4, true);
    units.use(1 << 20 | at);
  }
  EXPECT_EQ(units.all(), (Asked{{0, 1024, false}, {0, 1024, true}, {1 << 20, 1024, false}}));
}

TEST(Bursts, WordsWithoutAGapAreOneBurst) {
  Units near, far;
  for (std::uint64_t i = 0; i < 4; ++i) near.use(64 * i + 60), far.use(128 * i);
  EXPECT_EQ(near.all(), (Asked{{60, 196, false}}));
  EXPECT_EQ(far.all(), (Asked{{0, 4, false}, {128, 4, false}, {256, 4, false}, {384, 4, false}}));
}

TEST(Bursts, ScatteredLoadsAreAskedForOneByOneInTheirOrder) {
  Units units;
  for (std::uint64_t i = 0; i < 40; ++i) units.use(5000 * i);
  EXPECT_EQ(units.asked.size(), 40 - Bursts::kOpen);
  for (std::uint64_t i = 0; i < units.asked.size(); ++i) EXPECT_EQ(std::get<0>(units.asked[i]), 5000 * i);
  EXPECT_EQ(units.all().size(), 40u);
}

/// The last load of a block that a stream has left is not requested again.
TEST(Bursts, AStreamThatSkipsTheEndOfABlockGoesOnInTheNext) {
  Units units;
  for (std::uint64_t at = 0; at < 2048; at += 8) units.use(at);
  EXPECT_EQ(units.all(), (Asked{{0, 1020, false}, {1024, 1020, false}}));
}

}  // namespace
}  // namespace thalweg::smi
