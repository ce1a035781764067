// SPDX-License-Identifier: Apache-2.0
#include "vcsn/topology.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "core/require.hpp"

namespace thalweg::vcsn {
namespace {

constexpr std::array kShapes{"line", "ring", "mesh", "torus", "star", "tree"};
constexpr std::size_t kMostNodes = 4096;
/// Of 1,500 random graphs with all virtual ports in use, 6 needed a second attempt, and none a third.
constexpr unsigned kAttempts = 20;

template <class Range>
std::string joined(const Range& parts, const char* between) {
  std::string text;
  for (const auto& part : parts) {
    if (!text.empty()) text += between;
    if constexpr (requires { std::to_string(part); })
      text += std::to_string(part);
    else
      text += part;
  }
  return text;
}

/// Edges of a grid of positions 0 to count - 1, with the first dimension fastest.
std::vector<std::pair<std::size_t, std::size_t>> grid(std::span<const std::int64_t> size, std::size_t count,
                                                      bool wrapped) {
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  std::size_t stride = 1;
  for (const std::int64_t each : size) {
    const auto length = static_cast<std::size_t>(each);
    for (std::size_t at = 0; at < count; ++at) {
      const bool last = at / stride % length == length - 1;
      if (!last || wrapped) edges.emplace_back(at, last ? at - (length - 1) * stride : at + stride);
    }
    stride *= length;
  }
  return edges;
}

/// Assigns external ports to edges, one edge after another. An edge without a free port displaces others to other
/// ports, as in an augmenting path. The search is not exhaustive; if it fails, it restarts with the edge that found no
/// port.
class Mapping {
 public:
  Mapping(const Topology& topology, const Cluster& cluster) : topology_(topology), cluster_(cluster) {
    check();
    std::vector<std::size_t> order(topology.edges.size());
    std::iota(order.begin(), order.end(), 0);
    for (unsigned attempt = 0; attempt < kAttempts; ++attempt) {
      assigned_.clear();
      used_.clear();
      const auto failed = std::ranges::find_if(order, [&](std::size_t edge) {
        std::set<std::size_t> moved{edge};
        return !place(edge, moved);
      });
      if (failed == order.end()) return;
      std::rotate(order.begin(), failed, failed + 1);
    }
    const auto [a, b] = topology.edges[order.front()];
    throw std::invalid_argument(topology.name +
                                ": no external ports with a free virtual port are left for the circuit between nodes " +
                                std::to_string(a) + " and " + std::to_string(b));
  }

  [[nodiscard]] std::vector<Ends> circuits() const {
    std::vector<Ends> all(topology_.edges.size());
    std::map<std::size_t, Ports> ports(assigned_.begin(), assigned_.end());
    std::map<Station, unsigned> taken;
    for (const auto& [edge, of] : ports) {
      const auto [one, other] = ends(edge, of);
      all[edge].first = {one.first, one.second, taken[one]++};
      all[edge].second = {other.first, other.second, taken[other]++};
    }
    return all;
  }

 private:
  using Ports = std::pair<unsigned, unsigned>;  // ports at both ends of an edge

  void check() const {
    const std::string& name = topology_.name;
    require(!cluster_.is_direct(), name + ": " + cluster_.name() + " has serial links, and no circuits");
    std::map<unsigned, std::size_t> degrees;
    for (const auto& [a, b] : topology_.edges) {
      for (const auto node : {a, b}) {
        cluster_.check(node, name + ": ");
        ++degrees[static_cast<unsigned>(node)];
      }
      require(a != b, name + ": a circuit joins node " + std::to_string(a) + " with itself");
      require(!options(static_cast<unsigned>(a), static_cast<unsigned>(b)).empty(),
              name + ": no Ethernet leads from node " + std::to_string(a) + " to node " + std::to_string(b));
    }
    for (const auto& [node, degree] : degrees) {
      const auto has = cluster_.joined(node).size() * cluster_.virtual_ports(node);
      require(degree <= has, name + ": node " + std::to_string(node) + " has " + std::to_string(degree) +
                                 " circuits; it has " + std::to_string(has) + " virtual ports");
    }
  }

  /// External ports of two nodes between which the network carries frames.
  [[nodiscard]] std::vector<Ports> options(unsigned a, unsigned b) const {
    std::vector<Ports> found;
    for (const unsigned one : cluster_.joined(a))
      for (const unsigned other : cluster_.joined(b))
        if (cluster_.reaches({a, one}, {b, other})) found.emplace_back(one, other);
    return found;
  }
  [[nodiscard]] std::array<Station, 2> ends(std::size_t edge, const Ports& ports) const {
    const auto [a, b] = topology_.edges[edge];
    return {Station{static_cast<unsigned>(a), ports.first}, Station{static_cast<unsigned>(b), ports.second}};
  }
  [[nodiscard]] unsigned used(const Station& end) const {
    const auto found = used_.find(end);
    return found == used_.end() ? 0 : found->second;
  }
  [[nodiscard]] bool full(const Station& end, unsigned more) const {
    return used(end) + more > cluster_.virtual_ports(end.first);
  }

