// SPDX-License-Identifier: Apache-2.0
// Does the fabric fulfil the engine's interface: tables, order, errors, messages, idleness?
#include "oracle.hpp"

namespace thalweg::mpi_fpga::test {
namespace {

using spec::Algorithm, spec::Collective, spec::Datatype, spec::Operator;

Job sum(std::uint32_t ranks, std::uint64_t count, Algorithm algorithm = Algorithm::tree) {
  std::mt19937_64 random{3};
  return make_job(Collective::allreduce, algorithm, Operator::sum, Datatype::float64, ranks, 0, count, random);
}

TEST(Communicators, RowsRunOutAndAreRecycled) {
  FabricConfig config = cluster({2, 2});
  config.collective.contexts = 2;
  World world(config);
  const std::vector<Handle> handles(4);
  const ContextId first = world.communicator({0, 1});
  const ContextId second = world.communicator({1, 2, 3});
  EXPECT_FALSE(world.fabric.create_communicator(std::vector<NodeId>{3, 1}, std::span(handles).first(2), 1000));
  const ContextId third = world.communicator({2});  // a row is still free here
  for (auto [context, ranks] : {std::pair{first, 2u}, {second, 3u}, {third, 1u}}) {
    Job job = sum(ranks, 100);
    world.submit(context, job);
    world.run();
    verify(job);
  }
  world.fabric.free_communicator(second);
  const ContextId fourth = world.communicator({3, 1});
  EXPECT_EQ(fourth, second) << "the number is free again";
  Job job = sum(2, 100);
  world.submit(fourth, job);
  world.run();
  verify(job);
}

TEST(Communicators, CreditsOfTheFormerOneAreCountedWhenTheyCome) {
  World world(cluster({2, 2}, 500));  // credits take long
  for (int i = 0; i < 100; ++i) {     // each communicator takes the row of the previous one
    const ContextId context = world.communicator({0, 3, 1});
    Job job = sum(3, 70 + i, i % 2 ? Algorithm::tree : Algorithm::exchange);
    world.submit(context, job);
    while (std::ranges::count(job.done, -1) > 0) ASSERT_TRUE(world.step());
    verify(job);
    EXPECT_GT(world.fabric.credits_out(), 0u) << "the test shows nothing";
    world.fabric.free_communicator(context);
  }
  world.run();
  EXPECT_EQ(world.fabric.credits_out(), 0u);
}

TEST(Communicators, LoadingARowTakesPcieAndItsBits) {
  FabricConfig config = cluster({2, 2});
  config.host.pcie_bytes_per_tick = 1;
  World world(config);
  const std::vector<NodeId> members{2};
  const std::vector<Handle> handles{77};
  ASSERT_TRUE(world.fabric.create_communicator(members, handles, 10));
  std::vector<Completion> completed;
  world.fabric.advance(kNever, completed);
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_TRUE(completed[0].last);
  EXPECT_EQ(completed[0].handle, 77u);
  // A round trip over PCIe; a header of 8 bytes, and 16 * (16 + 2) + 8 = 296 bits (Equation 1) in 37 bytes; written in
  // 1 tick.
  EXPECT_EQ(completed[0].at, 10 + 2 * config.host.pcie_latency + 8 + 37 + 1);
}

TEST(Operations, AreExecutedInOrderHoweverManyAreQueued) {
  World world(cluster({2, 2, 2}));
  const ContextId context = world.communicator({0, 1, 2, 3, 4, 5, 6, 7});
  std::vector<std::unique_ptr<Job>> jobs;
  for (std::uint64_t i = 0; i < 20; ++i) jobs.push_back(std::make_unique<Job>(sum(8, 10 * i, Algorithm::exchange)));
  for (std::uint32_t rank = 0; rank < 8; ++rank)
    for (auto& job : jobs) world.submit(context, *job, rank, world.fabric.now() + 100 * rank);
  world.run();
  for (auto& job : jobs) verify(*job);
  for (std::size_t i = 2; i < jobs.size(); ++i)  // two are in flight at once
    for (std::uint32_t rank = 0; rank < 8; ++rank) EXPECT_GT(jobs[i]->done[rank], jobs[i - 2]->done[rank]);
}

TEST(Operations, WithoutWorkEndWhereverTheyAreInTheQueue) {
  World world(cluster({2, 2}));
  const ContextId context = world.communicator({0, 1, 2, 3});
  std::mt19937_64 random{5};
  std::deque<Job> jobs;
  for (int i = 0; i < 12; ++i)
    jobs.push_back(i % 4 == 0 ? sum(4, 100)
                              : make_job(Collective::alltoall, Algorithm::exchange, Operator::none, Datatype::byte, 4,
                                         0, 0, random));
  for (Job& job : jobs) world.submit(context, job);
  world.run();
  for (Job& job : jobs) verify(job);
}

TEST(Operations, TimesAreTheSameInEveryRun) {
  const auto run = [] {
    World world(cluster({4, 4}, 7));
    const ContextId even = world.communicator({0, 2, 4, 6, 8, 10, 12, 14}), all = world.communicator({15, 3, 7, 0, 4});
    Job a = sum(8, 3000, Algorithm::exchange), b = sum(5, 2000);
    world.submit(even, a);
    world.submit(all, b);
    world.run();
    a.done.insert(a.done.end(), b.done.begin(), b.done.end());
    return a.done;
  };
  EXPECT_EQ(run(), run());
}

TEST(Operations, SendAndReceiveMayBeTheSameMemory) {
  World world(cluster({2, 2}));
  const ContextId context = world.communicator({0, 1, 2});
  Job job = sum(3, 500);
  Job in_place = job;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    in_place.receive[rank] = in_place.send[rank];
    in_place.receive[rank].push_back(std::byte{0x5A});
  }
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    world.fabric.submit(
        {{.collective = job.collective, .algorithm = job.algorithm, .op = job.op, .type = job.type, .count = job.count},
         rank,
         context,
         rank,
         in_place.receive[rank],
         in_place.receive[rank]},
        world.fabric.now());
  std::vector<Completion> completed;
  while (completed.size() < 3) world.fabric.advance(kNever, completed);
  for (const Completion& c : completed) job.done[c.handle] = c.at;
  job.receive = in_place.receive;
  verify(job);
}

class Mismatch : public testing::Test {
 protected:
  /// Rank 1 of 3 submits another part than the others.
  std::string difference(const std::function<void(CollectiveRequest&)>& change) {
    World world(cluster({2, 2}));
    const ContextId context = world.communicator({0, 1, 2});
    Bytes memory(1 << 12);
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      CollectiveRequest request{
          {.collective = Collective::reduce, .op = Operator::sum, .type = Datatype::int32, .root = 2, .count = 100},
          rank,
          context,
          rank,
          memory,
          memory};
      if (rank == 1) change(request);
      world.fabric.submit(request, world.fabric.now());
    }
    std::vector<Completion> completed;
    while (!world.fabric.idle()) world.fabric.advance(kNever, completed);
    EXPECT_TRUE(world.fabric.idle());
    const auto found = world.fabric.mismatch();
    return found ? found->line() : std::string("none");
  }
};

