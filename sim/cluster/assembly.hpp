// SPDX-License-Identifier: Apache-2.0
// Builds a cluster from nodes and links of registered kinds. A kind constructs its nodes and connects its links from their entries in
// the cluster file; this code depends on no kind.
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

/// A node's end of a link. Only ends that carry the same can be joined.
class LinkPort {
 public:
  virtual ~LinkPort() = default;
  [[nodiscard]] virtual std::string carries() const = 0;
};

/// The clocks of a cluster, by the names that its file gives them.
using Clocks = std::map<std::string, Domain*, std::less<>>;

/// What stands at a place of the topology; its components are in the schedulers of its clocks.
class AssembledNode {
 public:
  virtual ~AssembledNode() = default;
  /// Of a link port's number; throws std::invalid_argument where there is none.
  [[nodiscard]] virtual LinkPort& port(unsigned number) = 0;
  /// Appends what it has dropped; `node`: its number.
  virtual void lost(NodeId node, std::vector<Lost>& all) const {
    static_cast<void>(node);
    static_cast<void>(all);
  }
};

/// Something that stays between two ports; it may hold components of its own.
class AssembledLink {
 public:
  virtual ~AssembledLink() = default;
  /// From its first port and from its second one.
  [[nodiscard]] virtual std::array<Carried, 2> carried() const { return {}; }
  /// Appends what was lost on it; `ends`: the nodes and ports that it joins.
  virtual void lost(const std::array<std::pair<NodeId, unsigned>, 2>& ends, std::vector<Lost>& all) const {
    static_cast<void>(ends);
    static_cast<void>(all);
  }
};

/// What makes a node, in the order of their numbers.
using NodeKind = std::function<std::unique_ptr<AssembledNode>(const Values&, unsigned number, const Clocks&)>;
/// What joins two ports; throws std::invalid_argument where they are not for it.
using LinkKind = std::function<std::unique_ptr<AssembledLink>(const Values&, LinkPort&, LinkPort&, const Clocks&)>;

struct Kinds {
  std::map<std::string, NodeKind, std::less<>> nodes;
  std::map<std::string, LinkKind, std::less<>> links;
};

/// What a cluster file says, with its topology laid out.
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

/// What a link carried in one direction.
struct LinkUse {
  unsigned node = 0, port = 0;         ///< that send
  Tick window = 1;                     ///< ticks
  std::vector<std::uint64_t> words{};  ///< of each window, from tick 0 on
};

class Assembly {
 public:
  /// Throws std::invalid_argument, one line, where a kind is not known or refuses.
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
  /// The other end of the link at a node's port: node and port; none where there is no link.
  [[nodiscard]] std::optional<std::pair<unsigned, unsigned>> peer(unsigned node, unsigned port) const {
    for (const auto& [one, other] : ends_) {
      if (one == std::pair{node, port}) return other;
      if (other == std::pair{node, port}) return one;
    }
    return std::nullopt;
  }
  /// Of the directions of links that have carried something and count it.
  [[nodiscard]] std::vector<LinkUse> link_use() const;
  /// What nodes have dropped, and links have lost.
  [[nodiscard]] std::vector<Lost> lost() const;

 private:
  const Tick ticks_per_second_;
  Domains time_;
  Clocks clocks_;
  std::vector<std::unique_ptr<AssembledNode>> nodes_;
  std::vector<std::unique_ptr<AssembledLink>> links_;
  std::vector<std::array<std::pair<unsigned, unsigned>, 2>> ends_;  ///< of each link: node and port
};

}  // namespace thalweg
