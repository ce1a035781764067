// SPDX-License-Identifier: Apache-2.0
// The bus of a hub, twin of rtl/peach2/tw_bus.sv: each beat goes to the one that its address is of: memory, calculator, working
// RAM or registers.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "peach2/bus_bridge.hpp"
#include "peach2/word.hpp"

namespace thalweg::peach2 {

/// Where things are in a hub's 1 GByte, in bytes.
inline constexpr std::uint64_t kHubBytes = std::uint64_t{1} << 30, kMemoryBytes = kHubBytes / 2;
inline constexpr std::uint64_t kCalculatorAt = kMemoryBytes, kRamAt = 3 * (kHubBytes / 4),
                               kRegistersAt = 7 * (kHubBytes / 8);
inline constexpr std::uint64_t kCalculatorBytes = kHubBytes / 4;
inline constexpr unsigned kRegisters = 256;  ///< of 16 bytes

class Bus {
 public:
  enum class Target { memory, calculator, ram, registers, none };
  struct Config {
    unsigned ram_bits = 11;  ///< log2 of the RAM's beats
    unsigned contexts = 4;   ///< of the calculator
    unsigned sums = 16;      ///< its beats of partial sums
    unsigned records = 8;    ///< beats of a result
  };
  /// Who can take a write in this cycle.
  struct Ready {
    bool memory, calculator, registers;
  };
  /// What stood, in the cycle before, where that beat read.
  struct Read {
    Word<128> calculator, ram, registers;
  };

  explicit Bus(const Config& config) : config_(config) {}

  [[nodiscard]] Target target(const BusBeat& beat) const {
    const auto bit = [&](unsigned index) { return (beat.address >> index & 1) != 0; };
    const std::uint64_t low = beat.address % (1U << 23);
    if (!bit(25)) return Target::memory;
    if (!bit(24)) return beat.write && beat.enable != 0xFFFF ? Target::none : Target::calculator;
    if (!bit(23)) return low >> config_.ram_bits ? Target::none : Target::ram;
    return low >= kRegisters ? Target::none : Target::registers;
  }
  [[nodiscard]] bool takes(const BusBeat& beat, const Ready& ready) const {
    switch (target(beat)) {
      case Target::memory:
        return ready.memory && memory_takes(beat);
      case Target::calculator:
        return beat.write ? ready.calculator : under_way_ == 0;
      case Target::registers:
        return beat.write ? ready.registers : under_way_ == 0;
      default:
        return beat.write || under_way_ == 0;
    }
  }
  /// Is it shown to memory? A read only where there is a place for its reply.
  [[nodiscard]] bool memory_takes(const BusBeat& beat) const { return beat.write || under_way_ != kMostUnderWay; }
  [[nodiscard]] unsigned context(std::uint64_t address) const {
    return static_cast<unsigned>(address % (1U << 24) >> (24 - std::countr_zero(config_.contexts)));
  }
  [[nodiscard]] unsigned place(std::uint64_t address) const { return static_cast<unsigned>(address % config_.sums); }
  [[nodiscard]] unsigned record(std::uint64_t address) const {
    return static_cast<unsigned>(address % config_.records);
  }
  [[nodiscard]] std::uint64_t ram(std::uint64_t address) const { return address % (1U << config_.ram_bits); }

  [[nodiscard]] const std::optional<Word<128>>& reply() const { return reply_; }
  /// The address of a beat that was dropped in the cycle before, in beats.
  [[nodiscard]] const std::optional<std::uint64_t>& stray() const { return stray_; }
  [[nodiscard]] bool idle() const { return under_way_ == 0 && !fast_ && !reply_ && !stray_; }

  /// One clock edge. `beat`: shown in this cycle, or null; `reply`: memory's, or null.
  void step(const BusBeat* beat, const Ready& ready, const Read& read, const Word<128>* reply) {
    const bool goes = beat && takes(*beat, ready);
    reply_.reset();
    if (fast_)
      reply_ = *fast_ == Target::calculator  ? read.calculator
               : *fast_ == Target::ram       ? read.ram
               : *fast_ == Target::registers ? read.registers
                                             : Word<128>{};
    else if (reply)
      reply_ = *reply;
    fast_.reset();
    stray_.reset();
    if (reply) --under_way_;
    if (!goes) return;
    const Target of = target(*beat);
    if (of == Target::none) stray_ = beat->address;
    if (beat->write) return;
    if (of == Target::memory)
      ++under_way_;
    else
      fast_ = of;
  }

 private:
  static constexpr unsigned kMostUnderWay = 1023;

  Config config_;
  unsigned under_way_ = 0;  ///< beats read from memory
  std::optional<Target> fast_;
  std::optional<Word<128>> reply_;
  std::optional<std::uint64_t> stray_;
};

}  // namespace thalweg::peach2
