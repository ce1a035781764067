// SPDX-License-Identifier: Apache-2.0
// Compatibility with the user's MPI library: differences between MPICH and Open MPI.
#pragma once

#define MPICH_SKIP_MPICXX 1
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <climits>
#include <cstdint>
#include <cstring>

// Open MPI 5 has the sessions of MPI 4, but names itself MPI 3.1.
#if MPI_VERSION >= 4 || defined(MPI_SESSION_NULL)
#define THALWEG_SESSIONS 1
#else
#define THALWEG_SESSIONS 0
#endif

namespace thalweg::mpi {

/// Communicator of this process alone: not MPI_COMM_SELF if a program has sessions but no world.
inline MPI_Comm own_communicator = MPI_COMM_SELF;

/// Calls use(buffer, type) for elements at MPI_BOTTOM with another address and a type that is shifted by as much: MPICH 4.0 does not
/// pack or unpack at a null pointer.
template <class Pointer, class Use>
int with_address(Pointer buffer, MPI_Count count, MPI_Datatype type, Use use) {
  if (buffer != MPI_BOTTOM || count == 0) return use(buffer, type);
  const int one = 1;
  const MPI_Aint shift = -4096;
  MPI_Datatype shifted = MPI_DATATYPE_NULL;
  if (const int error = PMPI_Type_create_hindexed(1, &one, &shift, type, &shifted)) return error;
  PMPI_Type_commit(&shifted);
  const int error = use(reinterpret_cast<Pointer>(-shift), shifted);
  PMPI_Type_free(&shifted);
  return error;
}

#if MPI_VERSION >= 4
inline int pack(const void* from, MPI_Count count, MPI_Datatype type, void* to, MPI_Count bytes) {
  return with_address(from, count, type, [&](const void* first, MPI_Datatype of) {
    MPI_Count position = 0;
    return PMPI_Pack_c(first, count, of, to, bytes, &position, own_communicator);
  });
}
inline int unpack(const void* from, MPI_Count bytes, void* to, MPI_Count count, MPI_Datatype type) {
  return with_address(to, count, type, [&](void* first, MPI_Datatype of) {
    MPI_Count position = 0;
    return PMPI_Unpack_c(from, bytes, &position, first, count, of, own_communicator);
  });
}
#else
// Without large-count functions no count exceeds an int, but its bytes may: data are packed in pieces.
inline MPI_Count elements_per_piece(MPI_Datatype type) {
  MPI_Count size = 1;
  PMPI_Type_size_x(type, &size);
  return size == 0 ? INT_MAX : size > INT_MAX ? 1 : INT_MAX / size;
}
template <class Piece>
int in_pieces(MPI_Count count, MPI_Datatype type, Piece piece) {
  const MPI_Count most = elements_per_piece(type);
  for (MPI_Count done = 0; done < count; done += most)
    if (const int error = piece(done, static_cast<int>(count - done < most ? count - done : most))) return error;
  return MPI_SUCCESS;
}
inline int pack(const void* from, MPI_Count count, MPI_Datatype type, void* to, MPI_Count) {
  MPI_Count size = 0, lower = 0, extent = 0;
  PMPI_Type_size_x(type, &size);
  PMPI_Type_get_extent_x(type, &lower, &extent);
  return with_address(from, count, type, [&](const void* first, MPI_Datatype of) {
    return in_pieces(count, of, [&](MPI_Count done, int some) {
      int position = 0;
      return PMPI_Pack(static_cast<const char*>(first) + done * extent, some, of, static_cast<char*>(to) + done * size,
                       static_cast<int>(some * size), &position, own_communicator);
    });
  });
}
inline int unpack(const void* from, MPI_Count, void* to, MPI_Count count, MPI_Datatype type) {
  MPI_Count size = 0, lower = 0, extent = 0;
  PMPI_Type_size_x(type, &size);
  PMPI_Type_get_extent_x(type, &lower, &extent);
  return with_address(to, count, type, [&](void* first, MPI_Datatype of) {
    return in_pieces(count, of, [&](MPI_Count done, int some) {
      int position = 0;
      return PMPI_Unpack(static_cast<const char*>(from) + done * size, static_cast<int>(some * size), &position,
                         static_cast<char*>(first) + done * extent, some, of, own_communicator);
    });
  });
}
#endif

/// True if MPI reports an error when a communicator is freed with unreceived messages.
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40100000
inline constexpr bool kEndFindsMessages = true;
#else
inline constexpr bool kEndFindsMessages = false;
#endif

/// Progresses MPI's send and receive queues by testing a request that is not complete.
inline void progress_mpi() {
  int flag = 0;
  MPI_Request never = MPI_REQUEST_NULL;
  PMPI_Grequest_start([](void*, MPI_Status*) { return MPI_SUCCESS; }, [](void*) { return MPI_SUCCESS; },
                      [](void*, int) { return MPI_SUCCESS; }, nullptr, &never);
  PMPI_Test(&never, &flag, MPI_STATUS_IGNORE);
  PMPI_Grequest_complete(never);
  PMPI_Wait(&never, MPI_STATUS_IGNORE);
}

/// Hash key of a handle, which is an integer or a pointer depending on the MPI library.
template <class HandleType>
std::uint64_t key_of(HandleType handle) {
  std::uint64_t key = 0;
  std::memcpy(&key, &handle, sizeof handle);
  return key;
}

/// Handle of an object that MPI only passes through to the interposer. `number` is not 0.
template <class HandleType>
HandleType handle_of(std::uint32_t number) {
  HandleType handle{};
  const std::uint64_t key = 0x51000000ULL + number;
  std::memcpy(&handle, &key, sizeof handle);
  return handle;
}

/// The version that the interposer was compiled for, in the form of MPI_Get_library_version.
#if defined(MPICH_VERSION)
inline constexpr const char* kLibrary = "MPICH Version:";
inline constexpr const char* kVersion = MPICH_VERSION;
#elif defined(OPEN_MPI)
#define THALWEG_TEXT_(x) #x
#define THALWEG_TEXT(x) THALWEG_TEXT_(x)
inline constexpr const char* kLibrary = "Open MPI";
inline constexpr const char* kVersion =
    THALWEG_TEXT(OMPI_MAJOR_VERSION) "." THALWEG_TEXT(OMPI_MINOR_VERSION) "." THALWEG_TEXT(OMPI_RELEASE_VERSION);
#else
#error "only MPICH and Open MPI are known"
#endif

}  // namespace thalweg::mpi
