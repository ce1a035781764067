// SPDX-License-Identifier: Apache-2.0
// Explains a missing light path between two boards by the connections of the optical switches on the path.
#pragma once

#include <string>

#include "cluster/assembly.hpp"
#include "ethernet/optical_switch.hpp"
#include "ethernet/outside.hpp"
#include "ethernet/switch.hpp"

namespace thalweg::accl {

/// Follows the light that leaves node `from` at port 0. Returns empty if it reaches node `to` or a node that forwards
/// frames.
[[nodiscard]] inline std::string missing_light_from(const Assembly& assembly, unsigned from, unsigned to) {
  const auto name = [](unsigned node) { return "node " + std::to_string(node); };
  std::string connects;
  unsigned before = from;
  auto at = assembly.peer(from, 0);
  for (unsigned passed = 0; at && passed < assembly.nodes(); ++passed) {  // light may loop
    const AssembledNode& node = assembly.node(at->first);
    const auto* mirrors = dynamic_cast<const ethernet::OpticalSwitch*>(&node);
    if (at->first == to || dynamic_cast<const ethernet::Switch*>(&node) ||
        dynamic_cast<const ethernet::Outside*>(&node))
      return {};
    if (!mirrors) return connects + name(at->first);
    connects = "the optical switch at " + name(at->first) + " connects " + name(before) + " to ";
    const auto out = mirrors->connected(at->second);
    if (!out) return connects + "no other";
    const auto next = assembly.peer(at->first, *out);
    if (!next) return connects + "no other";
    if (mirrors->turns(at->second)) return connects + name(next->first) + ", but its mirrors are still turning";
    before = at->first;
    at = next;
  }
  return {};
}

/// "no light path joins ..." if `one` and `other` lack one in a direction, else empty. A board needs none to itself.
[[nodiscard]] inline std::string missing_light(const Assembly& assembly, unsigned one, unsigned other) {
  if (one == other) return {};
  auto why = missing_light_from(assembly, one, other);
  if (why.empty()) why = missing_light_from(assembly, other, one);
  if (why.empty()) return {};
  return "no light path joins node " + std::to_string(one) + " to node " + std::to_string(other) + ": " + why;
}

}  // namespace thalweg::accl
