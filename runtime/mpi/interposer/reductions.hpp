// SPDX-License-Identifier: Apache-2.0
// Reductions: computed in the network if the hardware supports their type and operation.
#pragma once

#include "mpi/interposer/collectives.hpp"

namespace thalweg::mpi {

/// A rank's arguments of a reduction.
struct Reduce {
  spec::Collective collective = spec::Collective::allreduce;
  Pattern pattern = Pattern::allreduce;
  const void* send = nullptr;  ///< or MPI_IN_PLACE
  void* receive = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  int root = 0;
  std::vector<MPI_Count> blocks{};  ///< of reduce_scatter: elements for each rank, `count` in total
};
int reduce(Native native, MPI_Comm comm, const Reduce& call, Form form);

namespace on {

inline int Reduce(Native native, const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op,
                  int root, MPI_Comm comm, Form form = {}) {
  using spec::Collective;
  return reduce(native, comm, {Collective::reduce, Pattern::reduce, send, receive, count, type, op, root}, form);
}

inline int Allreduce(Native native, const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm comm, Form form = {}) {
  using spec::Collective;
  return reduce(native, comm, {Collective::allreduce, Pattern::allreduce, send, receive, count, type, op}, form);
}

inline int Scan(Native native, const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op,
                MPI_Comm comm, Form form = {}) {
  return reduce(native, comm, {spec::Collective::scan, Pattern::scan, send, receive, count, type, op}, form);
}

inline int Exscan(Native native, const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm, Form form = {}) {
  return reduce(native, comm, {spec::Collective::exscan, Pattern::scan, send, receive, count, type, op}, form);
}

inline int Reduce_scatter_block(Native native, const void* send, void* receive, MPI_Count count, MPI_Datatype type,
                                MPI_Op op, MPI_Comm comm, Form form = {}) {
  const OwnRank own(comm);
  if (own.apart) return apart(native, comm, form);
  using spec::Collective;
  return reduce(native, comm,
                {Collective::reduce_scatter, Pattern::reduce_scatter, send, receive, count * own.size, type, op, 0,
                 std::vector<MPI_Count>(static_cast<std::size_t>(own.size), count)},
                form);
}

template <class Count>
int Reduce_scatter(Native native, const void* send, void* receive, const Count* counts, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, Form form = {}) {
  const OwnRank own(comm);
  if (own.apart) return apart(native, comm, form);
  mpi::Reduce call{spec::Collective::reduce_scatter, Pattern::reduce_scatter, send, receive, 0, type, op};
  for (int i = 0; i < own.size; ++i) {
    call.blocks.push_back(static_cast<MPI_Count>(counts[i]));
    call.count += call.blocks.back();
  }
  return reduce(native, comm, call, form);
}

}  // namespace on
}  // namespace thalweg::mpi
