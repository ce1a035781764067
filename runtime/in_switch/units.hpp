// SPDX-License-Identifier: Apache-2.0
// The collective units of an MPI-FPGA cluster, on a clock of another system's simulation, whose adapters submit operations.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/clock.hpp"
#include "mpi_fpga/driver/fabric.hpp"
#include "queue/timeline.hpp"

namespace thalweg::in_switch {

/// Rank r of the other system is node r of the fabric; operations start and end at the node's own port (mpi_fpga::Endpoint::kernel).
class Units : private Component {
 public:
  /// `clock`: for the fabric's exclusive use. Throws std::invalid_argument, one line, if the fabric is invalid or has fewer than
  /// `ranks` nodes.
  Units(Domain& clock, const mpi_fpga::FabricConfig& config, std::size_t ranks);
  Units(const Units&) = delete;
  Units& operator=(const Units&) = delete;

  /// Called in each step after the completions of its cycle; returns true to be called in the next cycle.
  std::function<bool(Tick cycle)> stepped;

  [[nodiscard]] Domain& clock() { return clock_; }
  [[nodiscard]] ComponentId component() const { return id_; }
  /// Maximum operations in flight per adapter: those in the unit, and as many queued behind them.
  [[nodiscard]] unsigned at_once() const { return 2 * fabric_.config().collective.operations_in_flight; }
  [[nodiscard]] std::uint32_t elements_per_packet(std::size_t element_bytes) const;
  /// True if the units compute the collective on this communicator; the same for all members.
  [[nodiscard]] bool computes(mpi_fpga::ContextId context, mpi_fpga::spec::Collective collective) const {
    return fabric_.computes(context, collective);
  }
  /// Bit mask of the available algorithms of a collective.
  [[nodiscard]] std::uint32_t algorithms(mpi_fpga::ContextId context, mpi_fpga::spec::Collective collective) const {
    return fabric_.algorithms(context, collective);
  }
  /// Creates a communicator at a cycle; nullopt if a member's table is full.
  [[nodiscard]] std::optional<mpi_fpga::ContextId> create(std::span<const NodeId> members, Tick cycle);
  /// Creates the handle of a request; `done` is called in the step of its completion.
  [[nodiscard]] Handle expect(queue::Timeline::Done done) { return operations_.expect(std::move(done)); }
  /// Submits one rank's part at a cycle that has not been stepped.
  void submit(const mpi_fpga::CollectiveRequest& request, Tick cycle);
  /// Describes what a rank of a communicator waits for.
  [[nodiscard]] std::optional<mpi_fpga::Waiting> waits(mpi_fpga::ContextId context, std::uint32_t rank) const;

 private:
  bool step(Tick now) override;

  Domain& clock_;
  mpi_fpga::Fabric fabric_;
  queue::Timeline operations_{fabric_};
  ComponentId id_;
  std::vector<Completion> completed_;
};

}  // namespace thalweg::in_switch
