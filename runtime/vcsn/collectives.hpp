// SPDX-License-Identifier: Apache-2.0
// Transfers between FPGA memories, run by the servers' programs in stages of five steps (section 4.1: rows of the
// circuit tables, crossbars, write engines, read engines, interrupts), with a barrier after each stage (section 5.1).
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "vcsn/hosts.hpp"
#include "vcsn/schedules.hpp"

namespace thalweg::vcsn {

/// A move with the addresses of its blocks in both memories, and the DMA engines that execute it.
struct Placed {
  Move move;
  std::vector<Segment> read{}, write{};
  unsigned read_engine = 0, write_engine = 0;
  Handle handle = 0;
};

/// Offset of a read's handle from its write's.
inline constexpr Handle kReads = Handle{1} << 32;

/// Address of each (node, block).
using Addresses = std::map<std::pair<unsigned, unsigned>, std::uint64_t>;

/// A schedule of one transfer over a circuit between two virtual ports: block 0.
[[nodiscard]] Schedule transfer_schedule(const VirtualPort& from, const VirtualPort& to);

/// A schedule on a cluster, with blocks of `size` bytes. The root's blocks are in a separate bank for each external
/// port, and the blocks that a node receives alternate between banks from stage to stage, if there are enough banks. So
/// no bank has two accesses at once. In an allgather all nodes do as the root, except that both ports send a node's own
/// block.
class Collective {
 public:
  /// `cluster` must outlive it. Throws std::invalid_argument if a participating FPGA is in no server.
  Collective(const Cluster& cluster, Schedule schedule, std::uint64_t size);

  [[nodiscard]] const Schedule& schedule() const { return schedule_; }
  [[nodiscard]] const std::vector<std::vector<Placed>>& stages() const { return stages_; }
  /// Initial addresses of blocks, all addresses, and final addresses.
  [[nodiscard]] const Addresses& before() const { return before_; }
  [[nodiscard]] const Addresses& after() const { return after_; }
  [[nodiscard]] Addresses ends() const;
  /// Maximum number of bytes used in a bank.
  [[nodiscard]] std::uint64_t most_bytes() const { return most_bytes_; }

  /// Runs the programs of all participating servers; returns the time in us. Throws Stuck.
  double run(Network& network, const RunOptions& options = {}) const;
  /// Returns a server's program for its FPGAs. This object and `network` must outlive it.
  [[nodiscard]] Program program(Network& network, unsigned server) const;

 private:
  using Nodes = std::vector<unsigned>;

  void lay_out();
  [[nodiscard]] Program wire(Network& network, const ServerCosts& costs, const Nodes& own, std::size_t stage) const;
  void set(Network& network, const Nodes& own, const std::vector<Placed>& stage,
           const std::vector<Placed>& before) const;

  const Cluster& cluster_;
  Schedule schedule_;
  std::uint64_t size_;
  std::vector<std::vector<Placed>> stages_;
  Addresses before_, after_;
  std::uint64_t most_bytes_ = 0;
};

}  // namespace thalweg::vcsn
