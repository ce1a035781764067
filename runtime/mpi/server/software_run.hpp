// SPDX-License-Identifier: Apache-2.0
// Executes a software collective: sends its messages over the links, round by round.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "mpi/server/software.hpp"
#include "mpi/server/timeline.hpp"

namespace thalweg::mpi {

class SoftwareRun : public std::enable_shared_from_this<SoftwareRun> {
 public:
  /// Called once for each rank of the communicator, when its part completes.
  using Done = std::function<void(std::uint32_t rank, Tick at)>;

  /// Starts all ranks at `at`, rank i on nodes[i]. Each message over links takes `overhead` at its sender and at its receiver.
  static void start(Timeline& timeline, Rounds rounds, std::vector<NodeId> nodes, Tick overhead, Tick at, Done done);

 private:
  struct Member {
    std::uint32_t round = 0;
    std::uint32_t leaving = 0;           ///< sends of its round that have not left yet
    Tick reached = 0;                    ///< when the latest of them left
    std::vector<std::uint32_t> missing;  ///< per round, messages that have not arrived yet
    std::vector<Tick> arrived;           ///< per round, when the latest message was received, overhead included
  };

  SoftwareRun(Timeline& timeline, Rounds rounds, std::vector<NodeId> nodes, Tick overhead, Tick at, Done done);
  void begin_round(std::uint32_t rank);
  void end_round(std::uint32_t rank);
  [[nodiscard]] Tick overhead(std::uint32_t source, std::uint32_t destination) const {
    return nodes_[source] == nodes_[destination] ? 0 : overhead_;
  }

  Timeline& timeline_;
  Rounds rounds_;
  std::vector<NodeId> nodes_;
  Tick overhead_;
  Done done_;
  std::vector<Member> members_;
};

/// Duration of a software collective on idle links, until the last rank completes.
[[nodiscard]] Tick software_ticks(CollectiveEngine& idle, HostMemory memory, const SoftwareCall& call,
                                  const std::vector<NodeId>& nodes, Tick overhead);

}  // namespace thalweg::mpi
