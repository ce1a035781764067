// SPDX-License-Identifier: Apache-2.0
// Events in the order of virtual time, and messages between ranks.
#pragma once

#include "mpi/server/host_memory.hpp"
#include "mpi_fpga/engine.hpp"
#include "queue/timeline.hpp"

namespace thalweg::mpi {

using namespace mpi_fpga;  // whose front this is
namespace spec = mpi_fpga::spec;

class Timeline : public queue::Timeline {
 public:
  Timeline(CollectiveEngine& engine, HostMemory memory) : queue::Timeline(engine), engine_(engine), memory_(memory) {}

  [[nodiscard]] CollectiveEngine& engine() { return engine_; }
  [[nodiscard]] const CollectiveEngine& engine() const { return engine_; }

  [[nodiscard]] const HostMemory& memory() const { return memory_; }
  /// Sends a message from a rank of a node to another rank. `done` is called when it has left the sender's memory, and when it has arrived.
  void send(NodeId source, NodeId destination, std::uint64_t bytes, Tick at, Done done);

 private:
  CollectiveEngine& engine_;
  HostMemory memory_;
};

}  // namespace thalweg::mpi
