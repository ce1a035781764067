// SPDX-License-Identifier: Apache-2.0
#include "mpi/interposer/buffers.hpp"

namespace thalweg::mpi {

struct SendBuffer {
  bool unlimited = false;
  std::uint64_t bytes = 0, used = 0;
};

namespace {

std::shared_ptr<SendBuffer>& of_process() {
  static auto* const buffer = new std::shared_ptr<SendBuffer>;
  return *buffer;
}
unsigned sessions_with_one = 0;

std::shared_ptr<SendBuffer>* buffer_of(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return &of_process();
  CommunicatorInfo* communicator = known(comm);
  return communicator == nullptr ? nullptr : &communicator->buffer;
}

void drain(const SendBuffer& buffer) {
  while (process().joined() && buffer.used != 0) process().poll({});
}

}  // namespace

int take_room(MPI_Comm comm, std::uint64_t bytes, Room* room) {
  std::shared_ptr<SendBuffer> buffer = *buffer_of(comm);
  if (buffer == nullptr) buffer = of_process();
  if (buffer == nullptr) return sessions_with_one != 0 ? MPI_SUCCESS : MPI_ERR_BUFFER;
  const std::uint64_t wanted = bytes + MPI_BSEND_OVERHEAD;
  if (!buffer->unlimited && wanted > buffer->bytes - buffer->used) return MPI_ERR_BUFFER;
  buffer->used += wanted;
  *room = Room(nullptr, [buffer, wanted](void*) { buffer->used -= wanted; });
  return MPI_SUCCESS;
}

namespace on {

int Buffer_attach(Native native, MPI_Comm comm, const void* buffer, MPI_Count bytes) {
  const int error = native();
  std::shared_ptr<SendBuffer>* place = buffer_of(comm);
  if (error != MPI_SUCCESS || place == nullptr) return error;
  *place = std::make_shared<SendBuffer>(SendBuffer{.bytes = static_cast<std::uint64_t>(bytes)});
#ifdef MPI_BUFFER_AUTOMATIC
  (*place)->unlimited = buffer == MPI_BUFFER_AUTOMATIC;
#else
  static_cast<void>(buffer);
#endif
  return error;
}

int Buffer_flush(Native native, MPI_Comm comm) {
  if (const std::shared_ptr<SendBuffer>* place = buffer_of(comm); place != nullptr && *place != nullptr) drain(**place);
  return native();
}

int Buffer_detach(Native native, MPI_Comm comm) {
  const int error = Buffer_flush(native, comm);
  std::shared_ptr<SendBuffer>* place = buffer_of(comm);
  if (error == MPI_SUCCESS && place != nullptr) place->reset();
  return error;
}

int Session_attach_buffer(Native native) {
  const int error = native();
  sessions_with_one += error == MPI_SUCCESS;
  return error;
}

int Session_detach_buffer(Native native) {
  const int error = native();
  sessions_with_one -= error == MPI_SUCCESS;
  return error;
}

}  // namespace on
}  // namespace thalweg::mpi
