// SPDX-License-Identifier: Apache-2.0
// Point-to-point messages. A message is copied into the sender's heap with its time; the server matches it with a receive.
#pragma once

#include "mpi/interposer/arguments.hpp"
#include "mpi/interposer/communicator.hpp"
#include "mpi/interposer/data.hpp"
#include "mpi/interposer/request.hpp"

namespace thalweg::mpi {

enum class Mode : std::uint8_t { standard, buffered, synchronous };

namespace on {

int Send(Native native, Mode mode, const void* buffer, MPI_Count count, MPI_Datatype type, int destination, int tag,
         MPI_Comm comm);
int Isend(Native native, Mode mode, const void* buffer, MPI_Count count, MPI_Datatype type, int destination, int tag,
          MPI_Comm comm, MPI_Request* request);
int Send_init(Native native, Mode mode, const void* buffer, MPI_Count count, MPI_Datatype type, int destination,
              int tag, MPI_Comm comm, MPI_Request* request);
int Recv(Native native, void* buffer, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
         MPI_Status* status);
int Irecv(Native native, void* buffer, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
          MPI_Request* request);
int Recv_init(Native native, void* buffer, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request* request);
int Sendrecv(Native native, const void* send, MPI_Count send_count, MPI_Datatype send_type, int destination,
             int send_tag, void* receive, MPI_Count receive_count, MPI_Datatype receive_type, int source,
             int receive_tag, MPI_Comm comm, MPI_Status* status);
int Sendrecv_replace(Native native, void* buffer, MPI_Count count, MPI_Datatype type, int destination, int send_tag,
                     int source, int receive_tag, MPI_Comm comm, MPI_Status* status);
/// The request completes when both messages have.
int Isendrecv(Native native, const void* send, MPI_Count send_count, MPI_Datatype send_type, int destination,
              int send_tag, void* receive, MPI_Count receive_count, MPI_Datatype receive_type, int source,
              int receive_tag, MPI_Comm comm, MPI_Request* request);
int Isendrecv_replace(Native native, void* buffer, MPI_Count count, MPI_Datatype type, int destination, int send_tag,
                      int source, int receive_tag, MPI_Comm comm, MPI_Request* request);
int Probe(Native native, int source, int tag, MPI_Comm comm, MPI_Status* status);
int Iprobe(Native native, int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status);
int Mprobe(Native native, int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status);
int Improbe(Native native, int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status);
int Mrecv(Native native, void* buffer, MPI_Count count, MPI_Datatype type, MPI_Message* message, MPI_Status* status);
int Imrecv(Native native, void* buffer, MPI_Count count, MPI_Datatype type, MPI_Message* message, MPI_Request* request);

}  // namespace on
}  // namespace thalweg::mpi
