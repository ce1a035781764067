// SPDX-License-Identifier: Apache-2.0
// Collectives outside the network, described by bytes between ranks, and creation of communicators.
#pragma once

#include "mpi/interposer/collectives.hpp"
#include "mpi/interposer/topology.hpp"

namespace thalweg::mpi {

/// Bytes of `count` elements; 0 if the arguments are not significant.
inline std::uint64_t bytes_of(MPI_Count count, MPI_Datatype type) {
  return count <= 0 || !usable(type) ? 0 : Layout(type).bytes(count);
}

/// Origin of a communicator created by part of `parent`'s members, or by ranks without a parent.
Origin tagged(int tag, MPI_Comm parent);
Origin tagged(const char* tag);

namespace on {

/// Neighbourhood collective that sends `bytes(i)` to the i-th neighbour.
template <class Bytes>
int Neighbours(Native native, MPI_Comm comm, Bytes bytes, Form form = {}) {
  if (known(comm) == nullptr) return unfollowed(native, form);
  SoftwareCollective collective{.pattern = Pattern::neighbours};
  int i = 0;
  for (const int neighbour : neighbours_out(comm)) {
    if (neighbour != MPI_PROC_NULL) {
      collective.list.push_back({static_cast<std::uint64_t>(neighbour), bytes(i)});
      collective.bytes += collective.list.back().bytes;
    }
    ++i;
  }
  return in_software(native, comm, collective, form);
}

/// Creates a communicator from `parent` by a call that is collective over `parent`.
int Create(Native native, MPI_Comm parent, MPI_Comm* made, const char* function);
int Comm_dup(Native native, MPI_Comm parent, MPI_Comm* made);
int Comm_split_type(Native native, MPI_Comm parent, int type, int key, MPI_Comm* made);
/// Creates a communicator of a group's members, which synchronize first.
int Create_of(Native native, MPI_Group group, MPI_Comm* made, Origin origin, const char* function);
/// Creates a communicator whose members are known only after MPI has created it; calls are matched by tag. `own`: the
/// communicator of its local group.
int Create_apart(Native native, MPI_Comm* made, Origin origin, const char* function, MPI_Comm own = MPI_COMM_NULL);
/// Frees a communicator. MPICH may wait for its outstanding operations, and checks for unreceived messages.
int Comm_free(Native native, MPI_Comm comm);
int Comm_disconnect(Native native, MPI_Comm comm);
int Comm_idup(Native native, MPI_Comm parent, MPI_Info info, MPI_Comm* made, MPI_Request* request);
/// A local call that changes what a duplicate of a communicator copies; duplicates requested earlier do not see the change.
int On(Native native, MPI_Comm comm);
/// A call that may block on events outside the fabric.
int Outside(Native native);
/// A call of one-sided communication, which needs no action of the target.
int Aside(Native native);
/// A file call that needs no action of other ranks.
int File_alone(Native native);
int Win_test(Native native, const int* flag);

}  // namespace on
}  // namespace thalweg::mpi