TEST_F(Mismatch, SaysRankAndWhat) {
  const std::string where = "rank 1, operation 0 of communicator 0: ";
  EXPECT_EQ(difference([](auto&) {}), "none");
  EXPECT_EQ(difference([](auto& r) { r.root = 0; }), where + "root 0, others have 2 (rank 0)");
  EXPECT_EQ(difference([](auto& r) { r.count = 99; }), where + "count 99, others have 100 (rank 0)");
  EXPECT_EQ(difference([](auto& r) { r.type = Datatype::float32; }),
            where + "type float32, others have int32 (rank 0)");
  EXPECT_EQ(difference([](auto& r) { r.op = Operator::max; }), where + "operator max, others have sum (rank 0)");
  EXPECT_EQ(difference([](auto& r) { r.collective = Collective::broadcast; }),
            where + "collective broadcast, others have reduce (rank 0)");
}

TEST_F(Mismatch, OfVectorFormsIsSeenBlockByBlock) {
  const std::vector<Block> blocks{{0, 5}, {5, 6}, {20, 0}};
  const auto vector = [&](Collective collective, std::uint32_t odd_rank, std::uint64_t odd) {
    World world(cluster({2, 2}));
    const ContextId context = world.communicator({0, 1, 2});
    Bytes memory(1 << 12);
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      world.fabric.submit({{.collective = collective,
                            .op = Operator::sum,
                            .type = Datatype::int32,
                            .vector = true,
                            .root = 2,
                            .count = rank == odd_rank ? odd : blocks[rank].count},
                           rank,
                           context,
                           rank,
                           memory,
                           memory,
                           blocks,
                           blocks},
                          world.fabric.now());
    const auto found = world.fabric.mismatch();
    return found ? found->line() : std::string("none");
  };
  for (const Collective collective :
       {Collective::gather, Collective::allgather, Collective::scatter, Collective::reduce_scatter})
    EXPECT_EQ(vector(collective, 3, 0), "none");
  const std::string where = "operation 0 of communicator 0: rank ";
  EXPECT_EQ(vector(Collective::gather, 1, 7), "rank 2, " + where + "1 has 7 elements for rank 2, which takes 6");
  EXPECT_EQ(vector(Collective::scatter, 0, 4), "rank 2, " + where + "2 has 5 elements for rank 0, which takes 4");
  EXPECT_EQ(vector(Collective::reduce_scatter, 0, 4),
            "rank 0, " + where + "0 has 5 elements for rank 0, which takes 4");
  EXPECT_EQ(vector(Collective::allgather, 1, 0), "rank 1, " + where + "1 has 0 elements for rank 0, which takes 6");
}

