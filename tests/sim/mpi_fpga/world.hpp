// SPDX-License-Identifier: Apache-2.0
// Drives a Fabric in tests: submits all ranks' parts, runs to the end, records the completion times.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "mpi_fpga/driver/fabric.hpp"
#include "network/fat_tree.hpp"
#include "network/torus.hpp"

namespace thalweg::mpi_fpga::test {

using namespace thalweg::test;

using Bytes = std::vector<std::byte>;

/// A number from the environment, such as the first seed of random tests.
inline std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* given = std::getenv(name);
  return given ? std::strtoull(given, nullptr, 10) : otherwise;
}

/// The host's values in the tests.
inline FabricConfig with_hosts(FabricConfig config, Tick link_latency) {
  config.router.local_ports = 1 + config.router.link_ports;
  for (LinkConfig& link : config.links) link.latency = link_latency;
  config.host.pcie_latency = 65;
  config.host.pcie_bytes_per_tick = 51.95;
  return config;
}

/// A torus whose nodes have collective units; one virtual channel for each pair of message and route class.
inline FabricConfig cluster(const std::vector<unsigned>& sides, Tick link_latency = 1) {
  FabricConfig config = torus(sides);
  config.router.vc_mask = {{0b0001, 0b0010}, {0b0100, 0b1000}};
  return with_hosts(config, link_latency);
}

/// The nodes of one plane of a torus of 4 x 3 x 5, with the second coordinate 1, in some order.
inline std::vector<NodeId> plane_of_4x3x5() {
  std::vector<NodeId> plane;
  for (NodeId node = 0; node < 4 * 3 * 5; ++node)
    if (node / 4 % 3 == 1) plane.push_back(node);
  std::mt19937_64 random{4};
  std::ranges::shuffle(plane, random);
  return plane;
}

/// The order of a communicator's reductions: the vertices' neighbours on the tree, the ranks' first, by ascending edge;
/// its top; and the ranks' positions in each stage of an exchange by dimensions, none for recursive doubling.
struct Order {
  std::vector<std::vector<std::uint32_t>> neighbours;
  std::uint32_t top = 0;
  std::vector<std::vector<unsigned>> places{};
  /// For an algorithm that splits an operation between several trees: for each tree, the order for each root, and that
  /// of an allreduce.
  std::map<spec::Algorithm, std::vector<std::vector<Order>>> parts{};
  std::map<spec::Algorithm, std::vector<Order>> for_all{};
  unsigned packet_flits = 0, slot_packets = 0;

  /// The binomial tree whose edges are (v, v without its lowest bit).
  static Order by_rank(std::uint32_t ranks) {
    Order order{.neighbours = std::vector<std::vector<std::uint32_t>>(ranks), .top = 0, .places = {}};
    for (std::uint32_t bit = 1; bit < ranks; bit *= 2)
      for (std::uint32_t v = 0; v + bit < ranks; v += 2 * bit) {
        order.neighbours[v].push_back(v + bit);
        order.neighbours[v + bit].push_back(v);
      }
    return order;
  }
  /// If each rank has a tree of its own: the tree of `root`.
  static Order of_root(const Group& group, std::uint32_t root) {
    Order order{.neighbours = {}, .top = root};
    for (const Group::Vertex& vertex : group.vertices()) {
      auto& neighbours = order.neighbours.emplace_back();
      const std::uint32_t label = group.label(root), branch = vertex.row.towards(label) | vertex.row.away_from(label);
      for (unsigned k = 0; k < kMaxEdges; ++k)
        if (branch >> k & 1) neighbours.push_back(vertex.peer[k]);
    }
    return order;
  }
  static Order of(const Group& group) {
    Order order;
    for (const Group::Vertex& vertex : group.vertices()) {
      if (!vertex.row.up) order.top = static_cast<std::uint32_t>(order.neighbours.size());
      auto& neighbours = order.neighbours.emplace_back();
      for (unsigned k = 0; k < kMaxEdges; ++k)
        if (vertex.row.tree() >> k & 1) neighbours.push_back(vertex.peer[k]);
    }
    if (!group.by_dimensions()) return order;
    for (unsigned stage = 0; stage < group.vertices()[0].row.stage_count; ++stage) {
      auto& places = order.places.emplace_back();
      for (std::uint32_t rank = 0; rank < group.ranks(); ++rank)
        places.push_back(group.vertices()[rank].row.stages[stage].place);
    }
    return order;
  }
};

