// SPDX-License-Identifier: Apache-2.0
// Is a job on a shared fabric unaffected by the others, to the bit and to the cycle? Do the jobs together stay within
// the capacity of the wires?
#include "mpi_fpga/driver/shared_fabric.hpp"

#include <algorithm>

#include "oracle.hpp"

namespace thalweg::mpi_fpga::test {
namespace {

using spec::Algorithm, spec::Collective, spec::Datatype, spec::Operator;
using Mode = Sharing::Mode;

constexpr Tick kRowsLoaded = 1 << 15;

FabricConfig roomy(FabricConfig config, FlowControl flow) {
  config.router.flow = flow;
  config.router.buffer_flits = config.router.local_buffer_flits = 200;
  config.router.margin_flits = 2 * 20 + 1;
  config.collective.packet_flits = 8;
  return config;
}

Sharing sharing(Mode mode, std::vector<unsigned> weights, Tick slot, const FabricConfig& config) {
  Sharing result{.mode = mode, .weights = std::move(weights), .slot_cycles = slot, .job_of_node = {}};
  for (NodeId node = 0; node < config.nodes; ++node)
    result.job_of_node.push_back(node % static_cast<unsigned>(result.weights.size()));
  return result;
}

std::vector<NodeId> nodes_of(const FabricConfig& config, const Sharing& sharing, std::uint32_t job) {
  std::vector<NodeId> nodes;
  for (NodeId node = 0; node < config.nodes - config.switches; ++node)
    if (sharing.job_of_node[node] == job) nodes.push_back(node);
  return nodes;
}

Job random_operation(std::uint32_t ranks, std::mt19937_64& random) {
  constexpr std::array kCollectives = {Collective::barrier,        Collective::broadcast, Collective::reduce,
                                       Collective::allreduce,      Collective::gather,    Collective::allgather,
                                       Collective::reduce_scatter, Collective::alltoall,  Collective::scan};
  const auto collective = kCollectives[random() % kCollectives.size()];
  const auto algorithm = collective == Collective::allreduce && random() % 2 ? Algorithm::exchange : Algorithm::tree;
  return make_job(collective, algorithm, Operator::sum, Datatype::float64, ranks,
                  static_cast<std::uint32_t>(random() % ranks), random() % 200, random);
}

/// A job's operations, one after another at each rank, from kRowsLoaded on.
std::vector<std::unique_ptr<Job>> operations(std::uint32_t ranks, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::vector<std::unique_ptr<Job>> result;
  for (unsigned i = 0; i < 4; ++i) result.push_back(std::make_unique<Job>(random_operation(ranks, random)));
  return result;
}

template <class Simulated>
void submit(WorldOf<Simulated>& world, ContextId context, std::vector<std::unique_ptr<Job>>& jobs, Tick start,
            std::uint64_t seed) {
  std::mt19937_64 random{seed};
  for (std::uint32_t rank = 0; rank < jobs[0]->send.size(); ++rank) {
    Tick at = start;
    for (auto& job : jobs) world.submit(context, *job, rank, at += static_cast<Tick>(random() % 500));
  }
}

void run(std::uint64_t seed) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random{seed};
  const Tick latency = random() % 2 ? 1 : 20;
  FabricConfig config = random() % 3 ? cluster({4, 3}, latency) : with_hosts(fat_tree(3, 4, 2), latency);
  if (config.switches || random() % 2) config.collective.trees = Trees::by_topology;
  config = roomy(config, random() % 2 ? FlowControl::margin : FlowControl::credits);
  if (random() % 2)
    for (LinkConfig& link : config.links) link.rate_cycles = 2;
  const auto mode = random() % 2 ? Mode::sub_channels : Mode::time_slots;
  std::vector<unsigned> weights = random() % 2 ? std::vector{1u, 3u} : std::vector{2u, 1u, 1u};
  const Sharing shared = sharing(mode, weights, 1 + static_cast<Tick>(random() % 30), config);
  const auto endpoint = random() % 2 ? Endpoint::host : Endpoint::kernel;
  const Tick frame = 4 * shared.slot_cycles, start = (kRowsLoaded + frame - 1) / frame * frame;

  WorldOf<SharedFabric> together(config, shared, endpoint);
  std::vector<std::vector<std::unique_ptr<Job>>> jobs;
  std::vector<ContextId> contexts;
  for (std::uint32_t j = 0; j < weights.size(); ++j) {
    const auto nodes = nodes_of(config, shared, j);
    jobs.push_back(operations(static_cast<std::uint32_t>(nodes.size()), 100 * seed + j));
    contexts.push_back(together.communicator(nodes));
  }
  for (std::uint32_t j = 0; j < weights.size(); ++j) submit(together, contexts[j], jobs[j], start, 100 * seed + j);
  together.run();
  EXPECT_TRUE(together.fabric.idle());
  EXPECT_TRUE(together.fabric.waiting().empty());

