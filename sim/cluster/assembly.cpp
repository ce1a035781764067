// SPDX-License-Identifier: Apache-2.0
#include "cluster/assembly.hpp"

#include <stdexcept>

namespace thalweg {
namespace {

template <class Kind>
const Kind& known(const std::map<std::string, Kind, std::less<>>& kinds, const std::string& kind,
                  const Values& values) {
  const auto found = kinds.find(kind);
  if (found == kinds.end()) throw std::invalid_argument(values.of() + ": " + kind + " is no kind that there is");
  return found->second;
}

Tick common(const Description& description) {
  std::vector<std::int64_t> hertz;
  for (const auto& clock : description.clocks) hertz.push_back(clock.hertz);
  return ticks_per_second(hertz);
}

}  // namespace

Assembly::Assembly(const Description& description, const Kinds& kinds) : ticks_per_second_(common(description)) {
  for (const auto& clock : description.clocks)
    clocks_.emplace(clock.name, &time_.add({.period = ticks_per_second_ / clock.hertz, .phase = clock.phase}));
  for (const auto& node : description.nodes)
    nodes_.push_back(known(kinds.nodes, node.kind, node.values)(node.values, nodes(), clocks_));
  for (const auto& link : description.links)
    links_.push_back(known(kinds.links, link.kind, link.values)(link.values, node(link.node_a).port(link.port_a),
                                                                node(link.node_b).port(link.port_b), clocks_));
}

}  // namespace thalweg
