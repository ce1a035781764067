// SPDX-License-Identifier: Apache-2.0
// Detects livelocks: cycles of circuits and crossbars in which packets circulate forever.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "vcsn/ethernet_port.hpp"
#include "vcsn/node.hpp"
#include "vcsn/virtual_ports.hpp"

namespace thalweg::vcsn {

/// A cycle, in order, of a graph with the successors `next`; empty if there is none.
template <class One>
[[nodiscard]] std::vector<One> circle_of(std::map<One, std::vector<One>> next) {
  const auto ends = [&next](const One& one) { return !next.contains(one); };
  for (bool fewer = true; fewer;) {  // a node whose successors are all sinks is in no cycle
    fewer = false;
    for (auto& [one, those] : next) std::erase_if(those, ends);
    if (std::erase_if(next, [](const auto& each) { return each.second.empty(); }) > 0) fewer = true;
  }
  if (next.empty()) return {};
  std::vector<One> way{next.begin()->first};
  for (;;) {
    const One& then = next.at(way.back()).front();
    const auto found = std::ranges::find(way, then);
    if (found != way.end()) return {found, way.end()};
    way.push_back(then);
  }
}

class Circles {
 public:
  /// Number of words that have left each output of each node's crossbar.
  using Words = std::vector<std::vector<std::uint64_t>>;

  /// `shortest`: minimum of `patience`, in ticks.
  explicit Circles(Tick shortest) : patience_(shortest) {}

  /// Adds a serial link between these two.
  void join(const VirtualPort& one, const VirtualPort& other) {
    serial_[one] = other;
    serial_[other] = one;
  }
  /// The nodes of the cluster, by number; nullptr for nodes that are no FPGAs. They must outlive the object.
  void watch(const std::vector<Node*>& nodes) {
    nodes_ = nodes;
    for (const Node* node : nodes_)
      if (node) patience_ = std::max(patience_, longest_timer(*node));
  }

  /// Ticks after which every timer of a node has expired.
  [[nodiscard]] Tick patience() const { return patience_; }
  [[nodiscard]] Words words() const {
    Words all(nodes_.size());
    for (unsigned n = 0; n < nodes_.size(); ++n)
      for (unsigned output = 0; nodes_[n] && output < nodes_[n]->crossbar.outputs(); ++output)
        all[n].push_back(nodes_[n]->crossbar.words(output));
    return all;
  }
  /// The cycle in which packets circulate if, for at least `patience` ticks since `before`, words have moved only
  /// between virtual ports.
  [[nodiscard]] std::optional<std::string> find(const Words& before, const Words& now) const {
    std::map<VirtualPort, VirtualPort> passed;  // from the virtual port of a crossbar's input to that of its output
    for (unsigned n = 0; n < nodes_.size(); ++n)
      for (unsigned output = 0; output < now[n].size(); ++output) {
        if (now[n][output] == before[n][output]) continue;
        const Node& of = *nodes_[n];
        const auto input = of.crossbar.input_of(output);
        const auto from = input ? virtual_port_at(of, n, *input) : std::nullopt, to = virtual_port_at(of, n, output);
        if (!from || !to) return std::nullopt;
        passed[*from] = *to;
      }
    std::map<VirtualPort, std::vector<VirtualPort>> next;  // successors of the virtual ports at outputs
    std::map<std::pair<VirtualPort, VirtualPort>, VirtualPort> over;
    for (const auto& [from, leaves] : passed)
      for (const auto& [comes, to] : passed)
        if (leads(leaves, comes)) {
          next[leaves].push_back(to);
          over[{leaves, to}] = comes;
        }
    const auto found = circle_of(std::move(next));
    if (found.empty()) return std::nullopt;
    std::string text = "packets circulate forever in a cycle";
    for (std::size_t k = 0; k < found.size(); ++k)
      text += (k == 0 ? ": " : ", ") + to_string(found[k]) + " sends to " +
              to_string(over.at({found[k], found[(k + 1) % found.size()]}));
    return text + "; connect an output of one of these crossbars to another input";
  }

 private:
  /// Maximum ticks for which a node waits for a timer: of a reaction, or of a session.
  [[nodiscard]] static Tick longest_timer(const Node& of) {
    const auto* external = dynamic_cast<const EthernetPort*>(of.externals.front().get());
    const Clock clock = external ? external->clock() : of.shell().clock;
    const SessionConfig& session = of.config.session;
    const double cycles = std::max(double{1 << kTimerBits}, static_cast<double>(session.resend) * session.tries);
    return static_cast<Tick>(std::min(1e18, cycles * static_cast<double>(clock.period)));
  }
  /// True if words that leave at one virtual port arrive at the other.
  [[nodiscard]] bool leads(const VirtualPort& leaves, const VirtualPort& comes) const {
    const auto* one = dynamic_cast<const EthernetPort*>(nodes_[leaves.node]->externals[leaves.port].get());
    const auto* other = dynamic_cast<const EthernetPort*>(nodes_[comes.node]->externals[comes.port].get());
    if (!one || !other) {
      const auto found = serial_.find(leaves);
      return found != serial_.end() && found->second == comes;
    }
    const auto& row = one->circuits.of(leaves.virtual_port);
    const Circuit source = circuit_to(leaves);
    return row && (*row == circuit_to(comes) || row->address == group_of(source)) &&
           other->circuits.of(comes.virtual_port) == source;
  }

  std::vector<Node*> nodes_;
  std::map<VirtualPort, VirtualPort> serial_;  ///< the peer at each end of a serial link
  Tick patience_;
};

}  // namespace thalweg::vcsn
