// SPDX-License-Identifier: Apache-2.0
// The plain network: routers connected by links. The caller connects components to the routers' local ports.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "link/endpoint.hpp"
#include "link/faulty_link.hpp"
#include "network/config.hpp"
#include "network/graph.hpp"
#include "switch/vc_router.hpp"

namespace thalweg {

/// Throws std::invalid_argument with a one-line message if the configuration is invalid: tables, ports, masks, links,
/// margins.
void check_network(const NetworkConfig& config);

/// A router of a checked configuration, of which `graph` has the links.
[[nodiscard]] VcRouter make_router(const NetworkConfig& config, const Graph& graph, NodeId node);

/// Look-ahead for a scheduler of this network: more than the longest link's latency.
[[nodiscard]] Tick horizon(const NetworkConfig& config);

/// "the link between port 1 of node 2 and port 3 of node 4".
[[nodiscard]] std::string link_name(const LinkConfig& link);

/// Configuration of link `index` as a faulty link; `index` also selects its random numbers.
[[nodiscard]] FaultyLinkConfig faulty_link(const NetworkConfig& config, std::size_t index);

/// A link with faults.
struct JoinedLink {
  LinkConfig config;
  std::unique_ptr<FaultyLink> link;
};

/// Reason why the link is stopped, with its name; empty if it is not.
[[nodiscard]] std::string describe_failure(const JoinedLink& link, std::int64_t ticks_per_second);

/// Ticks for which a node can be stepped alone: at most the least latency of a link, 1 with faults.
[[nodiscard]] Tick window(const NetworkConfig& config);

/// What is written in a window on wires from one partition of a scheduler to others.
struct Crossing {
  std::vector<FlitWire::Kept> flits;
  std::vector<EventWire::Kept> events;
  void deliver();
};

/// Connects the nodes' routers, routers[i] for node i, by the configuration's links. Each router's inbox must be bound
/// to its component before. `crossings`: one per partition of the scheduler. Returns the links with faults, to be kept as
/// long as the routers.
[[nodiscard]] std::vector<JoinedLink> connect_links(const NetworkConfig& config, std::span<VcRouter* const> routers,
                                                    Scheduler& scheduler, std::span<Crossing> crossings = {});

/// Connects a unit's sender to an input port of its router, one cycle each way.
void connect_sender(const RouterConfig& config, FlitSender& sender, VcRouter& router, unsigned port);

/// Connects an output port of a router to its unit's receiver, one cycle each way; the receiver buffers `depth` flits
/// per channel.
void connect_receiver(const RouterConfig& config, VcRouter& router, unsigned port, FlitReceiver& receiver,
                      unsigned depth);

}  // namespace thalweg
