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
    // The slots of other threads are created with the threads: until then, their pages are not used.
    for (unsigned rank = 0; rank < ranks; ++rank) new (&thread(rank)) ThreadSlot{};
  }

  [[nodiscard]] Header& header() { return *reinterpret_cast<Header*>(base()); }
  [[nodiscard]] Slot& slot(unsigned rank) { return *reinterpret_cast<Slot*>(base() + slot_offset(rank)); }
  [[nodiscard]] ThreadSlot& thread(unsigned rank, unsigned number = 0) {
    return *reinterpret_cast<ThreadSlot*>(base() + thread_offset(rank, number));
  }
};

}  // namespace thalweg::mpi
