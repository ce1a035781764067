// SPDX-License-Identifier: Apache-2.0
// Do many concurrent operations on overlapping communicators, on any hardware configuration, all end with the right
// bits and leave nothing behind?
#include <cstdio>
#include <deque>

#include "oracle.hpp"

namespace thalweg::mpi_fpga::test {
namespace {

using spec::Algorithm, spec::Collective, spec::Datatype, spec::Operator;

unsigned below(std::mt19937_64& random, unsigned n) {
  return static_cast<unsigned>(random() % n);
}

template <class T>
T one_of(std::mt19937_64& random, std::initializer_list<T> values) {
  return values.begin()[below(random, static_cast<unsigned>(values.size()))];
}

FabricConfig random_cluster(std::mt19937_64& random) {
  const auto sides = one_of<std::vector<unsigned>>(random, {{2, 2}, {5}, {3, 3}, {4, 4}, {2, 3, 3}, {4, 2, 2}});
  const auto latency = one_of<Tick>(random, {1, 3, 20});
  FabricConfig config = cluster(sides, latency);
  if (random() % 3 == 0)
    config = with_hosts(fat_tree(1 + below(random, 4), 1 + below(random, 5), 1 + below(random, 3)), latency);
  if (config.switches || random() % 2) {
    config.collective.trees = Trees::by_topology;
    if (!config.switches) config.grid = sides;
    config.collective.contexts = 10 + below(random, 23);  // half of them for further rows
  }
  if (random() % 2)
    for (LinkConfig& link : config.links) link.latency = 1 + below(random, 20);
  if (random() % 2)
    for (LinkConfig& link : config.links) link.rate_cycles = 1 + below(random, 8);
  config.router.local_ports = 2 + below(random, config.router.link_ports);
  config.router.local_buffer_flits = one_of(random, {4u, 8u, 16u});
  if (random() % 2) {
    config.router.flow = FlowControl::margin;
    config.router.margin_flits = 2 * 20 + 1;
    config.router.buffer_flits = 64;
    config.router.local_buffer_flits = 64;
  }
  config.collective.operations_in_flight = 1 + below(random, 3);
  config.collective.aggregation_units = 1 + below(random, 6);
  config.collective.slot_packets = one_of(random, {1u, 2u, 3u, 5u, 8u, 10u, 64u});
  config.collective.packet_flits = one_of(random, {1u, 2u, 4u, 16u});
  config.collective.long_packet_flits = config.collective.packet_flits;
  while (random() % 2 && config.collective.long_packet_flits < 64 &&
         2 * config.collective.long_packet_flits <= config.collective.slot_packets * config.collective.packet_flits)
    config.collective.long_packet_flits *= 2;
  config.collective.relay_flits = config.collective.long_packet_flits * one_of(random, {2u, 3u, 20u});
  config.collective.lane_latency = one_of(random, {1u, 5u, 14u});
  config.host.pcie_latency = below(random, 100);
  config.host.pcie_bytes_per_tick = one_of(random, {3.7, 52.0, 0.0});
  return config;
}

/// Packets of different pairs of nodes start on different channels, which they keep in fat trees: these need no other
/// order of channels.
void add_layers(FabricConfig& config, std::mt19937_64& random) {
  config.layer.resize(std::size_t{config.nodes} * config.nodes);
  for (auto& layer : config.layer) layer = static_cast<std::uint8_t>(below(random, 2));
  if (!config.switches) return;
  config.router.virtual_channels = 4;
  config.router.vc_mask = {{0b0001, 0b0010}, {0b0100, 0b1000}};
  for (RouteEntry& route : config.routes) route.route_class = kKeepClass;
}

/// Under margin flow control a link with a replay needs a margin of its window minus one.
void widen_margin(FabricConfig& config) {
  if (config.router.flow != FlowControl::margin) return;
  for (const LinkConfig& link : config.links)
    config.router.margin_flits = std::max(config.router.margin_flits, replay_window(link.latency) - 1);
  config.router.buffer_flits = config.router.margin_flits + 20;
}

/// Faults of all kinds on about three quarters of the links: shares of damaged bits and frames, in either direction,
/// and times of silence.
void add_faults(FabricConfig& config, std::mt19937_64& random) {
  config.faults.seed = random();
  const double rate = one_of(random, {1e-4, 1e-5, 1e-6, 1e-7, 1e-8});
  const auto wire = [&]() -> WireFaults {
    WireFaults faults{.bit_error_rate = random() % 4 ? rate : 0,
                      .frames_lost = random() % 2 ? 0.01 * below(random, 11) : 0,
                      .frames_duplicated = random() % 2 ? 0.01 * below(random, 11) : 0};
    if (random() % 4 == 0) {
      faults.down_at = below(random, 20'000);
      faults.up_at = faults.down_at + 1 + below(random, 5000);
    }
    return faults;
  };
  for (LinkConfig& link : config.links) {
    if (random() % 4 == 0) continue;
    if (random() % 4) link.from_a = wire();
    if (random() % 4) link.from_b = wire();
  }
}

/// One link, sometimes two, is cut permanently, and ends of some are reset alone. All traffic then uses a spanning
/// tree, which has no cycle.
void cut_links(FabricConfig& config, std::mt19937_64& random) {
  config.faults.silence = 200 + below(random, 1000);
  config.faults.rebuild = below(random, 3000);
  for (unsigned i = 1 + (random() % 3 == 0); i > 0; --i) {
    LinkConfig& link = config.links[below(random, static_cast<unsigned>(config.links.size()))];
    WireFaults& wire = random() % 2 ? link.from_a : link.from_b;
    wire.down_at = below(random, 6000);
    wire.up_at = kNever;
  }
  for (unsigned i = below(random, 3); i > 0; --i) {
    LinkConfig& link = config.links[below(random, static_cast<unsigned>(config.links.size()))];
    (random() % 2 ? link.from_a : link.from_b).reset_at = below(random, 6000);
  }
  config.faults.reroute = [config](const std::vector<LinkConfig>& without) {
    FabricConfig rest = config;
    std::erase_if(rest.links, [&](const LinkConfig& link) {
      return std::ranges::any_of(
          without, [&](const LinkConfig& gone) { return gone.node_a == link.node_a && gone.port_a == link.port_a; });
    });
    const Graph graph(rest);
    std::vector<std::optional<Graph::End>> parent(rest.nodes);
    std::vector<NodeId> reached{0};
    for (std::size_t i = 0; i < reached.size(); ++i)
      for (unsigned port = 0; port < graph.ports(); ++port) {
        const auto [node, back] = graph.peer(reached[i], port);
        if (node == Graph::kNone || node == 0 || parent[node]) continue;
        parent[node] = {reached[i], back};
        reached.push_back(node);
      }
    if (reached.size() < rest.nodes) throw std::runtime_error("there is no way");
    for (NodeId to = 0; to < rest.nodes; ++to) {
      // Up the tree, unless the destination is below.
      for (NodeId node = 0; node < rest.nodes; ++node)
        if (node != to && parent[node])
          rest.routes[std::size_t{node} * rest.nodes + to] = {static_cast<std::uint8_t>(parent[node]->port), 0};
      for (NodeId below = to; parent[below]; below = parent[below]->node) {
        const NodeId above = parent[below]->node;
        rest.routes[std::size_t{above} * rest.nodes + to] = {
            static_cast<std::uint8_t>(graph.peer(below, parent[below]->port).port), 0};
      }
    }
    return rest;
  };
}

enum class Links { good, bad, cut };

struct Count {
  unsigned long long operations = 0, recoveries = 0, ended = 0;  ///< ended: runs ended by a link without an alternative
                                                                 ///< path
};

bool vectored(Collective collective) {
  return collective == Collective::gather || collective == Collective::allgather || collective == Collective::scatter ||
         collective == Collective::reduce_scatter;
}

Job random_job(std::uint32_t ranks, unsigned packet_bytes, std::mt19937_64& random) {
  using Type = std::pair<Operator, Datatype>;
  const auto collective =
      one_of(random, {Collective::barrier, Collective::broadcast, Collective::reduce, Collective::allreduce,
                      Collective::gather, Collective::allgather, Collective::scatter, Collective::reduce_scatter,
                      Collective::alltoall, Collective::scan, Collective::exscan});
  const auto algorithm =
      one_of(random, {Algorithm::tree, Algorithm::exchange, Algorithm::halving, Algorithm::trees, Algorithm::ring});
  const auto [op, type] = one_of<Type>(random, {{Operator::sum, Datatype::float64},
                                                {Operator::sum, Datatype::float32},
                                                {Operator::sum, Datatype::int16},
                                                {Operator::bxor, Datatype::uint8},
                                                {Operator::sum, Datatype::complex128},
                                                {Operator::minloc, Datatype::pair_float64_int32}});
  const unsigned packet = packet_bytes / static_cast<unsigned>(spec::size_of(type));
  if (vectored(collective) && random() % 3 == 0) {
    std::vector<std::uint64_t> counts(ranks);
    for (auto& count : counts) count = random() % 4 ? below(random, 4 * packet + 2) : 0;
    return make_vector_job(collective, op, type, below(random, ranks), counts, random);
  }
  if (collective == Collective::alltoall && random() % 3 == 0) {
    std::vector<std::vector<std::uint64_t>> counts(ranks, std::vector<std::uint64_t>(ranks));
    for (auto& row : counts)
      for (auto& count : row) count = random() % 4 ? below(random, 4 * packet + 2) : 0;
    return make_personal_job(type, counts, random);
  }
  return make_job(collective, algorithm, op, type, ranks, below(random, ranks), below(random, 4 * packet + 2), random);
}

Job random_personal_job(std::uint32_t ranks, unsigned packet_bytes, std::mt19937_64& random) {
  std::vector<std::vector<std::uint64_t>> counts(ranks, std::vector<std::uint64_t>(ranks));
  for (auto& row : counts)
    for (auto& count : row) count = random() % 4 ? below(random, 6 * packet_bytes) : 0;
  return make_personal_job(Datatype::byte, counts, random);
}

/// A communicator with a queue of operations; every rank submits each of its parts at a random time.
struct Communicator {
  Communicator(World& world, const FabricConfig& config, bool personal, std::vector<NodeId> nodes,
               std::mt19937_64& random) {
    std::ranges::shuffle(nodes, random);
    const auto all = static_cast<std::uint32_t>(nodes.size()), ranks = random() % 3 ? 1 + below(random, all) : all;
    context = world.communicator({nodes.begin(), nodes.begin() + ranks});
    order = world.order(context);
    const unsigned skew = one_of(random, {1u, 300u, 3000u});
    for (unsigned i = 1 + below(random, 6); i > 0; --i)
      jobs.push_back(
          std::make_unique<Job>(personal ? random_personal_job(ranks, 32 * config.collective.long_packet_flits, random)
                                         : random_job(ranks, 32 * config.collective.packet_flits, random)));
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      Tick at = world.fabric.now();
      for (auto& job : jobs) world.submit(context, *job, rank, at += below(random, skew));
    }
  }

  [[nodiscard]] bool done() const {
    return std::ranges::all_of(jobs, [](const auto& job) { return std::ranges::count(job->done, -1) == 0; });
  }

  ContextId context;
  Order order;
  std::vector<std::unique_ptr<Job>> jobs;
};

/// What a run shows: when each rank's part of each job ended, and the flits over each link.
using Trace = std::vector<std::uint64_t>;

/// One random cluster; several communicators at once, some freed and others created in their place during the run.
/// `personal`: only all-to-alls.
void run(std::uint64_t seed, bool personal, Links links, Count& count, const SimulationConfig& simulation = {},
         Trace* trace = nullptr) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random{seed};
  FabricConfig config = random_cluster(random);
  if (links != Links::cut && random() % 2) add_layers(config, random);
  if (links == Links::bad || (links == Links::cut && random() % 2)) add_faults(config, random);
  if (links != Links::good) widen_margin(config);
  if (links == Links::cut) cut_links(config, random);
  config.simulation = simulation;
  config.simulation.threads = std::min(simulation.threads, config.nodes);
  World world(config, random() % 4 ? Endpoint::host : Endpoint::kernel);
  std::vector<NodeId> nodes(config.nodes - config.switches);
  std::iota(nodes.begin(), nodes.end(), 0u);
  std::deque<Communicator> groups;
  for (unsigned i = 1 + below(random, 5); i > 0; --i) groups.emplace_back(world, config, personal, nodes, random);
  for (unsigned i = below(random, 60); i > 0; --i)
    world.fabric.send({i, below(random, config.nodes), below(random, config.nodes), below(random, 5000)},
                      world.fabric.now() + below(random, 1000));
  const auto stopped = [&] {
    // Correct only if the remaining links do not connect all nodes.
    if (!world.fabric.failure()) return false;
    EXPECT_EQ(links, Links::cut);
    EXPECT_TRUE(std::ranges::any_of(config.links, [&](const LinkConfig& link) {
      return (link.from_a.down_at != kNever || link.from_b.down_at != kNever) &&
             world.fabric.failure()->starts_with(link_name(link) + " is down since ");
    })) << *world.fabric.failure();
    EXPECT_TRUE(world.fabric.failure()->ends_with(", and there is no way"));
    return true;
  };
  const auto note = [&](const Job& job) {
    if (trace) trace->insert(trace->end(), job.done.begin(), job.done.end());
  };
  unsigned replaced = 0;
  do {
    for (Communicator& group : groups)
      if (replaced < 5 && group.done()) {
        ++replaced;
        for (const auto& job : group.jobs) {
          ASSERT_NO_FATAL_FAILURE(verify(*job, group.order));
          note(*job);
        }
        count.operations += group.jobs.size();
        world.fabric.free_communicator(group.context);
        group = Communicator(world, config, personal, nodes, random);
      }
  } while (world.step());
  const bool ended = stopped();
  for (const Communicator& group : groups)
    for (const auto& job : group.jobs) {
      note(*job);
      if (ended && std::ranges::find(job->done, -1) != job->done.end()) continue;
      ASSERT_NO_FATAL_FAILURE(verify(*job, group.order));
      ++count.operations;
    }
  if (trace)
    for (const LinkUse& use : world.fabric.link_use()) trace->push_back(use.flits);
  count.ended += ended;
  if (ended) return;
  EXPECT_TRUE(links == Links::cut || world.fabric.recoveries().empty());
  count.recoveries += world.fabric.recoveries().size();
  EXPECT_TRUE(world.fabric.idle());
  EXPECT_EQ(world.fabric.credits_out(), 0u);
  EXPECT_EQ(world.fabric.stored_packets(), 0u);
  EXPECT_TRUE(world.fabric.waiting().empty());
}

void runs(std::uint64_t otherwise, bool personal, Links links = Links::good) {
  const std::uint64_t first = setting("THALWEG_SEED", 1), count = setting("THALWEG_RUNS", otherwise);
  Count seen;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    ASSERT_NO_FATAL_FAILURE(run(seed, personal, links, seen));
    if (testing::Test::HasNonfatalFailure()) FAIL() << "THALWEG_SEED=" << seed << " THALWEG_RUNS=1 shows it again";
  }
  std::printf("%llu operations, %llu recoveries, %llu runs ended by a link\n", seen.operations, seen.recoveries,
              seen.ended);
  EXPECT_TRUE(links != Links::cut || seen.recoveries > 0);
}

