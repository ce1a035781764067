// Collectives: into the network where it can do them, otherwise by MPI itself, timed as the messages of software.
#pragma once

#include <vector>

#include "mpi/interposer/communicator.hpp"
#include "mpi/interposer/data.hpp"
#include "mpi/interposer/request.hpp"

namespace thalweg::mpi {

/// Handlers of a collective and, where `request` is given, of its non-blocking form.
namespace on {

int Barrier(Native native, MPI_Comm comm, MPI_Request* request = nullptr);
int Bcast(Native native, void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm,
          MPI_Request* request = nullptr);
int Reduce(Native native, const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
           MPI_Comm comm, MPI_Request* request = nullptr);
int Allreduce(Native native, const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op,
              MPI_Comm comm, MPI_Request* request = nullptr);
int Gather(Native native, const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
           MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm, MPI_Request* request = nullptr);
int Allgather(Native native, const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
              MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm comm, MPI_Request* request = nullptr);

}  // namespace on

struct ByteCount {
  std::uint64_t peer = 0;
  std::uint64_t bytes = 0;
};

/// A collective that MPI executes: its members meet, MPI executes it, and they wait as long as its messages take.
struct SoftwareCollective {
  Pattern pattern = Pattern::none;
  Reason reason = Reason::not_in_network;
  const char* detail = "";
  std::uint64_t bytes = 0;
  int root = 0;
  std::vector<ByteCount> list{};
};
int in_software(Native native, MPI_Comm comm, const SoftwareCollective& collective, MPI_Request* request = nullptr);

/// Waits for the other members, so that none blocks in MPI for another that waits in the run.
void meet(const CommunicatorInfo& communicator);

}  // namespace thalweg::mpi
