// SPDX-License-Identifier: Apache-2.0
// The collective units of an MPI-FPGA cluster on a clock of another system's simulation, whose adapters submit operations.
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

/// Rank r of the other system is node r of the fabric, at whose own port (mpi_fpga::Endpoint::kernel) operations start and end.
class Units : private Component {
 public:
  /// `clock`: the fabric's, which nobody else uses. Throws std::invalid_argument, one line, where the fabric has fewer nodes than
  /// there are `ranks`, or is none.
  Units(Domain& clock, const mpi_fpga::FabricConfig& config, std::size_t ranks);
  Units(const Units&) = delete;
  Units& operator=(const Units&) = delete;

  /// Called in each step after the completions of its cycle; true: it has something to do in the next one.
  std::function<bool(Tick cycle)> stepped;

  [[nodiscard]] Domain& clock() { return clock_; }
  [[nodiscard]] ComponentId component() const { return id_; }
  /// Operations that a rank's adapter may have begun: those in the unit, and as many that follow at once.
  [[nodiscard]] unsigned at_once() const { return 2 * fabric_.config().collective.operations_in_flight; }
  [[nodiscard]] std::uint32_t elements_per_packet(std::size_t element_bytes) const;
  /// Whether they compute it, for all members alike.
  [[nodiscard]] bool computes(mpi_fpga::ContextId context, mpi_fpga::spec::Collective collective) const {
    return fabric_.computes(context, collective);
  }
  /// The algorithms of a collective that they compute, as bits.
  [[nodiscard]] std::uint32_t algorithms(mpi_fpga::ContextId context, mpi_fpga::spec::Collective collective) const {
    return fabric_.algorithms(context, collective);
  }
  /// A communicator, from a cycle on. None where the table of a member has no row left.
  [[nodiscard]] std::optional<mpi_fpga::ContextId> create(std::span<const NodeId> members, Tick cycle);
  /// A handle for a request; `done` is called in the step in which it has completed.
  [[nodiscard]] Handle expect(queue::Timeline::Done done) { return operations_.expect(std::move(done)); }
  /// One rank's part, from a cycle on that has not been stepped.
  void submit(const mpi_fpga::CollectiveRequest& request, Tick cycle);
  /// What a rank of a communicator waits for.
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
