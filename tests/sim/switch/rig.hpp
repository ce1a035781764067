// SPDX-License-Identifier: Apache-2.0
// A network whose host ports a test drives and observes flit by flit.
#pragma once

#include <deque>
#include <vector>

#include "core/scheduler.hpp"
#include "network/network.hpp"
#include "thalweg_mpi_fpga_spec.hpp"

namespace thalweg::test {

/// One flit, as it left a router by its host port, or was ejected by a link port.
struct Delivered {
  Tick at;  ///< the cycle in which it is on the wires
  Flit flit;
  unsigned link = 0;  ///< that ejected it
};

class Rig {
 public:
  explicit Rig(const NetworkConfig& config) : config_(config), scheduler_(horizon(config)) {
    check_network(config_);
    std::vector<VcRouter*> routers;
    for (NodeId node = 0; node < config_.nodes; ++node) {
      nodes_.emplace_back(config_, node);
      routers.push_back(&nodes_.back().router);
    }
    links_ = connect_links(config_, routers, scheduler_);
    for (auto& node : nodes_) node.wire(scheduler_, config_.router);
  }

  /// Queues a packet of `flits` flits at the node's host port from cycle `at` on, to be sent on channel `vc`, one flit
  /// per cycle. Word 1 of each flit is the packet's `tag`, word 2 the flit's index.
  void send(NodeId node, NodeId to, unsigned flits, unsigned vc, Tick at = 0, std::uint64_t tag = 0,
            std::uint64_t header = 0) {
    header = mpi_fpga::spec::network_header::with_destination(header, static_cast<std::uint16_t>(to));
    for (unsigned i = 0; i < flits; ++i)
      nodes_[node].waiting.push_back({.flit = {.data = {header, tag, i, 0},
                                               .vc = static_cast<std::uint8_t>(vc),
                                               .head = i == 0,
                                               .tail = i + 1 == flits},
                                      .at = at});
    scheduler_.wake(nodes_[node].id, std::max(at, scheduler_.now()));
  }

  /// From now on the node keeps the flits it receives, and returns neither credits nor room.
  void refuse(NodeId node) { nodes_[node].refuses = true; }

  void run(Tick until) { scheduler_.advance(until); }

  [[nodiscard]] const std::vector<Delivered>& delivered(NodeId node) const { return nodes_[node].delivered; }
  [[nodiscard]] const std::vector<Delivered>& ejected(NodeId node) const { return nodes_[node].ejected; }
  /// The cycles in which the node's host port sent each of its flits.
  [[nodiscard]] const std::vector<Tick>& sent(NodeId node) const { return nodes_[node].sent; }
  [[nodiscard]] VcRouter& router(NodeId node) { return nodes_[node].router; }
  /// The links with faults.
  [[nodiscard]] const std::vector<JoinedLink>& links() const { return links_; }
  /// True if nothing is in flight and no link has anything to send.
  [[nodiscard]] bool at_rest() const { return scheduler_.next_due() == kNever; }

 private:
  struct Waiting {
    Flit flit;
    Tick at;
  };
  struct Node : Component {
    Node(const NetworkConfig& config, NodeId self) : router(make_router(config, Graph(config), self)) {}

    void wire(Scheduler& scheduler, const RouterConfig& config) {
      id = scheduler.add(*this);
      router.bind(scheduler, id);
      for (Inbox* inbox : {&sender.inbox(), &receiver.inbox()}) inbox->bind(scheduler, id);
      connect_sender(config, sender, router, config.link_ports);
      connect_receiver(config, router, config.link_ports, receiver, config.local_buffer_flits);
    }

    bool step(Tick now) override {
      bool busy = router.step(now);
      if (const Flit* flit = receiver.receive(now)) {
        delivered.push_back({now, *flit});
        if (!refuses) receiver.release(flit->vc);
      }
      for (unsigned link = 0; link < router.ejected().size(); ++link)
        if (const Flit* flit = router.ejected()[link].receive(now)) ejected.push_back({now, *flit, link});
      if (!waiting.empty() && waiting.front().at <= now && sender.ready(waiting.front().flit.vc)) {
        const Flit& flit = waiting.front().flit;
        sender.send(now, flit.vc) = flit;
        sent.push_back(now);
        waiting.pop_front();
      }
      receiver.update(now);
      sender.update(now);
      return busy || !waiting.empty();
    }

    VcRouter router;
    FlitSender sender;
    FlitReceiver receiver;
    ComponentId id = 0;
    std::deque<Waiting> waiting;
    std::vector<Delivered> delivered, ejected;
    std::vector<Tick> sent;
    bool refuses = false;
  };

  NetworkConfig config_;
  Scheduler scheduler_;
  std::deque<Node> nodes_;
  std::vector<JoinedLink> links_;
};

/// Nodes in a row, port 0 to the right and port 1 to the left; one route class, all channels.
inline NetworkConfig row_of(unsigned nodes, Tick latency = 1) {
  NetworkConfig config;
  config.router.header = {.destination_lsb = mpi_fpga::spec::network_header::destination_lsb,
                          .unit_mask = mpi_fpga::spec::network_header::collective_mask};
  config.nodes = nodes;
  config.router.link_ports = 2;
  config.router.vc_mask = {{0b1111}, {0b1111}};
  for (NodeId node = 0; node + 1 < nodes; ++node)
    config.links.push_back({.node_a = node, .node_b = node + 1, .port_a = 0, .port_b = 1, .latency = latency});
  for (NodeId node = 0; node < nodes; ++node)
    for (NodeId to = 0; to < nodes; ++to) config.routes.push_back({.port = std::uint8_t(to < node), .route_class = 0});
  return config;
}

}  // namespace thalweg::test
