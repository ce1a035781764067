// SPDX-License-Identifier: Apache-2.0
// Sixteen FPGAs on two Ethernet switches: a C++ program opens, closes and re-wires circuits, and runs transfers and
// gathers over them.
//
//     cmake -S examples/vcsn -B build/examples && cmake --build build/examples && build/examples/circuits
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "vcsn/collectives.hpp"
#include "vcsn/vcsn.hpp"
#include "vcsn_d5005.hpp"

using namespace thalweg::vcsn;

namespace {

constexpr std::uint64_t kBytes = 1 << 20;

/// Content of a node's block.
std::vector<std::byte> block_of(unsigned node) {
  std::vector<std::byte> data(kBytes);
  for (std::size_t at = 0; at < data.size(); ++at) data[at] = static_cast<std::byte>(at * (node + 1) >> 3);
  return data;
}

/// Stores a collective's blocks, runs it, and checks its result.
void run(const char* name, const Cluster& cluster, const Schedule& schedule) {
  const Collective collective(cluster, schedule, kBytes);
  Network network(cluster.hardware(), "");
  for (const auto& [of, address] : collective.before()) network.memory(of.first).write(address, block_of(of.second));
  const double us = collective.run(network);
  bool right = network.lost().empty();
  for (const auto& [of, address] : collective.ends()) {
    std::vector<std::byte> data(kBytes);
    network.memory(of.first).read(address, data);
    right = right && data == block_of(of.second);
  }
  std::printf("%-20s %7.1f us in %zu stages, %s\n", name, us, schedule.stages.size(), right ? "as sent" : "WRONG");
}

/// A kernel that sends a word to itself around a ring of FPGAs, and measures the time.
Logic first(const Network& network, double& us) {
  const auto begin = network.now();
  co_yield Send(std::vector<std::byte>(64));
  const Taken back = co_yield Receive{1};
  us = static_cast<double>(network.now() - begin) * 1e6 / static_cast<double>(network.ticks_per_second());
  if (back.bytes.size() != 64) throw std::runtime_error("the word has not come back");
}
Logic passes_on() {
  for (;;) {
    Taken word = co_yield Receive{1};
    co_yield Send(std::move(word.bytes));
  }
}

void go_around(Vcsn& vcsn) {
  auto& network = vcsn.network();
  std::vector<Kernel> kernels;
  double us = 0;
  for (const unsigned node : vcsn.cluster().fpgas()) {
    const auto& fpga = network.node(node);
    for (const auto& [at, to] : vcsn.circuits({node})) {  // the neighbours around the ring
      const bool next = to.node == (node + 1) % 16;
      const unsigned port = fpga.place(at.port, at.virtual_port), kernel = fpga.kernel_place(0);
      network.connect(node, next ? port : kernel, next ? kernel : port);
    }
    kernels.push_back({.node = node, .next = node == 0 ? first(network, us) : passes_on(), .serves = node != 0});
  }
  thalweg::vcsn::run(network, {}, kernels);
  std::printf("a word goes around a ring of 16 in %.2f us\n", us);
}

}  // namespace

int main() {
  const Cluster cluster("vcsn-d5005", clusters::vcsn_d5005());
  Network network(cluster.hardware(), "");
  Vcsn vcsn(cluster, network);

  const auto ring = vcsn.rewire(Topology::of("ring", 16));
  std::printf("ring:  %zu rows, %.3f us by registers, %.1f us by servers\n", ring.rows.size(), *ring.registers_us,
              *ring.servers_us);
  go_around(vcsn);
  const auto torus = vcsn.rewire(Topology::of("torus", 16, {4, 4}));
  std::printf("torus: %zu rows of %zu\n", torus.rows.size(), vcsn.circuits().size());
  const auto pairs = vcsn.rewire_in_time(mapped({"pairs", {{0, 15}, {3, 12}}}, cluster), Way::servers);
  std::printf("pairs: %zu rows, written by servers in %.1f us\n", pairs.rows.size(), pairs.us);
  vcsn.close({0, 0, 0});
  vcsn.open({0, 1, 1}, {7, 1, 0});

  auto& mine = vcsn.partition("mine", {1, 2, 4, 5, 6, 8});
  mine.rewire(Topology{"tree", {{1, 2}, {1, 4}, {2, 5}, {2, 6}, {4, 8}}});
  try {
    mine.rewire({{{1, 0, 0}, {3, 0, 1}}});
  } catch (const std::invalid_argument& error) {
    std::printf("refused: %s\n", error.what());
  }
  for (const auto& [at, to] : vcsn.circuits({0, 3}))
    std::printf("%s: %s\n", to_string(at).c_str(), to_string(to).c_str());

  run("transfer", cluster, transfer_schedule({0, 0, 0}, {5, 0, 1}));
  for (const char* by : {"tree", "ring", "relink"}) {
    const Schedule gather = gather_schedule(cluster, by, cluster.fpgas(), 0);
    run((std::string("gather by ") + by).c_str(), cluster, gather);
    run((std::string("scatter by ") + by).c_str(), cluster, scatter(gather));
  }
}
