// SPDX-License-Identifier: Apache-2.0
// The simulator's engine: all nodes, their links, and the communicators of the host driver.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/scheduler.hpp"
#include "mpi_fpga/config.hpp"
#include "mpi_fpga/driver/group.hpp"
#include "mpi_fpga/driver/journal.hpp"
#include "mpi_fpga/driver/open_operations.hpp"
#include "mpi_fpga/driver/row_table.hpp"
#include "mpi_fpga/engine.hpp"
#include "mpi_fpga/messages.hpp"
#include "mpi_fpga/node.hpp"
#include "network/graph.hpp"
#include "network/network.hpp"

namespace thalweg::mpi_fpga {

/// A blocked rank and the rank that it waits for.
struct Waiting {
  ContextId context;
  std::uint32_t rank, peer;  ///< ranks in the communicator
  std::string what;          ///< e.g. "to get data"
  Tick since;

  [[nodiscard]] Blocked blocked() const;
};

class Fabric final : public CollectiveEngine {
 public:
  /// `scheduler`: shared by several fabrics and advanced by its owner; null: its own. Throws std::invalid_argument with
  /// a one-line message if the configuration is invalid.
  explicit Fabric(FabricConfig config, Endpoint endpoint = Endpoint::host, Scheduler* scheduler = nullptr);
  ~Fabric() override;
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  [[nodiscard]] const FabricConfig& config() const { return config_; }
  [[nodiscard]] Tick now() const override { return scheduler_->now(); }
  [[nodiscard]] std::int64_t ticks_per_second() const override { return config_.ticks_per_second; }
  /// Latency from host memory to the node.
  [[nodiscard]] Tick lookahead() const override { return endpoint_ == Endpoint::host ? config_.host.pcie_latency : 0; }

  /// Throws std::invalid_argument if two ranks share a node, or a node does not exist.
  std::optional<ContextId> create_communicator(std::span<const NodeId> members, std::span<const Handle> handles,
                                               Tick at) override;
  [[nodiscard]] std::uint32_t algorithms(ContextId context, spec::Collective collective,
                                         bool vector = false) const override;
  void free_communicator(ContextId context) override;

  /// Throws std::invalid_argument if the hardware cannot execute it: collective, operator and type, size of a buffer. A
  /// part that is inconsistent with other ranks' is not executed, nor are later ones on its communicator; see
  /// mismatch().
  void submit(const CollectiveRequest& request, Tick at) override;
  void send(const MessageRequest& request, Tick at) override;
  void advance(Tick until, std::vector<Completion>& completed) override;
  /// Appends the completions since the last call.
  void take_completed(std::vector<Completion>& completed);
  [[nodiscard]] bool idle() const override;
  /// A scheduler of this configuration's nodes. Throws std::invalid_argument.
  [[nodiscard]] static std::unique_ptr<Scheduler> make_scheduler(const FabricConfig& config, Endpoint endpoint,
                                                                 Tick start = 0);
  /// Hands on what nodes have written for nodes of other partitions of the scheduler, at the end of a window.
  void deliver();
  [[nodiscard]] std::optional<Mismatch> mismatch() const override { return mismatch_; }
  [[nodiscard]] std::optional<std::string> failure() const override { return failure_; }
  [[nodiscard]] std::vector<Recovery> recoveries() const override { return recoveries_; }
  [[nodiscard]] std::vector<LinkUse> link_use() const override;
  [[nodiscard]] std::vector<Lost> lost() const override;
  [[nodiscard]] std::vector<Blocked> blocked() const override;

  /// The vertices and edges of a communicator.
  [[nodiscard]] const Group& group(ContextId context) const;
  /// Groups over which an algorithm splits an operation, or the single one.
  [[nodiscard]] std::vector<Group> parts(ContextId context, spec::Algorithm algorithm) const;
  /// Current waits between ranks; in an idle fabric, the reason why it is stuck.
  [[nodiscard]] std::vector<Waiting> waiting() const;
  /// Flits sent by routers over links.
  [[nodiscard]] std::uint64_t flit_hops() const;
  /// Outstanding credits: 0 in an idle fabric, unless it is stuck.
  [[nodiscard]] std::uint64_t credits_out() const;
  /// Packets in slots, queues and lanes: 0 in an idle fabric, unless it is stuck.
  [[nodiscard]] std::uint64_t stored_packets() const;

