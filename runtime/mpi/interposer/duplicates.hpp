// SPDX-License-Identifier: Apache-2.0
// MPI's part of MPI_Comm_idup. MPICH (up to 5.0.2) completes each one by a broadcast that blocks inside any call that makes
// progress, and meanwhile progresses no other one: ranks that complete several in different orders deadlock. So a rank begins
// its own one by one, in the order in which all members have called according to the server.
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
  /// Whether it is complete now; where it `waits` it is.
  bool end(bool waits);

 private:
  MPI_Comm parent_;
  MPI_Info info_ = MPI_INFO_NULL;
  MPI_Comm* made_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  bool begun_ = false, complete_ = false;
  int error_ = MPI_SUCCESS;
};

/// One that the program has called for. It is begun when it is its turn, or earlier by begin_duplicates().
std::shared_ptr<Duplicate> call_for_duplicate(MPI_Comm parent, MPI_Info info, MPI_Comm* made);
/// All members have called for it: it is the next one.
void give_turn(const std::shared_ptr<Duplicate>& duplicate);
/// Returns when MPI has made it.
int finish(const Duplicate& duplicate);
/// Before MPI does anything else that is collective on `parent`, or that copies what belongs to it: there the order is the
/// program's on all ranks.
void begin_duplicates(MPI_Comm parent);

}  // namespace thalweg::mpi
