// SPDX-License-Identifier: Apache-2.0
// Collectives outside the network, as numbers of bytes between ranks, and creation of communicators.
#pragma once

#include "mpi/interposer/collectives.hpp"
#include "mpi/interposer/topology.hpp"

namespace thalweg::mpi {

/// Bytes of `count` elements; 0 where the arguments are not significant.
inline std::uint64_t bytes_of(MPI_Count count, MPI_Datatype type) {
  return count <= 0 || !usable(type) ? 0 : Layout(type).bytes(count);
}

/// What distinguishes the communicators that a part of `parent`'s members make, or ranks without one.
Origin tagged(int tag, MPI_Comm parent);
Origin tagged(const char* tag);

namespace on {

/// `bytes(i)` go to the i-th neighbour.
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

/// A call that makes a communicator out of `parent`, collective over that.
int Create(Native native, MPI_Comm parent, MPI_Comm* made, const char* function);
int Comm_dup(Native native, MPI_Comm parent, MPI_Comm* made);
int Comm_split_type(Native native, MPI_Comm parent, int type, int key, MPI_Comm* made);
/// One that the members of a group make: they meet first.
int Create_of(Native native, MPI_Group group, MPI_Comm* made, Origin origin, const char* function);
/// One whose members are known when MPI has made it; those with one tag belong together. `own`: the communicator of its
/// own group.
int Create_apart(Native native, MPI_Comm* made, Origin origin, const char* function, MPI_Comm own = MPI_COMM_NULL);
/// The end of a communicator, in which MPICH may wait for what is under way on it; it looks for messages that nobody received.
int Comm_free(Native native, MPI_Comm comm);
int Comm_disconnect(Native native, MPI_Comm comm);
int Comm_idup(Native native, MPI_Comm parent, MPI_Info info, MPI_Comm* made, MPI_Request* request);
/// A local call that changes what a duplicate of a communicator gets: one called for earlier does not see it.
int On(Native native, MPI_Comm comm);
/// A call that may block on what the fabric does not know.
int Outside(Native native);
/// One of one-sided communication, for which the other side need do nothing.
int Aside(Native native);
/// One of a file for which no other rank need do anything.
int File_alone(Native native);
int Win_test(Native native, const int* flag);

}  // namespace on
}  // namespace thalweg::mpi