 private:
  /// An operation of the caller, completed once when all its parts have completed.
  struct PendingOperation {
    Handle handle = 0;
    unsigned parts = 0;
    ContextId context = 0;
    std::uint32_t rank = 0;
    std::uint64_t operation = 0;  ///< number in the journal
    bool reported = false;        ///< its completion was reported before the fabric restarted
  };
  /// One row of a communicator in the tables of its nodes.
  struct Part {
    Group group;
    std::uint32_t row = 0;
  };
  struct Communicator {
    Part main;
    /// Rows over which an algorithm splits an operation.
    [[nodiscard]] std::span<const Part> parts(spec::Algorithm algorithm) const {
      if (algorithm == spec::Algorithm::trees) return trees;
      return algorithm == spec::Algorithm::ring ? std::span(rings) : std::span(&main, 1);
    }

    std::vector<Part> trees, rings;              ///< rows for Algorithm::trees and ring
    std::vector<std::optional<Handle>> loading;  ///< per rank whose rows are not loaded
    OpenOperations open;
    bool freeing = false;  ///< freed once its repeated operations have ended
  };

  [[nodiscard]] const Communicator& communicator(ContextId context) const;
  [[nodiscard]] Communicator& communicator(ContextId context);
  [[nodiscard]] Abilities abilities(const Communicator& communicator) const;
  [[nodiscard]] std::vector<Part> grant(std::vector<Group> groups, std::span<const NodeId> members);
  [[nodiscard]] std::uint64_t unrouted(NodeId node) const;
  void build();
  void load_rows(ContextId context, Tick at);
  void load_rows(const Part& part, std::span<const Handle> handles, Tick at);
  [[nodiscard]] Handle expect(const PendingOperation& awaited);
  void issue(CollectiveRequest request, PendingOperation awaited, Tick at);
  /// False if the caller already knows the completion.
  [[nodiscard]] bool record_end(Ended& ended);
  void give_up_links();
  [[nodiscard]] FabricConfig rerouted() const;
  void restart(FabricConfig next);
  void restart_operations();
  [[nodiscard]] std::optional<std::uint32_t> waited_rank(const Part& part, std::uint32_t vertex) const;
  void check_time(Tick at) const;
  void check(const Communicator& communicator, const CollectiveRequest& request) const;

  FabricConfig config_;
  Graph graph_;
  Endpoint endpoint_;
  std::unique_ptr<Scheduler> own_scheduler_;
  Scheduler* scheduler_;
  Messages messages_;
  std::vector<std::vector<Ended>> ended_;  ///< per partition of the scheduler
  std::vector<Crossing> crossings_;        ///< per partition
  std::vector<PendingOperation> awaited_;  ///< by the nodes' handles for rows and collectives
  std::vector<Handle> free_handles_;       ///< free handles
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<JoinedLink> links_;                          ///< links with faults
  std::deque<std::optional<Communicator>> communicators_;  ///< stable addresses: nodes refer to their groups
  RowTable rows_;
  std::optional<Mismatch> mismatch_;

  // Recovery from failed links:
  std::optional<std::string> failure_;
  std::vector<LinkConfig> removed_links_;
  std::vector<Recovery> recoveries_;
  std::optional<Journal> journal_;              ///< present if the fabric can restart
  Tick resumes_ = 0;                            ///< nothing starts earlier
  std::vector<std::uint64_t> flits_before_;     ///< [node][port]: flits before the restart
  std::vector<std::uint64_t> unrouted_before_;  ///< [node]: unrouted flits before the restart
};

}  // namespace thalweg::mpi_fpga
