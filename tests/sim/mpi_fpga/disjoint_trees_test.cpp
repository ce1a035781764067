// SPDX-License-Identifier: Apache-2.0
// Are there as many trees as the graph's cuts permit, do they span it, and does no link carry two of them in the same
// direction?
#include "mpi_fpga/planners/disjoint_trees.hpp"

#include <bit>
#include <set>

#include "oracle.hpp"

namespace thalweg::mpi_fpga::test {
namespace {

using spec::Algorithm, spec::Collective, spec::Datatype, spec::Operator;

PortGraph grid(const std::vector<unsigned>& sides) {
  const FabricConfig config = cluster(sides);
  const Graph graph(config);
  PortGraph result(config.nodes, graph.ports());
  for (NodeId node = 0; node < config.nodes; ++node)
    for (unsigned port = 0; port < graph.ports(); ++port)
      if (const Graph::End end = graph.peer(node, port); end.node != Graph::kNone)
        result.peer(node, port) = {end.node, end.port};
  return result;
}

/// Links on the path from each vertex to the root; checks that the path exists and uses links of the graph.
std::vector<unsigned> depths(const PortGraph& graph, const Parents& parents, std::uint32_t root) {
  std::vector<unsigned> result;
  for (std::uint32_t vertex = 0; vertex < graph.vertices; ++vertex) {
    unsigned depth = 0;
    for (std::uint32_t at = vertex; at != root && depth <= graph.vertices; ++depth) {
      EXPECT_LT(parents[at], graph.ports);
      at = graph.peer(at, parents[at]).vertex;
    }
    EXPECT_LE(depth, graph.vertices) << "a way that never ends";
    result.push_back(depth);
  }
  EXPECT_EQ(parents[root], kRoot);
  return result;
}

void check(const PortGraph& graph, const std::vector<Parents>& trees, std::uint32_t root) {
  std::set<std::pair<std::uint32_t, unsigned>> taken;  // a link in one direction, identified by its input port
  for (const Parents& parents : trees) {
    depths(graph, parents, root);
    for (std::uint32_t vertex = 0; vertex < graph.vertices; ++vertex)
      EXPECT_TRUE(vertex == root || taken.emplace(vertex, parents[vertex]).second) << "two trees over one link";
  }
}

TEST(DisjointTrees, ATorusHasAsManyAsLinksAtANodeAndTheyAreShallow) {
  struct Case {
    std::vector<unsigned> sides;
    unsigned diameter;
  };
  for (const auto& [sides, diameter] :
       {Case{{4, 4}, 4}, {{8, 8}, 8}, {{4, 4, 4}, 6}, {{5, 3}, 3}, {{8, 4}, 6}, {{4, 4, 8}, 8}, {{3, 3, 3, 3}, 4}}) {
    const PortGraph graph = grid(sides);
    const auto trees = disjoint_trees(graph, 5);
    EXPECT_EQ(trees.size(), 2 * sides.size());
    check(graph, trees, 5);
    for (const Parents& parents : trees) EXPECT_LE(std::ranges::max(depths(graph, parents, 5)), diameter + 3);
  }
}

TEST(DisjointTrees, ARingHasOneEachWayRound) {
  const PortGraph graph = grid({7});
  const auto trees = disjoint_trees(graph, 0);
  ASSERT_EQ(trees.size(), 2u);
  check(graph, trees, 0);
  for (const Parents& parents : trees) EXPECT_EQ(std::ranges::max(depths(graph, parents, 0)), 6u);
}

/// Edmonds: the flow from the root to a vertex is the capacity of the minimum cut between them, and there are as many
/// trees as the root has flow to every vertex. Here all cuts are tried.
TEST(DisjointTrees, AnyGraphHasAsManyAsItsNarrowestCut) {
  std::mt19937_64 random{11};
  for (int i = 0; i < 300; ++i) {
    const auto vertices = static_cast<std::uint32_t>(2 + random() % 7);
    PortGraph graph(vertices, 12);
    std::vector<unsigned> used(vertices);
    for (unsigned links = static_cast<unsigned>(random() % (3 * vertices)) + 1; links > 0; --links) {
      const auto a = static_cast<std::uint32_t>(random() % vertices),
                 b = static_cast<std::uint32_t>(random() % vertices);
      if (a == b || used[a] == graph.ports || used[b] == graph.ports) continue;
      graph.peer(a, used[a]) = {b, used[b]};
      graph.peer(b, used[b]++) = {a, used[a]};
      ++used[a];
    }
    unsigned narrowest = ~0u;
    for (std::uint32_t beyond = 1; beyond < 1u << (vertices - 1); ++beyond) {  // sets of vertices without the root, 0
      unsigned cut = 0;
      for (std::uint32_t vertex = 1; vertex < vertices; ++vertex)
        for (unsigned port = 0; beyond >> (vertex - 1) & 1 && port < used[vertex]; ++port) {
          const std::uint32_t from = graph.peer(vertex, port).vertex;
          cut += from == 0 || !(beyond >> (from - 1) & 1);
        }
      narrowest = std::min(narrowest, cut);
    }
    const auto trees = disjoint_trees(graph, 0);
    EXPECT_EQ(trees.size(), narrowest) << "graph " << i;
    check(graph, trees, 0);
  }
}

/// All roots' trees, as rows of the table hold them: for members that are whole rows of the torus, in any order of
/// ranks.
TEST(DisjointTrees, EveryRankIsTheRootOfTreesThatShareNoLink) {
  FabricConfig config = cluster({4, 3, 5});
  config.grid = {4, 3, 5};
  const Graph graph(config);
  std::vector<NodeId> plane = plane_of_4x3x5();
  const auto groups = Group::by_links(config, graph, plane);
  ASSERT_EQ(groups.size(), 4u);
  for (std::uint32_t root = 0; root < plane.size(); ++root) {
    std::set<std::pair<NodeId, NodeId>> taken;
    for (const Group& group : groups) {
      std::size_t arcs = 0;
      for (const Group::Vertex& vertex : group.vertices()) {
        const Row::Branch branch = vertex.row.rooted(group.label(root));
        EXPECT_EQ(std::popcount(branch.up), vertex.row.rank != root);
        for (unsigned k = 0; k < kMaxEdges; ++k) {
          if (!(branch.down >> k & 1)) continue;
          const Row::Edge& edge = vertex.row.edges[k];
          const Group::Vertex& child = group.vertices()[vertex.peer[k]];
          EXPECT_EQ(child.node, edge.neighbour);
          EXPECT_EQ(child.row.rooted(group.label(root)).up, 1u << edge.there);
          EXPECT_EQ(graph.distances(vertex.node)[child.node], 1u);
          EXPECT_TRUE(taken.emplace(vertex.node, child.node).second) << "two trees over one link";
          ++arcs;
        }
      }
      EXPECT_EQ(arcs, plane.size() - 1);
    }
  }
  plane.pop_back();
  EXPECT_TRUE(Group::by_links(config, graph, plane).empty()) << "not whole rows";
}

/// With m flits and one flit per cycle and link, a broadcast takes at least m / 2n, an allreduce m / n; over one tree,
/// m.
TEST(DisjointTrees, LongOperationsUseAllLinks) {
  FabricConfig config = cluster({4, 4}, 5);
  config.grid = {4, 4};
  config.collective.trees = Trees::by_topology;
  config.collective.long_packet_flits = 64;
  config.router.buffer_flits = 64;
  const auto ticks = [&](Collective collective, Algorithm algorithm, std::uint64_t count) {
    World world(config, Endpoint::kernel);
    std::vector<NodeId> nodes(16);
    std::iota(nodes.begin(), nodes.end(), 0u);
    const ContextId context = world.communicator(nodes);
    std::mt19937_64 random{9};
    Job job = make_job(collective, algorithm, Operator::sum, Datatype::float32, 16, 6, count, random);
    const Tick start = world.fabric.now();
    world.submit(context, job);
    world.run();
    verify(job, world.order(context));
    return static_cast<double>(std::ranges::max(job.done) - start);
  };
  const double flits = 1 << 13;
  const std::uint64_t count = (1 << 13) * 8;
  EXPECT_LT(ticks(Collective::broadcast, Algorithm::trees, count), flits / 4 / 0.78);
  EXPECT_LT(ticks(Collective::reduce, Algorithm::trees, count), flits / 4 / 0.75);
  EXPECT_LT(ticks(Collective::allreduce, Algorithm::trees, count), flits / 2 / 0.78);
  EXPECT_GT(ticks(Collective::allreduce, Algorithm::tree, count), flits) << "the test shows nothing";
}

}  // namespace
}  // namespace thalweg::mpi_fpga::test
