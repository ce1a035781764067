// SPDX-License-Identifier: Apache-2.0
// A memory bank: bytes that kernels and components read and write, and the time that it takes them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/kernel.hpp"
#include "core/require.hpp"
#include "memory/dram.hpp"

namespace thalweg {

struct BankTiming {
  unsigned bytes_per_cycle = 64;     ///< of the bank's clock: an access takes the cycles that its bytes need
  Tick latency = 1;                  ///< cycles from the last of them to data that can be used; a write takes none
  unsigned at_once = 1;              ///< accesses that can be under way beside each other
  std::optional<DramTiming> dram{};  ///< a channel of DRAM, in cycles of the bank's clock, instead of bytes_per_cycle
};

/// Accesses are served in the order of their ticks, of one tick in the order in which those who ask are stepped: kernels as they
/// were made. Each starts at the first edge of the bank's clock, from its request on, at which one more can be under way.
class Bank {
 public:
  /// When an access is over.
  struct Done {
    Tick moved;  ///< its last bytes have been moved: who asked can ask again after it
    Tick seen;   ///< what was read can be used after it
  };

  /// Throws std::invalid_argument where a figure of `timing` is not positive.
  Bank(std::string name, std::size_t bytes, Clock clock, const BankTiming& timing)
      : name_(std::move(name)), clock_(clock), timing_(timing), memory_(bytes), free_(timing.at_once) {
    if (timing.dram) dram_.emplace(*timing.dram);
    require(timing.bytes_per_cycle > 0 && timing.latency > 0 && timing.at_once > 0,
            "memory bank " + name_ + " moves no bytes");
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::size_t size() const { return memory_.size(); }

  /// Reads from the memory, or writes to it, at tick `now`: not before a tick that has been given before, unless one alone uses
  /// the bank. Throws std::out_of_range where it would be outside.
  Done read(Tick now, std::size_t address, std::span<std::byte> to) {
    check(address, to.size());
    std::memcpy(to.data(), memory_.data() + address, to.size());
    return served(now, address, to.size(), false);
  }
  Done write(Tick now, std::size_t address, std::span<const std::byte> from) {
    check(address, from.size());
    std::memcpy(memory_.data() + address, from.data(), from.size());
    return served(now, address, from.size(), true);
  }

 private:
  friend class BankPort;

  void check(std::size_t address, std::size_t bytes) const {
    if (address <= memory_.size() && bytes <= memory_.size() - address) return;
    throw std::out_of_range("memory bank " + name_ + " has " + std::to_string(memory_.size()) + " bytes; " +
                            std::to_string(bytes) + " at " + std::to_string(address) + " are outside");
  }

  Done served(Tick now, std::size_t address, std::size_t bytes, bool writes) {
    const auto first = std::min_element(free_.begin(), free_.end());
    const auto start = std::max(clock_.cycle_from(now), *first);
    const auto cycles = std::max<Tick>(
        1, dram_ && bytes > 0 ? dram_cycles(start, address, bytes, writes)
                              : static_cast<Tick>((bytes + timing_.bytes_per_cycle - 1) / timing_.bytes_per_cycle));
    *first = start + cycles;
    const auto last = start + cycles - 1;
    return {clock_.edge(last), clock_.edge(last + timing_.latency - 1)};
  }

  /// Whole cycles from the one in which it starts.
  Tick dram_cycles(Tick start, std::size_t address, std::size_t bytes, bool writes) {
    const auto now = static_cast<double>(start);
    return static_cast<Tick>(std::ceil(dram_->access(now, address, bytes, writes) - now));
  }

  std::string name_;
  Clock clock_;
  BankTiming timing_;
  std::optional<Dram> dram_;
  std::vector<std::byte> memory_;
  std::vector<Tick> free_;  ///< of each access that can be under way: the cycle in which the next one can start
  unsigned ports_ = 0;
};

/// A kernel's port of a bank, used once a cycle, and not again before it has moved the bytes of the last access. A write goes on in
/// its cycle. A read goes on when its data are there; in a pipeline, that much later less the pipeline's depth.
class BankPort {
 public:
  explicit BankPort(Bank& bank) : bank_(&bank) { ++bank.ports_; }
  ~BankPort() {
    if (bank_) --bank_->ports_;
  }
  BankPort(BankPort&& other) noexcept : bank_(std::exchange(other.bank_, nullptr)) {}
  BankPort& operator=(BankPort&&) = delete;

  /// Throw std::out_of_range where the bytes are outside of the bank, std::invalid_argument where the port is another kernel's.
  void read(std::size_t address, std::span<std::byte> to) {
    auto& kernel = begin();
    const auto done = bank_->read(kernel.tick(), address, to);
    end(kernel, done);
    kernel.continue_after(done.seen - kernel.depth_ticks(), {"memory bank", &bank_->name()});
  }
  void write(std::size_t address, std::span<const std::byte> from) {
    auto& kernel = begin();
    end(kernel, bank_->write(kernel.tick(), address, from));
  }
  template <class T>
    requires std::is_trivially_copyable_v<T>
  [[nodiscard]] T read(std::size_t address) {
    T value;
    read(address, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void write(std::size_t address, const T& value) {
    write(address, std::as_bytes(std::span(&value, 1)));
  }

 private:
  Kernel& begin() {
    auto& kernel = Kernel::current();
    if (kernel_ != &kernel) [[unlikely]] {
      require(!kernel_, "memory bank " + bank_->name() + ": two kernels use a port that one alone can use");
      kernel_ = &kernel;
    }
    kernel.open(port_);
    kernel.continue_after(moved_, {"memory bank", &bank_->name()});
    if (bank_->ports_ > 1) kernel.synchronize();
    return kernel;
  }
  void end(Kernel& kernel, const Bank::Done& done) {
    kernel.close(port_);
    moved_ = done.moved;
  }

  Bank* bank_;
  Kernel* kernel_ = nullptr;
  OncePerCycle port_;
  Tick moved_ = -1;
};

}  // namespace thalweg
