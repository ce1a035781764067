// SPDX-License-Identifier: Apache-2.0
// Do operations take the numbers of cycles in docs/collectives.md?
#include "oracle.hpp"

namespace thalweg::mpi_fpga::test {
namespace {

using spec::Algorithm, spec::Collective, spec::Datatype, spec::Operator;

Tick ticks(World& world, ContextId context, std::uint32_t ranks, Collective collective, Algorithm algorithm,
           std::uint64_t count) {
  std::mt19937_64 random{1};
  Job job = make_job(collective, algorithm, Operator::sum, Datatype::float64, ranks, 0, count, random);
  const Tick start = world.fabric.now();
  world.submit(context, job);
  world.run();
  verify(job);
  return *std::ranges::max_element(job.done) - start;
}

/// From the cycle in which a flit can be injected on one node to the cycle in which a step can be issued with it on the
/// next: local wire 1, four router stages and a link's latency, the ejection's register 1, and the slot's register 1.
Tick hop(Tick link) {
  return 1 + (4 + link) + 1 + 1;
}

/// From a step's issue to its result's first flit in the fork queues: the memory that holds the operands, and a
/// register.
constexpr Tick kStep = 2;

/// From the command to the first process' first step: the row, then the request to collective control and its answer,
/// by which the process is chosen. Along a tree, the answer needs only the row.
constexpr Tick kStart = 1 + 3 + 1, kStartAlongTree = 2;

std::vector<NodeId> all(std::uint32_t ranks) {
  std::vector<NodeId> members(ranks);
  std::iota(members.begin(), members.end(), 0u);
  return members;
}

TEST(Timing, AllreduceOfEightBytesAtZeroLoad) {
  for (Tick link : {1, 10, 110})
    for (unsigned lane : {1u, 14u})
      for (const auto& sides : {std::vector<unsigned>{2, 2, 2}, {2, 2}}) {
        FabricConfig config = cluster(sides, link);
        config.collective.lane_latency = lane;
        const std::uint32_t ranks = config.nodes;
        const Tick stages = std::countr_zero(ranks);
        for (Endpoint endpoint : {Endpoint::host, Endpoint::kernel}) {
          World world(config, endpoint);
          const ContextId context = world.communicator(all(ranks));
          // Command and data pass PCIe; both are uploaded before the first process can begin; the data follow the
          // descriptor within the three cycles after which the process can be tried again. Each stage: a hop, the
          // lanes, and a step. Download 1, PCIe again.
          const Tick pcie_there = endpoint == Endpoint::host ? config.host.pcie_latency : 0;
          const Tick pcie_back =
              endpoint == Endpoint::host ? config.host.pcie_latency : 1;  // the completion's register
          const Tick expected = pcie_there + kStart + kStep + 3 + stages * (hop(link) + lane + kStep) + 1 + pcie_back;
          // One process is tried per cycle: another one may be tried first, at most twice on the path through all ranks.
          const Tick took = ticks(world, context, ranks, Collective::allreduce, Algorithm::exchange, 1);
          EXPECT_TRUE(took >= expected && took <= expected + 2)
              << took << ", not " << expected << ": link " << link << " lane " << lane << " ranks " << ranks;
        }
      }
}

TEST(Timing, BarrierPassesTheLanesBy) {
  FabricConfig config = cluster({2, 2, 2}, 10);
  World world(config);
  const ContextId context = world.communicator(all(8));
  EXPECT_EQ(ticks(world, context, 8, Collective::barrier, Algorithm::exchange, 0),
            2 * config.host.pcie_latency + kStart + kStep + 3 * (hop(10) + kStep) + 1);
}

TEST(Timing, BroadcastDownALine) {
  FabricConfig config = cluster({8}, 10);
  World world(config);
  const ContextId context = world.communicator({0, 3});  // three hops: two more routers and links
  EXPECT_EQ(ticks(world, context, 2, Collective::broadcast, Algorithm::tree, 1),
            2 * config.host.pcie_latency + kStartAlongTree + kStep + 3 + hop(10) + 2 * (4 + 10) + kStep + 1);
}

TEST(Timing, NoResultComesEarlierThanItsBytesCanPass) {
  FabricConfig config = cluster({4, 4}, 5);
  config.router.buffer_flits = 64;
  const std::uint64_t count = 8'000;
  const auto bytes = static_cast<double>(count * 8);
  for (Endpoint endpoint : {Endpoint::host, Endpoint::kernel})
    for (const auto& [collective, blocks] : {std::pair{Collective::broadcast, 1.},
                                             {Collective::reduce, 1.},
                                             {Collective::allreduce, 1.},
                                             {Collective::gather, 15.},
                                             {Collective::allgather, 15.}}) {
      World world(config, endpoint);
      const ContextId context = world.communicator(all(16));
      const auto took = static_cast<double>(ticks(world, context, 16, collective, Algorithm::tree, count));
      // A node receives over its four links, each one flit per cycle; a host also sends over PCIe.
      EXPECT_GE(took, blocks * bytes / (4 * 32)) << spec::name(collective);
      const double pcie = endpoint == Endpoint::host ? 130 + blocks * bytes / config.host.pcie_bytes_per_tick : 0;
      EXPECT_GE(took, pcie) << spec::name(collective);
      EXPECT_GE(took, 4 * (4 + 5)) << "the diameter";
    }
}

TEST(Timing, AStreamMovesAFlitACycle) {
  FabricConfig config = cluster({4, 4}, 5);
  config.router.buffer_flits = 64;
  for (const auto& [collective, algorithm] : {std::pair{Collective::broadcast, Algorithm::tree},
                                              {Collective::reduce, Algorithm::tree},
                                              {Collective::allreduce, Algorithm::exchange}}) {
    World world(config, Endpoint::kernel);
    const ContextId context = world.communicator({0, 1});
    const auto flits = 16. * std::ceil(63'000 / 63.);
    const auto took = static_cast<double>(ticks(world, context, 2, collective, algorithm, 63'000));
    EXPECT_LE(took, 1.25 * flits) << spec::name(collective);  // routers pause 2 cycles between packets of 16
  }
}

TEST(Timing, AStageWaitsForTheWholePacket) {
  FabricConfig config = cluster({2, 2});
  World world(config);
  const ContextId context = world.communicator({0, 1});
  std::mt19937_64 random{1};
  Job job = make_job(Collective::allreduce, Algorithm::exchange, Operator::sum, Datatype::float64, 2, 0, 63, random);
  const Tick late = world.fabric.now() + 10'000;
  world.submit(context, job, 1, world.fabric.now());  // its packet of 16 flits waits in the slot
  world.submit(context, job, 0, late);
  world.run();
  verify(job);
  // Uploads of 8 and of 504 bytes at 51.95 per tick; the choice of the process; through the first step into the stage,
  // 16 flits; the join; 16 flits.
  const Tick least = 2 * config.host.pcie_latency + 1 + 10 + 1 + (kStep + 16) + (kStep + 14) + 16;
  EXPECT_GE(job.done[0] - late, least);
  EXPECT_LE(job.done[0] - late, least + 1) << "the other process is tried before it, once";
}

struct Delays {
  Tick copy = 0, join = 0;
};

/// Maximum delay of a copy, which bypasses the lanes, and of a join by sharing one aggregation unit, both of `count`
/// elements: over all time offsets between them.
Delays delays_of_sharing(std::uint64_t count) {
  const auto done = [count](unsigned units, Tick offset) {
    FabricConfig config = cluster({2, 2});
    config.collective.aggregation_units = units;
    World world(config, Endpoint::kernel);
    const ContextId pair = world.communicator({0, 1}), alone = world.communicator({0});
    std::mt19937_64 random{1};
    Job join = make_job(Collective::reduce, Algorithm::tree, Operator::sum, Datatype::float64, 2, 0, count, random);
    Job copy = make_job(Collective::allreduce, Algorithm::tree, Operator::sum, Datatype::float64, 1, 0, count, random);
    const Tick start = world.fabric.now();
    world.submit(pair, join);
    world.submit(alone, copy, 0, start + offset);
    world.run();
    verify(copy);
    verify(join);
    return Delays{copy.done[0], join.done[0]};
  };
  Delays most;
  for (Tick offset = 0; offset < 100; ++offset) {
    const Delays shared = done(1, offset), apart = done(2, offset);
    most.copy = std::max(most.copy, shared.copy - apart.copy);
    most.join = std::max(most.join, shared.join - apart.join);
  }
  return most;
}

TEST(Timing, ResultsOfOneUnitDoNotOvertakeEachOther) {
  // A copy one cycle after a join of one flit waits until the join has left the lanes, and until the process that the
  // unit keeps after a descriptor has been tried; its end is visible one cycle later.
  EXPECT_EQ(delays_of_sharing(1).copy, 14 + 4);
}

TEST(Timing, AUnitReadsOnePacketAtATime) {
  // A join one cycle after a copy of 16 flits waits until the copy has been read, and its process has been tried again.
  EXPECT_EQ(delays_of_sharing(63).join, 16);
}

TEST(Timing, TimeWithoutEventsIsSkipped) {  // otherwise this test does not end
  World world(cluster({2, 2}));
  const ContextId context = world.communicator(all(4));
  std::mt19937_64 random{1};
  Job job = make_job(Collective::allreduce, Algorithm::tree, Operator::sum, Datatype::float64, 4, 0, 100, random);
  const Tick late = world.fabric.now() + 1'000'000'000'000;
  for (std::uint32_t rank : {0u, 1u, 2u}) world.submit(context, job, rank, world.fabric.now());
  world.submit(context, job, 3, late);
  world.run();
  verify(job);
  EXPECT_GT(job.done[0], late);
  EXPECT_LT(job.done[0], late + 1000);
}

}  // namespace
}  // namespace thalweg::mpi_fpga::test
