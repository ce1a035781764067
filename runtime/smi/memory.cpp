// SPDX-License-Identifier: Apache-2.0
// Lets a program's kernels use the memory of banks.
#include <array>

#include "smi/running.hpp"

namespace thalweg::smi {

namespace {

/// Requests a burst from a bank.
auto requests(Kernel& kernel, BankPort& port) {
  return [&](std::uint64_t address, std::uint64_t bytes, bool writes) { port.request(kernel, address, bytes, writes); };
}

}  // namespace

void Program::memory(Running& running, std::uintptr_t address, std::size_t bytes, bool writes, const void* from) {
  auto* buffer = memory_.find(address);
  const auto outside = [&] {
    const std::string access = std::string(writes ? "writes" : "reads") + " " + std::to_string(bytes) + " bytes";
    throw Misuse(error_prefix(running.number, std::array{const_cast<void*>(from)}) + access +
                 (buffer ? " at " + std::to_string(address - reinterpret_cast<std::uintptr_t>(buffer->at)) +
                               " of buffer " + buffer->name + " (rank " + std::to_string(buffer->rank) +
                               "), which has " + std::to_string(buffer->bytes)
                         : " of memory outside of all buffers"));
  };
  if (!buffer || buffer->rank != running.rank ||
      address - reinterpret_cast<std::uintptr_t>(buffer->at) + bytes > buffer->bytes)
    outside();
  auto& kernel = *running.kernel;
  ++uses_;
  if (buffer->kernels > 1) kernel.synchronize();
  auto& use = running.banks[buffer->bank];
  if (!writes) use.port.load(kernel);
  const auto at = buffer->address + (address - reinterpret_cast<std::uintptr_t>(buffer->at));
  use.bursts.use(at, bytes, writes, requests(kernel, use.port));
}

void Program::end_bursts(Running& running) {
  auto& kernel = *running.kernel;
  for (auto& use : running.banks) use.bursts.end(requests(kernel, use.port));
  for (const auto& use : running.banks) use.port.drain(kernel);
}

}  // namespace thalweg::smi
