// The plain network: routers joined by links. What stands on the routers' local ports is the caller's.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "fabric/config.hpp"
#include "fabric/faulty_link.hpp"
#include "link/endpoint.hpp"
#include "switch/vc_router.hpp"

namespace thalweg {

/// Throws std::invalid_argument, one line, when the configuration is none: tables, ports, masks, links, margins.
void check_network(const FabricConfig& config);

/// A router of a checked configuration.
[[nodiscard]] VcRouter make_router(const FabricConfig& config, NodeId node);

/// How far ahead a scheduler of this network should look: beyond the longest link.
[[nodiscard]] Tick horizon(const FabricConfig& config);

/// Joins routers[i], node i's, by the configuration's links. Each router's inbox is bound to its component before. The links on
/// which faults happen, to be kept as long as the routers.
[[nodiscard]] std::vector<std::unique_ptr<FaultyLink>> connect_links(const FabricConfig& config,
                                                                     std::span<VcRouter* const> routers,
                                                                     Scheduler& scheduler);

/// Joins a unit's sender to an input port of the router beside it, one cycle each way.
void connect_sender(const RouterConfig& config, FlitSender& sender, VcRouter& router, unsigned port);

/// Joins an output port of a router to a unit's receiver beside it, one cycle each way; `depth` flits a channel fit
/// there.
void connect_receiver(const RouterConfig& config, VcRouter& router, unsigned port, FlitReceiver& receiver,
                      unsigned depth);

}  // namespace thalweg
