// SPDX-License-Identifier: Apache-2.0
// Do the collectives of a whole fabric give every rank the right bits, for every shape, root, size and type?
#include "oracle.hpp"

namespace thalweg::mpi_fpga::test {
namespace {

using spec::Algorithm, spec::Collective, spec::Datatype, spec::Operator;

std::vector<NodeId> first_nodes(std::uint32_t ranks) {
  std::vector<NodeId> members(ranks);
  std::iota(members.begin(), members.end(), 0u);
  return members;
}

struct Case {
  Collective collective;
  Algorithm algorithm;
};

class Collectives : public testing::TestWithParam<Case> {
 protected:
  /// Runs one operation on the world's communicator, alone.
  void check(World& world, ContextId context, std::uint32_t ranks, std::uint32_t root, std::uint64_t count,
             Operator op = Operator::sum, Datatype type = Datatype::float64) {
    const auto [collective, algorithm] = GetParam();
    Job job = make_job(collective, algorithm, op, type, ranks, root, count, random);
    world.submit(context, job);
    world.run();
    verify(job);
    ASSERT_TRUE(world.fabric.idle());
    ASSERT_EQ(world.fabric.credits_out(), 0u);
    ASSERT_FALSE(world.fabric.mismatch());
  }

  std::mt19937_64 random{1};
};

TEST_P(Collectives, EveryRankCountAndRoot) {
  const FabricConfig config = cluster({4, 4}, 3);
  for (std::uint32_t ranks : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 16}) {
    World world(config);
    const ContextId context = world.communicator(first_nodes(ranks));
    for (std::uint32_t root = 0; root < ranks; ++root)
      for (std::uint64_t count : {0, 1, 64}) ASSERT_NO_FATAL_FAILURE(check(world, context, ranks, root, count));
  }
}

TEST_P(Collectives, SizesAroundPacketBorders) {
  World world(cluster({2, 2, 2}));
  for (std::uint32_t ranks : {5u, 8u}) {
    const ContextId context = world.communicator(first_nodes(ranks));
    for (std::uint64_t count : {2, 3, 4, 7, 8, 62, 63, 64, 126, 127, 1000})
      ASSERT_NO_FATAL_FAILURE(check(world, context, ranks, 2, count));
  }
}

TEST_P(Collectives, TypesOfEverySize) {
  World world(cluster({2, 2, 2}));
  const ContextId context = world.communicator({7, 2, 5, 0, 3, 4, 1});
  for (const auto& [op, type] : {std::pair{Operator::bxor, Datatype::uint8},
                                 {Operator::sum, Datatype::int16},
                                 {Operator::max, Datatype::int32},
                                 {Operator::sum, Datatype::float32},
                                 {Operator::prod, Datatype::float32},
                                 {Operator::sum, Datatype::complex128},
                                 {Operator::minloc, Datatype::pair_float64_int32}})
    for (std::uint64_t count : {1, 2, 3, 4, 30, 31, 32, 126, 252, 253, 505, 1500})
      ASSERT_NO_FATAL_FAILURE(check(world, context, 7, 3, count, op, type));
}

TEST_P(Collectives, KernelToKernel) {
  World world(cluster({4, 2}), Endpoint::kernel);
  const ContextId context = world.communicator(first_nodes(8));
  for (std::uint64_t count : {0, 1, 100, 5000}) ASSERT_NO_FATAL_FAILURE(check(world, context, 8, 1, count));
}

INSTANTIATE_TEST_SUITE_P(
    All, Collectives,
    testing::Values(Case{Collective::barrier, Algorithm::exchange}, Case{Collective::barrier, Algorithm::tree},
                    Case{Collective::broadcast, Algorithm::tree}, Case{Collective::reduce, Algorithm::tree},
                    Case{Collective::allreduce, Algorithm::exchange}, Case{Collective::allreduce, Algorithm::tree},
                    Case{Collective::gather, Algorithm::tree}, Case{Collective::allgather, Algorithm::exchange},
                    Case{Collective::allgather, Algorithm::tree}, Case{Collective::scatter, Algorithm::tree},
                    Case{Collective::reduce_scatter, Algorithm::tree},
                    Case{Collective::reduce_scatter, Algorithm::halving},
                    Case{Collective::alltoall, Algorithm::exchange}, Case{Collective::scan, Algorithm::exchange},
                    Case{Collective::exscan, Algorithm::exchange}),
    [](const auto& info) {
      return std::string(spec::name(info.param.collective)) + "_" + std::string(spec::name(info.param.algorithm));
    });

class Vectors : public testing::TestWithParam<Collective> {};

TEST_P(Vectors, BlocksOfAnySizeAnywhere) {
  std::mt19937_64 random{1};
  for (const std::uint32_t ranks : {1u, 2u, 5u, 8u, 13u}) {
    World world(cluster({4, 4}, 3));
    const ContextId context = world.communicator(first_nodes(ranks));
    for (std::uint32_t root = 0; root < ranks; root += 3)
      for (const std::uint64_t most : {0u, 1u, 3u, 200u, 1000u}) {
        std::vector<std::uint64_t> counts(ranks);
        for (auto& count : counts) count = random() % 3 ? random() % (most + 1) : 0;
        Job job = make_vector_job(GetParam(), Operator::sum, Datatype::float64, root, counts, random);
        world.submit(context, job);
        world.run();
        ASSERT_NO_FATAL_FAILURE(verify(job));
        ASSERT_EQ(world.fabric.credits_out(), 0u);
        ASSERT_FALSE(world.fabric.mismatch());
      }
  }
}

TEST(AllToAll, BlocksOfAnySizeBetweenAnyTwo) {
  std::mt19937_64 random{1};
  for (const std::uint32_t ranks : {1u, 2u, 5u, 8u, 13u})
    for (const Endpoint endpoint : {Endpoint::host, Endpoint::kernel}) {
      World world(cluster({4, 4}, 3), endpoint);
      const ContextId context = world.communicator(first_nodes(ranks));
      for (const std::uint64_t most : {0u, 1u, 3u, 200u, 1000u}) {
        std::vector<std::vector<std::uint64_t>> counts(ranks, std::vector<std::uint64_t>(ranks));
        for (auto& row : counts)
          for (auto& count : row) count = random() % 3 ? random() % (most + 1) : 0;
        Job job = make_personal_job(Datatype::float64, counts, random);
        world.submit(context, job);
        world.run();
        ASSERT_NO_FATAL_FAILURE(verify(job));
        ASSERT_FALSE(world.fabric.mismatch());
      }
    }
}

TEST(AllToAll, WaitsForARankThatIsLateWithNothingInTheNetwork) {
  World world(cluster({2, 2}));
  const ContextId context = world.communicator(first_nodes(4));
  std::mt19937_64 random{1};
  Job job = make_job(Collective::alltoall, Algorithm::exchange, Operator::none, Datatype::byte, 4, 0, 3000, random);
  for (std::uint32_t rank : {0u, 1u, 3u}) world.submit(context, job, rank, world.fabric.now());
  world.run();
  EXPECT_TRUE(world.fabric.idle());
  EXPECT_EQ(world.fabric.stored_packets(), 0u);
  EXPECT_EQ(job.done, std::vector<Tick>(4, -1));
  const auto waiting = world.fabric.waiting();
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting[0].peer, 2u);
  world.submit(context, job, 2, world.fabric.now());
  world.run();
  verify(job);
}

TEST(AllToAll, AHostThatIsBehindKeepsItInTheNetwork) {
  FabricConfig config = cluster({3, 3}, 2);
  config.collective.packet_flits = 1;
  config.host.pcie_bytes_per_tick = 4;  // each port delivers up to 32
  World world(config);
  const ContextId context = world.communicator(first_nodes(9)), other = world.communicator({8, 2, 5});
  std::mt19937_64 random{1};
  Job job = make_job(Collective::alltoall, Algorithm::exchange, Operator::none, Datatype::byte, 9, 0, 4000, random);
  Job sum = make_job(Collective::allreduce, Algorithm::tree, Operator::sum, Datatype::float64, 3, 0, 300, random);
  world.submit(context, job);
  world.submit(other, sum);  // shares ports and channels with it
  world.run();
  verify(job);
  verify(sum);
  EXPECT_EQ(world.fabric.credits_out(), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, Vectors,
                         testing::Values(Collective::gather, Collective::allgather, Collective::scatter,
                                         Collective::reduce_scatter),
                         [](const auto& info) { return std::string(spec::name(info.param)); });

}  // namespace
}  // namespace thalweg::mpi_fpga::test
