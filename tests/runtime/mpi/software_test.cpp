// SPDX-License-Identifier: Apache-2.0
// Do the messages of each software algorithm deliver to every rank the data that the collective requires?
#include "mpi/server/software.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <vector>

namespace thalweg::mpi {
namespace {

using Known = std::vector<std::set<std::uint32_t>>;

/// The ranks whose data each rank can have after the rounds, if every message carries all data of its sender at the
/// start of the round.
Known known_after(const Rounds& rounds, std::uint32_t ranks) {
  Known known(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) known[rank] = {rank};
  for (const auto& round : rounds) {
    const Known before = known;
    for (const Transfer& transfer : round)
      known[transfer.destination].insert(before[transfer.source].begin(), before[transfer.source].end());
  }
  return known;
}

std::uint64_t bytes_into(const Rounds& rounds, std::uint32_t rank) {
  std::uint64_t bytes = 0;
  for (const auto& round : rounds)
    for (const Transfer& transfer : round)
      if (transfer.destination == rank) bytes += transfer.bytes;
  return bytes;
}

class SoftwareTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  std::uint32_t ranks = GetParam();
  std::uint32_t root = ranks / 3;
  Rounds rounds(Pattern pattern) { return software_rounds({pattern, ranks, root, 100, {}}); }
};

TEST_P(SoftwareTest, EverybodyHearsOfEverybody) {
  for (const Pattern pattern :
       {Pattern::barrier, Pattern::allreduce, Pattern::allgather, Pattern::alltoall, Pattern::reduce_scatter})
    for (const auto& known : known_after(rounds(pattern), ranks)) EXPECT_EQ(known.size(), ranks);
}

TEST_P(SoftwareTest, TheRootHearsOfEverybodyOrIsHeard) {
  for (const Pattern pattern : {Pattern::reduce, Pattern::gather})
    EXPECT_EQ(known_after(rounds(pattern), ranks)[root].size(), ranks);
  for (const Pattern pattern : {Pattern::broadcast, Pattern::scatter})
    for (const auto& known : known_after(rounds(pattern), ranks)) EXPECT_TRUE(known.contains(root));
}

TEST_P(SoftwareTest, AScanHearsOfThoseBelow) {
  const Known known = known_after(rounds(Pattern::scan), ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    EXPECT_EQ(known[rank].size(), rank + 1);
    EXPECT_EQ(*known[rank].rbegin(), rank);
  }
}

TEST_P(SoftwareTest, BlocksAreCarriedOnce) {
  EXPECT_EQ(bytes_into(rounds(Pattern::gather), root), 100U * (ranks - 1));
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    EXPECT_EQ(bytes_into(rounds(Pattern::allgather), rank), 100U * (ranks - 1));
    EXPECT_EQ(bytes_into(software_rounds({Pattern::alltoall, ranks, 0, 1000, {}}), rank), 1000U * (ranks - 1));
    EXPECT_EQ(bytes_into(rounds(Pattern::broadcast), rank), rank == root ? 0U : 100U);
  }
}

/// For short blocks among eight ranks or more, every block passes each 1 bit of its distance in a separate message.
TEST_P(SoftwareTest, ShortBlocksTakeAsManyRoundsAsWaysHaveBits) {
  const Rounds short_blocks = rounds(Pattern::alltoall);
  if (ranks < 8) {
    EXPECT_EQ(short_blocks.size(), ranks - 1);
    return;
  }
  EXPECT_EQ(short_blocks.size(), static_cast<std::size_t>(std::bit_width(ranks - 1)));
  std::uint64_t passages = 0;
  for (std::uint32_t way = 1; way < ranks; ++way) passages += static_cast<std::uint64_t>(std::popcount(way));
  for (std::uint32_t rank = 0; rank < ranks; ++rank) EXPECT_EQ(bytes_into(short_blocks, rank), 100 * passages);
}

TEST_P(SoftwareTest, ListsAreCarriedToTheirPeers) {
  SoftwareCall call{Pattern::alltoall_list, ranks, 0, 0, std::vector<std::vector<ListEntry>>(ranks)};
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    for (std::uint32_t peer = 0; peer < ranks; ++peer) call.lists[rank].push_back({peer, rank + peer});
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::uint64_t expected = 0;
    for (std::uint32_t peer = 0; peer < ranks; ++peer) expected += peer == rank ? 0 : rank + peer;
    EXPECT_EQ(bytes_into(software_rounds(call), rank), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, SoftwareTest, testing::Values(2, 3, 4, 5, 7, 8, 13, 16, 33));

}  // namespace
}  // namespace thalweg::mpi
