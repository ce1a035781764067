// SPDX-License-Identifier: Apache-2.0
#include "cluster/assembly.hpp"

#include <cstddef>
#include <stdexcept>
#include <utility>

#include "core/require.hpp"

namespace thalweg {
namespace {

template <class Kind>
const Kind& known(const std::map<std::string, Kind, std::less<>>& kinds, const std::string& kind,
                  const Values& values) {
  const auto found = kinds.find(kind);
  if (found == kinds.end()) throw std::invalid_argument(values.of() + ": unknown kind " + kind);
  return found->second;
}

}  // namespace

Assembly::Assembly(const Description& description, const Kinds& kinds)
    : ticks_per_second_(description.ticks_per_second) {
  for (const auto& [name, clock] : description.clocks) {
    require(clock.period > 0, "clock " + name + ": the period must be at least one tick");
    clocks_.emplace(name, &time_.add(clock));
  }
  for (const auto& node : description.nodes)
    nodes_.push_back(known(kinds.nodes, node.kind, node.values)(node.values, nodes(), clocks_));
  for (const auto& link : description.links) {
    links_.push_back(known(kinds.links, link.kind, link.values)(link.values, node(link.node_a).port(link.port_a),
                                                                node(link.node_b).port(link.port_b), clocks_));
    ends_.push_back({{{link.node_a, link.port_a}, {link.node_b, link.port_b}}});
  }
}

std::vector<LinkUse> Assembly::link_use() const {
  std::vector<LinkUse> all;
  for (std::size_t l = 0; l < links_.size(); ++l) {
    const auto carried = links_[l]->carried();
    for (std::size_t end = 0; end < carried.size(); ++end) {
      const auto& [words, period] = carried[end];
      if (!words) continue;
      auto amounts = words->until_last();
      const auto& [node, port] = ends_[l][end];
      if (!amounts.empty()) all.push_back({node, port, words->window() * period, std::move(amounts)});
    }
  }
  return all;
}

std::vector<Lost> Assembly::lost() const {
  std::vector<Lost> all;
  for (unsigned n = 0; n < nodes(); ++n) nodes_[n]->lost(n, all);
  for (std::size_t l = 0; l < links_.size(); ++l) links_[l]->lost(ends_[l], all);
  return all;
}

}  // namespace thalweg
