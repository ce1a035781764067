// SPDX-License-Identifier: Apache-2.0
// Do the user's units map every element once on input and once on output, and add exactly their own cycles?
#include <algorithm>

#include "mpi_fpga/user_operators.hpp"
#include "world.hpp"

namespace thalweg::mpi_fpga::test {
namespace {

using spec::Algorithm, spec::Collective, spec::Datatype, spec::Operator;

constexpr unsigned kBefore = 7, kAfter = 11;

// Neither commutes with the other or is its own inverse: a second pass, or none, is visible.
std::uint64_t before(std::uint64_t x) {
  return 3 * x + 1;
}
std::uint64_t after(std::uint64_t x) {
  return (x << 7 | x >> 57) ^ 0x5555;
}

template <std::uint64_t (*Map)(std::uint64_t)>
void map(std::byte* data, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i, data += 8) {
    std::uint64_t x;
    std::memcpy(&x, data, 8);
    x = Map(x);
    std::memcpy(data, &x, 8);
  }
}

void add(std::byte* accumulator, const std::byte* operand, std::size_t elements) {
  lane(Operator::sum, Datatype::uint64)(accumulator, operand, elements);
}

constexpr UserUnits kUnits{.before = {8, kBefore, map<before>}, .after = {8, kAfter, map<after>}};

FabricConfig with_units(bool fat_trees, const UserUnits& units) {
  FabricConfig config = fat_trees ? with_hosts(fat_tree(2, 3, 2), 3) : cluster({3, 2}, 3);
  config.collective.trees = fat_trees ? Trees::by_topology : Trees::by_rank;
  config.collective.packet_flits = 4;
  config.collective.operators = {{"own", 8, 14, add, units}};
  for (const auto moving : {Collective::broadcast, Collective::gather, Collective::scatter, Collective::allgather})
    config.collective.units[static_cast<std::uint8_t>(moving)] = units;
  return config;
}

Bytes mapped(Bytes block, bool out) {
  map<before>(block.data(), block.size() / 8);
  if (out) map<after>(block.data(), block.size() / 8);
  return block;
}

Bytes random_bytes(std::size_t size, std::mt19937_64& random) {
  Bytes bytes(size);
  std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random()); });
  return bytes;
}

/// The `ranks` parts of a collective of blocks of `count` elements, including parts without elements.
Job parts(Collective collective, Algorithm algorithm, Datatype type, std::uint32_t ranks, std::uint32_t root,
          std::uint64_t count, std::mt19937_64& random) {
  Job job{.collective = collective,
          .algorithm = algorithm,
          .op = Operator::none,
          .type = type,
          .root = root,
          .count = count};
  if (type == Datatype::uint64) job.op = Operator::user0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    job.send.push_back(random_bytes(count * spec::size_of(type) * ranks, random));
    job.receive.emplace_back(count * spec::size_of(type) * ranks);
  }
  job.send_blocks.resize(ranks);
  job.receive_blocks.resize(ranks);
  job.done.assign(ranks, -1);
  return job;
}

class Units : public testing::TestWithParam<bool> {};

TEST_P(Units, MapWhatMovesOnItsWayInAndOut) {
  constexpr std::uint32_t kRanks = 6, kRoot = 2;
  World world(with_units(GetParam(), kUnits));
  const ContextId context = world.communicator({0, 1, 2, 3, 4, 5});
  std::mt19937_64 random{1};
  for (const std::size_t size : {1u, 8u, 119u, 120u, 121u, 1003u})
    for (const auto collective :
         {Collective::broadcast, Collective::gather, Collective::scatter, Collective::allgather}) {
      SCOPED_TRACE(testing::Message() << spec::name(collective) << ' ' << size);
      Job job = parts(collective, Algorithm::tree, Datatype::byte, kRanks, kRoot, size, random);
      world.submit(context, job);
      world.run();
      const auto sent = [&](std::uint32_t rank, std::uint32_t index) {
        const auto first = job.send[rank].begin() + static_cast<std::ptrdiff_t>(index * size);
        return mapped(Bytes(first, first + static_cast<std::ptrdiff_t>(size)), true);
      };
      for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
        Bytes expected;
        const auto add_block = [&](const Bytes& block) { expected.insert(expected.end(), block.begin(), block.end()); };
        if (collective == Collective::broadcast && rank != kRoot) add_block(sent(kRoot, 0));
        if (collective == Collective::scatter) add_block(sent(kRoot, rank));
        if (collective == Collective::allgather || (collective == Collective::gather && rank == kRoot))
          for (std::uint32_t from = 0; from < kRanks; ++from) add_block(sent(from, 0));
        expected.resize(size * kRanks);  // nothing was written beyond it
        EXPECT_EQ(job.receive[rank], expected) << "rank " << rank;
      }
    }
}

