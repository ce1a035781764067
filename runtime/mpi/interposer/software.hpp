// What the wrappers of collectives outside the network hand over: how many bytes go where. And what makes communicators.
#pragma once

#include "mpi/interposer/collectives.hpp"

namespace thalweg::mpi {

/// Bytes of `count` elements; 0 where the arguments are not significant.
inline std::uint64_t bytes_of(MPI_Count count, MPI_Datatype type) {
  return count <= 0 || type == MPI_DATATYPE_NULL ? 0 : Layout(type).bytes(count);
}

/// A rank of a communicator, and its size; of an intercommunicator the other side's.
struct Place {
  explicit Place(MPI_Comm comm);
  int rank = 0;
  int size = 0;
};

/// Where a neighbourhood's messages go, in the order of the topology.
std::vector<int> neighbours_out(MPI_Comm comm);

namespace on {

inline int Gatherv(Native native, MPI_Count send_count, MPI_Datatype send_type, int root, MPI_Comm comm,
                   MPI_Request* request = nullptr) {
  const std::uint64_t own = Place(comm).rank == root ? 0 : bytes_of(send_count, send_type);
  return in_software(
      native, comm,
      {.pattern = Pattern::gather_list, .bytes = own, .root = root, .list = {{static_cast<std::uint64_t>(root), own}}},
      request);
}

template <class Count>
int Scatterv(Native native, const Count* counts, MPI_Datatype type, int root, MPI_Comm comm,
             MPI_Request* request = nullptr) {
  SoftwareCollective collective{.pattern = Pattern::scatter_list, .root = root};
  if (const Place place(comm); place.rank == root)
    for (int i = 0; i < place.size; ++i)
      collective.list.push_back({static_cast<std::uint64_t>(i), bytes_of(static_cast<MPI_Count>(counts[i]), type)});
  return in_software(native, comm, collective, request);
}

template <class Count>
int Allgatherv(Native native, const void* send, MPI_Count send_count, MPI_Datatype send_type, const Count* counts,
               MPI_Datatype type, MPI_Comm comm, MPI_Request* request = nullptr) {
  const std::uint64_t own = send == MPI_IN_PLACE ? bytes_of(static_cast<MPI_Count>(counts[Place(comm).rank]), type)
                                                 : bytes_of(send_count, send_type);
  return in_software(native, comm, {.pattern = Pattern::allgather_list, .bytes = own, .list = {{0, own}}}, request);
}

/// `types` holds one type, or one for each peer (`each`).
template <class Count>
int Alltoallv(Native native, const void* send, const Count* send_counts, const MPI_Datatype* send_types,
              const Count* counts, const MPI_Datatype* types, bool each, MPI_Comm comm,
              MPI_Request* request = nullptr) {
  SoftwareCollective collective{.pattern = Pattern::alltoall_list};
  const bool in_place = send == MPI_IN_PLACE;
  for (int i = 0; i < Place(comm).size; ++i) {
    const MPI_Datatype type = (in_place ? types : send_types)[each ? i : 0];
    collective.list.push_back(
        {static_cast<std::uint64_t>(i), bytes_of(static_cast<MPI_Count>((in_place ? counts : send_counts)[i]), type)});
    collective.bytes += collective.list.back().bytes;
  }
  return in_software(native, comm, collective, request);
}

template <class Count>
int Reduce_scatter(Native native, const Count* counts, MPI_Datatype type, MPI_Comm comm,
                   MPI_Request* request = nullptr) {
  MPI_Count all = 0;
  const int ranks = Place(comm).size;
  for (int i = 0; i < ranks; ++i) all += static_cast<MPI_Count>(counts[i]);
  return in_software(
      native, comm,
      {.pattern = Pattern::reduce_scatter, .bytes = bytes_of(all, type) / static_cast<std::uint64_t>(ranks)}, request);
}

/// `bytes(i)` go to the i-th neighbour.
template <class Bytes>
int Neighbours(Native native, MPI_Comm comm, Bytes bytes, MPI_Request* request = nullptr) {
  SoftwareCollective collective{.pattern = Pattern::neighbours};
  int i = 0;
  for (const int neighbour : neighbours_out(comm)) {
    if (neighbour != MPI_PROC_NULL) {
      collective.list.push_back({static_cast<std::uint64_t>(neighbour), bytes(i)});
      collective.bytes += collective.list.back().bytes;
    }
    ++i;
  }
  return in_software(native, comm, collective, request);
}

/// A collective of equal blocks. At the root of a scatter the receive side may be MPI_IN_PLACE, and elsewhere the send
/// side does not count: `bytes` is what the significant one says.
int Software(Native native, Pattern pattern, std::uint64_t bytes, int root, MPI_Comm comm,
             MPI_Request* request = nullptr);
int Scatter(Native native, MPI_Count send_count, MPI_Datatype send_type, MPI_Count receive_count,
            MPI_Datatype receive_type, int root, MPI_Comm comm, MPI_Request* request = nullptr);

/// A call that makes a communicator out of `parent`, collective over that.
int Create(Native native, MPI_Comm parent, MPI_Comm* made, const char* function);
/// One that only some members of a communicator make, or none.
int Create_apart(Native native, MPI_Comm* made, const char* function);
int Comm_idup(Native native, MPI_Comm parent, MPI_Comm* made, MPI_Request* request);
/// Any other call that is collective over a communicator: its members meet first.
int Meet(Native native, MPI_Comm comm);
/// A call that may block on what the fabric does not know.
int Outside(Native native);

}  // namespace on
}  // namespace thalweg::mpi
