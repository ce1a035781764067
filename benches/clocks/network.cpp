// SPDX-License-Identifier: Apache-2.0
// A torus of 8 x 8 routers under random traffic of 8-flit packets, with one clock or two: prints a sum over the
// received data, words that crossed into the other clock, and seconds of CPU time.
//
//     network alone|PERIOD:PERIOD:idle|PERIOD:PERIOD:used CYCLES
#include "network/network.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>

#include "common/async_fifo.hpp"
#include "core/clock.hpp"
#include "core/random.hpp"
#include "link/endpoint.hpp"
#include "network/torus.hpp"
#include "thalweg_mpi_fpga_spec.hpp"

namespace {

using namespace thalweg;

constexpr unsigned kFlits = 8;
constexpr double kLoad = 0.2;

using Fifo = AsyncFifo<std::uint64_t>;

struct Node : Component {
  VcRouter router;
  FlitSender sender;
  FlitReceiver receiver;
  Random random;
  unsigned nodes, sent = 0;
  std::uint64_t header = 0, arrived = 0;
  Tick due = 0;
  Scheduler* scheduler = nullptr;
  ComponentId id = 0;
  Fifo* out = nullptr;  ///< receives a word of each arriving packet

  Node(const NetworkConfig& config, NodeId self)
      : router(make_router(config, self)), random(self), nodes(config.nodes) {}

  void wire(Scheduler& time, const RouterConfig& config) {
    scheduler = &time;
    id = time.add(*this);
    router.bind(time, id);
    sender.inbox().bind(time, id);
    receiver.inbox().bind(time, id);
    connect_sender(config, sender, router, config.link_ports);
    connect_receiver(config, router, config.link_ports, receiver, config.local_buffer_flits);
    time.wake(id, 0);
  }

  bool step(Tick now) override {
    const bool moving = router.step(now);
    if (const Flit* flit = receiver.receive(now)) {
      receiver.release(flit->vc);
      arrived += flit->data[1];
      if (out && flit->tail && out->ready(now)) out->push(now, flit->data[1]);
    }
    if (due <= now) send(now);
    receiver.update(now);
    sender.update(now);
    return moving || due <= now;
  }

  void send(Tick now) {
    if (!sender.ready(0)) return;
    if (sent == 0)
      header = mpi_fpga::spec::network_header::with_size(
          mpi_fpga::spec::network_header::with_destination(0, static_cast<std::uint16_t>(random.below(nodes))), 3);
    Flit& flit = sender.send(now, 0);
    flit.head = sent == 0;
    flit.data = {header, random.next(), 0, 0};
    flit.tail = ++sent == kFlits;
    if (!flit.tail) return;
    sent = 0;
    due = now + 1 + random.below(static_cast<std::uint32_t>(2 * kFlits * (1 / kLoad - 1)));
    scheduler->wake(id, due);
  }
};

struct Network {
  NetworkConfig config = test::torus({8, 8});
  std::deque<Node> nodes;
  std::vector<JoinedLink> links;

  void start(Scheduler& scheduler) {
    std::vector<VcRouter*> routers;
    for (NodeId node = 0; node < config.nodes; ++node) routers.push_back(&nodes.emplace_back(config, node).router);
    for (Node& node : nodes) node.wire(scheduler, config.router);
    links = connect_links(config, routers, scheduler);
  }
};

/// In the other clock domain: receives the words that cross.
struct Other : Component {
  Fifo* fifo = nullptr;
  std::uint64_t words = 0;
  bool step(Tick now) override {
    if (fifo->valid(now)) {
      fifo->pop(now);
      ++words;
    }
    return false;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const Tick cycles = std::atoll(argv[2]);
  Network network;
  Other other;
  int own = 0, others = 0;
  char use[5] = "";
  const auto begin = std::clock();
  if (std::strcmp(argv[1], "alone") == 0) {
    Scheduler scheduler(horizon(network.config));
    network.start(scheduler);
    scheduler.advance(cycles);
  } else if (std::sscanf(argv[1], "%d:%d:%4s", &own, &others, use) == 3) {
    Domains domains;
    Domain& first = domains.add({own, 0}, horizon(network.config));
    Domain& second = domains.add({others, 0});
    network.start(first.scheduler);
    Fifo fifo(16, 2, first.clock, second.clock);
    fifo.reader.bind(second, second.scheduler.add(other));
    other.fifo = &fifo;
    if (std::strcmp(use, "used") == 0) network.nodes[0].out = &fifo;
    domains.advance(first.clock.edge(cycles));
  } else {
    return 2;
  }
  std::uint64_t arrived = 0;
  for (const Node& node : network.nodes) arrived += node.arrived;
  std::printf("%llu %llu %.6f\n", static_cast<unsigned long long>(arrived),
              static_cast<unsigned long long>(other.words), static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
}
