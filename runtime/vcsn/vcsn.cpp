// SPDX-License-Identifier: Apache-2.0
#include "vcsn/vcsn.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "core/require.hpp"

namespace thalweg::vcsn {
namespace {

/// Bytes of a posted write to an 8-byte register on a PCIe link: sequence number, header with a 64-bit address, data
/// and LCRC (PCI Express Base Specification 3.0, sections 2.2.4 and 4.2.2).
constexpr double kStoreBytes = 32;
/// Maximum cycles of the line's clock for a row to cross into its domain through two registers.
constexpr double kCrossingCycles = 3;

double store_us(const Slot& slot) {
  return kStoreBytes * 8e-3 / slot.gbit_s;
}

}  // namespace

void Vcsn::open(const VirtualPort& one, const VirtualPort& other) {
  for (const VirtualPort& end : {one, other})
    if (const auto to = network_.circuit(end))
      throw std::invalid_argument(to_string(end) + " has a circuit with " + to_string(*to) + "; close it first");
  check(one, other);
  network_.set_circuit(one, other);
  network_.set_circuit(other, one);
}

void Vcsn::close(const VirtualPort& end) {
  const auto to = network_.circuit(end);
  require(to.has_value(), to_string(end) + " has no circuit of two ends");
  if (network_.circuit(*to) == end) network_.set_circuit(*to, std::nullopt);
  network_.set_circuit(end, std::nullopt);
}

std::map<VirtualPort, VirtualPort> Vcsn::circuits(const std::vector<unsigned>& nodes) {
  std::map<VirtualPort, VirtualPort> found;
  if (cluster_.is_direct()) return found;
  for (const unsigned node : nodes) {
    require(cluster_.has(node), "node " + std::to_string(node) + " is not an FPGA of " + cluster_.name());
    for (unsigned port = 0; port < cluster_.ports(node); ++port)
      for (unsigned each = 0; each < cluster_.virtual_ports(node); ++each)
        if (const auto to = network_.circuit({node, port, each})) found.emplace(VirtualPort{node, port, each}, *to);
  }
  return found;
}

std::vector<TableRow> Vcsn::rows(const std::vector<Ends>& circuits, const std::vector<unsigned>& nodes) {
  for (const auto& [one, other] : circuits) check(one, other);
  return network_.changes(circuits, nodes);
}

Rewired Vcsn::rewire(const std::vector<Ends>& circuits, const std::vector<unsigned>& nodes) {
  auto written = rows(circuits, nodes);
  for (const auto& [at, to] : written) network_.set_circuit(at, to);
  const auto registers = registers_us(written), servers = servers_us(written);
  return {std::move(written), registers, servers};
}

void Vcsn::multicast(const VirtualPort& source, const std::vector<VirtualPort>& members) {
  for (const VirtualPort& member : members)
    static_cast<void>(network_.changes({{source, member}}, cluster_.fpgas()));  // throws before anything is written
  group(source, members);
  for (const VirtualPort& member : members) network_.set_circuit(member, source);
  network_.set_multicast(source, static_cast<std::uint8_t>(members.front().virtual_port));
}

void Vcsn::group(const VirtualPort& source, const std::vector<VirtualPort>& members) {
  const auto external = [&](const VirtualPort& place) {
    require(cluster_.has(place.node) && cluster_.joined(Station{place.node, place.port}),
            to_string(place) + " is not connected to a line");
    return Station{place.node, place.port};
  };
  const Station from = external(source);
  std::vector<Station> to;
  for (const VirtualPort& member : members) to.push_back(external(member));
  require(!to.empty() && std::set(to.begin(), to.end()).size() == to.size(),
          "a multicast circuit must have at least one member, and at most one per external port");
  require(std::ranges::all_of(members,
                              [&](const VirtualPort& one) { return one.virtual_port == members.front().virtual_port; }),
          "the members of a multicast circuit must have the same virtual port number");
  for (const auto& [number, ports] : cluster_.group_ports(from, to)) network_.set_group(number, source, ports);
}

/// Checks that the network connects two virtual ports; invalid ports are rejected elsewhere.
void Vcsn::check(const VirtualPort& one, const VirtualPort& other) const {
  const Station a{one.node, one.port}, b{other.node, other.port};
  for (const Station& each : {a, b})
    if (!cluster_.has(each.first) || !cluster_.joined(each)) return;
  require(one == other || a != b,
          to_string(one) + " and " + to_string(other) + " are on the same line, and a switch does not send back to it");
  require(cluster_.reaches(a, b), "no Ethernet leads from " + to_string(one) + " to " + to_string(other));
}

namespace {

/// Number of rows of each FPGA, and of each server.
std::map<unsigned, double> by_card(const std::vector<TableRow>& rows) {
  std::map<unsigned, double> counts;
  for (const auto& [at, to] : rows) ++counts[at.node];
  return counts;
}
std::map<unsigned, double> by_servers(const std::vector<TableRow>& rows, const Cluster& cluster) {
  std::map<unsigned, double> counts;
  for (const auto& [at, to] : rows) ++counts[cluster.slot_of(at.node).server];
  return counts;
}

}  // namespace

double Vcsn::least_us(const std::vector<TableRow>& rows, Way by) const {
  double least = 0;
  if (by == Way::servers)
    for (const auto& [server, count] : by_servers(rows, cluster_))
      least = std::max(least, count * cluster_.servers().at(server).circuit);
  else
    for (const auto& [node, count] : by_card(rows)) {
      const Slot& slot = cluster_.slot_of(node);
      least = std::max(least, slot.latency_us + count * store_us(slot));
    }
  return least;
}

/// Time per row: the slower of the slot and the shell, which accepts one per cycle.
double Vcsn::row_us(const Slot& slot) const {
  return std::max(store_us(slot), 1 / cluster_.shell_mhz());
}

/// Time until the first row of a slot is in the table.
double Vcsn::first_us(const Slot& slot) const {
  return slot.latency_us + kCrossingCycles / cluster_.line_mhz();
}

std::optional<double> Vcsn::registers_us(const std::vector<TableRow>& rows) const {
  double last = 0;
  for (const auto& [node, count] : by_card(rows)) {
    if (!cluster_.server_of(node)) return std::nullopt;
    const Slot& slot = cluster_.slot_of(node);
    last = std::max(last, first_us(slot) + count * row_us(slot));
  }
  return last;
}

std::optional<double> Vcsn::servers_us(const std::vector<TableRow>& rows) const {
  for (const auto& [at, to] : rows)
    if (!cluster_.server_of(at.node)) return std::nullopt;
  const auto counts = by_servers(rows, cluster_);
  double last = 0, barrier = 0;
  for (const auto& [server, count] : counts) {
    const ServerCosts& costs = cluster_.servers().at(server);
    last = std::max(last, count * costs.circuit);
    barrier = std::max(barrier, costs.barrier(counts.size()));
  }
  return last + barrier;
}

Vcsn::Written Vcsn::rewire_in_time(const std::vector<Ends>& circuits, Way by, const RunOptions& options) {
  const auto needed = rows(circuits);
  for (const auto& [at, to] : needed)
    require(
        cluster_.server_of(at.node).has_value(),
        "FPGA " + std::to_string(at.node) + " is in no server (kind vcsn-server), whose program writes " + "its table");
  Written written;
  std::map<std::int64_t, Server> programs;
  for (const auto& [at, to] : needed) {
    const unsigned server = cluster_.slot_of(at.node).server, who = by == Way::servers ? server : at.node;
    if (!programs.contains(who))
      programs[who] = {cluster_.servers().at(server), by == Way::servers ? by_server(needed, server, written)
                                                                         : by_registers(needed, at.node, written)};
  }
  written.us = run(network_, programs, {}, options);
  return written;
}

Program Vcsn::by_registers(const std::vector<TableRow>& rows, unsigned node, Written& written) {
  const Slot& slot = cluster_.slot_of(node);
  co_yield Work{first_us(slot)};
  for (const TableRow& row : rows)
    if (row.first.node == node) {
      co_yield Work{row_us(slot)};
      network_.set_circuit(row.first, row.second);
      written.rows.emplace_back(network_.now(), row);
    }
}

Program Vcsn::by_server(const std::vector<TableRow>& rows, unsigned server, Written& written) {
  for (const TableRow& row : rows)
    if (cluster_.server_of(row.first.node) == server) {
      co_yield Work{cluster_.servers().at(server).circuit};
      network_.set_circuit(row.first, row.second);
      written.rows.emplace_back(network_.now(), row);
    }
  co_yield Barrier{};
}

Vcsn::Partition& Vcsn::partition(const std::string& name, const std::vector<std::int64_t>& nodes) {
  require(!name.empty() && std::ranges::none_of(name, [](unsigned char letter) { return std::iscntrl(letter); }),
          "a partition's name must not be empty or contain control characters");
  std::set<unsigned> own;
  for (const std::int64_t node : nodes) {
    require(std::in_range<unsigned>(node) && cluster_.has(static_cast<unsigned>(node)),
            "partition " + name + ": node " + std::to_string(node) + " is not an FPGA of " + cluster_.name());
    own.insert(static_cast<unsigned>(node));
  }
  try {
    network_.set_partition({own.begin(), own.end()}, name);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument("partition " + name + ": " + error.what());
  }
  for (auto& [of, other] : partitions_) std::erase_if(other->nodes_, [&](unsigned node) { return own.contains(node); });
  auto& made = partitions_[name];
  if (!made) made.reset(new Partition(*this, name));
  made->nodes_.insert(made->nodes_.end(), own.begin(), own.end());
  std::ranges::sort(made->nodes_);
  return *made;
}

unsigned Vcsn::Partition::own(std::int64_t node) const {
  require(std::in_range<unsigned>(node) && std::ranges::binary_search(nodes_, static_cast<unsigned>(node)),
          "node " + std::to_string(node) + " is not in partition " + name_);
  return static_cast<unsigned>(node);
}

std::vector<Lost> Vcsn::Partition::lost() const {
  auto all = vcsn_.network_.lost();
  std::erase_if(all, [&](const Lost& lost) { return !std::ranges::binary_search(nodes_, lost.node); });
  return all;
}

}  // namespace thalweg::vcsn