/// One collective of a whole communicator.
struct Job {
  spec::Collective collective{};
  spec::Algorithm algorithm{};
  spec::Operator op{};
  spec::Datatype type{};
  std::uint32_t root = 0;
  std::uint64_t count = 0;
  std::vector<Bytes> send{}, receive{};                             ///< of each rank
  std::vector<std::vector<Block>> send_blocks{}, receive_blocks{};  ///< v-form: of each rank
  std::vector<std::uint64_t> counts{};                              ///< v-form: elements that each rank gives, or takes
  std::vector<Tick> done{};                                         ///< of each rank; -1: not yet
};

template <class Simulated>
class WorldOf {
 public:
  template <class... Arguments>
  explicit WorldOf(const FabricConfig& config, const Arguments&... arguments)
      : fabric(config, arguments...), collective_(config.collective) {}

  /// Creates a communicator and waits until its rows are loaded.
  ContextId communicator(const std::vector<NodeId>& members) {
    const std::vector<Handle> handles(members.size(), kTable);
    const auto context = fabric.create_communicator(members, handles, fabric.now());
    EXPECT_TRUE(context.has_value());
    tables_ += members.size();
    while (tables_ > 0 && step()) {
    }
    EXPECT_TRUE(tables_ == 0 || fabric.failure());
    return *context;
  }

  [[nodiscard]] Order order(ContextId context) const {
    Order order = Order::of(fabric.group(context));
    order.packet_flits = collective_.packet_flits;
    order.slot_packets = collective_.slot_packets;
    for (const auto algorithm : {spec::Algorithm::trees, spec::Algorithm::ring})
      for (const Group& group : fabric.parts(context, algorithm)) {
        auto& of_roots = order.parts[algorithm].emplace_back();
        for (std::uint32_t root = 0; root < group.ranks(); ++root) of_roots.push_back(Order::of_root(group, root));
        order.for_all[algorithm].push_back(Order::of(group));
      }
    return order;
  }

  /// Submits the rank's part of a job at time `at`.
  void submit(ContextId context, Job& job, std::uint32_t rank, Tick at) {
    const Handle handle = next_++;
    parts_[handle] = {&job, rank};
    fabric.submit({{.collective = job.collective,
                    .algorithm = job.algorithm,
                    .op = job.op,
                    .type = job.type,
                    .vector = !job.counts.empty(),
                    .root = job.root,
                    .count = job.counts.empty() ? job.count : job.counts[rank]},
                   handle,
                   context,
                   rank,
                   job.send[rank],
                   job.receive[rank],
                   job.send_blocks[rank],
                   job.receive_blocks[rank]},
                  at);
  }
  void submit(ContextId context, Job& job) {
    for (std::uint32_t rank = 0; rank < job.send.size(); ++rank) submit(context, job, rank, fabric.now());
  }

  /// Runs to the next completions; false if the fabric is idle.
  bool step() {
    completed_.clear();
    fabric.advance(kNever, completed_);
    for (const Completion& c : completed_) {
      if (c.handle == kTable) {
        --tables_;
      } else if (const auto part = parts_.find(c.handle); part != parts_.end()) {
        const auto& [job, rank] = part->second;
        EXPECT_EQ(job->done[rank], -1) << "completed twice";
        job->done[rank] = c.at;
      } else {
        messages.push_back(c);
      }
    }
    return !completed_.empty();
  }
  void run() {
    while (step()) {
    }
  }

  Simulated fabric;
  std::vector<Completion> messages;

 private:
  static constexpr Handle kTable = ~Handle{0};

  struct Part {
    Job* job;
    std::uint32_t rank;
  };
  CollectiveConfig collective_;
  std::map<Handle, Part> parts_;
  Handle next_ = Handle{1} << 32;  ///< lower ones: messages of tests
  std::size_t tables_ = 0;
  std::vector<Completion> completed_;
};

using World = WorldOf<Fabric>;

}  // namespace thalweg::mpi_fpga::test
