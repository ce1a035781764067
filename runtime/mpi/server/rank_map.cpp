// SPDX-License-Identifier: Apache-2.0
#include "mpi/server/rank_map.hpp"

#include <algorithm>
#include <utility>

namespace thalweg::mpi {

RankMap::RankMap(std::vector<NodeId> nodes) : nodes_(std::move(nodes)) {
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    const auto host = static_cast<std::size_t>(std::ranges::find(hosts_, nodes_[rank]) - hosts_.begin());
    if (host == hosts_.size()) {
      hosts_.push_back(nodes_[rank]);
      ranks_on_.emplace_back();
    }
    host_of_.push_back(static_cast<std::uint32_t>(host));
    ranks_on_[host].push_back(rank);
  }
  in_order_ = std::ranges::is_sorted(host_of_);
  even_ = std::ranges::all_of(ranks_on_, [&](const auto& on) { return on.size() == ranks_on_.front().size(); });
}

}  // namespace thalweg::mpi
