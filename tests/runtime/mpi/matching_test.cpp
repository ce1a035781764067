// SPDX-License-Identifier: Apache-2.0
// Does a mailbox match by MPI's rules: in the order of sending, in the order of posting, including wildcards and
// probes?
#include "mpi/server/matching.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace thalweg::mpi {
namespace {

class MailboxTest : public testing::Test {
 protected:
  using Pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

  void arrive(std::uint64_t id, std::int32_t source, std::int32_t tag, Time at = 0, std::uint32_t communicator = 1) {
    mailbox.arrive({.id = id, .communicator = communicator, .source = source, .tag = tag, .arrived = at}, serve());
  }
  void post(std::uint64_t id, std::int32_t source, std::int32_t tag, bool takes = true) {
    mailbox.post({.id = id, .communicator = 1, .source = source, .tag = tag, .takes = takes}, serve());
  }
  Mailbox::Serve serve() {
    return [this](const Post& post, const Message& message) { served.emplace_back(post.id, message.id); };
  }

  Mailbox mailbox;
  Pairs served;  ///< (post, message)
};

TEST_F(MailboxTest, ReceivesOfOneKeyGetMessagesInTheOrderOfSending) {
  arrive(1, 0, 5);
  arrive(2, 0, 5);
  post(10, 0, 5);
  post(11, 0, 5);
  post(12, 0, 5);
  arrive(3, 0, 5);
  EXPECT_EQ(served, (Pairs{{10, 1}, {11, 2}, {12, 3}}));
}

TEST_F(MailboxTest, TheFirstPostThatAcceptsGetsTheMessage) {
  post(10, kAny, 5);
  post(11, 0, kAny);
  post(12, 0, 5);
  arrive(1, 0, 6);
  arrive(2, 0, 5);
  arrive(3, 0, 5);
  EXPECT_EQ(served, (Pairs{{11, 1}, {10, 2}, {12, 3}}));
}

TEST_F(MailboxTest, AWildcardTakesTheEarliestArrival) {
  arrive(1, 3, 9);
  arrive(2, 2, 5);
  arrive(3, 1, 5);
  post(10, kAny, 5);
  post(11, kAny, kAny);
  EXPECT_EQ(served, (Pairs{{10, 2}, {11, 1}}));
}

TEST_F(MailboxTest, CommunicatorsDoNotMix) {
  arrive(1, 0, 5, 0, 2);
  post(10, kAny, kAny);
  EXPECT_TRUE(served.empty());
}

TEST_F(MailboxTest, AProbeLeavesTheMessageForTheReceivePostedAfterIt) {
  post(10, kAny, kAny, false);
  post(11, 0, 5);
  arrive(1, 0, 5);
  EXPECT_EQ(served, (Pairs{{10, 1}, {11, 1}}));
  arrive(2, 0, 6);
  post(12, 0, 6, false);
  post(13, 0, 6);
  EXPECT_EQ(served, (Pairs{{10, 1}, {11, 1}, {12, 2}, {13, 2}}));
}

TEST_F(MailboxTest, ATryDoesNotSeeWhatArrivesLater) {
  arrive(1, 0, 5, 100);
  EXPECT_FALSE(mailbox.try_post({.id = 10, .communicator = 1, .at = 99}, serve()));
  EXPECT_TRUE(mailbox.try_post({.id = 11, .communicator = 1, .at = 100}, serve()));
  EXPECT_EQ(served, (Pairs{{11, 1}}));
}

TEST_F(MailboxTest, AWithdrawnPostGetsNothing) {
  post(10, 0, 5);
  EXPECT_TRUE(mailbox.withdraw(10));
  EXPECT_FALSE(mailbox.withdraw(10));
  arrive(1, 0, 5);
  post(11, 0, 5);
  EXPECT_EQ(served, (Pairs{{11, 1}}));
}

}  // namespace
}  // namespace thalweg::mpi
