// SPDX-License-Identifier: Apache-2.0
// Buffers that the program attaches for MPI_Bsend. Messages are copied to the rank's heap; this only accounts for space.
#pragma once

#include <cstdint>
#include <memory>

#include "mpi/interposer/communicator.hpp"
#include "mpi/interposer/request.hpp"

namespace thalweg::mpi {

/// Space of one message in a buffer, held from the call until the message has left.
using Room = std::shared_ptr<void>;
/// Reserves space for a message of `bytes` in `room`, or returns MPI_ERR_BUFFER.
int take_room(MPI_Comm comm, std::uint64_t bytes, Room* room);

namespace on {

/// `comm`: owner of the buffer, or MPI_COMM_NULL for the process's buffer.
int Buffer_attach(Native native, MPI_Comm comm, const void* buffer, MPI_Count bytes);
/// Returns when all messages in the buffer have left.
int Buffer_detach(Native native, MPI_Comm comm);
int Buffer_flush(Native native, MPI_Comm comm);
/// A session's buffer serves its communicators, which are not tracked: while one is attached, no message lacks space.
int Session_attach_buffer(Native native);
int Session_detach_buffer(Native native);

}  // namespace on
}  // namespace thalweg::mpi
