// SPDX-License-Identifier: Apache-2.0
#include "cluster/assembly.hpp"

#include <stdexcept>

#include "core/require.hpp"

namespace thalweg {
namespace {

template <class Kind>
const Kind& known(const std::map<std::string, Kind, std::less<>>& kinds, const std::string& kind,
                  const Values& values) {
  const auto found = kinds.find(kind);
  if (found == kinds.end()) throw std::invalid_argument(values.of() + ": " + kind + " is no kind that there is");
  return found->second;
}

}  // namespace

Assembly::Assembly(const Description& description, const Kinds& kinds)
    : ticks_per_second_(description.ticks_per_second) {
  for (const auto& [name, clock] : description.clocks) {
    require(clock.period > 0, "clock " + name + ": a period has a tick at least");
    clocks_.emplace(name, &time_.add(clock));
  }
  for (const auto& node : description.nodes)
    nodes_.push_back(known(kinds.nodes, node.kind, node.values)(node.values, nodes(), clocks_));
  for (const auto& link : description.links)
    links_.push_back(known(kinds.links, link.kind, link.values)(link.values, node(link.node_a).port(link.port_a),
                                                                node(link.node_b).port(link.port_b), clocks_));
}

}  // namespace thalweg
