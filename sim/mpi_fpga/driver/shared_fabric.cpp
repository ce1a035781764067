// SPDX-License-Identifier: Apache-2.0
#include "mpi_fpga/driver/shared_fabric.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "network/network.hpp"

namespace thalweg::mpi_fpga {

SharedFabric::SharedFabric(const FabricConfig& config, const Sharing& sharing, Endpoint endpoint)
    : job_of_node_(sharing.job_of_node) {
  check_sharing(config, sharing);
  scheduler_ = Fabric::make_scheduler(config, endpoint);
  for (std::uint32_t job = 0; job < sharing.weights.size(); ++job)
    parts_.push_back(
        std::make_unique<Fabric>(thalweg::mpi_fpga::part_of(config, sharing, job), endpoint, scheduler_.get()));
  scheduler_->after_windows([this] {
    for (const auto& part : parts_) part->deliver();
  });
}

std::uint32_t SharedFabric::job_of(NodeId node) const {
  if (node >= job_of_node_.size()) throw std::invalid_argument("node " + std::to_string(node) + " does not exist");
  return job_of_node_[node];
}

std::optional<ContextId> SharedFabric::create_communicator(std::span<const NodeId> members,
                                                           std::span<const Handle> handles, Tick at) {
  const std::uint32_t job = members.empty() ? 0 : job_of(members[0]);
  for (const NodeId node : members)
    if (job_of(node) != job)
      throw std::invalid_argument("nodes " + std::to_string(members[0]) + " and " + std::to_string(node) +
                                  " belong to different jobs");
  const auto context = parts_[job]->create_communicator(members, handles, at);
  if (!context) return std::nullopt;
  return outer(*context, job);
}

std::uint32_t SharedFabric::algorithms(ContextId context, spec::Collective collective, bool vector) const {
  return part_of(context).algorithms(inner(context), collective, vector);
}

void SharedFabric::free_communicator(ContextId context) {
  part_of(context).free_communicator(inner(context));
}

void SharedFabric::submit(const CollectiveRequest& request, Tick at) {
  CollectiveRequest own = request;
  own.context = inner(request.context);
  part_of(request.context).submit(own, at);
}

void SharedFabric::send(const MessageRequest& request, Tick at) {
  const std::uint32_t job = job_of(request.source);
  if (job_of(request.destination) != job)
    throw std::invalid_argument("a message from node " + std::to_string(request.source) + " to node " +
                                std::to_string(request.destination) + ", which belong to different jobs");
  parts_[job]->send(request, at);
}

void SharedFabric::advance(Tick until, std::vector<Completion>& completed) {
  const std::size_t before = completed.size();
  while (completed.size() == before && (until == kNever ? !idle() : now() < until)) {
    scheduler_->advance(until);
    for (const auto& part : parts_) part->take_completed(completed);
  }
}

std::optional<Mismatch> SharedFabric::mismatch() const {
  for (std::uint32_t job = 0; job < jobs(); ++job)
    if (auto found = parts_[job]->mismatch()) {
      found->context = outer(found->context, job);
      return found;
    }
  return std::nullopt;
}

std::vector<LinkUse> SharedFabric::link_use() const {
  std::map<std::pair<NodeId, unsigned>, std::uint64_t> flits;
  for (const auto& part : parts_)
    for (const LinkUse& use : part->link_use()) flits[{use.node, use.port}] += use.flits;
  std::vector<LinkUse> result;
  for (const auto& [link, count] : flits) result.push_back({link.first, link.second, count});
  return result;
}

std::vector<Lost> SharedFabric::lost() const {
  std::map<std::pair<NodeId, std::string>, std::uint64_t> counts;
  for (const auto& part : parts_)
    for (const Lost& lost : part->lost()) counts[{lost.node, lost.what}] += lost.count;
  std::vector<Lost> result;
  for (const auto& [lost, count] : counts) result.push_back({lost.first, lost.second, count});
  return result;
}

std::vector<Blocked> SharedFabric::blocked() const {
  std::vector<Blocked> all;
  for (const Waiting& waiting : this->waiting()) all.push_back(waiting.blocked());
  return all;
}

std::vector<Waiting> SharedFabric::waiting() const {
  std::vector<Waiting> result;
  for (std::uint32_t job = 0; job < jobs(); ++job)
    for (Waiting& waiting : parts_[job]->waiting()) {
      waiting.context = outer(waiting.context, job);
      result.push_back(std::move(waiting));
    }
  return result;
}

std::uint64_t SharedFabric::flit_hops() const {
  std::uint64_t hops = 0;
  for (const auto& part : parts_) hops += part->flit_hops();
  return hops;
}

}  // namespace thalweg::mpi_fpga