TEST(Waiting, NamesTheRankThatDidNotCome) {
  World world(cluster({2, 2}));
  const ContextId context = world.communicator({0, 1, 2, 3});
  Job job = sum(4, 1000);
  for (std::uint32_t rank : {0u, 1u, 3u}) world.submit(context, job, rank, world.fabric.now());
  world.run();
  EXPECT_TRUE(world.fabric.idle());
  const auto waiting = world.fabric.waiting();
  ASSERT_FALSE(waiting.empty());
  EXPECT_EQ(waiting[0].peer, 2u);
  EXPECT_EQ(waiting[0].what, "to begin allreduce, operation 0");
  const auto blocked = [&](std::uint32_t rank, std::uint32_t peer) {
    return std::ranges::any_of(waiting, [&](const Waiting& w) { return w.rank == rank && w.peer == peer; });
  };
  EXPECT_TRUE(blocked(0, 2));  // for the subtree's part
  EXPECT_TRUE(blocked(3, 2));  // for the result
  EXPECT_FALSE(blocked(2, 3));

  world.submit(context, job, 2, world.fabric.now() + 5000);  // it arrives after all
  world.run();
  verify(job);
  EXPECT_TRUE(world.fabric.waiting().empty());
}

TEST(Requests, WhatTheHardwareCannotDoIsRefused) {
  World world(cluster({2, 2}));
  const ContextId context = world.communicator({0, 1});
  Bytes memory(64);
  const CollectiveRequest right{
      {.collective = Collective::allreduce, .op = Operator::sum, .type = Datatype::float64, .count = 8},
      0,
      context,
      0,
      memory,
      memory};
  const auto refused = [&](const std::function<void(CollectiveRequest&)>& change) {
    CollectiveRequest request = right;
    change(request);
    EXPECT_THROW(world.fabric.submit(request, world.fabric.now()), std::invalid_argument);
  };
  refused([](auto& r) { r.context = 7; });
  refused([](auto& r) { r.rank = 2; });
  refused([](auto& r) { r.collective = Collective::point_to_point; });
  refused([](auto& r) { r.op = Operator::band; });
  refused([](auto& r) { r.count = 9; });
  refused([](auto& r) { r.receive = r.receive.first(63); });
  const std::vector<Block> one(1), beyond{{0, 1}, {8, 1}};
  const auto refused_list = [&](std::span<const Block> list) {
    refused([list](auto& r) {
      r.collective = Collective::allgather;
      r.vector = true;
      r.receive_blocks = list;
    });
  };
  refused_list(one);
  refused_list(beyond);
  EXPECT_THROW(world.fabric.submit(right, world.fabric.now() - world.fabric.lookahead() - 1), std::invalid_argument);
  const std::vector<Handle> handles(2);
  EXPECT_THROW((void)world.fabric.create_communicator(std::vector<NodeId>{1, 1}, handles, 500), std::invalid_argument);
  EXPECT_THROW((void)world.fabric.create_communicator(std::vector<NodeId>{1, 4}, handles, 500), std::invalid_argument);
}

