// SPDX-License-Identifier: Apache-2.0
// Builds a cluster from nodes and links of registered kinds. A kind constructs its nodes and connects its links from
// their entries in the cluster file; this code depends on no kind.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/engine.hpp"
#include "cluster/values.hpp"
#include "core/clock.hpp"
#include "core/usage.hpp"

namespace thalweg {

/// A node's end of a link. Only ends with equal `carries()` can be joined.
class LinkPort {
 public:
  virtual ~LinkPort() = default;
  [[nodiscard]] virtual std::string carries() const = 0;
};

/// The clocks of a cluster, by their names in its file.
using Clocks = std::map<std::string, Domain*, std::less<>>;

/// A node of the topology; its components are in the schedulers of its clocks.
class AssembledNode {
 public:
  virtual ~AssembledNode() = default;
  /// The link port with a number; throws std::invalid_argument if it does not exist.
  [[nodiscard]] virtual LinkPort& port(unsigned number) = 0;
  /// Appends its counts of dropped data; `node`: its number.
  virtual void lost(NodeId node, std::vector<Lost>& all) const {
    static_cast<void>(node);
    static_cast<void>(all);
  }
};

/// A link between two ports; it may have components of its own.
class AssembledLink {
 public:
  virtual ~AssembledLink() = default;
  /// Usage from its first port, and from its second.
  [[nodiscard]] virtual std::array<Carried, 2> carried() const { return {}; }
  /// Appends its counts of lost data; `ends`: the nodes and ports that it joins.
  virtual void lost(const std::array<std::pair<NodeId, unsigned>, 2>& ends, std::vector<Lost>& all) const {
    static_cast<void>(ends);
    static_cast<void>(all);
  }
};

/// Creates a node; called in order of node numbers.
using NodeKind = std::function<std::unique_ptr<AssembledNode>(const Values&, unsigned number, const Clocks&)>;
/// Joins two ports; throws std::invalid_argument if it cannot connect them.
using LinkKind = std::function<std::unique_ptr<AssembledLink>(const Values&, LinkPort&, LinkPort&, const Clocks&)>;

struct Kinds {
  std::map<std::string, NodeKind, std::less<>> nodes;
  std::map<std::string, LinkKind, std::less<>> links;
};

/// Contents of a cluster file, with its topology expanded.
struct Description {
  struct ClockOf {
    std::string name;
    Clock clock;
  };
  struct NodeOf {
    std::string kind;
    Values values;
  };
  struct LinkOf {
    std::string kind;
    Values values;
    unsigned node_a = 0, port_a = 0, node_b = 0, port_b = 0;
  };
  Tick ticks_per_second = 1;
  std::vector<ClockOf> clocks;
  std::vector<NodeOf> nodes;
  std::vector<LinkOf> links;
};

/// Usage of a link in one direction.
struct LinkUse {
  unsigned node = 0, port = 0;         ///< sending node and port
  Tick window = 1;                     ///< length of a window, in ticks
  std::vector<std::uint64_t> words{};  ///< words per window, from tick 0
};

class Assembly {
 public:
  /// Throws std::invalid_argument with a one-line message if a kind is unknown or rejects an entry.
  Assembly(const Description& description, const Kinds& kinds);
  Assembly(const Assembly&) = delete;
  Assembly& operator=(const Assembly&) = delete;

  [[nodiscard]] Domains& time() { return time_; }
  [[nodiscard]] const Domains& time() const { return time_; }
  [[nodiscard]] Tick ticks_per_second() const { return ticks_per_second_; }
  [[nodiscard]] Domain& clock(std::string_view name) { return *clocks_.find(name)->second; }
  [[nodiscard]] AssembledNode& node(unsigned number) { return *nodes_.at(number); }
  [[nodiscard]] const AssembledNode& node(unsigned number) const { return *nodes_.at(number); }
  [[nodiscard]] unsigned nodes() const { return static_cast<unsigned>(nodes_.size()); }
  /// The far end of the link at a node's port: node and port; none if there is no link.
  [[nodiscard]] std::optional<std::pair<unsigned, unsigned>> peer(unsigned node, unsigned port) const {
    for (const auto& [one, other] : ends_) {
      if (one == std::pair{node, port}) return other;
      if (other == std::pair{node, port}) return one;
    }
    return std::nullopt;
  }
  /// Usage of all link directions that have counters and were used.
  [[nodiscard]] std::vector<LinkUse> link_use() const;
  /// Data dropped by nodes and lost on links.
  [[nodiscard]] std::vector<Lost> lost() const;

 private:
  const Tick ticks_per_second_;
  Domains time_;
  Clocks clocks_;
  std::vector<std::unique_ptr<AssembledNode>> nodes_;
  std::vector<std::unique_ptr<AssembledLink>> links_;
  std::vector<std::array<std::pair<unsigned, unsigned>, 2>> ends_;  ///< per link: nodes and ports of both ends
};

}  // namespace thalweg
