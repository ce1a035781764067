// SPDX-License-Identifier: Apache-2.0
// SMI's collectives on the collective units of MPI-FPGA: what stands at a rank's ports instead of SMI's endpoints. An adapter
// cuts a channel into tiles, each an operation of the units, and has several of them under way.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "core/clock.hpp"
#include "core/kernel.hpp"
#include "mpi_fpga/driver/fabric.hpp"
#include "queue/timeline.hpp"
#include "smi/endpoint.hpp"
#include "smi/program.hpp"

namespace thalweg::in_switch {

/// Rank r of SMI is node r of the fabric, at whose own port (mpi_fpga::Endpoint::kernel) operations start and end.
class Collectives : private Component {
 public:
  /// `clock`: of kernels and their ports. `network`: the fabric's, which nobody else uses. `lane_latency`: cycles in which a root
  /// combines its own element with the others' result. `endpoints`: ports of collectives, by rank. Throws std::invalid_argument, one
  /// line, where the fabric has fewer nodes than there are ranks, or is none.
  Collectives(Domains& time, Domain& clock, Domain& network, const mpi_fpga::FabricConfig& config, Tick lane_latency,
              const std::vector<std::vector<smi::EndpointOf>>& endpoints);
  ~Collectives() override;
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  /// Valid for as long as this is.
  [[nodiscard]] std::vector<smi::Program::Port> ports(unsigned rank);

 private:
  struct Adapter;
  struct Tile;
  struct Work;

  /// Takes what has completed, after all of the fabric's components have been stepped.
  bool step(Tick now) override;
  void gives(Adapter& port);
  void takes(Adapter& port);
  void broadcast(Adapter& port, const smi::Open& open);
  void reduce(Adapter& port, const smi::Open& open);
  void parts(Adapter& port, const smi::Open& open);
  void submit(Adapter& port, const smi::Open& open, std::shared_ptr<Tile> tile, std::uint32_t count);
  [[nodiscard]] mpi_fpga::ContextId communicator(const Adapter& port, const smi::Open& open);
  /// The fabric's cycle that follows the kernel's, before which nothing comes any more.
  [[nodiscard]] Tick next_cycle() const;
  [[nodiscard]] std::uint32_t elements_per_packet(const smi::Open& open) const;
  [[nodiscard]] std::string waits(const Adapter& port) const;

  Domain& network_;
  Tick lane_latency_;
  unsigned at_once_;  ///< operations of a port that its adapter has begun
  mpi_fpga::Fabric fabric_;
  queue::Timeline operations_{fabric_};
  ComponentId id_;
  std::map<std::tuple<smi::EndpointKind, unsigned, unsigned, unsigned, unsigned>, mpi_fpga::ContextId> communicators_;
  std::vector<Completion> completed_;
  std::deque<Adapter> adapters_;
  Kernels kernels_;  // ends first: kernels are unwound
};

}  // namespace thalweg::in_switch
