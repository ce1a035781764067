// SPDX-License-Identifier: Apache-2.0
// Operations on virtual circuits: opens and closes them, re-wires whole topologies in one call, and divides the cluster
// into partitions. Except in `rewire_in_time`, writing tables takes no simulated time; hosts.hpp has programs that take
// a server's time, collectives.hpp transfers. Invalid arguments throw std::invalid_argument with one line, and change
// nothing.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vcsn/cluster.hpp"
#include "vcsn/hosts.hpp"
#include "vcsn/network.hpp"
#include "vcsn/topology.hpp"

namespace thalweg::vcsn {

/// How the rows of a re-wiring are written. registers: servers write all rows back to back; a row is one 64-bit
/// register, and an FPGA accepts one per cycle. servers: by their programs, in which each row takes the software's time
/// (t of the paper's Table 5); a barrier follows.
enum class Way { registers, servers };

/// The rows that a re-wiring has written, and the times to write them in us; nullopt if one of the FPGAs is in no
/// server.
struct Rewired {
  std::vector<TableRow> rows;
  std::optional<double> registers_us, servers_us;
};

class Vcsn {
 public:
  /// Both must outlive it.
  Vcsn(const Cluster& cluster, Network& network) : cluster_(cluster), network_(network) {}
  Vcsn(const Vcsn&) = delete;
  Vcsn& operator=(const Vcsn&) = delete;

  [[nodiscard]] const Cluster& cluster() const { return cluster_; }
  [[nodiscard]] Network& network() { return network_; }

  /// Opens a circuit between two virtual ports that have none.
  void open(const VirtualPort& one, const VirtualPort& other);
  /// Closes the circuit of a virtual port, at both ends.
  void close(const VirtualPort& end);
  /// The rows of the tables of all FPGAs, or of some.
  [[nodiscard]] std::map<VirtualPort, VirtualPort> circuits() { return circuits(cluster_.fpgas()); }
  [[nodiscard]] std::map<VirtualPort, VirtualPort> circuits(const std::vector<unsigned>& nodes);

  /// The rows to write so that all FPGAs, or some, have these circuits and no others.
  [[nodiscard]] std::vector<TableRow> rows(const std::vector<Ends>& circuits) {
    return rows(circuits, cluster_.fpgas());
  }
  [[nodiscard]] std::vector<TableRow> rows(const std::vector<Ends>& circuits, const std::vector<unsigned>& nodes);
  /// Opens these circuits and closes all others of all FPGAs, or of some. Rows that stay are not written.
  Rewired rewire(const std::vector<Ends>& circuits) { return rewire(circuits, cluster_.fpgas()); }
  Rewired rewire(const std::vector<Ends>& circuits, const std::vector<unsigned>& nodes);
  Rewired rewire(const Topology& topology) { return rewire(mapped(topology, cluster_)); }
  /// Opens a circuit from `source` to several members, which have the same virtual port number. Writes the rows of all,
  /// and the group's ports of the switches on a tree, so that no frame is duplicated. Only the source sends.
  void multicast(const VirtualPort& source, const std::vector<VirtualPort>& members);
  /// Sets only the group's ports of the switches.
  void group(const VirtualPort& source, const std::vector<VirtualPort>& members);

  /// A lower bound on the time to write rows, in us. registers: time of the PCIe slot with the most rows; servers:
  /// software time of the server with the most rows.
  [[nodiscard]] double least_us(const std::vector<TableRow>& rows, Way by) const;

  /// Runs a re-wiring of all FPGAs in simulated time. Other traffic continues; completions of other operations during that time are discarded.
  /// May also throw Stuck.
  struct Written {
    std::vector<std::pair<Tick, TableRow>> rows;  ///< with the tick of each write
    double us = 0;
  };
  Written rewire_in_time(const std::vector<Ends>& circuits, Way by, const RunOptions& options = {});

  class Partition;
  /// Moves FPGAs from their partitions into this one. Throws if a circuit would cross the partition's boundary.
  Partition& partition(const std::string& name, const std::vector<std::int64_t>& nodes);
  [[nodiscard]] const std::map<std::string, std::unique_ptr<Partition>>& partitions() const { return partitions_; }

 private:
  [[nodiscard]] std::optional<double> registers_us(const std::vector<TableRow>& rows) const;
  [[nodiscard]] std::optional<double> servers_us(const std::vector<TableRow>& rows) const;
  void check(const VirtualPort& one, const VirtualPort& other) const;
  [[nodiscard]] double row_us(const Slot& slot) const;
  [[nodiscard]] double first_us(const Slot& slot) const;
  [[nodiscard]] Program by_registers(const std::vector<TableRow>& rows, unsigned node, Written& written);
  [[nodiscard]] Program by_server(const std::vector<TableRow>& rows, unsigned server, Written& written);

  const Cluster& cluster_;
  Network& network_;
  std::map<std::string, std::unique_ptr<Partition>> partitions_;
};

/// A user's view: the FPGAs of one partition and their circuits.
class Vcsn::Partition {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<unsigned>& nodes() const { return nodes_; }
  /// Returns an FPGA's number; throws if it is in another partition.
  unsigned own(std::int64_t node) const;
  /// The network, for a call on this FPGA only.
  [[nodiscard]] Network& network(unsigned node) {
    static_cast<void>(own(node));
    return vcsn_.network();
  }
  [[nodiscard]] std::map<VirtualPort, VirtualPort> circuits() { return vcsn_.circuits(nodes_); }
  /// Packets that its FPGAs have dropped.
  [[nodiscard]] std::vector<Lost> lost() const;
  Rewired rewire(const std::vector<Ends>& circuits) { return vcsn_.rewire(circuits, nodes_); }
  Rewired rewire(const Topology& topology) { return rewire(mapped(topology, vcsn_.cluster_)); }

 private:
  friend Vcsn;
  Partition(Vcsn& vcsn, std::string name) : vcsn_(vcsn), name_(std::move(name)) {}

  Vcsn& vcsn_;
  std::string name_;
  std::vector<unsigned> nodes_;
};

}  // namespace thalweg::vcsn
