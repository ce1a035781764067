// SPDX-License-Identifier: Apache-2.0
// Ends of a link that are reset alone, under traffic and faults: no word arrives twice, no word is lost unless both
// ends report it, and the link always recovers.
#include <gtest/gtest.h>

#include "restarted_link.hpp"

namespace thalweg {
namespace {

struct Case {
  FlowControl flow;
  bool both;  ///< the other end is reset shortly after, too
};

class Restart : public testing::TestWithParam<Case> {};

// 1,000 restarts in all.
TEST_P(Restart, LosesNothingUnsaidAndComesBack) {
  std::mt19937_64 random(test_seed());
  const RestartedLink<LinkEnd>::MakeEnd make = [](std::uint64_t) {
    return LinkEnd(restart_format(GetParam().flow), kRestartWindow, Port::kSlack, kRestartDown);
  };
  const Restarts seen = restart_links<LinkEnd>(250, GetParam().flow, GetParam().both, random, make);
  EXPECT_GE(seen.resets, 250u);
  EXPECT_GT(seen.words, 1000u);
  EXPECT_GT(seen.cut, 10u);
  EXPECT_GT(seen.power, 0u);
}

INSTANTIATE_TEST_SUITE_P(Links, Restart,
                         testing::Values(Case{FlowControl::credits, false}, Case{FlowControl::credits, true},
                                         Case{FlowControl::margin, false}, Case{FlowControl::margin, true}));

// End 0 alone is reset after some words, and sends 1,000 others: they all arrive, once, after an error at both ends.
TEST(Restart, OfOneEndIsNoticed) {
  for (const unsigned before : {3u, 300u}) {
    LossyLink link({}, 256, 8, 0, 0);
    for (LinkEnd& end : link.ends) end.reset();
    std::array<unsigned, 2> errors{};
    std::uint64_t given = 0, got = 0;
    const auto run = [&](std::uint64_t until) {
      for (unsigned t = 0; t < 3000; ++t) {
        if (const LinkWord* word = link.ends[1].received()) EXPECT_EQ((*word)[0], got++);
        const LinkWord word{given};
        const bool gives = given < until && link.ends[0].ready();
        link.cycle({gives ? &word : nullptr, nullptr});
        given += gives;
        for (unsigned i = 0; i < 2; ++i) errors[i] += link.ends[i].lost();
      }
    };
    run(before);
    EXPECT_EQ(got, before);
    EXPECT_EQ(errors, (std::array{0u, 0u}));
    link.ends[0].reset();
    given = got = 0;
    run(1000);
    EXPECT_EQ(got, 1000u);
    EXPECT_EQ(errors, (std::array{1u, 1u}));
  }
}

}  // namespace
}  // namespace thalweg
