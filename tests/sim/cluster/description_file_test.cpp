// SPDX-License-Identifier: Apache-2.0
// Are descriptions of clusters read as they are written, and wrong lines reported with their number?
#include "cluster/description_file.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>
#include <string>

namespace thalweg {
namespace {

Description read(const std::string& text) {
  std::istringstream from(text);
  return read_description(from, "file");
}

constexpr const char* kStart = "ticks_per_second 750\nnode \"hub\" \"node 0 (a \\\"b\\\")\"\n";

TEST(DescriptionFile, HasClocksNodesLinksAndValues) {
  const auto made = read(std::string("clock \"net\" 3 1\n") + kStart +
                         "  \"b\" bool 1\n  \"i\" int -7\n  \"r\" real 2.5\n  \"t\" text \"sum float32\"\n"
                         "  \"is\" ints 1 2\n  \"none\" ints\n  \"ts\" texts \"x y\" \"z\"\n"
                         "link \"pcie\" \"link 0\" 0 1 2 3\n  \"ns\" real 140.0\n");
  EXPECT_EQ(made.ticks_per_second, 750);
  ASSERT_EQ(made.clocks.size(), 1);
  EXPECT_EQ(made.clocks[0].name, "net");
  EXPECT_EQ(made.clocks[0].clock.period, 3);
  EXPECT_EQ(made.clocks[0].clock.phase, 1);
  ASSERT_EQ(made.nodes.size(), 1);
  EXPECT_EQ(made.nodes[0].kind, "hub");
  const auto& values = made.nodes[0].values;
  EXPECT_EQ(values.of(), "node 0 (a \"b\")");
  EXPECT_TRUE(values.get<bool>("b"));
  EXPECT_EQ(values.get<int>("i"), -7);
  EXPECT_EQ(values.get<double>("r"), 2.5);
  EXPECT_EQ(values.get<std::string>("t"), "sum float32");
  EXPECT_EQ(values.get<std::vector<std::int64_t>>("is"), (std::vector<std::int64_t>{1, 2}));
  EXPECT_TRUE(values.get<std::vector<std::int64_t>>("none").empty());
  EXPECT_EQ(values.get<std::vector<std::string>>("ts"), (std::vector<std::string>{"x y", "z"}));
  ASSERT_EQ(made.links.size(), 1);
  const auto& link = made.links[0];
  EXPECT_EQ(link.kind, "pcie");
  EXPECT_EQ((std::array{link.node_a, link.port_a, link.node_b, link.port_b}), (std::array<unsigned, 4>{0, 1, 2, 3}));
  EXPECT_EQ(link.values.get<double>("ns"), 140.0);
}

TEST(DescriptionFile, ReportsWrongLines) {
  const auto said = [](const std::string& text) -> std::string {
    try {
      static_cast<void>(read(text));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  const std::string start = kStart;
  EXPECT_TRUE(said(start + "  \"x\" int y\n").starts_with("file:3: not a whole number"));
  EXPECT_TRUE(said(start + "  \"x\" float 1\n").starts_with("file:3: type float is not"));
  EXPECT_TRUE(said(start + "  \"x\" int 1 2\n").starts_with("file:3: more words than expected"));
  EXPECT_TRUE(said(start + "  \"x\" ints 1 y\n").starts_with("file:3: not whole numbers"));
  EXPECT_TRUE(said(start + "cable\n").starts_with("file:3: cable is not"));
  EXPECT_TRUE(said(start + "link \"pcie\" \"link 0\" 0 1 2\n").starts_with("file:3: not a node or port"));
  EXPECT_TRUE(said("  \"x\" int 1\n").starts_with("file:1: a value without a node or link"));
  EXPECT_TRUE(said("ticks_per_second 750\n").starts_with("file: a description has ticks_per_second and nodes"));
  EXPECT_THROW(static_cast<void>(load_description("/nowhere/x")), std::invalid_argument);
}

}  // namespace
}  // namespace thalweg
