// SPDX-License-Identifier: Apache-2.0
// Detects fatal errors of MPI, which end the program like MPI_Abort, with a code of MPI's own.
#include <dlfcn.h>
#include <unistd.h>

#include <charconv>
#include <string_view>

#include "mpi/interposer/loaded_file.hpp"
#include "mpi/interposer/process.hpp"

namespace {

/// True if MPI itself is the caller, not an error handler of the program that calls exit().
bool is_of_mpi(const void* caller) {
  const void* const of_caller = thalweg::mpi::file_at(caller).start;
  return of_caller != nullptr && of_caller == thalweg::mpi::file_at(reinterpret_cast<const void*>(&PMPI_Abort)).start;
}

}  // namespace

extern "C" [[noreturn, gnu::visibility("default")]] void exit(int status) {
  if (is_of_mpi(__builtin_return_address(0))) thalweg::mpi::process().fail(status);
  reinterpret_cast<void (*)(int)>(dlsym(RTLD_NEXT, "exit"))(status);
  __builtin_unreachable();
}

/// MPICH asks its launcher to end all ranks by a line of the process manager interface, and is killed before it exits.
extern "C" [[gnu::visibility("default")]] ssize_t write(int file, const void* data, size_t bytes) {
  constexpr std::string_view kAbort = "cmd=abort exitcode=";
  const std::string_view line(static_cast<const char*>(data), bytes);
  int status = 0;
  if (line.starts_with(kAbort) && is_of_mpi(__builtin_return_address(0)) &&
      std::from_chars(line.data() + kAbort.size(), line.data() + line.size(), status).ec == std::errc{})
    thalweg::mpi::process().fail(status);
  static const auto next = reinterpret_cast<ssize_t (*)(int, const void*, size_t)>(dlsym(RTLD_NEXT, "write"));
  return next(file, data, bytes);
}
