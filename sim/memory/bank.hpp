// SPDX-License-Identifier: Apache-2.0
// A bank of a board's memory: a DRAM channel behind its controller. Models timing only; its user stores the data.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/kernel.hpp"
#include "core/require.hpp"
#include "memory/dram.hpp"

namespace thalweg {

/// Times in cycles of the bank's users, which share one clock.
struct BankTiming {
  Tick latency = 1;  ///< from a read to its data, without contention
  DramTiming dram{};
};

class Bank {
 public:
  /// Throws std::invalid_argument if the latency is not positive or the DRAM timing is invalid.
  explicit Bank(const BankTiming& timing)
      : latency_(timing.latency),
        burst_cycles_(timing.dram.burst_bytes / timing.dram.bytes_per_cycle),
        dram_(timing.dram) {
    require(timing.latency > 0, "a memory bank must have a latency of at least one cycle");
  }

  [[nodiscard]] Tick latency() const { return latency_; }
  /// Registers a kernel with a port to this bank; call before kernels run. Requests of several kernels are served in
  /// order of their ticks, in the same tick in order of the kernels' creation.
  void share() { ++kernels_; }
  /// Allocates bytes behind earlier allocations and returns their address. Each allocation starts in another of the
  /// DRAM's banks, so that kernels that stream through two allocations do not close each other's rows.
  std::uint64_t allocate(std::uint64_t bytes) {
    const auto stripe = dram_.stripe(), banks = std::uint64_t{dram_.timing().banks};
    auto begins = (end_ + stripe - 1) / stripe;
    while (begins % banks != allocated_ % banks) ++begins;
    ++allocated_;
    end_ = begins * stripe + bytes;
    return begins * stripe;
  }

  /// Requests an access of at least one byte in cycle `now`, and returns the time at which its last burst has been
  /// transferred. Requests are served in call order.
  double access(Tick now, std::uint64_t address, std::uint64_t bytes, bool writes) {
    return dram_.access(static_cast<double>(now), address, bytes, writes);
  }
  /// The cycle in which a read requested in cycle `now` has its data, if its burst is transferred at `moved`.
  [[nodiscard]] Tick data(Tick now, double moved) const {
    const double waits = std::max(0.0, moved - burst_cycles_ - static_cast<double>(now));
    return now + static_cast<Tick>(std::ceil(waits)) + latency_;
  }

 private:
  friend class BankPort;

  Tick latency_;
  double burst_cycles_;
  Dram dram_;
  std::uint64_t end_ = 0, allocated_ = 0;
  unsigned kernels_ = 0;
};

/// A kernel's load and store units for a bank. They are pipelined: a kernel stalls for the latency of its first read,
/// and when it is too far ahead of the transfers.
class BankPort {
 public:
  /// Cycles by which a kernel may be ahead of its requested accesses: the capacity of its units.
  static constexpr double kAhead = 64;

  explicit BankPort(Bank& bank) : bank_(&bank) {}

  // Call all of these in the kernel.

  /// Call before each load; the first one stalls for the latency.
  void load(Kernel& kernel) {
    if (loads_) return;
    loads_ = true;
    kernel.continue_after(kernel.tick() + bank_->latency() * kernel.domain().clock.period - 1, {"memory"});
  }
  /// Requests an access of at least one byte.
  void request(Kernel& kernel, std::uint64_t address, std::uint64_t bytes, bool writes) {
    if (bank_->kernels_ > 1) kernel.synchronize();
    const auto now = kernel.cycle();
    const auto moved = bank_->access(now, address, bytes, writes);
    if (const auto behind = moved - static_cast<double>(now) - kAhead; behind >= 1)
      kernel.continue_after(kernel.tick() + static_cast<Tick>(behind) * kernel.domain().clock.period - 1, {"memory"});
    until_ = std::max(until_, moved);
  }
  /// Pauses until all requests have been transferred.
  void drain(Kernel& kernel) const {
    if (const auto now = static_cast<double>(kernel.cycle()); until_ > now)
      kernel.pause(static_cast<Tick>(until_ - now));
  }

 private:
  Bank* bank_;
  bool loads_ = false;
  double until_ = 0;  ///< time at which all requests have been transferred
};

}  // namespace thalweg