  for (std::uint32_t j = 0; j < weights.size(); ++j) {
    SCOPED_TRACE(testing::Message() << "job " << j);
    EXPECT_EQ(together.fabric.part(j).credits_out(), 0u);
    EXPECT_EQ(together.fabric.part(j).stored_packets(), 0u);
    World alone(part_of(config, shared, j), endpoint);
    auto same = operations(static_cast<std::uint32_t>(jobs[j][0]->send.size()), 100 * seed + j);
    submit(alone, alone.communicator(nodes_of(config, shared, j)), same, start, 100 * seed + j);
    alone.run();
    for (std::size_t i = 0; i < same.size(); ++i) {
      ASSERT_NO_FATAL_FAILURE(verify(*jobs[j][i], together.order(contexts[j])));
      EXPECT_EQ(jobs[j][i]->receive, same[i]->receive);
      EXPECT_EQ(jobs[j][i]->done, same[i]->done);
    }
  }
}

TEST(SharedFabric, AJobIsWhatItIsWithoutTheOthers) {
  const std::uint64_t first = setting("THALWEG_SEED", 1), runs = setting("THALWEG_RUNS", 20);
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    ASSERT_NO_FATAL_FAILURE(run(seed));
    if (testing::Test::HasNonfatalFailure()) FAIL() << "THALWEG_SEED=" << seed << " THALWEG_RUNS=1 shows it again";
  }
}

/// Flits of each job on each link in each cycle of two simultaneous allreduces.
std::vector<std::map<std::pair<NodeId, unsigned>, std::vector<unsigned>>> traffic(const FabricConfig& config,
                                                                                  const Sharing& shared) {
  WorldOf<SharedFabric> world(config, shared, Endpoint::kernel);
  std::mt19937_64 random{1};
  std::vector<std::unique_ptr<Job>> jobs;
  for (std::uint32_t j = 0; j < world.fabric.jobs(); ++j) {
    const auto nodes = nodes_of(config, shared, j);
    jobs.push_back(
        std::make_unique<Job>(make_job(Collective::allreduce, Algorithm::tree, Operator::sum, Datatype::float64,
                                       static_cast<std::uint32_t>(nodes.size()), 0, 1000, random)));
    world.submit(world.communicator(nodes), *jobs.back());
  }
  std::vector<std::map<std::pair<NodeId, unsigned>, std::vector<unsigned>>> result(jobs.size());
  std::vector<std::map<std::pair<NodeId, unsigned>, std::uint64_t>> before(jobs.size());
  std::vector<Completion> completed;
  for (std::size_t cycle = 0; !world.fabric.idle(); ++cycle) {
    world.fabric.advance(world.fabric.now() + 1, completed);
    for (std::uint32_t j = 0; j < jobs.size(); ++j)
      for (const LinkUse& use : world.fabric.part(j).link_use()) {
        auto& seen = before[j][{use.node, use.port}];
        auto& flits = result[j][{use.node, use.port}];
        flits.resize(cycle + 1);
        flits[cycle] = static_cast<unsigned>(use.flits - seen);
        seen = use.flits;
      }
  }
  return result;
}

TEST(SharedFabric, ALinkCarriesOneJobsFlitsAtATimeInTimeSlots) {
  const FabricConfig config = roomy(cluster({3, 4}, 3), FlowControl::credits);
  const auto jobs = traffic(config, sharing(Mode::time_slots, {1, 3}, 8, config));
  std::size_t both = 0;
  for (const auto& [link, flits] : jobs[0]) {
    const auto other = jobs[1].find(link);
    if (other == jobs[1].end()) continue;
    ++both;
    for (std::size_t i = 0; i < std::min(flits.size(), other->second.size()); ++i)
      ASSERT_LE(flits[i] + other->second[i], 1u) << "cycle " << i;
  }
  EXPECT_GT(both, 0u) << "the jobs have no link in common";
}

TEST(SharedFabric, NoJobPassesMoreThanItsSubChannels) {
  const FabricConfig config = roomy(cluster({3, 4}, 3), FlowControl::credits);
  const std::vector<unsigned> weights = {1, 3};
  const auto jobs = traffic(config, sharing(Mode::sub_channels, weights, 0, config));
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    unsigned most = 0;
    for (const auto& [link, flits] : jobs[j])
      for (std::size_t i = 0; i + kSubChannels <= flits.size(); ++i)
        most = std::max(most, flits[i] + flits[i + 1] + flits[i + 2] + flits[i + 3]);
    EXPECT_EQ(most, weights[j]);  // it also uses all of them
  }
}

