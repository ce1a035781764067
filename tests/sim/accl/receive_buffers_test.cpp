// SPDX-License-Identifier: Apache-2.0
// What becomes of packets of a message that has been taken in part, or whose segments come in another order.
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

}  // namespace
}  // namespace thalweg::accl
