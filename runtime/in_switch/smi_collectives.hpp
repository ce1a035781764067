// SPDX-License-Identifier: Apache-2.0
// SMI's collectives on the collective units of MPI-FPGA: adapters at a rank's ports replace SMI's endpoints. An adapter splits a
// channel into tiles, each an operation of the units, several of which are in flight.
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
#include "in_switch/units.hpp"
#include "smi/endpoint.hpp"
#include "smi/program.hpp"

namespace thalweg::in_switch {

class SmiCollectives {
 public:
  /// `clock`: of kernels and their ports. `network`: clock for the fabric's exclusive use. `lane_latency`: cycles in which a root
  /// combines its own element with the others' result. `endpoints`: ports of collectives, by rank. Throws std::invalid_argument, one
  /// line, if the fabric is invalid or has fewer nodes than ranks.
  SmiCollectives(Domains& time, Domain& clock, Domain& network, const mpi_fpga::FabricConfig& config, Tick lane_latency,
                 const std::vector<std::vector<smi::EndpointOf>>& endpoints);
  ~SmiCollectives();
  SmiCollectives(const SmiCollectives&) = delete;
  SmiCollectives& operator=(const SmiCollectives&) = delete;

  /// Valid during the lifetime of this object.
  [[nodiscard]] std::vector<smi::Program::Port> ports(unsigned rank);

 private:
  struct Adapter;
  struct Tile;
  struct Work;

  /// Delivers completions, one per port and cycle; true if more are pending.
  bool step(Tick now);
  void push_to_switches(Adapter& port);
  void pop_from_switches(Adapter& port);
  void broadcast(Adapter& port, const smi::Open& open);
  void reduce(Adapter& port, const smi::Open& open);
  void parts(Adapter& port, const smi::Open& open);
  void submit(Adapter& port, const smi::Open& open, std::shared_ptr<Tile> tile, std::uint32_t count);
  [[nodiscard]] mpi_fpga::ContextId communicator(const Adapter& port, const smi::Open& open);
  /// The next fabric cycle after the kernel's time; synchronizes the kernel first.
  [[nodiscard]] Tick next_cycle();
  [[nodiscard]] std::uint32_t elements_per_packet(const smi::Open& open) const;
  [[nodiscard]] std::string waits(const Adapter& port) const;

  Tick lane_latency_;
  Units units_;
  std::map<std::tuple<smi::EndpointKind, unsigned, unsigned, unsigned, unsigned>, mpi_fpga::ContextId> communicators_;
  std::deque<Adapter> adapters_;
  Kernels kernels_;  // destroyed first, as kernels are unwound
};

}  // namespace thalweg::in_switch
