// SPDX-License-Identifier: Apache-2.0
#include "vcsn/cluster.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <set>

#include "core/require.hpp"

namespace thalweg::vcsn {
namespace {

double mhz(const Description& description, const std::string& clock) {
  for (const auto& each : description.clocks)
    if (each.name == clock)
      return static_cast<double>(description.ticks_per_second) / static_cast<double>(each.clock.period) / 1e6;
  throw std::invalid_argument("unknown clock " + clock);
}

}  // namespace

ServerCosts ServerCosts::of(const Values& values) {
  const auto us = [&](const char* name) { return values.get<double>(name); };
  return {.circuit = us("circuit_us"),
          .crossbar = us("crossbar_us"),
          .start = us("start_us"),
          .interrupt = us("interrupt_us"),
          .barrier_base = us("barrier_us"),
          .barrier_round = us("barrier_round_us"),
          .late = us("late_us"),
          .very_late = us("very_late_us"),
          .long_step = us("long_us")};
}

double ServerCosts::barrier(std::size_t servers, std::optional<double> since) const {
  if (servers <= 1) return 0;
  const double later = !since ? 0 : *since < long_step ? late : very_late;
  return barrier_base + barrier_round * static_cast<double>(std::bit_width(servers - 1)) + later;
}

Cluster::Cluster(std::string name, const Description& whole) : name_(std::move(name)), hardware_(whole) {
  hardware_.nodes.clear();
  hardware_.links.clear();
  for (unsigned n = 0; n < whole.nodes.size(); ++n) {
    const auto& [kind, values] = whole.nodes[n];
    if (kind == "vcsn-server") {
      servers_[n] = ServerCosts::of(values);
      continue;
    }
    require(servers_.empty(), values.of() + " follows a server; servers must have the last numbers");
    hardware_.nodes.push_back(whole.nodes[n]);
    if (kind == "vcsn" || kind == "dcn") {
      fpgas_[n] = {.ports = values.get<unsigned>("ports"),
                   .virtual_ports = kind == "dcn" ? 1 : values.get<unsigned>("virtual_ports"),
                   .banks = values.get<unsigned>("banks"),
                   .bank_bytes = values.get<std::uint64_t>("bank_bytes")};
      numbers_.push_back(n);
    } else {
      networks_[n] = n;
    }
  }
  require(!numbers_.empty(), name_ + " has no FPGA (kind vcsn or dcn)");
  const auto& first = whole.nodes[numbers_.front()];
  direct_ = first.kind == "dcn";
  shell_mhz_ = mhz(whole, first.values.get<std::string>("shell_clock"));
  line_mhz_ = mhz(whole, first.values.get<std::string>("line_clock"));

  for (const auto& link : whole.links) {
    const Station a{link.node_a, link.port_a}, b{link.node_b, link.port_b};
    if (!servers_.contains(a.first) && !servers_.contains(b.first)) {
      hardware_.links.push_back(link);
      peers_[a] = b;
      peers_[b] = a;
      if (networks_.contains(a.first) && networks_.contains(b.first)) {
        const auto [low, high] = std::minmax(networks_[a.first], networks_[b.first]);
        for (auto& [node, network] : networks_)
          if (network == high) network = low;
      }
    } else if (link.kind == "wire") {
      for (const auto& [card, server] : {std::pair{a.first, b.first}, std::pair{b.first, a.first}})
        if (has(card) && servers_.contains(server))
          slots_[card] = {server, link.values.get<double>("latency_ns") * 1e-3, link.values.get<double>("gbit_s")};
    }
  }
}

void Cluster::check(std::int64_t node, const std::string& what) const {
  require(std::in_range<unsigned>(node) && has(static_cast<unsigned>(node)),
          what + "node " + std::to_string(node) + " is not an FPGA; the FPGAs of " + name_ + " are " +
              std::to_string(numbers_.front()) + " to " + std::to_string(numbers_.back()));
}

const Fpga& Cluster::fpga(unsigned node) const {
  check(node);
  return fpgas_.at(node);
}

std::vector<unsigned> Cluster::joined(unsigned node) const {
  std::vector<unsigned> found;
  for (unsigned port = 0; port < ports(node); ++port)
    if (joined(Station{node, port})) found.push_back(port);
  return found;
}

bool Cluster::reaches(const Station& one, const Station& other) const {
  const auto here = peers_.find(one), there = peers_.find(other);
  if (here == peers_.end() || there == peers_.end()) return false;
  if (here->second == other) return true;
  const auto a = networks_.find(here->second.first), b = networks_.find(there->second.first);
  return a != networks_.end() && b != networks_.end() && a->second == b->second;
}

std::map<unsigned, std::vector<unsigned>> Cluster::group_ports(const Station& source,
                                                               const std::vector<Station>& members) const {
  std::map<unsigned, std::optional<Station>> above;
  std::map<Station, Station> last;  ///< switch and switch port of each reachable external port
  std::deque<unsigned> queue;
  if (const auto first = peers_.find(source); first != peers_.end() && networks_.contains(first->second.first)) {
    above[first->second.first] = std::nullopt;
    queue.push_back(first->second.first);
  }
  for (; !queue.empty(); queue.pop_front()) {
    const unsigned at = queue.front();
    for (const auto port : hardware_.nodes[at].values.get<std::vector<std::int64_t>>("flood_ports")) {
      const Station out{at, static_cast<unsigned>(port)}, to = peers_.at(out);
      if (has(to.first)) {
        last[to] = out;
      } else if (!above.contains(to.first)) {
        above[to.first] = out;
        queue.push_back(to.first);
      }
    }
  }
  std::map<unsigned, std::set<unsigned>> ports;
  for (const auto& member : members) {
    const auto found = last.find(member);
    require(found != last.end() && member != source,
            "no multicast frames go from port " + std::to_string(source.second) + " of node " +
                std::to_string(source.first) + " to port " + std::to_string(member.second) + " of node " +
                std::to_string(member.first));
    for (std::optional<Station> step = found->second; step; step = above.at(step->first))
      ports[step->first].insert(step->second);
  }
  std::map<unsigned, std::vector<unsigned>> sorted;
  for (const auto& [node, of] : ports) sorted[node].assign(of.begin(), of.end());
  return sorted;
}

std::vector<Hop> Cluster::way(unsigned source, unsigned destination, std::optional<unsigned> first) const {
  struct Came {
    unsigned from, port, there;
  };
  std::map<unsigned, Came> came{{source, {}}};
  for (std::deque<unsigned> queue{source}; !queue.empty(); queue.pop_front()) {
    const unsigned node = queue.front();
    for (const unsigned port : first&& node == source ? std::vector{*first} : joined(node)) {
      const auto peer = peers_.find({node, port});
      if (peer == peers_.end() || !has(peer->second.first)) continue;
      if (came.emplace(peer->second.first, Came{node, port, peer->second.second}).second)
        queue.push_back(peer->second.first);
    }
  }
  require(came.contains(destination),
          "no serial links lead from node " + std::to_string(source) + " to node " + std::to_string(destination));
  std::vector<Hop> steps{{.node = destination}};
  while (steps.back().node != source) {
    const auto& [from, port, there] = came.at(steps.back().node);
    steps.back().comes = static_cast<int>(there);
    steps.push_back({.node = from, .leaves_by = static_cast<int>(port)});
  }
  std::ranges::reverse(steps);
  return steps;
}

std::optional<unsigned> Cluster::server_of(unsigned node) const {
  const auto found = slots_.find(node);
  return found == slots_.end() ? std::nullopt : std::optional(found->second.server);
}

const Slot& Cluster::slot_of(unsigned node) const {
  const auto found = slots_.find(node);
  require(found != slots_.end(), "FPGA " + std::to_string(node) + " is in no server (kind vcsn-server)");
  return found->second;
}

}  // namespace thalweg::vcsn
