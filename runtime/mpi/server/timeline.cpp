// SPDX-License-Identifier: Apache-2.0
#include "mpi/server/timeline.hpp"

#include <utility>

namespace thalweg::mpi {

void Timeline::send(NodeId source, NodeId destination, std::uint64_t bytes, Tick at, Done done) {
  if (source != destination) {
    engine().send({expect(std::move(done)), source, destination, bytes}, possible(at));
    return;
  }
  const Tick then = at + memory_.ticks(bytes);
  this->at(then, [then, done = std::move(done)] {
    done({.at = then, .last = false});
    done({.at = then});
  });
}

}  // namespace thalweg::mpi
