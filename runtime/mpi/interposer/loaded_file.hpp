// SPDX-License-Identifier: Apache-2.0
// Which loaded file, a program or a library, holds an address.
#pragma once

#include <dlfcn.h>

namespace thalweg::mpi {

struct LoadedFile {
  const void* start = nullptr;
  const char* name = nullptr;
};

/// All null if no file is loaded at `address`.
inline LoadedFile file_at(const void* address) {
  Dl_info info{};
  dladdr(address, &info);
  return {info.dli_fbase, info.dli_fname};
}

}  // namespace thalweg::mpi
