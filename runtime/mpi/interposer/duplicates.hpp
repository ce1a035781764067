// SPDX-License-Identifier: Apache-2.0
// MPI's part of MPI_Comm_idup. MPICH (up to 5.0.2) completes each duplicate by a broadcast that blocks inside any call that
// makes progress, and meanwhile progresses no other duplicate: ranks that complete several in different orders deadlock. So a
// rank starts its duplicates one by one, in the server's order of the calls being complete on all members.
#pragma once

#include <memory>

#include "mpi/interposer/compat.hpp"

namespace thalweg::mpi {

class Duplicate {
 public:
  Duplicate(MPI_Comm parent, MPI_Info info, MPI_Comm* made);
  ~Duplicate();
  Duplicate(const Duplicate&) = delete;
  Duplicate& operator=(const Duplicate&) = delete;

  [[nodiscard]] MPI_Comm parent() const { return parent_; }
  [[nodiscard]] bool begun() const { return begun_; }
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] int error() const { return error_; }
  void begin();
  /// Returns whether it is complete; blocks until it is if `waits`.
  bool end(bool waits);

 private:
  MPI_Comm parent_;
  MPI_Info info_ = MPI_INFO_NULL;
  MPI_Comm* made_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  bool begun_ = false, complete_ = false;
  int error_ = MPI_SUCCESS;
};

/// Registers a duplicate that the program requests. It starts at its turn, or earlier by begin_duplicates().
std::shared_ptr<Duplicate> call_for_duplicate(MPI_Comm parent, MPI_Info info, MPI_Comm* made);
/// Queues a duplicate that all members have requested.
void give_turn(const std::shared_ptr<Duplicate>& duplicate);
/// Waits until MPI has created it.
int finish(const Duplicate& duplicate);
/// Starts all duplicates of `parent`; called before any other MPI call that is collective on it or copies its attributes, whose
/// order is the same on all ranks.
void begin_duplicates(MPI_Comm parent);

}  // namespace thalweg::mpi
