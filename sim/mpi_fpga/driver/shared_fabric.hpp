// SPDX-License-Identifier: Apache-2.0
// Several jobs on one fabric. A job's part of a node is fully separate, including all buffers and counters: its
// sub-channels of every wire and unit, or all of them in its time slots. The jobs' parts are therefore independent
// fabrics that share nodes, links and clock.
#pragma once

#include <memory>
#include <vector>

#include "mpi_fpga/driver/fabric.hpp"
#include "mpi_fpga/driver/sharing.hpp"

namespace thalweg::mpi_fpga {

/// An engine for all jobs. A communicator or a message belongs to the job that owns its nodes.
class SharedFabric final : public CollectiveEngine {
 public:
  /// Throws std::invalid_argument with a one-line message if the configuration is invalid or cannot be shared this way.
  SharedFabric(const FabricConfig& config, const Sharing& sharing, Endpoint endpoint = Endpoint::host);

  [[nodiscard]] std::uint32_t jobs() const { return static_cast<std::uint32_t>(parts_.size()); }
  /// A job's fabric.
  [[nodiscard]] const Fabric& part(std::uint32_t job) const { return *parts_.at(job); }

  [[nodiscard]] Tick now() const override { return scheduler_->now(); }
  [[nodiscard]] std::int64_t ticks_per_second() const override { return parts_[0]->ticks_per_second(); }
  [[nodiscard]] Tick lookahead() const override { return parts_[0]->lookahead(); }

  /// Throws std::invalid_argument if the members' nodes belong to different jobs.
  std::optional<ContextId> create_communicator(std::span<const NodeId> members, std::span<const Handle> handles,
                                               Tick at) override;
  [[nodiscard]] std::uint32_t algorithms(ContextId context, spec::Collective collective,
                                         bool vector = false) const override;
  void free_communicator(ContextId context) override;

  void submit(const CollectiveRequest& request, Tick at) override;
  /// Throws std::invalid_argument if the two nodes belong to different jobs.
  void send(const MessageRequest& request, Tick at) override;
  void advance(Tick until, std::vector<Completion>& completed) override;
  [[nodiscard]] bool idle() const override { return scheduler_->next_due() == kNever; }
  [[nodiscard]] std::optional<Mismatch> mismatch() const override;
  /// Totals over all jobs.
  [[nodiscard]] std::vector<LinkUse> link_use() const override;
  [[nodiscard]] std::vector<Lost> lost() const override;
  [[nodiscard]] std::vector<Blocked> blocked() const override;

  [[nodiscard]] const Group& group(ContextId context) const { return part_of(context).group(inner(context)); }
  [[nodiscard]] std::vector<Group> parts(ContextId context, spec::Algorithm algorithm) const {
    return part_of(context).parts(inner(context), algorithm);
  }
  [[nodiscard]] std::vector<Waiting> waiting() const;
  [[nodiscard]] std::uint64_t flit_hops() const;

 private:
  // A context here is the part's context, times the number of jobs, plus the job.
  [[nodiscard]] ContextId inner(ContextId context) const { return context / jobs(); }
  [[nodiscard]] ContextId outer(ContextId context, std::uint32_t job) const { return context * jobs() + job; }
  [[nodiscard]] Fabric& part_of(ContextId context) const { return *parts_[context % jobs()]; }
  [[nodiscard]] std::uint32_t job_of(NodeId node) const;

  std::vector<std::uint32_t> job_of_node_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<std::unique_ptr<Fabric>> parts_;
};

}  // namespace thalweg::mpi_fpga
