// SPDX-License-Identifier: Apache-2.0
// A program's view of a cluster of FPGAs with virtual circuits: which external ports Ethernet connects, and which
// server writes each FPGA's registers. `thalweg cluster header` writes the description of a cluster file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/assembly.hpp"
#include "vcsn/network.hpp"

namespace thalweg::vcsn {

/// An FPGA and one of its external ports.
using Station = std::pair<unsigned, unsigned>;
/// The two virtual ports of a circuit.
using Ends = std::pair<VirtualPort, VirtualPort>;
/// A row of a circuit table: a virtual port and its new other end; none closes the circuit.
using TableRow = std::pair<VirtualPort, std::optional<VirtualPort>>;

/// Durations of a server's actions, in us.
struct ServerCosts {
  double circuit = 0;    ///< writing a row of a circuit table
  double crossbar = 0;   ///< setting the crossbars of its FPGAs
  double start = 0;      ///< starting a DMA engine
  double interrupt = 0;  ///< from an FPGA's interrupt to the program that waits for it
  double barrier_base = 0, barrier_round = 0;
  double late = 0,
         very_late = 0;  ///< mean delay of a barrier after a step shorter than `long_step`, or a longer one
  double long_step = 0;

  [[nodiscard]] static ServerCosts of(const Values& values);
  /// Duration of MPI_Barrier on `servers` servers: Equation 6 of the paper; 0 for one. `since`: work since the last
  /// barrier, which selects the mean delay to add.
  [[nodiscard]] double barrier(std::size_t servers, std::optional<double> since = {}) const;
};

/// The PCIe slot of an FPGA in a server.
struct Slot {
  unsigned server = 0;
  double latency_us = 0, gbit_s = 0;
};

/// A program's description of an FPGA.
struct Fpga {
  unsigned ports = 0, virtual_ports = 0;  ///< external ports, and virtual ports of each
  unsigned banks = 0;
  std::uint64_t bank_bytes = 0;
};

/// A node on a path over serial links: input and output port, -1 for the memory at both ends.
struct Hop {
  unsigned node = 0;
  int comes = -1, leaves_by = -1;
};

class Cluster {
 public:
  /// FPGAs and switches have the first numbers, followed by servers (kind `vcsn-server`), which links of kind `wire`
  /// connect to FPGAs. All methods throw std::invalid_argument with one line.
  Cluster(std::string name, const Description& whole);

  [[nodiscard]] const std::string& name() const { return name_; }
  /// The part that a Network simulates: FPGAs and switches, without servers, whose actions are programs.
  [[nodiscard]] const Description& hardware() const { return hardware_; }
  [[nodiscard]] const std::vector<unsigned>& fpgas() const { return numbers_; }
  [[nodiscard]] bool has(unsigned node) const { return fpgas_.contains(node); }
  /// Throws if `node` is not an FPGA. `what`: prefix of the message.
  void check(std::int64_t node, const std::string& what = "") const;
  /// True if its FPGAs have serial links to neighbours instead of circuits.
  [[nodiscard]] bool is_direct() const { return direct_; }
  [[nodiscard]] const Fpga& fpga(unsigned node) const;
  [[nodiscard]] unsigned ports(unsigned node) const { return fpga(node).ports; }
  /// Number of virtual ports of each external port.
  [[nodiscard]] unsigned virtual_ports(unsigned node) const { return fpga(node).virtual_ports; }
  /// The external ports that have a link.
  [[nodiscard]] std::vector<unsigned> joined(unsigned node) const;
  [[nodiscard]] bool joined(const Station& at) const { return peers_.contains(at); }
  /// True if the network carries frames between two external ports.
  [[nodiscard]] bool reaches(const Station& one, const Station& other) const;
  /// Returns, for each switch on the flooding tree, the ports on the paths from `source` to `members`.
  [[nodiscard]] std::map<unsigned, std::vector<unsigned>> group_ports(const Station& source,
                                                                      const std::vector<Station>& members) const;
  /// Returns the shortest path between two FPGAs of a direct network. `first`: output port at `source`.
  [[nodiscard]] std::vector<Hop> way(unsigned source, unsigned destination, std::optional<unsigned> first = {}) const;

  [[nodiscard]] const std::map<unsigned, ServerCosts>& servers() const { return servers_; }
  /// The server that contains an FPGA.
  [[nodiscard]] std::optional<unsigned> server_of(unsigned node) const;
  [[nodiscard]] const Slot& slot_of(unsigned node) const;
  [[nodiscard]] double shell_mhz() const { return shell_mhz_; }
  /// Frequency of the external ports' clock.
  [[nodiscard]] double line_mhz() const { return line_mhz_; }

 private:
  std::string name_;
  Description hardware_;
  std::vector<unsigned> numbers_;
  std::map<unsigned, Fpga> fpgas_;
  std::map<Station, Station> peers_;       ///< other end of each port of FPGAs and switches
  std::map<unsigned, unsigned> networks_;  ///< the network of each switch, by the lowest number of a switch in it
  std::map<unsigned, ServerCosts> servers_;
  std::map<unsigned, Slot> slots_;
  bool direct_ = false;
  double shell_mhz_ = 0, line_mhz_ = 0;
};

}  // namespace thalweg::vcsn
