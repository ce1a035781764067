// SPDX-License-Identifier: Apache-2.0
// Recovery of a fabric without links that stay down, and after a reset of one end of a link; docs/links.md.
#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "mpi_fpga/driver/fabric.hpp"
#include "network/network.hpp"

namespace thalweg::mpi_fpga {

void Fabric::give_up_links() {
  std::vector<Recovery> recoveries;
  bool link_removed = false;
  for (const JoinedLink& joined : links_) {
    const auto& [config, link] = joined;
    const std::string failure = describe_failure(joined, config_.ticks_per_second);
    if (failure.empty()) continue;
    if (!failure_) failure_ = failure;
    const auto& reset = link->lost_by();
    recoveries.push_back({.link = link_name(config),
                          .reset = reset.has_value(),
                          .silent_since = reset ? reset->at : link->silent_since(),
                          .given_up = now(),
                          .resumed = now() + config_.faults.rebuild});
    if (reset) continue;
    link_removed = true;
    removed_links_.push_back(config);
  }
  if (recoveries.empty()) return;
  if (!journal_) return;
  FabricConfig next;
  try {
    next = link_removed ? rerouted() : config_;
  } catch (const std::exception& error) {
    *failure_ += std::string(", and ") + error.what();
    return;
  }
  failure_.reset();
  restart(std::move(next));
  recoveries_.insert(recoveries_.end(), recoveries.begin(), recoveries.end());
}

/// The configuration without the links that were given up. Throws what FaultConfig::reroute throws.
FabricConfig Fabric::rerouted() const {
  FabricConfig next = config_;
  std::erase_if(next.links, [&](const LinkConfig& link) {
    return std::ranges::any_of(removed_links_, [&](const LinkConfig& removed) {
      return removed.node_a == link.node_a && removed.port_a == link.port_a;
    });
  });
  NetworkConfig tables = config_.faults.reroute(removed_links_);
  next.grid.clear();
  next.routes = std::move(tables.routes);
  next.grid_routes = std::move(tables.grid_routes);
  next.layer = std::move(tables.layer);
  check_network(next);
  return next;
}

/// Resets all nodes, loads new routes and the rows of all communicators, and restarts incomplete operations.
/// Communicators keep their trees, and thus the order of operands; only the paths between neighbours change.
void Fabric::restart(FabricConfig next) {
  for (const LinkUse& use : link_use())
    flits_before_[std::size_t{use.node} * config_.router.link_ports + use.port] = use.flits;
  for (NodeId node = 0; node < config_.nodes; ++node) unrouted_before_[node] = unrouted(node);
  links_.clear();
  nodes_.clear();
  messages_ = Messages{};
  awaited_.clear();
  free_handles_.clear();
  own_scheduler_ = make_scheduler(next, endpoint_, now());
  scheduler_ = own_scheduler_.get();
  config_ = std::move(next);
  graph_ = Graph(config_);
  resumes_ = now() + config_.faults.rebuild;
  build();
  restart_operations();
}

void Fabric::restart_operations() {
  for (ContextId context = 0; context < communicators_.size(); ++context)
    if (communicators_[context]) load_rows(context, resumes_);
  for (auto& [context, log] : journal_->logs())
    for (std::uint64_t i = 0; i < log.open.size(); ++i)
      for (std::optional<Journal::Part>& part : log.open[i]) {
        if (!part) continue;
        CollectiveRequest request = part->request;
        part->running = true;
        if (part->complete) {
          part->unused.resize(request.receive.size());
          request.receive = part->unused;
        }
        issue(request,
              {.handle = part->request.handle,
               .context = context,
               .rank = request.rank,
               .operation = log.closed + i,
               .reported = part->complete},
              resumes_);
      }
  for (const auto& [handle, message] : journal_->messages())
    nodes_[message.request.source]->send(messages_.add(message.request), resumes_);
}

}  // namespace thalweg::mpi_fpga
