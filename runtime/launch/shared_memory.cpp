// SPDX-License-Identifier: Apache-2.0
#include "launch/shared_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace thalweg::launch {

SharedMemory::SharedMemory(std::uint64_t bytes) : bytes_(bytes) {
  descriptor_ = memfd_create("thalweg", MFD_CLOEXEC);
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
  void* base = MAP_FAILED;
  if (ftruncate(descriptor_, static_cast<off_t>(bytes_)) == 0)
    base = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor_, 0);
  if (base == MAP_FAILED) {
    const int error = errno;
    close(descriptor_);
    throw std::system_error(error, std::generic_category(), "shared memory for the processes");
  }
  base_ = static_cast<std::byte*>(base);
  madvise(base_, bytes_, MADV_DONTDUMP);
}

SharedMemory::~SharedMemory() {
  munmap(base_, bytes_);
  close(descriptor_);
}

}  // namespace thalweg::launch