TEST(SharedFabric, UnitsAndPortsWaitForTheirTurn) {
  const FabricConfig config = roomy(cluster({4}, 3), FlowControl::credits);
  const Sharing shared = sharing(Mode::time_slots, {1, 1}, 1000, config);
  const auto done = [&](Tick start) {  // of a barrier of job 1, whose turn begins at 1000 in frames of 2000
    WorldOf<SharedFabric> world(config, shared, Endpoint::kernel);
    std::mt19937_64 random{1};
    const std::vector<NodeId> nodes = {1, 3};
    Job job = make_job(Collective::barrier, Algorithm::exchange, Operator::none, Datatype::byte, 2, 0, 0, random);
    const ContextId context = world.communicator(nodes);
    for (std::uint32_t rank = 0; rank < 2; ++rank) world.submit(context, job, rank, start);
    world.run();
    return std::ranges::max(job.done);
  };
  const Tick alone = done(kRowsLoaded - kRowsLoaded % 2000 + 1000) % 2000 - 1000;  // entirely within the turn
  // The start takes 5 cycles, which may precede the turn. Everything that needs the turn waits for it.
  for (const Tick early : {2, 4, 100, 900})
    EXPECT_EQ(done(kRowsLoaded - kRowsLoaded % 2000 + 1000 - early) % 2000 - 1000, alone - std::min(early, Tick{5}));
  // Flits on the wire at the turn's end arrive, and wait for the next turn.
  for (const Tick late : {1, 3})
    EXPECT_GT(done(kRowsLoaded - kRowsLoaded % 2000 + 2000 - late), kRowsLoaded - kRowsLoaded % 2000 + 3000);
}

TEST(SharedFabric, SaysWhatCannotBeShared) {
  const FabricConfig config = roomy(cluster({4, 2}, 1), FlowControl::margin);
  const auto complaint = [&](FabricConfig changed, const Sharing& shared) -> std::string {
    try {
      const SharedFabric fabric(changed, shared);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  const auto change = [&](auto&& how) {
    FabricConfig changed = config;
    how(changed);
    return changed;
  };
  const auto slots = [&](std::vector<unsigned> weights, Tick slot) {
    return sharing(Mode::time_slots, std::move(weights), slot, config);
  };
  EXPECT_EQ(complaint(config, slots({1, 1}, 8)), "");
  EXPECT_EQ(complaint(config, sharing(Mode::sub_channels, {3, 2}, 0, config)),
            "the jobs have 5 sub-channels; there are 4 of 64 bits");
  EXPECT_EQ(complaint(config, slots({1, 0}, 8)), "every job has a share of at least 1");
  EXPECT_EQ(complaint(config, slots({1, 1}, 0)), "a slot has at least one cycle");
  EXPECT_EQ(complaint(change([](FabricConfig& c) { c.collective.contexts = 3; }), slots({1, 3}, 8)),
            "job 0 has no row of the communicator table, which has 3");
  EXPECT_EQ(complaint(change([](FabricConfig& c) { c.router.buffer_flits = 60; }), slots({1, 3}, 40)),
            "job 0 has 15 flits of the 60 that a virtual channel buffers, and needs more than 40");
  Sharing nobody = slots({1, 1}, 8);
  std::ranges::fill(nobody.job_of_node, 0u);
  EXPECT_EQ(complaint(config, nobody), "job 1 has no node");
  nobody.job_of_node.back() = 2;
  nobody.job_of_node.front() = 1;
  EXPECT_EQ(complaint(config, nobody),
            "node " + std::to_string(config.nodes - 1) + ": job 2 does not exist; there are 2");

  SharedFabric fabric(config, slots({1, 1}, 8));
  const std::vector<NodeId> mixed = {0, 1};
  const std::vector<Handle> handles = {1, 2};
  EXPECT_THROW((void)fabric.create_communicator(mixed, handles, 0), std::invalid_argument);
  EXPECT_THROW(fabric.send({1, 0, 1, 8}, 0), std::invalid_argument);
}

/// The closed forms of Share, cycle by cycle.
TEST(Share, CountsWhatItLetsPass) {
  for (const Share& share : {Share{}, Share{.flits = 3, .cycles = 4}, Share{.flits = 1, .cycles = 4},
                             Share{.frame = 40, .begin = 10, .end = 30}, Share{.frame = 16, .begin = 0, .end = 4}}) {
    for (Tick n = 1; n < 100; ++n) {
      Tick most = 0;
      for (Tick first = 0; first < 80; ++first) {
        Tick open = 0;
        for (Tick t = first; t < first + n; ++t) open += share.open(t);
        most = std::max(most, open);
      }
      Tick flits = 0;  // flits that can begin in `most` cycles at that rate, the first at once
      while (flits * share.cycles < most * share.flits) ++flits;
      EXPECT_EQ(share.most(n), flits) << n;
    }
    for (Tick now = 0; now < 80; ++now) {
      Tick next = now;
      while (!share.open(next)) ++next;
      EXPECT_EQ(share.next(now), next) << now;
      if (next != now) continue;
      for (Tick n = 1; n <= 30; ++n) {
        Tick after = now;
        for (Tick open = 0; open * share.flits < n * share.cycles; ++after) open += share.open(after);
        EXPECT_EQ(share.after(now, n), after) << now << ' ' << n;
      }
    }
  }
}

}  // namespace
}  // namespace thalweg::mpi_fpga::test
