// SPDX-License-Identifier: Apache-2.0
// Typed access to the memory that the server shares with the ranks.
#pragma once

#include <new>

#include "launch/shared_memory.hpp"
#include "mpi/protocol.hpp"

namespace thalweg::mpi {

class RankMemory : public launch::SharedMemory {
 public:
  explicit RankMemory(unsigned ranks) : SharedMemory(memory_bytes(ranks)) {
    new (base()) Header{};
    header().ranks = ranks;
    header().running = ranks;
    for (unsigned rank = 0; rank < ranks; ++rank) new (&slot(rank)) Slot{};
  }

  [[nodiscard]] Header& header() { return *reinterpret_cast<Header*>(base()); }
  [[nodiscard]] Slot& slot(unsigned rank) { return *reinterpret_cast<Slot*>(base() + slot_offset(rank)); }
};

}  // namespace thalweg::mpi
