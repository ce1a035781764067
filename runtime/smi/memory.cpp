// SPDX-License-Identifier: Apache-2.0
// Lets a program's kernels use the memory of banks.
#include <algorithm>
#include <array>

#include "smi/running.hpp"

namespace thalweg::smi {

namespace {

/// What a kernel's units for a bank do with a burst; `until`: the cycle by which all that they asked for has been moved.
auto asks(Kernel& kernel, MemoryBank& bank, double& until) {
  return [&](std::uint64_t address, std::uint64_t bytes, bool writes) {
    until = std::max(until, bank.move(kernel, address, bytes, writes));
  };
}

}  // namespace

void Program::memory(Running& running, std::uintptr_t address, std::size_t bytes, bool writes, const void* from) {
  auto* buffer = memory_.find(address);
  const auto outside = [&] {
    const std::string what = std::string(writes ? "writes" : "reads") + " " + std::to_string(bytes) + " bytes";
    throw Misuse(place(running.number, std::array{const_cast<void*>(from)}) + what +
                 (buffer ? " at " + std::to_string(address - reinterpret_cast<std::uintptr_t>(buffer->at)) +
                               " of buffer " + buffer->name + " (rank " + std::to_string(buffer->rank) +
                               "), which has " + std::to_string(buffer->bytes)
                         : " of memory that is no buffer's"));
  };
  if (!buffer || buffer->rank != running.rank ||
      address - reinterpret_cast<std::uintptr_t>(buffer->at) + bytes > buffer->bytes)
    outside();
  auto& kernel = *running.kernel;
  ++uses_;
  if (buffer->kernels > 1) kernel.synchronize();
  auto& use = running.banks[buffer->bank];
  auto& bank = ranks_[running.rank].banks[buffer->bank];
  if (!writes && !use.reads) {
    use.reads = true;
    kernel.continue_after(kernel.tick() + bank.latency() * kernel.domain().clock.period - 1, {"memory"});
  }
  const auto at = buffer->address + (address - reinterpret_cast<std::uintptr_t>(buffer->at));
  use.bursts.use(at, bytes, writes, asks(kernel, bank, use.until));
}

void Program::end_bursts(Running& running) {
  auto& kernel = *running.kernel;
  double moved = 0;
  for (unsigned bank = 0; bank < config_.banks; ++bank) {
    auto& use = running.banks[bank];
    use.bursts.end(asks(kernel, ranks_[running.rank].banks[bank], use.until));
    moved = std::max(moved, use.until);
  }
  if (const auto now = static_cast<double>(kernel.cycle()); moved > now) kernel.pause(static_cast<Tick>(moved - now));
}

}  // namespace thalweg::smi
