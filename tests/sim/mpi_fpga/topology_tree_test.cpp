// SPDX-License-Identifier: Apache-2.0
// Do trees follow the links: shortest paths from the middle, over other nodes only where paths meet and a row is free?
#include "mpi_fpga/planners/topology_tree.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "oracle.hpp"

namespace thalweg::mpi_fpga::test {
namespace {

using spec::Algorithm, spec::Collective, spec::Datatype, spec::Operator;

bool everywhere(NodeId) {
  return true;
}

std::vector<NodeId> nodes_to(NodeId end) {
  std::vector<NodeId> nodes(end);
  std::iota(nodes.begin(), nodes.end(), 0u);
  return nodes;
}

/// Links between the top and each vertex, over the branches.
std::map<NodeId, unsigned> depths(const TopologyTree& tree, const Graph& graph) {
  std::map<NodeId, unsigned> depth{{tree.top, 0}};
  for (const auto& branch : tree.branches) {
    EXPECT_TRUE(depth.contains(branch.parent)) << "a branch comes before its parent's";
    EXPECT_FALSE(depth.contains(branch.node)) << "two ways to one vertex";
    depth[branch.node] = depth[branch.parent] + graph.distances(branch.parent)[branch.node];
  }
  return depth;
}

TEST(TopologyTree, TakesShortestWaysOnATorus) {
  for (const auto& sides : {std::vector<unsigned>{8, 8}, {4, 4, 4}, {2, 2}, {5}, {4, 2, 3}}) {
    const FabricConfig config = cluster(sides);
    const Graph graph(config);
    for (unsigned turn : {0u, 3u}) {
      const TopologyTree tree = topology_tree(graph, nodes_to(config.nodes), everywhere, turn);
      EXPECT_EQ(tree.top, turn % config.nodes) << "all nodes are in the middle of a torus";
      const auto depth = depths(tree, graph);
      EXPECT_EQ(depth.size(), config.nodes);
      for (const auto& [node, links] : depth) EXPECT_EQ(links, graph.distances(tree.top)[node]);
      for (const auto& branch : tree.branches) {
        EXPECT_EQ(graph.peer(branch.node, branch.port).node, branch.parent);
        EXPECT_EQ(graph.peer(branch.parent, branch.parent_port).node, branch.node);
      }
    }
  }
}

TEST(TopologyTree, UsesOtherNodesWhereWaysMeetAndARowIsFree) {
  const FabricConfig config = cluster({9});  // a ring
  const Graph graph(config);
  const std::vector<NodeId> ends{0, 3};
  const TopologyTree pair = topology_tree(graph, ends, everywhere, 0);
  EXPECT_EQ(pair.top, 1u) << "two ways meet half-way";
  EXPECT_EQ(depths(pair, graph), (std::map<NodeId, unsigned>{{0, 1}, {1, 0}, {3, 2}}))
      << "a way that only passes takes no row";
  const TopologyTree direct = topology_tree(graph, ends, [](NodeId) { return false; }, 0);
  ASSERT_EQ(direct.branches.size(), 1u);
  EXPECT_EQ((std::set{direct.branches[0].node, direct.branches[0].parent}), (std::set<NodeId>{0, 3}));

  const FabricConfig plane = cluster({5, 5});
  const Graph grid(plane);
  const std::vector<NodeId> arms{12 - 1, 12 + 1, 12 - 5, 12 + 5};  // around node 12
  const TopologyTree star = topology_tree(grid, arms, everywhere, 0);
  EXPECT_EQ(star.top, 12u);
  EXPECT_EQ(star.branches.size(), 4u);
  const TopologyTree without = topology_tree(grid, arms, [](NodeId node) { return node != 12; }, 0);
  EXPECT_EQ(without.branches.size(), 3u);
  EXPECT_TRUE(std::ranges::find(arms, without.top) != arms.end());
  EXPECT_EQ(depths(without, grid).size(), 4u);
}

TEST(TopologyTree, GoesUpToOneSpineOfAFatTree) {
  FabricConfig config = with_hosts(fat_tree(4, 3, 2), 10);
  config.collective.trees = Trees::by_topology;
  const Graph graph(config);
  for (unsigned turn : {0u, 1u}) {
    const TopologyTree tree = topology_tree(graph, nodes_to(12), everywhere, turn);
    EXPECT_EQ(tree.top, 12 + 4 + turn) << "spines take turns";
    EXPECT_EQ(tree.branches.size(), 12u + 4u);
  }
  const TopologyTree one_leaf = topology_tree(graph, std::vector<NodeId>{3, 4, 5}, everywhere, 0);
  EXPECT_EQ(one_leaf.top, 13u);
  EXPECT_EQ(one_leaf.branches.size(), 3u);

  World world(config);
  const ContextId all = world.communicator(nodes_to(12));
  std::mt19937_64 random{1};
  Job job = make_job(Collective::allreduce, Algorithm::tree, Operator::sum, Datatype::float64, 12, 0, 500, random);
  for (std::uint32_t rank = 0; rank < 12; ++rank)
    if (rank != 7) world.submit(all, job, rank, world.fabric.now());
  world.run();
  const auto waiting = world.fabric.waiting();
  EXPECT_TRUE(std::ranges::any_of(waiting, [](const Waiting& w) { return w.rank == 0 && w.peer == 7; }))
      << "switches wait for rank 7, and rank 0 for them";
  world.submit(all, job, 7, world.fabric.now());
  world.run();
  verify(job, world.order(all));
}

TEST(TopologyTree, TwoLeavesOfAFatTreeMeetAtASpine) {
  const Graph graph(with_hosts(fat_tree(4, 3, 2), 10));
  for (unsigned turn : {0u, 1u}) {
    const TopologyTree tree = topology_tree(graph, nodes_to(6), everywhere, turn);
    EXPECT_EQ(tree.top, 12 + 4 + turn);
    std::map<NodeId, unsigned> expected{{tree.top, 0}, {12, 1}, {13, 1}};
    for (NodeId host = 0; host < 6; ++host) expected[host] = 2;
    EXPECT_EQ(depths(tree, graph), expected) << "a leaf at the top would be three links from the other leaf's hosts";
  }
}

TEST(TopologyTree, CommunicatorsUnderTheSameSwitchesBothHaveTreesOverThem) {
  FabricConfig config = with_hosts(fat_tree(2, 4, 2), 3);
  config.collective.trees = Trees::by_topology;
  World world(config);
  const auto switches = [&](const std::vector<NodeId>& members) {
    const Group& group = world.fabric.group(world.communicator(members));
    std::set<NodeId> nodes;
    for (const Group::Vertex& vertex : group.vertices().subspan(group.ranks())) nodes.insert(vertex.node);
    return nodes;
  };
  EXPECT_EQ(switches({0, 2, 4, 6}), (std::set<NodeId>{8, 9, 10}));
  EXPECT_EQ(switches({1, 3, 5, 7}), (std::set<NodeId>{8, 9, 11})) << "the other spine's turn";
}

TEST(TopologyTree, RowsOfFreedCommunicatorsDoNotComeBack) {
  FabricConfig config = with_hosts(fat_tree(3, 2, 1), 200);  // rows take long to reach the switches
  config.collective.trees = Trees::by_topology;
  World world(config);
  std::mt19937_64 random{1};
  for (int i = 0; i < 20; ++i) {
    const ContextId unused = world.communicator({0, 1, 2});  // its switches have no row yet
    world.fabric.free_communicator(unused);
    const ContextId context = world.communicator({5, 4, 0, 3});
    Job job = make_job(Collective::allreduce, Algorithm::tree, Operator::sum, Datatype::float64, 4, 0, 70, random);
    world.submit(context, job);
    world.run();
    verify(job, world.order(context));
    world.fabric.free_communicator(context);
  }
}

TEST(TopologyTree, AnExchangeByDimensionsTakesTheDiameter) {
  for (const Tick link : {10, 110}) {
    FabricConfig config = cluster({8, 8}, link);
    config.router.buffer_flits = 64;
    config.collective.trees = Trees::by_topology;
    config.grid = {8, 8};
    World world(config, Endpoint::kernel);
    const ContextId context = world.communicator(nodes_to(64));
    std::mt19937_64 random{1};
    Job job = make_job(Collective::allreduce, Algorithm::exchange, Operator::sum, Datatype::float64, 64, 0, 1, random);
    const Tick start = world.fabric.now();
    world.submit(context, job);
    world.run();
    verify(job, world.order(context));
    const Tick took = *std::ranges::max_element(job.done) - start;
    // Two stages, each with four links and routers to the farthest node of a ring, a join of eight operands (four steps
    // of a lane), and the path out of a node and in again.
    const Tick least = 2 * (4 * (4 + link) + 4 * config.collective.lane_latency);
    EXPECT_GE(took, least);
    EXPECT_LE(took, least + 2 * 30);
  }
}

TEST(TopologyTree, AWideSwitchJoinsAtItsLinksRate) {
  FabricConfig config = with_hosts(fat_tree(2, 20, 4), 3);  // switches of 24 ports
  config.router.buffer_flits = 64;
  config.collective.trees = Trees::by_topology;
  World world(config, Endpoint::kernel);
  const ContextId context = world.communicator(nodes_to(40));
  std::mt19937_64 random{1};
  const std::uint64_t packets = 200;
  Job job =
      make_job(Collective::reduce, Algorithm::tree, Operator::sum, Datatype::float64, 40, 0, 63 * packets, random);
  const Tick start = world.fabric.now();
  world.submit(context, job);
  world.run();
  verify(job, world.order(context));
  const Tick took = *std::ranges::max_element(job.done) - start;
  EXPECT_LE(took, static_cast<Tick>(packets) * 18 + 1000) << "packets of 16 flits and a pause of 2 cycles each";
}

}  // namespace
}  // namespace thalweg::mpi_fpga::test
