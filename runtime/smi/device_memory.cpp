// SPDX-License-Identifier: Apache-2.0
#include "smi/device_memory.hpp"

#include <sys/mman.h>

#include <new>

namespace thalweg::smi {

DeviceMemory::DeviceMemory() {
  void* reserved = mmap(nullptr, kReserved, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<std::byte*>(reserved);
}

DeviceMemory::~DeviceMemory() {
  for (auto* buffer : buffers_) delete buffer;
  munmap(base_, kReserved);
}

Buffer& DeviceMemory::add(std::string name, unsigned rank, unsigned bank, std::size_t bytes) {
  const auto first = granules_.size();
  const auto number = bytes / kGranule + 1;  // the last granule is never full, and catches overruns
  auto* at = base_ + kReserved / 2 + first * kGranule;
  if ((first + number) * kGranule > kReserved / 2 || mprotect(at, number * kGranule, PROT_READ | PROT_WRITE) != 0)
    throw std::bad_alloc();
  buffers_.push_back(new Buffer{.name = std::move(name), .rank = rank, .bank = bank, .at = at, .bytes = bytes});
  granules_.resize(first + number, buffers_.back());
  return *buffers_.back();
}

}  // namespace thalweg::smi
