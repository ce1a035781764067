// SPDX-License-Identifier: Apache-2.0
// One thread of this process: its clock, its slot in the shared memory, and its call.
#pragma once

#include <vector>

#include "mpi/interposer/skew.hpp"
#include "mpi/protocol.hpp"

namespace thalweg::mpi {

struct Thread {
  ThreadSlot* slot = nullptr;
  std::uint16_t number = 0;  ///< of its slot
  bool called = false;       ///< has called MPI
  bool locks = false;        ///< holds the process's lock
  std::vector<std::uint32_t> path;
  std::uint32_t children = 0;
  std::int32_t system_id = 0;  ///< 0 until it has started
  std::uint32_t life = 0;      ///< of its slot
  bool ended = false;

  Time clock = 0;
  double fraction = 0;  ///< fraction of a tick not yet added to the clock
  // Processor time when it last left a call, its own and that of all threads.
  std::int64_t thread_ns = 0, process_ns = 0;
  Skew skew;

  int depth = 0;  ///< of nested calls
  std::uint16_t function = 0;
  const void* site = nullptr;
  std::vector<std::uint32_t> released;  ///< communicators that MPI has freed in the present call

  Time idle_since = -1;        ///< first poll since the last event; -1: none
  std::uint64_t happened = 0;  ///< the rank's event count at the last poll
  unsigned looks = 0;          ///< consecutive readings of the clock
  Time looked_at = -1;         ///< the clock after the last reading
  Time looking_since = 0;      ///< the clock before the first of them
  unsigned asides = 0;         ///< consecutive MPI calls outside the fabric
};

}  // namespace thalweg::mpi
