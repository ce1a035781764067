// SPDX-License-Identifier: Apache-2.0
// Do the windows of rings lead to every node, and is what leads round refused?
#include "peach2/driver/routes.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace thalweg::peach2 {
namespace {

constexpr std::uint32_t kAllPages = (1U << 27) - 1;

std::uint32_t page_of(unsigned node, unsigned gigabyte) {
  return (node * kGigabytes + gigabyte) << (kBaseShift - kPageBits);
}
std::string refusal(const Wiring& wiring, const Tables& tables) {
  try {
    check_windows(wiring, tables);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Routes, EveryNodeIsReachedFromEveryNode) {
  for (const unsigned count : {1u, 2u})
    for (unsigned nodes = 1; count * nodes <= kMostNodes; ++nodes) {
      const auto wiring = rings(count, nodes);
      const auto tables = windows_of_rings(count, nodes);
      EXPECT_EQ(refusal(wiring, tables), "");
      for (unsigned from = 0; from < count * nodes; ++from)
        for (unsigned to = 0; to < count * nodes; ++to) {
          EXPECT_EQ(way(wiring, tables, from, page_of(to, 0)).back(), (PortOf{to, kNorth}));
          EXPECT_EQ(way(wiring, tables, from, page_of(to, kGigabytes - 1)).back(), (PortOf{to, kBus}));
          EXPECT_LE(way(wiring, tables, from, page_of(to, 0)).size(), nodes + 1);
        }
    }
}

TEST(Routes, NoWayGoesThroughNodeZeroOfARing) {
  constexpr unsigned kNodes = 8;
  const auto wiring = rings(1, kNodes);
  const auto tables = windows_of_rings(1, kNodes);
  for (unsigned from = 1; from < kNodes; ++from)
    for (unsigned to = 1; to < kNodes; ++to)
      for (const auto& port : way(wiring, tables, from, page_of(to, 0))) EXPECT_NE(port.node, 0u);
}

TEST(Routes, AWindowThatLeadsRoundForEverIsRefused) {
  const auto wiring = rings(1, 4);
  auto tables = windows_of_rings(1, 4);
  for (auto& table : tables)
    table.push_back({true, kEast, kAllPages, page_of(9, 0), page_of(9, 0)});  // there is no node 9
  EXPECT_NE(refusal(wiring, tables).find("windows lead round: from hub 0"), std::string::npos)
      << refusal(wiring, tables);
  tables.back().pop_back();  // ends where no window has it
  EXPECT_EQ(refusal(wiring, tables), "");
}

TEST(Routes, ACircleOfWaitsIsRefusedThoughEveryWayEnds) {
  constexpr unsigned kNodes = 4;
  const auto wiring = rings(1, kNodes);
  Tables tables(kNodes);
  for (unsigned node = 0; node < kNodes; ++node) {
    const auto whole = [&](unsigned to, unsigned of) {
      tables[node].push_back({true, to, kAllPages, page_of(of, 0), page_of(of, kGigabytes - 1) + (1U << 18) - 1});
    };
    whole(kNorth, node);
    for (unsigned of = 0; of < kNodes; ++of)
      if (of != node) whole(kEast, of);
  }
  for (unsigned from = 0; from < kNodes; ++from)
    for (unsigned to = 0; to < kNodes; ++to)
      EXPECT_EQ(way(wiring, tables, from, page_of(to, 0)).back(), (PortOf{to, kNorth}));
  EXPECT_EQ(refusal(wiring, tables),
            "windows let packets wait for each other in a circle: east of hub 0, east of hub 1, east of hub 2, east of "
            "hub 3, "
            "and again");
}

TEST(Routes, AMaskThatMakesNoRangeIsRefused) {
  const auto wiring = rings(1, 2);
  auto tables = windows_of_rings(1, 2);
  tables[1][0].mask = kAllPages & ~4u;
  EXPECT_NE(refusal(wiring, tables).find("window 0 of hub 1: its mask"), std::string::npos);
}

TEST(Routes, WindowsThatDoNotFitTheirRegisterOrLeadNowhereAreRefused) {
  const auto wiring = rings(1, 2);
  const auto refused = [&](const Window& window) {
    auto tables = windows_of_rings(1, 2);
    tables[1].push_back(window);
    return refusal(wiring, tables);
  };
  const std::uint32_t page = page_of(9, 0);
  const std::string of = "window 2 of hub 1: ";
  EXPECT_EQ(refused({true, kNorth, kAllPages, page, page}), "");
  EXPECT_EQ(refused({false, 9, ~0u, 7, 5}), "");  // not used
  EXPECT_EQ(refused({true, 8 + kNorth, kAllPages, page, page}),
            of + "port 8; give it one of north 0, east 1, west 2, south 3, bus 4");
  EXPECT_NE(refused({true, kEngine, kAllPages, page, page}).find(of + "port 5"), std::string::npos);
  EXPECT_EQ(refused({true, kSouth, kAllPages, page, page}),
            of + "it leads out of south of hub 1, which is joined to nothing");
  EXPECT_NE(refused({true, kNorth, kAllPages + 1, page, page}).find(of + "its mask"), std::string::npos);
  EXPECT_NE(refused({true, kNorth, kAllPages, kAllPages + 1, kAllPages + 2}).find(of + "its lower bound"),
            std::string::npos);
  EXPECT_NE(refused({true, kNorth, kAllPages, page, page + kAllPages + 1}).find(of + "its upper bound"),
            std::string::npos);
  EXPECT_NE(refused({true, kNorth, kAllPages, page, page - 1}).find(of + "no page lies in it"), std::string::npos);
  EXPECT_NE(refused({true, kNorth, kAllPages & ~7u, page + 1, page + 7}).find(of + "no page lies in it"),
            std::string::npos);
}

TEST(Routes, TooManyNodesAreRefused) {
  EXPECT_THROW(static_cast<void>(rings(1, 17)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(rings(2, 9)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(rings(3, 2)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(rings(1, 0)), std::invalid_argument);
}

}  // namespace
}  // namespace thalweg::peach2
