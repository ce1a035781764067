// SPDX-License-Identifier: Apache-2.0
// A rank's parent and children in a collective's tree, C++ model of rtl/smi/tw_tree_neighbours.sv.
#pragma once

#include "smi/endpoint.hpp"

namespace thalweg::smi {

/// A member of a communicator: its number and its rank in the cluster.
struct Member {
  unsigned own = 0, rank = 0;

  friend bool operator==(const Member&, const Member&) = default;

  /// The next member, from the last to the first.
  [[nodiscard]] Member next(const Open& open) const {
    if (own + 1 == open.ranks) return {0, open.first};
    return {own + 1, (rank + open.stride) & 0xFF};
  }
};

/// Valid 7 cycles after an open request, or 15 if the parent is not the root.
class TreeNeighbours {
 public:
  [[nodiscard]] bool valid() const { return valid_; }
  [[nodiscard]] unsigned parent() const { return parent_; }  ///< rank in the cluster; undefined at the root
  [[nodiscard]] unsigned children() const { return children_; }
  [[nodiscard]] const Member& child() const { return child_; }  ///< the first child, if any
  [[nodiscard]] bool settled() const { return left_ == 0; }

  /// One clock edge.
  void step(const Open* open) {
    if (left_ > 0 && --left_ == 0) valid_ = true;
    if (open) begin(*open);
  }

 private:
  void begin(const Open& open) {
    const unsigned place = (open.own + open.ranks - open.root) % open.ranks;
    const unsigned before = open.arity * place;  // last position before the first child
    children_ = before + 1 < open.ranks ? std::min(open.arity, open.ranks - 1 - before) : 0;
    const bool near = place <= open.arity;
    const unsigned parent = near ? 0 : (place - 1) / open.arity;
    parent_ = rank_of(open, member_of(open, parent));
    const unsigned child = children_ > 0 ? member_of(open, before + 1) : 0;
    child_ = {child, rank_of(open, child)};
    left_ = near ? 6 : 14;
    valid_ = false;
  }
  [[nodiscard]] static unsigned member_of(const Open& open, unsigned place) { return (place + open.root) % open.ranks; }
  [[nodiscard]] static unsigned rank_of(const Open& open, unsigned member) { return open.rank(member) & 0xFF; }

  bool valid_ = false;
  unsigned left_ = 0, parent_ = 0, children_ = 0;
  Member child_;
};

}  // namespace thalweg::smi
