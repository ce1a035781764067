// SPDX-License-Identifier: Apache-2.0
// Is every flit of a slot and of a stage read before it is overwritten, if a step reads more packets from one memory
// than it has ports? The classes of slots and stages throw otherwise.
#include "oracle.hpp"

namespace thalweg::mpi_fpga::test {
namespace {

using spec::Algorithm, spec::Collective, spec::Datatype, spec::Operator;

class SlowReads : public testing::TestWithParam<Trees> {};

TEST_P(SlowReads, AreNotOvertaken) {
  const bool by_rank = GetParam() == Trees::by_rank;
  const std::uint32_t ranks = by_rank ? 16 : 64;
  FabricConfig config = by_rank ? cluster({16}) : cluster({8, 8});
  config.collective.slot_packets = 4;
  config.collective.long_packet_flits = 64;
  config.collective.trees = GetParam();
  if (!by_rank) config.grid = {8, 8};
  World world(config);
  std::vector<NodeId> nodes(ranks);
  std::iota(nodes.begin(), nodes.end(), 0u);
  const ContextId context = world.communicator(nodes);
  std::mt19937_64 random{1};
  for (const auto& [collective, algorithm] :
       {std::pair{Collective::allreduce, Algorithm::exchange}, std::pair{Collective::allreduce, Algorithm::tree},
        std::pair{Collective::scan, Algorithm::exchange}, std::pair{Collective::reduce_scatter, Algorithm::tree}}) {
    const std::uint64_t count = collective == Collective::reduce_scatter ? 250 : by_rank ? 10000 : 2000;
    Job job = make_job(collective, algorithm, Operator::sum, Datatype::float64, ranks, 5, count, random);
    world.submit(context, job);
    ASSERT_NO_THROW(world.run()) << spec::name(collective) << ' ' << spec::name(algorithm);
    verify(job, world.order(context));
    ASSERT_EQ(world.fabric.credits_out(), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SlowReads, testing::Values(Trees::by_rank, Trees::by_topology),
                         [](const auto& info) { return info.param == Trees::by_rank ? "ByRank" : "ByTopology"; });

}  // namespace
}  // namespace thalweg::mpi_fpga::test
