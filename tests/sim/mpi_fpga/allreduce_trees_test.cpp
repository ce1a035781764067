// SPDX-License-Identifier: Apache-2.0
// Do the trees span the torus, does no link carry two of them in the same direction, and are they as shallow as the
// torus permits?
#include "mpi_fpga/planners/allreduce_trees.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace thalweg::mpi_fpga::test {
namespace {

/// Ports 2 d and 2 d + 1 lead up and down in dimension d.
PortGraph torus_graph(const std::vector<unsigned>& sides) {
  std::uint32_t vertices = 1;
  for (const unsigned side : sides) vertices *= side;
  PortGraph graph(vertices, 2 * static_cast<unsigned>(sides.size()));
  for (std::uint32_t vertex = 0; vertex < vertices; ++vertex) {
    std::uint32_t stride = 1;
    for (unsigned d = 0; d < sides.size(); stride *= sides[d++]) {
      const std::uint32_t at = vertex / stride % sides[d];
      const std::uint32_t next = vertex - at * stride + (at + 1) % sides[d] * stride;
      graph.peer(vertex, 2 * d) = {next, 2 * d + 1};
      graph.peer(next, 2 * d + 1) = {vertex, 2 * d};
    }
  }
  return graph;
}

/// Links from the root to the farthest vertex; checks that every vertex has a path to the one root.
unsigned levels(const PortGraph& graph, const Parents& tree) {
  EXPECT_EQ(std::ranges::count(tree, kRoot), 1);
  unsigned deepest = 0;
  for (std::uint32_t vertex = 0; vertex < graph.vertices; ++vertex) {
    unsigned links = 0;
    for (std::uint32_t at = vertex; tree[at] != kRoot && links <= graph.vertices; ++links)
      at = graph.peer(at, tree[at]).vertex;
    EXPECT_LE(links, graph.vertices) << "a way that never ends";
    deepest = std::max(deepest, links);
  }
  return deepest;
}

TEST(AllreduceTrees, ShareNoLinkAndAreAsDeepAsTheDiameter) {
  struct Case {
    std::vector<unsigned> sides;
    unsigned diameter;
  };
  for (const auto& [sides, diameter] : {Case{{4, 4}, 4}, {{8, 8}, 8}, {{4, 4, 4}, 6}, {{5, 5}, 4}, {{3, 3, 3}, 3}}) {
    const PortGraph graph = torus_graph(sides);
    const auto given = disjoint_trees(graph, 0);
    const auto trees = allreduce_trees(graph, given, {.link = 122, .combine = 14});
    ASSERT_EQ(trees.size(), given.size());
    std::set<std::pair<std::uint32_t, unsigned>> taken;  // a link in one direction, identified by its input port
    for (const Parents& tree : trees) {
      EXPECT_EQ(levels(graph, tree), diameter);
      for (std::uint32_t vertex = 0; vertex < graph.vertices; ++vertex)
        EXPECT_TRUE(tree[vertex] == kRoot || taken.emplace(vertex, tree[vertex]).second) << "two trees over one link";
    }
  }
}

TEST(AllreduceTrees, NeverGetDeeper) {
  for (const auto& sides : {std::vector{4u, 8u}, {4u, 4u, 8u}, {3u, 7u}, {3u, 4u, 5u}, {6u, 10u}}) {
    const PortGraph graph = torus_graph(sides);
    const auto given = disjoint_trees(graph, 0);
    const auto deepest = [&](const std::vector<Parents>& trees) {
      unsigned most = 0;
      for (const Parents& tree : trees) most = std::max(most, levels(graph, tree));
      return most;
    };
    EXPECT_LE(deepest(allreduce_trees(graph, given, {.link = 122})), deepest(given));
  }
}

/// Downward traffic shares links with upward traffic and waits for it, so the paths before and after a shared link
/// should be short.
TEST(AllreduceTrees, LeaveLittleToMeet) {
  const PortGraph graph = torus_graph({8, 8});
  const auto trees = allreduce_trees(graph, disjoint_trees(graph, 0), {.link = 122, .combine = 14});
  std::vector<std::vector<unsigned>> height(trees.size(), std::vector<unsigned>(graph.vertices));
  for (std::size_t i = 0; i < trees.size(); ++i)
    for (std::uint32_t vertex = 0; vertex < graph.vertices; ++vertex) {
      unsigned links = 0;
      for (std::uint32_t at = vertex; trees[i][at] != kRoot; height[i][at] = std::max(height[i][at], links)) {
        at = graph.peer(at, trees[i][at]).vertex;
        ++links;
      }
    }
  unsigned longest = 0;
  for (std::size_t up = 0; up < trees.size(); ++up)
    for (std::uint32_t vertex = 0; vertex < graph.vertices; ++vertex) {
      if (trees[up][vertex] == kRoot) continue;
      const PortGraph::End above = graph.peer(vertex, trees[up][vertex]);
      for (std::size_t down = 0; down < trees.size(); ++down)
        if (trees[down][above.vertex] == above.port)
          longest = std::max(longest, height[up][vertex] + 1 + height[down][vertex]);
    }
  EXPECT_LE(longest, 8u + 1) << "links up to the link's end and down from its beginning; the diameter is 8";
}

TEST(AllreduceTrees, OfARingBeginInItsMiddle) {
  const PortGraph graph = torus_graph({8});
  for (const Parents& tree : allreduce_trees(graph, disjoint_trees(graph, 0), {.link = 122}))
    EXPECT_EQ(levels(graph, tree), 4u);
}

}  // namespace
}  // namespace thalweg::mpi_fpga::test