  void put(std::size_t edge, const Ports& ports) {
    assigned_.emplace_back(edge, ports);
    for (const Station& end : ends(edge, ports)) ++used_[end];
  }
  Ports take(std::size_t edge) {
    const auto found = std::ranges::find(assigned_, edge, &Assigned::first);
    const Ports ports = found->second;
    assigned_.erase(found);
    for (const Station& end : ends(edge, ports)) --used_[end];
    return ports;
  }

  /// Assigns ports to an edge. Edges that are not in `moved` may be displaced.
  bool place(std::size_t edge, std::set<std::size_t>& moved) {
    const auto [a, b] = topology_.edges[edge];
    auto all = options(static_cast<unsigned>(a), static_cast<unsigned>(b));
    const auto load = [&](const Ports& ports) {
      const auto [one, other] = ends(edge, ports);
      return std::pair(std::max(used(one), used(other)), std::min(used(one), used(other)));
    };
    std::ranges::stable_sort(all, {}, load);
    for (const Ports& ports : all)
      if (std::ranges::none_of(ends(edge, ports), [&](const Station& end) { return full(end, 1); })) {
        put(edge, ports);
        return true;
      }
    for (const Ports& ports : all) {
      const auto before = std::pair(assigned_, used_);
      put(edge, ports);
      if (std::ranges::all_of(ends(edge, ports), [&](const Station& end) { return relieve(end, moved); })) return true;
      std::tie(assigned_, used_) = before;
    }
    return false;
  }

  /// Displaces an edge from an external port that has more circuits than virtual ports.
  bool relieve(const Station& end, std::set<std::size_t>& moved) {
    if (!full(end, 0)) return true;
    std::vector<std::size_t> others;
    for (const auto& [edge, ports] : assigned_)
      if (const auto both = ends(edge, ports); !moved.contains(edge) && (both[0] == end || both[1] == end))
        others.push_back(edge);
    for (const std::size_t other : others) {
      moved.insert(other);
      const Ports ports = take(other);
      if (place(other, moved)) return true;
      put(other, ports);
    }
    return false;
  }

  using Assigned = std::pair<std::size_t, Ports>;

  const Topology& topology_;
  const Cluster& cluster_;
  std::vector<Assigned> assigned_;  ///< edges with their ports, in order of assignment
  std::map<Station, unsigned> used_;
};

}  // namespace

Topology Topology::of(const std::string& shape, std::span<const std::int64_t> nodes,
                      std::span<const std::int64_t> size) {
  require(std::ranges::find(kShapes, shape) != kShapes.end(),
          "unknown shape '" + shape + "'; must be one of " + joined(kShapes, ", "));
  require(nodes.size() >= 2, "a " + shape + " of " + std::to_string(nodes.size()) + " FPGAs; must have at least two");
  const std::size_t count = nodes.size();
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  if (shape == "tree") {
    require(size.size() <= 1 && (size.empty() || size[0] >= 1),
            "the size of a tree is [" + joined(size, ", ") + "]; must be one number, the branches of each node");
    const std::size_t branches = size.empty() ? 2 : static_cast<std::size_t>(size[0]);
    for (std::size_t child = 1; child < count; ++child) edges.emplace_back((child - 1) / branches, child);
  } else if (shape == "mesh" || shape == "torus") {
    require(!size.empty(), "a " + shape + " needs a size: its nodes in each dimension");
    require(std::ranges::min(size) >= 2, "every size of a " + shape + " must be at least 2");
    std::size_t all = 1;
    for (const std::int64_t each : size)  // saturates: any larger product is rejected as well
      all = std::min(all * std::min(static_cast<std::size_t>(each), kMostNodes + 1), kMostNodes + 1);
    require(all <= kMostNodes,
            "a " + shape + " of " + joined(size, "x") + "; the maximum is " + std::to_string(kMostNodes) + " nodes");
    require(all == count, "a " + shape + " of " + joined(size, "x") + " has " + std::to_string(all) +
                              " nodes; there are " + std::to_string(count));
    edges = grid(size, count, shape == "torus");
  } else {
    require(size.empty(), "a " + shape + " takes no size: it uses all FPGAs");
    const std::array whole{static_cast<std::int64_t>(count)};
    if (shape == "star")
      for (std::size_t leaf = 1; leaf < count; ++leaf) edges.emplace_back(0, leaf);
    else
      edges = grid(whole, count, shape == "ring");
  }
  Topology made{shape, {}};
  for (const auto& [a, b] : edges) made.edges.emplace_back(nodes[a], nodes[b]);
  return made;
}

Topology Topology::of(const std::string& shape, unsigned count, const std::vector<std::int64_t>& size) {
  std::vector<std::int64_t> nodes(count);
  std::iota(nodes.begin(), nodes.end(), 0);
  return of(shape, nodes, size);
}

std::vector<Ends> mapped(const Topology& topology, const Cluster& cluster) {
  return Mapping(topology, cluster).circuits();
}

}  // namespace thalweg::vcsn
