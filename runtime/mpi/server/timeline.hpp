// SPDX-License-Identifier: Apache-2.0
// Event queue in virtual time, and messages between ranks.
#pragma once

#include "mpi/server/host_memory.hpp"
#include "mpi_fpga/engine.hpp"
#include "queue/timeline.hpp"

namespace thalweg::mpi {

using namespace mpi_fpga;  // the system that this front serves
namespace spec = mpi_fpga::spec;

class Timeline : public queue::Timeline {
 public:
  Timeline(CollectiveEngine& engine, HostMemory memory) : queue::Timeline(engine), engine_(engine), memory_(memory) {}

  [[nodiscard]] CollectiveEngine& engine() { return engine_; }
  [[nodiscard]] const CollectiveEngine& engine() const { return engine_; }

  [[nodiscard]] const HostMemory& memory() const { return memory_; }
  /// Sends a message from a rank of one node to a rank of another or the same node. `done` is called when it has left the
  /// sender's memory, and again when it has arrived.
  void send(NodeId source, NodeId destination, std::uint64_t bytes, Tick at, Done done);

 private:
  CollectiveEngine& engine_;
  HostMemory memory_;
};

}  // namespace thalweg::mpi
