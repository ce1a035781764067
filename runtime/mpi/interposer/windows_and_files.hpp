// SPDX-License-Identifier: Apache-2.0
// Windows and files, which ranks open collectively and MPI manages. Before MPI executes a collective call on one, its ranks
// synchronize, so that none blocks in MPI for a rank that is later in virtual time.
#pragma once

#include "mpi/interposer/collectives.hpp"
#include "mpi/interposer/duplicates.hpp"

namespace thalweg::mpi {

/// The ranks of each open window or file, by handle.
template <class Handle>
std::unordered_map<std::uint64_t, CommunicatorInfo>& ranks_of() {
  static auto* const all = new std::unordered_map<std::uint64_t, CommunicatorInfo>;
  return *all;
}

namespace on {

template <class Handle>
int Open(Native native, MPI_Comm comm, const Handle* made, const char* function) {
  CommunicatorInfo* communicator = known(comm);
  if (communicator == nullptr) return process().outside(native);
  // The creation synchronizes all ranks, as they get its reply at once.
  const CommunicatorInfo twin = twin_of(*communicator, function, Reason::not_in_network);
  begin_duplicates(comm);
  const int error = process().natively(native);
  if (error == MPI_SUCCESS) ranks_of<Handle>()[key_of(*made)] = twin;
  return error;
}

template <class Handle>
int Together(Native native, Handle handle) {
  const auto found = ranks_of<Handle>().find(key_of(handle));
  if (found == ranks_of<Handle>().end()) return process().outside(native);
  meet(found->second);
  return process().natively(native);
}

template <class Handle>
int Close(Native native, const Handle* handle) {
  const std::uint64_t key = key_of(*handle);
  const int error = Together(native, *handle);
  if (error == MPI_SUCCESS) ranks_of<Handle>().erase(key);
  return error;
}

}  // namespace on
}  // namespace thalweg::mpi
