// SPDX-License-Identifier: Apache-2.0
// Buffers that the program attaches for MPI_Bsend. Messages are copied elsewhere; this only accounts for space.
#pragma once

#include <cstdint>
#include <memory>

#include "mpi/interposer/communicator.hpp"
#include "mpi/interposer/request.hpp"

namespace thalweg::mpi {

/// Room of one message in a buffer, from its call until the message has left.
using Room = std::shared_ptr<void>;
/// Takes room for a message of so many bytes into `room`, or returns MPI_ERR_BUFFER.
int take_room(MPI_Comm comm, std::uint64_t bytes, Room* room);

namespace on {

/// `comm`: whose buffer it is, or MPI_COMM_NULL for the process's.
int Buffer_attach(Native native, MPI_Comm comm, const void* buffer, MPI_Count bytes);
/// The messages in it have left when this returns.
int Buffer_detach(Native native, MPI_Comm comm);
int Buffer_flush(Native native, MPI_Comm comm);
/// A session's buffer serves its communicators, which are not told apart: then all messages have room.
int Session_attach_buffer(Native native);
int Session_detach_buffer(Native native);

}  // namespace on
}  // namespace thalweg::mpi
