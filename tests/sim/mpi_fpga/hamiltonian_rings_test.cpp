// SPDX-License-Identifier: Apache-2.0
// Does every ring pass through all vertices of a torus, and does every link belong to a ring?
#include "mpi_fpga/planners/hamiltonian_rings.hpp"

#include <numeric>
#include <set>

#include "oracle.hpp"

namespace thalweg::mpi_fpga::test {
namespace {

using spec::Algorithm, spec::Collective, spec::Datatype, spec::Operator;

/// Vertices are numbered with the first dimension fastest; port 2d leads up in dimension d, 2d + 1 down.
PortGraph torus_of(const std::vector<unsigned>& sides) {
  std::uint32_t vertices = 1;
  for (const unsigned side : sides) vertices *= side;
  PortGraph graph(vertices, static_cast<unsigned>(2 * sides.size()));
  for (std::uint32_t vertex = 0; vertex < vertices; ++vertex) {
    std::uint32_t stride = 1;
    unsigned port = 0;
    for (const unsigned side : sides) {
      const std::uint32_t at = vertex / stride % side, up = vertex - at * stride + (at + 1) % side * stride;
      graph.peer(vertex, port) = {up, port + 1};
      graph.peer(up, port + 1) = {vertex, port};
      stride *= side;
      port += 2;
    }
  }
  return graph;
}

void check(const std::vector<unsigned>& sides) {
  SCOPED_TRACE(testing::PrintToString(sides));
  const PortGraph graph = torus_of(sides);
  const auto rings = hamiltonian_rings(graph);
  ASSERT_EQ(rings.size(), sides.size());
  std::set<std::pair<std::uint32_t, unsigned>> ends;  // of links
  for (const RingPath& ring : rings) {
    ASSERT_EQ(ring.vertices.size(), graph.vertices);
    ASSERT_EQ(ring.ports.size(), graph.vertices);
    EXPECT_EQ(std::set(ring.vertices.begin(), ring.vertices.end()).size(), graph.vertices) << "twice at one vertex";
    for (std::size_t i = 0; i < graph.vertices; ++i) {
      const PortGraph::End end = graph.peer(ring.vertices[i], ring.ports[i]);
      EXPECT_EQ(end.vertex, ring.vertices[(i + 1) % graph.vertices]);
      EXPECT_TRUE(ends.emplace(ring.vertices[i], ring.ports[i]).second) << "two rings over one link";
      EXPECT_TRUE(ends.emplace(end.vertex, end.port).second) << "two rings over one link";
    }
  }
  EXPECT_EQ(ends.size(), graph.peers.size()) << "a link in no ring";
}

TEST(HamiltonianRings, ToriOfAllSizesAreDividedIntoRings) {
  check({2});
  check({2, 2});
  for (unsigned x = 3; x <= 10; ++x) {
    check({x});
    for (unsigned y = 3; y <= 10; ++y) check({x, y});
  }
  for (unsigned x = 3; x <= 5; ++x)
    for (unsigned y = 3; y <= 5; ++y)
      for (unsigned z = 3; z <= 5; ++z) check({x, y, z});
  for (const auto& sides : std::vector<std::vector<unsigned>>{
           {16, 16}, {3, 30}, {12, 17}, {4, 4, 8}, {8, 8, 8}, {3, 3, 3, 3}, {4, 4, 4, 4}, {3, 3, 3, 3, 3}})
    check(sides);
}

TEST(HamiltonianRings, NothingElseHasAny) {
  PortGraph chain(2, 1);
  chain.peer(0, 0) = {1, 0};
  chain.peer(1, 0) = {0, 0};
  EXPECT_TRUE(hamiltonian_rings(chain).empty());
  EXPECT_TRUE(hamiltonian_rings(PortGraph(1, 2)).empty());
  PortGraph mesh = torus_of({4, 4});
  mesh.peer(3, 0) = mesh.peer(0, 1) = {};
  EXPECT_TRUE(hamiltonian_rings(mesh).empty());
}

/// The rows' edges as pairs (node, node): for each row, from the nodes of its labels to those of the next labels.
std::vector<std::vector<std::pair<NodeId, NodeId>>> steps(const std::vector<Group>& groups) {
  std::vector<std::vector<std::pair<NodeId, NodeId>>> result;
  for (const Group& group : groups) {
    auto& row = result.emplace_back();
    for (std::uint32_t label = 0; label < group.ranks(); ++label) {
      const Group::Vertex& vertex = group.vertices()[group.rank(label)];
      const auto out = static_cast<unsigned>(std::countr_zero(vertex.row.away_from(label)));
      const Row::Edge& edge = vertex.row.edges[out];
      const Group::Vertex& next = group.vertices()[group.rank((label + 1) % group.ranks())];
      EXPECT_EQ(vertex.row.label, label);
      EXPECT_EQ(edge.neighbour, next.node);
      EXPECT_EQ(next.row.towards(label), 1u << edge.there);
      row.emplace_back(vertex.node, edge.neighbour);
    }
  }
  return result;
}

TEST(HamiltonianRings, WholeRowsOfATorusHaveARowForEachWayRoundEach) {
  FabricConfig config = cluster({4, 3, 5});
  config.grid = {4, 3, 5};
  config.collective.trees = Trees::by_topology;
  const Graph graph(config);
  const std::vector<NodeId> plane = plane_of_4x3x5();
  const auto rings = steps(Group::by_rings(config, graph, plane));
  ASSERT_EQ(rings.size(), 4u);
  std::set<std::pair<NodeId, NodeId>> links;
  for (const auto& ring : rings)
    for (const auto& [from, to] : ring) {
      EXPECT_EQ(graph.distances(from)[to], 1u);
      EXPECT_TRUE(links.emplace(from, to).second) << "two rings over one link";
    }
  EXPECT_EQ(links.size(), 4 * plane.size());
}

TEST(HamiltonianRings, OthersFormARingByTheirNumbers) {
  FabricConfig config = cluster({4, 3});
  config.grid = {4, 3};
  config.collective.trees = Trees::by_topology;
  const std::vector<NodeId> members{7, 0, 10, 3, 5};
  const auto rings = steps(Group::by_rings(config, Graph(config), members));
  ASSERT_EQ(rings.size(), 2u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(rings[0][i], std::pair(members[i], members[(i + 1) % 5]));
    EXPECT_EQ(rings[1][i], std::pair(members[4 - i], members[(8 - i) % 5]));
  }
}

TEST(HamiltonianRings, ByRankTheyFollowTheNumbersOnAWholeTorusToo) {
  FabricConfig config = cluster({4, 3});
  config.grid = {4, 3};
  config.collective.trees = Trees::by_rank;
  std::vector<NodeId> members(12);
  std::iota(members.begin(), members.end(), 0u);
  const auto rings = steps(Group::by_rings(config, Graph(config), members));
  ASSERT_EQ(rings.size(), 2u);
  for (NodeId i = 0; i < 12; ++i) EXPECT_EQ(rings[0][i], std::pair(i, (i + 1) % 12));
  World world(config);
  const ContextId context = world.communicator(members);
  EXPECT_TRUE(world.fabric.algorithms(context, Collective::allgather) >> static_cast<unsigned>(Algorithm::ring) & 1);
  EXPECT_FALSE(world.fabric.algorithms(context, Collective::broadcast) >> static_cast<unsigned>(Algorithm::trees) & 1);
}

/// A rank receives 15 blocks over four links, each one flit per cycle.
TEST(HamiltonianRings, LongOperationsKeepAllLinksBusy) {
  for (const Collective collective : {Collective::allgather, Collective::reduce_scatter}) {
    FabricConfig config = cluster({4, 4}, 20);
    config.grid = {4, 4};
    config.collective.trees = Trees::by_topology;
    config.collective.long_packet_flits = 64;
    config.collective.slot_packets = 64;
    config.router.buffer_flits = 128;
    World world(config, Endpoint::kernel);
    std::vector<NodeId> nodes(16);
    std::iota(nodes.begin(), nodes.end(), 0u);
    const ContextId context = world.communicator(nodes);
    std::mt19937_64 random{9};
    Job job = make_job(collective, Algorithm::ring, Operator::sum, Datatype::float32, 16, 0, 8 << 12, random);
    const Tick start = world.fabric.now();
    world.submit(context, job);
    world.run();
    verify(job, world.order(context));
    const auto ticks = static_cast<double>(std::ranges::max(job.done) - start);
    EXPECT_LT(ticks, 15 * (1 << 12) / 4 / 0.85) << spec::name(collective);
  }
}

}  // namespace
}  // namespace thalweg::mpi_fpga::test
