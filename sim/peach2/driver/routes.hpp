// SPDX-License-Identifier: Apache-2.0
// Which windows the hubs of a cluster get, and whether windows may be uploaded: none may lead round.
//
// A ring whose links wait for each other's room is a cycle, and a write has no count of hops. So packets go to the other ring
// first, where there is one, and then along their ring, but never through its node 0: what waits for what has no cycle then.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "peach2/addresses.hpp"
#include "peach2/word.hpp"

namespace thalweg::peach2 {

/// A node's port.
struct PortOf {
  unsigned node = 0, port = 0;
  friend bool operator==(const PortOf&, const PortOf&) = default;
};
/// Where the links of each hub lead.
using Wiring = std::vector<std::array<std::optional<PortOf>, kLinks>>;
/// Of each hub.
using Tables = std::vector<std::vector<Window>>;

/// One ring of so many nodes, each one's east joined to the next one's west, or two of them, joined by their souths.
/// Throws std::invalid_argument where there are more than 16 nodes, or none, or more than two rings.
[[nodiscard]] Wiring rings(unsigned count, unsigned nodes);
/// The windows that lead from everywhere to everywhere in them.
[[nodiscard]] Tables windows_of_rings(unsigned count, unsigned nodes);

/// Throws std::invalid_argument, one line, where a packet would come by a hub twice; where packets could wait for each other in a
/// circle, which it names; where a window does not fit into its register, leads to no port or out of one that is joined to nothing,
/// has no page, or a mask with others than its highest bits, so that its pages are no range.
void check_windows(const Wiring& wiring, const Tables& tables);

/// The ports by which a packet for a page goes on its way from a node, the last one the host's or the bus's; without that where it
/// is refused on the way.
[[nodiscard]] std::vector<PortOf> way(const Wiring& wiring, const Tables& tables, unsigned from, std::uint32_t page);

}  // namespace thalweg::peach2
