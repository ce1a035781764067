// SPDX-License-Identifier: Apache-2.0
// Finds a circle, such as one of circuits and crossbars that pass packets on for ever.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

namespace thalweg::vcsn {

/// `next`: what follows each one. A circle, in its order; empty: there is none.
template <class One>
[[nodiscard]] std::vector<One> circle_of(std::map<One, std::vector<One>> next) {
  const auto ends = [&next](const One& one) { return !next.contains(one); };
  for (bool fewer = true; fewer;) {  // what leads to ends alone is in no circle
    fewer = false;
    for (auto& [one, those] : next) std::erase_if(those, ends);
    if (std::erase_if(next, [](const auto& each) { return each.second.empty(); }) > 0) fewer = true;
  }
  if (next.empty()) return {};
  std::vector<One> way{next.begin()->first};
  for (;;) {
    const One& then = next.at(way.back()).front();
    const auto found = std::ranges::find(way, then);
    if (found != way.end()) return {found, way.end()};
    way.push_back(then);
  }
}

}  // namespace thalweg::vcsn