TEST(Stress, RandomFabrics) {
  runs(30, false);
}

/// Compares two ways to simulate the same runs. THALWEG_RUNS=250 runs a thousand fabrics twice, or 500 without faults.
void compare(const SimulationConfig& one, const SimulationConfig& other, bool faults) {
  const std::uint64_t first = setting("THALWEG_SEED", 1), count = setting("THALWEG_RUNS", 2);
  Count seen;
  for (std::uint64_t seed = first; seed < first + count; ++seed)
    for (const auto& [personal, links] :
         {std::pair{false, Links::good}, {true, Links::good}, {false, Links::bad}, {false, Links::cut}}) {
      if (links != Links::good && !faults) continue;
      Trace traces[2];
      ASSERT_NO_FATAL_FAILURE(run(seed, personal, links, seen, one, &traces[0]));
      ASSERT_NO_FATAL_FAILURE(run(seed, personal, links, seen, other, &traces[1]));
      ASSERT_EQ(traces[0], traces[1]) << "THALWEG_SEED=" << seed << " THALWEG_RUNS=1 shows it again";
    }
}

TEST(Stress, IdleBlocksAreSkippedWithoutEffect) {
  compare({}, {.step_idle = true}, true);
}

TEST(Stress, WindowsHaveNoEffect) {
  compare({}, {.windows = false}, true);
}

TEST(Stress, ThreadsHaveNoEffect) {
  compare({}, {.threads = 2}, false);
  compare({.windows = false}, {.threads = 3}, false);
}

TEST(Stress, RandomAllToAlls) {
  runs(8, true);
}

// THALWEG_RUNS=400 runs ten thousand operations.
TEST(Stress, BadLinks) {
  runs(8, false, Links::bad);
}

TEST(Stress, CutLinks) {
  runs(15, false, Links::cut);
}

}  // namespace
}  // namespace thalweg::mpi_fpga::test