TEST_P(Units, SurroundTheOperatorThatTheyBelongTo) {
  constexpr std::uint32_t kRanks = 6;
  World world(with_units(GetParam(), kUnits));
  const ContextId context = world.communicator({0, 1, 2, 3, 4, 5});
  std::mt19937_64 random{1};
  for (const auto algorithm : {Algorithm::tree, Algorithm::exchange})
    for (const std::uint64_t count : {1u, 15u, 16u, 200u}) {
      Job job = parts(Collective::allreduce, algorithm, Datatype::uint64, kRanks, 0, count, random);
      world.submit(context, job);
      world.run();
      Bytes expected = mapped(job.send[0], false);
      for (std::uint32_t rank = 1; rank < kRanks; ++rank)
        add(expected.data(), mapped(job.send[rank], false).data(), count);
      map<after>(expected.data(), count);
      expected.resize(count * 8);
      for (Bytes& received : job.receive) {
        received.resize(count * 8);
        EXPECT_EQ(received, expected) << count;
      }
    }
}

TEST_P(Units, TakeTheirCyclesOnceAndAFlitACycle) {
  const auto ticks = [&](const UserUnits& units, std::uint64_t count) {
    World world(with_units(GetParam(), units), Endpoint::kernel);
    const ContextId context = world.communicator({0, 1, 2, 3});
    std::mt19937_64 random{1};
    Job job = parts(Collective::allreduce, Algorithm::tree, Datatype::uint64, 4, 0, count, random);
    const Tick start = world.fabric.now();
    world.submit(context, job);
    world.run();
    return std::ranges::max(job.done) - start;
  };
  for (const std::uint64_t count : {1u, 2000u}) {
    const Tick plain = ticks({}, count);
    EXPECT_EQ(ticks({.before = kUnits.before, .after = {}}, count), plain + kBefore);
    EXPECT_EQ(ticks({.before = {}, .after = kUnits.after}, count), plain + kAfter);
    EXPECT_EQ(ticks(kUnits, count), plain + kBefore + kAfter);
  }
}

TEST(UserUnits, PassAFlitACycle) {
  constexpr std::uint64_t kBlock = 8000, kRanks = 6;
  const auto ticks =
      [&](const UserUnits& units) {  // of a scatter: its root's PCIe and links take more than one flit per cycle
        FabricConfig config = with_units(false, units);
        config.collective.packet_flits = 16;
        World world(config, Endpoint::host);
        const ContextId context = world.communicator({0, 1, 2, 3, 4, 5});
        std::mt19937_64 random{1};
        Job job = parts(Collective::scatter, Algorithm::tree, Datatype::byte, kRanks, 0, kBlock, random);
        const Tick start = world.fabric.now();
        world.submit(context, job);
        world.run();
        return std::ranges::max(job.done) - start;
      };
  const Tick passing = kRanks * kBlock / 32;
  EXPECT_LT(ticks({}), passing);
  EXPECT_GT(ticks({.before = kUnits.before, .after = {}}), passing);
}

INSTANTIATE_TEST_SUITE_P(Clusters, Units, testing::Bool(),
                         [](const auto& info) { return info.param ? std::string("FatTree") : std::string("Torus"); });

}  // namespace
}  // namespace thalweg::mpi_fpga::test
