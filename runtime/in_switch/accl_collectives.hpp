// SPDX-License-Identifier: Apache-2.0
// ACCL's collectives on the collective units of MPI-FPGA: each board submits the pieces of its calls, each as an operation of the units.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "accl/collective_units.hpp"
#include "accl/network.hpp"
#include "in_switch/units.hpp"
#include "mpi_fpga/choice.hpp"

namespace thalweg::in_switch {

class AcclCollectives final : public accl::CollectiveUnits {
 public:
  /// For the first `ranks` boards, rank r at node r. `clock`: the fabric's, which nobody else uses. `choice`: of algorithms by the size of a block; where
  /// it says nothing, the tree. Throws std::invalid_argument, one line, where
  /// the fabric has fewer nodes, or is none, or where a board is hardware.
  AcclCollectives(accl::Network& boards, Domain& clock, const mpi_fpga::FabricConfig& config, unsigned ranks,
                  mpi_fpga::Choice choice = {});

  [[nodiscard]] std::optional<accl::UnitCall> begin(const accl::Context& context, Tick tick) override;
  [[nodiscard]] unsigned at_once() const override { return units_.at_once(); }
  void submit(const accl::Context& context, const std::shared_ptr<accl::UnitPiece>& piece, Tick tick,
              std::function<void(Tick)> done) override;
  void stop(const accl::Context& context) override;
  [[nodiscard]] std::string stopped(const accl::Context& context) const override;
  [[nodiscard]] Waits waits(const accl::Context& context) const override;

 private:
  struct Communicator {
    mpi_fpga::ContextId context = 0;
    std::vector<Tick> last;  ///< the cycle of each rank's last part
  };
  [[nodiscard]] mpi_fpga::spec::Algorithm algorithm_of(const accl::Context& context, mpi_fpga::ContextId units,
                                                       mpi_fpga::spec::Collective collective) const;
  [[nodiscard]] Communicator& communicator(const accl::Context& context, Tick cycle);

  Units units_;
  unsigned ranks_;
  mpi_fpga::Choice choice_;
  std::map<std::uint32_t, Communicator> communicators_;  ///< by what all members know them by
  std::map<std::uint32_t, std::string> stopped_;         ///< whose call has failed, and why
};

}  // namespace thalweg::in_switch
