// SPDX-License-Identifier: Apache-2.0
// Packets of a message that has been partly taken, or whose segments arrive out of order.
#include "accl/receive_buffers.hpp"

#include <gtest/gtest.h>

#include "thalweg_accl_spec.hpp"

namespace thalweg::accl {
namespace {

using Verdict = ReceiveBuffers::Verdict;
constexpr std::uint32_t kSegmentBytes = 512;

class Buffers : public testing::Test {
 protected:
  Buffers() { all.configure({0, 4096, 8192, 12'288}, kSegmentBytes); }

  /// A packet of a message of three segments, of one packet each.
  Verdict place(unsigned segment) {
    const spec::AcclPacket packet{.length = 3 * kSegmentBytes,
                                  .offset = std::uint64_t{segment} * kSegmentBytes,
                                  .segment = std::uint64_t{segment} * kSegmentBytes,
                                  .segment_length = kSegmentBytes};
    ReceiveBuffers::Segment* to = nullptr;
    return all.place(channel, packet, kSegmentBytes, to);
  }

  ReceiveBuffers all;
  Channel channel{};
};

TEST_F(Buffers, OfAMessageWithoutSegmentsPacketsAreStillKnown) {
  ASSERT_EQ(place(0), Verdict::kept);
  ASSERT_TRUE(all.claim(channel, kAnyTag));
  all.release(channel, 0);
  EXPECT_EQ(place(0), Verdict::repeated);
  EXPECT_EQ(all.in_use(), 0);
  EXPECT_EQ(place(1), Verdict::kept);
  EXPECT_EQ(all.in_use(), 1);
}

TEST_F(Buffers, SegmentsComeInAnyOrder) {
  ASSERT_EQ(place(2), Verdict::kept);
  EXPECT_EQ(place(0), Verdict::kept);
  EXPECT_EQ(place(1), Verdict::kept);
  ASSERT_TRUE(all.claim(channel, kAnyTag));
  for (unsigned segment = 0; segment < 3; ++segment) {
    ASSERT_EQ(ReceiveBuffers::next(all.message(channel, 0))->offset, segment * kSegmentBytes);
    all.release(channel, 0);
  }
  EXPECT_EQ(ReceiveBuffers::next(all.message(channel, 0)), nullptr);
  EXPECT_EQ(all.in_use(), 0);
}

TEST_F(Buffers, WhatIsHeldAndWhatIsMissingIsSaid) {
  ReceiveBuffers::Segment* to = nullptr;
  const auto come = [&](std::uint16_t source, std::uint32_t number, std::uint32_t tag) {
    const spec::AcclPacket packet{.tag = tag, .number = number, .length = 8, .segment_length = 8};
    ASSERT_EQ(all.place({7, source}, packet, 8, to), Verdict::kept);
  };
  EXPECT_EQ(all.held(7), "");
  EXPECT_EQ(all.behind_missing({7, 2}), 0);
  come(2, 0, 5);
  EXPECT_EQ(all.held(7), "1 message from rank 2 with tag 5");
  EXPECT_EQ(all.behind_missing({7, 2}), 0);
  come(2, 2, 6);
  come(2, 4, kAnyTag);
  come(3, 0, 9);
  EXPECT_EQ(all.held(8),
            "3 messages from rank 2 of another communicator with tags 5, 6, any, "
            "1 message from rank 3 of another communicator with tag 9");
  EXPECT_EQ(all.behind_missing({7, 2}), 2);
  ASSERT_EQ(all.claim({7, 2}, 5), 0U);
  all.finish({7, 2}, 0);
  EXPECT_EQ(all.behind_missing({7, 2}), 2);
  EXPECT_EQ(all.behind_missing({7, 3}), 0);
}

}  // namespace
}  // namespace thalweg::accl
