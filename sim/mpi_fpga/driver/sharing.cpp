// SPDX-License-Identifier: Apache-2.0
#include "mpi_fpga/driver/sharing.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "core/require.hpp"
#include "link/flow.hpp"

namespace thalweg::mpi_fpga {
namespace {

unsigned sum(const std::vector<unsigned>& weights, std::size_t first) {
  return std::accumulate(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(first), 0u);
}

/// Total number of shares, of which job `job` has weights[job].
unsigned parts(const Sharing& sharing) {
  return sharing.mode == Sharing::Mode::sub_channels ? kSubChannels : sum(sharing.weights, sharing.weights.size());
}

Share share_of(const Sharing& sharing, std::uint32_t job) {
  const unsigned weight = sharing.weights[job];
  if (sharing.mode == Sharing::Mode::sub_channels) {
    const unsigned common = std::gcd(weight, kSubChannels);
    return {.flits = weight / common, .cycles = kSubChannels / common};
  }
  const Tick before = sum(sharing.weights, job);
  return {.frame = parts(sharing) * sharing.slot_cycles,
          .begin = before * sharing.slot_cycles,
          .end = (before + weight) * sharing.slot_cycles};
}

}  // namespace

FabricConfig part_of(const FabricConfig& config, const Sharing& sharing, std::uint32_t job) {
  FabricConfig part = config;
  const auto divided = [&](unsigned amount) { return amount * sharing.weights[job] / parts(sharing); };
  RouterConfig& router = part.router;
  router.share = share_of(sharing, job);
  router.buffer_flits = divided(router.buffer_flits);
  if (router.flow == FlowControl::margin) {
    Tick margin = router.share.most(router.margin_flits);
    for (const LinkConfig& link : part.links) margin = std::max(margin, least_margin(link.latency, router.share));
    router.margin_flits = static_cast<unsigned>(margin);
  }
  const auto least = static_cast<unsigned>(least_margin(1, router.share) + 1);
  router.local_buffer_flits = std::max(least, std::min(router.local_buffer_flits, router.buffer_flits));
  part.collective.contexts = divided(config.collective.contexts);
  part.collective.relay_flits =
      std::max(divided(config.collective.relay_flits), 2 * config.collective.long_packet_flits);
  return part;
}

void check_sharing(const FabricConfig& config, const Sharing& sharing) {
  const auto jobs = static_cast<std::uint32_t>(sharing.weights.size());
  require(jobs >= 1 && std::ranges::min(sharing.weights) >= 1, "every job has a share of at least 1");
  const unsigned all = sum(sharing.weights, jobs);
  if (sharing.mode == Sharing::Mode::sub_channels)
    require(all <= kSubChannels, "the jobs have " + std::to_string(all) + " sub-channels; there are " +
                                     std::to_string(kSubChannels) + " of 64 bits");
  else
    require(sharing.slot_cycles >= 1, "a slot has at least one cycle");
  require(std::ranges::none_of(config.links, &LinkConfig::faulty),
          "jobs share a fabric only if its links have no faults");
  require(sharing.job_of_node.size() == config.nodes, "every node belongs to a job");
  const auto hosts = sharing.job_of_node.begin() + (config.nodes - config.switches);
  for (std::uint32_t job = 0; job < jobs; ++job) {
    const std::string name = "job " + std::to_string(job);
    require(std::find(sharing.job_of_node.begin(), hosts, job) != hosts, name + " has no node");
    const FabricConfig part = part_of(config, sharing, job);
    require(part.collective.contexts >= 1,
            name + " has no row of the communicator table, which has " + std::to_string(config.collective.contexts));
    const unsigned held = part.router.flow == FlowControl::margin ? part.router.margin_flits : 0;
    require(part.router.buffer_flits > held, name + " has " + std::to_string(part.router.buffer_flits) +
                                                 " flits of the " + std::to_string(config.router.buffer_flits) +
                                                 " that a virtual channel buffers, and needs more than " +
                                                 std::to_string(held));
  }
  for (auto node = sharing.job_of_node.begin(); node != hosts; ++node)
    require(*node < jobs, "node " + std::to_string(node - sharing.job_of_node.begin()) + ": job " +
                              std::to_string(*node) + " does not exist; there are " + std::to_string(jobs));
}

}  // namespace thalweg::mpi_fpga
