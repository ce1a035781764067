// SPDX-License-Identifier: Apache-2.0
// The bus of a hub, C++ model of rtl/peach2/tw_bus.sv: routes each beat by its address to memory, calculator, working RAM or
// registers.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#include "peach2/bus_bridge.hpp"
#include "peach2/word.hpp"

namespace thalweg::peach2 {

/// Memory map of a hub's 1 GByte, in bytes.
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
    unsigned sums = 16;      ///< of the calculator: beats of partial sums
    unsigned records = 8;    ///< beats of a result
  };
  /// Targets that are ready for a write in this cycle.
  struct Ready {
    bool memory, calculator, registers;
  };
  static constexpr unsigned kLanes = 2;  ///< the side lane is the second one
  struct Reply {
    unsigned lane;
    BusReply reply;
  };
  /// Read data of each target for the beat of the previous cycle.
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
  /// The lane granted in this cycle, if it offers a beat.
  [[nodiscard]] unsigned lane(const std::array<const BusBeat*, kLanes>& beats) const {
    return beats[1] && !stays_ ? 1 : 0;
  }
  [[nodiscard]] bool takes(const BusBeat& beat, unsigned lane, const Ready& ready) const {
    switch (target(beat)) {
      case Target::memory:
        return ready.memory && memory_takes(beat, lane);
      case Target::calculator:
        return beat.write ? ready.calculator : under_way_ == 0;
      case Target::registers:
        return beat.write ? ready.registers : under_way_ == 0;
      default:
        return beat.write || under_way_ == 0;
    }
  }
  /// True if the beat is offered to memory: writes always, reads only if their reply can be tracked.
  [[nodiscard]] bool memory_takes(const BusBeat& beat, unsigned lane) const {
    return beat.write || under_way_ == 0 || (under_way_ != kMostUnderWay && lane_ == lane);
  }
  [[nodiscard]] unsigned context(std::uint64_t address) const {
    return static_cast<unsigned>(address % (1U << 24) >> (24 - std::countr_zero(config_.contexts)));
  }
  [[nodiscard]] unsigned place(std::uint64_t address) const { return static_cast<unsigned>(address % config_.sums); }
  [[nodiscard]] unsigned record(std::uint64_t address) const {
    return static_cast<unsigned>(address % config_.records);
  }
  [[nodiscard]] std::uint64_t ram(std::uint64_t address) const { return address % (1U << config_.ram_bits); }

  [[nodiscard]] const std::optional<Reply>& reply() const { return reply_; }
  /// Address, in beats, of a beat dropped in the previous cycle.
  [[nodiscard]] const std::optional<std::uint64_t>& stray() const { return stray_; }
  [[nodiscard]] bool idle() const { return under_way_ == 0 && !fast_ && !reply_ && !stray_; }

  /// One clock edge. `beats`: offered by the lanes in this cycle, or null; `reply`: read data of memory, or null.
  void step(const std::array<const BusBeat*, kLanes>& beats, const Ready& ready, const Read& read,
            const Word<128>* reply) {
    const unsigned lane = this->lane(beats);
    const BusBeat* beat = beats[lane];
    const bool goes = beat && takes(*beat, lane, ready);
    stays_ = lane == 0 && beat && target(*beat) == Target::memory && memory_takes(*beat, lane) && !ready.memory;
    reply_.reset();
    if (fast_)
      reply_ = Reply{lane_,
                     {*fast_ == Target::calculator  ? read.calculator
                      : *fast_ == Target::ram       ? read.ram
                      : *fast_ == Target::registers ? read.registers
                                                    : Word<128>{},
                      *fast_ == Target::none}};
    else if (reply)
      reply_ = Reply{lane_, {*reply}};
    fast_.reset();
    stray_.reset();
    if (reply) --under_way_;
    if (!goes) return;
    if (!beat->write) lane_ = lane;
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
  unsigned under_way_ = 0;  ///< outstanding reads from memory, in beats
  std::optional<Target> fast_;
  unsigned lane_ = 0;   ///< lane of the outstanding reads
  bool stays_ = false;  ///< memory was offered a beat of the first lane, and was not ready
  std::optional<Reply> reply_;
  std::optional<std::uint64_t> stray_;
};

}  // namespace thalweg::peach2
