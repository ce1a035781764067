// SPDX-License-Identifier: Apache-2.0
// A fatal error of MPI ends the program as MPI_Abort does, with a code of MPI's own.
#include <dlfcn.h>

#include "mpi/interposer/process.hpp"

namespace {

/// Whether MPI itself calls: an error handler of the program that calls exit() is the program.
bool is_of_mpi(const void* caller) {
  Dl_info from, mpi;
  return dladdr(caller, &from) != 0 && dladdr(reinterpret_cast<const void*>(&PMPI_Abort), &mpi) != 0 &&
         from.dli_fbase == mpi.dli_fbase;
}

}  // namespace

extern "C" [[noreturn, gnu::visibility("default")]] void exit(int status) {
  if (is_of_mpi(__builtin_return_address(0))) thalweg::mpi::process().fail(status);
  reinterpret_cast<void (*)(int)>(dlsym(RTLD_NEXT, "exit"))(status);
  __builtin_unreachable();
}
