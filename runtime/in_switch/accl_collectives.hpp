// SPDX-License-Identifier: Apache-2.0
// ACCL's collectives on the collective units of MPI-FPGA: each board splits its calls into pieces and submits each as an operation.
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
  /// For the first `ranks` boards, rank r at node r. `clock`: for the fabric's exclusive use. `choice`: of algorithms by block size
  /// [default: tree]. Throws std::invalid_argument, one line, if the fabric is invalid or has fewer nodes, or if a board is hardware.
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
    std::vector<Tick> last;  ///< cycle of each rank's last part
  };
  [[nodiscard]] mpi_fpga::spec::Algorithm algorithm_of(const accl::Context& context, mpi_fpga::ContextId units,
                                                       mpi_fpga::spec::Collective collective) const;
  [[nodiscard]] Communicator& communicator(const accl::Context& context, Tick cycle);

  Units units_;
  unsigned ranks_;
  mpi_fpga::Choice choice_;
  std::map<std::uint32_t, Communicator> communicators_;  ///< by the ID common to all members
  std::map<std::uint32_t, std::string> stopped_;         ///< communicators with a failed call, and the reason
};

}  // namespace thalweg::in_switch
