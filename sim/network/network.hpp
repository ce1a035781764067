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
#include "switch/vc_router.hpp"

namespace thalweg {

/// Throws std::invalid_argument, one line, when the configuration is none: tables, ports, masks, links, margins.
void check_network(const NetworkConfig& config);

/// A router of a checked configuration.
[[nodiscard]] VcRouter make_router(const NetworkConfig& config, NodeId node);

/// How far ahead a scheduler of this network should look: beyond the longest link.
[[nodiscard]] Tick horizon(const NetworkConfig& config);

/// "the link between port 1 of node 2 and port 3 of node 4".
[[nodiscard]] std::string link_name(const LinkConfig& link);

/// The configuration's link on which faults happen; `index`: which one, so that its random numbers are others.
[[nodiscard]] FaultyLinkConfig faulty_link(const NetworkConfig& config, std::size_t index);

/// A link on which faults happen.
struct JoinedLink {
  LinkConfig config;
  std::unique_ptr<FaultyLink> link;
};

/// Why the link stands still, with its name; empty: it does not.
[[nodiscard]] std::string describe_failure(const JoinedLink& link, std::int64_t ticks_per_second);

/// Joins routers[i], node i's, by the configuration's links. Each router's inbox is bound to its component before. The links on
/// which faults happen, to be kept as long as the routers.
[[nodiscard]] std::vector<JoinedLink> connect_links(const NetworkConfig& config, std::span<VcRouter* const> routers,
                                                    Scheduler& scheduler);

/// Joins a unit's sender to an input port of the router beside it, one cycle each way.
void connect_sender(const RouterConfig& config, FlitSender& sender, VcRouter& router, unsigned port);

/// Joins an output port of a router to a unit's receiver beside it, one cycle each way; `depth` flits a channel fit
/// there.
void connect_receiver(const RouterConfig& config, VcRouter& router, unsigned port, FlitReceiver& receiver,
                      unsigned depth);

}  // namespace thalweg