TEST(Messages, AllArriveAndTakeTheTimeOfTheSlowestPart) {
  FabricConfig config = cluster({4, 4}, 20);
  config.router.buffer_flits = 128;  // more than a round trip of the link
  World world(config);
  std::mt19937_64 random{5};
  for (Handle i = 0; i < 300; ++i)
    world.fabric.send({i, NodeId(random() % 16), NodeId(random() % 16), random() % 3000}, Tick(random() % 5000));
  world.run();
  std::vector<int> injected(300), arrived(300);
  for (const Completion& c : world.messages) ++(c.last ? arrived : injected)[c.handle];
  EXPECT_EQ(injected, std::vector<int>(300, 1));
  EXPECT_EQ(arrived, std::vector<int>(300, 1));

  world.messages.clear();
  const Tick start = world.fabric.now();
  world.fabric.send({1, 0, 1, 1'000'000}, start);
  world.run();
  const Tick took = world.messages.back().at - start;
  const double flits = 16 * std::ceil(1e6 / 504);  // a header of 8 bytes in 16 flits: the router's port is the limit
  EXPECT_GE(static_cast<double>(took), flits);
  EXPECT_LE(static_cast<double>(took), 1.3 * flits + 2 * 65 + 200);
}

TEST(Messages, OfOneTickLeaveInTheirOrderWhateverWasSentBefore) {
  World world(cluster({2, 2}));
  for (int before = 0; before < 4; ++before) {
    for (Handle i = 0; i < 8; ++i) world.fabric.send({10 + i, 2, 3, 100 * (8 - i)}, world.fabric.now());
    world.run();
    world.messages.clear();
    const Tick start = world.fabric.now() + 1000;
    world.fabric.send({1, 0, 1, 4}, start);
    world.fabric.send({2, 0, 1, 1'000'000}, start);
    world.fabric.send({3, 0, 1, 4}, start);
    world.run();
    std::vector<Handle> arrived;
    for (const Completion& c : world.messages)
      if (c.last) arrived.push_back(c.handle);
    EXPECT_EQ(arrived, (std::vector<Handle>{1, 2, 3}));
  }
}

TEST(Operations, OfOneTickStartInTheirOrderOnWhateverCommunicators) {
  World world(cluster({2, 2}));
  const std::vector<NodeId> members{0, 1, 2, 3};
  const ContextId contexts[] = {world.communicator(members), world.communicator(members)};
  std::mt19937_64 random{6};
  std::vector<Tick> took;
  for (const auto [small, large] : {std::pair(0, 1), std::pair(1, 0)}) {
    Job first = make_job(Collective::broadcast, Algorithm::tree, Operator::none, Datatype::byte, 4, 0, 8, random);
    Job second =
        make_job(Collective::broadcast, Algorithm::tree, Operator::none, Datatype::byte, 4, 0, 1 << 18, random);
    const Tick start = world.fabric.now() + 1000;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      world.submit(contexts[small], first, rank, start);
      world.submit(contexts[large], second, rank, start);
    }
    world.run();
    took.push_back(*std::ranges::max_element(first.done) - start);
  }
  EXPECT_EQ(took[0], took[1]);
}

}  // namespace
}  // namespace thalweg::mpi_fpga::test
