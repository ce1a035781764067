// SPDX-License-Identifier: Apache-2.0
#include "peach2/driver/routes.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "core/require.hpp"
#include "peach2/windows.hpp"

namespace thalweg::peach2 {
namespace {

constexpr unsigned kPageWidth = kAddressBits - kPageBits;
constexpr std::uint32_t kAllPages = (1U << kPageWidth) - 1;
constexpr const char* kNames[kPorts] = {"north", "east", "west", "south", "bus", "engine", "results", "side"};

std::string name(const PortOf& port) {
  return std::string(kNames[port.port]) + " of hub " + std::to_string(port.node);
}

/// Does a window fit into its register, and can it lead anywhere?
void check_window(const Wiring& wiring, unsigned node, std::size_t index, const Window& window) {
  if (!window.used) return;
  const std::string of = "window " + std::to_string(index) + " of hub " + std::to_string(node) + ": ";
  require(window.to <= kBus,
          of + "port " + std::to_string(window.to) + "; give it one of north 0, east 1, west 2, south 3, bus 4");
  require(window.to == kNorth || window.to == kBus || wiring[node][window.to],
          of + "it leads out of " + name({node, window.to}) + ", which is joined to nothing");
  const std::pair<const char*, std::uint32_t> pages[] = {
      {"mask", window.mask}, {"lower bound", window.lower}, {"upper bound", window.upper}};
  for (const auto& [what, value] : pages)
    require(value <= kAllPages, of + "its " + what + " is " + std::to_string(value) + "; pages have " +
                                    std::to_string(kPageWidth) + " bits, up to " + std::to_string(kAllPages));
  const std::uint64_t grain = std::uint64_t{kAllPages & ~window.mask} + 1;
  require((grain & (grain - 1)) == 0,
          of + "its mask has other bits than its highest ones, so that its pages are no range");
  require((window.lower + grain - 1) / grain * grain <= window.upper,
          of + "no page lies in it: its lower bound is " + std::to_string(window.lower) + ", its upper one " +
              std::to_string(window.upper));
}

/// The windows of nodes first to last, for one port.
Window of_nodes(unsigned to, unsigned first, unsigned last) {
  const unsigned shift = kNodeShift - kPageBits;
  return {true, to, kAllPages, first << shift, ((last + 1) << shift) - 1};
}

unsigned goes_to(const std::vector<Window>& table, unsigned node, std::uint32_t page) {
  if (page >> (kBaseShift - kPageBits) == base_of(node)) return kBus;
  for (const auto& window : table)
    if (window.has(page)) return window.to;
  return kPorts;
}

/// Calls visit(page) for one page of each range in which all hubs treat pages alike.
void each_range(const Tables& tables, const std::function<void(std::uint32_t)>& visit) {
  std::set<std::uint32_t> firsts{0};
  const auto add = [&](std::uint64_t first) {
    if (first <= kAllPages) firsts.insert(static_cast<std::uint32_t>(first));
  };
  for (unsigned node = 0; node < tables.size(); ++node) {
    const std::uint64_t own = std::uint64_t{base_of(node)} << (kBaseShift - kPageBits);
    add(own);
    add(own + (1U << (kBaseShift - kPageBits)));
    for (const auto& window : tables[node]) {
      if (!window.used) continue;
      const std::uint64_t grain = std::uint64_t{kAllPages & ~window.mask} + 1;
      add((window.lower + grain - 1) / grain * grain);
      add(window.upper / grain * grain + grain);
    }
  }
  for (const std::uint32_t first : firsts) visit(first);
}

/// What each link's end waits for: the ends that packets from it go on to.
using Waits = std::vector<std::set<unsigned>>;

unsigned index(const PortOf& end) {
  return end.node * kLinks + end.port;
}

/// A circle in it, or nothing.
std::vector<unsigned> circle(const Waits& waits) {
  std::vector<int> state(waits.size(), 0);  // 1: on the path, 2: leads to none
  std::vector<unsigned> path, found;
  const std::function<bool(unsigned)> follow = [&](unsigned end) {
    state[end] = 1;
    path.push_back(end);
    for (const unsigned next : waits[end]) {
      if (state[next] == 1) {
        found.assign(std::find(path.begin(), path.end(), next), path.end());
        return true;
      }
      if (state[next] == 0 && follow(next)) return true;
    }
    path.pop_back();
    state[end] = 2;
    return false;
  };
  for (unsigned end = 0; end < waits.size(); ++end)
    if (state[end] == 0 && follow(end)) break;
  return found;
}

}  // namespace

Wiring rings(unsigned count, unsigned nodes) {
  require(count == 1 || count == 2, "there are one ring or two, not " + std::to_string(count));
  require(nodes >= 1 && count * nodes <= kMostNodes,
          "the addresses are for 1 to " + std::to_string(kMostNodes) + " nodes, not " + std::to_string(count * nodes));
  Wiring wiring(count * nodes);
  for (unsigned ring = 0; ring < count; ++ring)
    for (unsigned i = 0; i < nodes; ++i) {
      const unsigned node = ring * nodes + i, next = ring * nodes + (i + 1) % nodes;
      if (nodes > 1) {
        wiring[node][kEast] = PortOf{next, kWest};
        wiring[next][kWest] = PortOf{node, kEast};
      }
      if (count == 2) wiring[node][kSouth] = PortOf{(node + nodes) % (2 * nodes), kSouth};
    }
  return wiring;
}

Tables windows_of_rings(unsigned count, unsigned nodes) {
  static_cast<void>(rings(count, nodes));
  Tables tables(count * nodes);
  for (unsigned node = 0; node < count * nodes; ++node) {
    const unsigned i = node % nodes, first = node - i;
    auto& table = tables[node];
    const auto add = [&](unsigned to, unsigned from, unsigned until) {
      if (from < until) table.push_back(of_nodes(to, from, until - 1));
    };
    add(kNorth, node, node + 1);
    if (count == 2) add(kSouth, nodes - first, 2 * nodes - first);
    if (i == 0) {
      add(kEast, first + 1, first + nodes / 2 + 1);
      add(kWest, first + nodes / 2 + 1, first + nodes);
    } else {
      add(nodes - i < i ? kEast : kWest, first, first + 1);
      add(kWest, first + 1, node);
      add(kEast, node + 1, first + nodes);
    }
  }
  return tables;
}

std::vector<PortOf> way(const Wiring& wiring, const Tables& tables, unsigned from, std::uint32_t page) {
  std::vector<PortOf> ports;
  unsigned node = from, came = kPorts;
  for (;;) {
    const unsigned to = goes_to(tables[node], node, page);
    if (to > kBus || to == came) return ports;
    ports.push_back({node, to});
    if (to == kBus || to == kNorth || !wiring[node][to]) return ports;
    const PortOf next = *wiring[node][to];
    // No port twice: after as many as there are, it goes round.
    if (ports.size() > wiring.size() * kLinks) return ports;
    node = next.node;
    came = next.port;
  }
}

void check_windows(const Wiring& wiring, const Tables& tables) {
  for (unsigned node = 0; node < tables.size(); ++node)
    for (std::size_t i = 0; i < tables[node].size(); ++i) check_window(wiring, node, i, tables[node][i]);
  Waits waits(wiring.size() * kLinks);
  each_range(tables, [&](std::uint32_t page) {
    for (unsigned from = 0; from < wiring.size(); ++from) {
      const auto ports = way(wiring, tables, from, page);
      std::set<unsigned> seen;
      for (std::size_t hop = 0; hop < ports.size(); ++hop) {
        if (ports[hop].port == kBus || ports[hop].port == kNorth) break;
        require(seen.insert(ports[hop].node).second, "windows lead round: from hub " + std::to_string(from) +
                                                         " to page " + std::to_string(page) + " by hub " +
                                                         std::to_string(ports[hop].node) + " again");
        if (hop > 0) waits[index(ports[hop - 1])].insert(index(ports[hop]));
      }
    }
  });
  const auto found = circle(waits);
  if (found.empty()) return;
  std::string said = "windows let packets wait for each other in a circle: ";
  for (const unsigned end : found) said += name({end / kLinks, end % kLinks}) + ", ";
  require(false, said + "and again");
}

}  // namespace thalweg::peach2
