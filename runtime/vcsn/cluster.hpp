// SPDX-License-Identifier: Apache-2.0
// A cluster of FPGAs with virtual circuits as its programs see it: which external ports Ethernet joins, and which server writes each FPGA's
// registers. `thalweg cluster header` writes the description of a cluster file.
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

/// An FPGA and an external port of it.
using Station = std::pair<unsigned, unsigned>;
/// The two virtual ports of a circuit.
using Ends = std::pair<VirtualPort, VirtualPort>;
/// A row of a circuit table: a virtual port and its new other end; none closes the circuit.
using TableRow = std::pair<VirtualPort, std::optional<VirtualPort>>;

/// What a server's actions take, in us.
struct ServerCosts {
  double circuit = 0;    ///< of writing a virtual port's row
  double crossbar = 0;   ///< of setting its FPGAs' crossbars
  double start = 0;      ///< of starting a DMA engine
  double interrupt = 0;  ///< from an FPGA's interrupt to the program that waits for it
  double barrier_base = 0, barrier_round = 0;
  double late = 0,
         very_late =
             0;  ///< by which a barrier is later on average after a step shorter than `long_step`, or a longer one
  double long_step = 0;

  [[nodiscard]] static ServerCosts of(const Values& values);
  /// Of MPI_Barrier on so many servers: Equation 6 of the paper; one alone has nobody to wait for. `since`: the work since the last one, for
  /// what it adds on average.
  [[nodiscard]] double barrier(std::size_t servers, std::optional<double> since = {}) const;
};

/// The PCIe slot of an FPGA in a server.
struct Slot {
  unsigned server = 0;
  double latency_us = 0, gbit_s = 0;
};

/// What a program knows of an FPGA.
struct Fpga {
  unsigned ports = 0, virtual_ports = 0;  ///< external ones, and those of each
  unsigned banks = 0;
  std::uint64_t bank_bytes = 0;
};

/// A node on a way over serial links: the ports that it comes in at and leaves by, -1 for the memory at both ends.
struct Hop {
  unsigned node = 0;
  int comes = -1, leaves_by = -1;
};

class Cluster {
 public:
  /// FPGAs and switches have the first numbers, then servers (kind `vcsn-server`), which links of kind `wire` join with FPGAs. Throws
  /// std::invalid_argument, one line, as everything here.
  Cluster(std::string name, const Description& whole);

  [[nodiscard]] const std::string& name() const { return name_; }
  /// What a Network simulates: FPGAs and switches, without servers, whose actions are programs'.
  [[nodiscard]] const Description& hardware() const { return hardware_; }
  [[nodiscard]] const std::vector<unsigned>& fpgas() const { return numbers_; }
  [[nodiscard]] bool has(unsigned node) const { return fpgas_.contains(node); }
  /// `what`: in front of the line that says that there is no such FPGA.
  void check(std::int64_t node, const std::string& what = "") const;
  /// Whether its FPGAs have serial links to neighbours, and no circuits.
  [[nodiscard]] bool is_direct() const { return direct_; }
  [[nodiscard]] const Fpga& fpga(unsigned node) const;
  [[nodiscard]] unsigned ports(unsigned node) const { return fpga(node).ports; }
  /// Of each external port.
  [[nodiscard]] unsigned virtual_ports(unsigned node) const { return fpga(node).virtual_ports; }
  /// The external ports that have a link.
  [[nodiscard]] std::vector<unsigned> joined(unsigned node) const;
  [[nodiscard]] bool joined(const Station& at) const { return peers_.contains(at); }
  /// Frames go from an FPGA's external port to another one's.
  [[nodiscard]] bool reaches(const Station& one, const Station& other) const;
  /// Of each switch on the tree for frames to all: the ports that lead from an external port to others.
  [[nodiscard]] std::map<unsigned, std::vector<unsigned>> group_ports(const Station& source,
                                                                      const std::vector<Station>& members) const;
  /// Of a direct network: the shortest way between two FPGAs. `first`: the port that it leaves `source` by.
  [[nodiscard]] std::vector<Hop> way(unsigned source, unsigned destination, std::optional<unsigned> first = {}) const;

  [[nodiscard]] const std::map<unsigned, ServerCosts>& servers() const { return servers_; }
  /// The server whose card an FPGA is.
  [[nodiscard]] std::optional<unsigned> server_of(unsigned node) const;
  [[nodiscard]] const Slot& slot_of(unsigned node) const;
  [[nodiscard]] double shell_mhz() const { return shell_mhz_; }
  /// Of the clock of external ports.
  [[nodiscard]] double line_mhz() const { return line_mhz_; }

 private:
  std::string name_;
  Description hardware_;
  std::vector<unsigned> numbers_;
  std::map<unsigned, Fpga> fpgas_;
  std::map<Station, Station> peers_;       ///< of each port of FPGAs and switches
  std::map<unsigned, unsigned> networks_;  ///< the network of each switch, by the lowest number of a switch in it
  std::map<unsigned, ServerCosts> servers_;
  std::map<unsigned, Slot> slots_;
  bool direct_ = false;
  double shell_mhz_ = 0, line_mhz_ = 0;
};

}  // namespace thalweg::vcsn
