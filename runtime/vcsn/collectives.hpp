// SPDX-License-Identifier: Apache-2.0
// Transfers between the memories of FPGAs as servers' programs run them, stage by stage: the five steps of section 4.1 (rows of the circuit tables,
// crossbars, write engines, read engines, interrupts), with a barrier after each stage (section 5.1).
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "vcsn/hosts.hpp"
#include "vcsn/schedules.hpp"

namespace thalweg::vcsn {

/// A move with where its blocks are in both memories, and the engines that move them.
struct Placed {
  Move move;
  std::vector<Segment> read{}, write{};
  unsigned read_engine = 0, write_engine = 0;
  Handle handle = 0;
};

/// Handles of reads are so much above those of their writes.
inline constexpr Handle kReads = Handle{1} << 32;

/// Addresses of blocks, by node and block.
using Addresses = std::map<std::pair<unsigned, unsigned>, std::uint64_t>;

/// One transfer over a circuit between two virtual ports: block 0.
[[nodiscard]] Schedule transfer_schedule(const VirtualPort& from, const VirtualPort& to);

/// A schedule on a cluster: blocks of `size` bytes. What the root sends or receives over different external ports lies in different banks, and so
/// does what a node receives in one stage and sends in the next one, where there are enough: no bank is read and written at once, or twice.
/// An allgather's nodes all do as the root, but for their own block, which both ports send.
class Collective {
 public:
  /// `cluster` outlives it. Throws std::invalid_argument where an FPGA that takes part is in no server.
  Collective(const Cluster& cluster, Schedule schedule, std::uint64_t size);

  [[nodiscard]] const Schedule& schedule() const { return schedule_; }
  [[nodiscard]] const std::vector<std::vector<Placed>>& stages() const { return stages_; }
  /// Where blocks are before, all places that they come to, and where they belong in the end.
  [[nodiscard]] const Addresses& before() const { return before_; }
  [[nodiscard]] const Addresses& after() const { return after_; }
  [[nodiscard]] Addresses ends() const;
  /// That a bank holds.
  [[nodiscard]] std::uint64_t most_bytes() const { return most_bytes_; }

  /// Runs the programs of all servers that take part; the time in us. Throws Stuck.
  double run(Network& network, const RunOptions& options = {}) const;
  /// Of a server, for its FPGAs. Both outlive it.
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
