// SPDX-License-Identifier: Apache-2.0
// The time that a channel of DRAM takes: bursts on its data bus, rows that are opened and closed, bank groups, activations.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/require.hpp"

namespace thalweg {

/// Times are in cycles of whoever asks, fractions included; names are JEDEC's.
struct DramTiming {
  double bytes_per_cycle = 64;  ///< of the data bus
  unsigned burst_bytes = 64;    ///< what a column command moves; sizes and numbers are powers of two
  unsigned row_bytes = 8192;    ///< of all devices of the channel together
  unsigned groups = 4;          ///< of banks; 1 where the standard has none
  unsigned banks = 4;           ///< of a group
  double trcd = 0;              ///< from an activate to a column command
  double trp = 0;               ///< from a precharge to an activate
  double tras = 0;              ///< from an activate to a precharge, at least
  double trtp = 0;              ///< from a read to a precharge
  double twr = 0;               ///< from the end of a write's data to a precharge
  double tcwl = 0;              ///< from a write to its data
  double tccd_l = 0;            ///< between column commands to one group
  double trrd = 0;              ///< between activates
  double tfaw = 0;              ///< in which there are at most four activates
};

/// Each resource (data bus, activates, group, bank) does its own work in the order in which it is asked for, and none waits for what
/// another one does for somebody else. A bank opens rows one after the other; an access to a row that is open, or whose turn has not ended,
/// needs no other one. That is a controller that reorders without limit, open rows first: accesses that are asked for together take the
/// time of the resource that has most to do. Refresh and the bus's turns between reads and writes are not modelled.
///
/// An address is, from its lowest bits: byte of a burst, group, column, bank of the group, row. Rows stay open.
class Dram {
 public:
  /// Throws std::invalid_argument where `timing` is of no channel.
  explicit Dram(const DramTiming& timing)
      : timing_(timing),
        burst_cycles_(timing.burst_bytes / timing.bytes_per_cycle),
        activate_cycles_(std::max(timing.trrd, timing.tfaw / 4)),
        groups_(timing.groups),
        banks_(std::size_t{timing.groups} * timing.banks) {
    const auto power = [](unsigned value) { return std::has_single_bit(value); };
    require(timing.bytes_per_cycle > 0 && power(timing.burst_bytes) && power(timing.row_bytes) &&
                power(timing.groups) && power(timing.banks) && timing.row_bytes >= timing.burst_bytes,
            "a DRAM's bursts, rows, bank groups and banks are powers of two, and a row holds a burst at least");
    for (const double time : {timing.trcd, timing.trp, timing.tras, timing.trtp, timing.twr, timing.tcwl, timing.tccd_l,
                              timing.trrd, timing.tfaw})
      require(time >= 0, "a DRAM's times are not negative");
    burst_bits_ = bits(timing.burst_bytes);
    group_bits_ = bits(timing.groups);
    column_bits_ = bits(timing.row_bytes / timing.burst_bytes);
    bank_bits_ = bits(timing.banks);
  }

  [[nodiscard]] const DramTiming& timing() const { return timing_; }
  /// Consecutive bytes that begin here are in the same row of each group, so many of them.
  [[nodiscard]] std::uint64_t stripe() const { return std::uint64_t{timing_.row_bytes} * timing_.groups; }

  /// An access that is asked for at `now`, of at least a byte. The time at which its last burst has been moved, counted as if a row that is
  /// closed took none to open: that is part of a memory's latency.
  double access(double now, std::uint64_t address, std::uint64_t bytes, bool writes) {
    const auto last = (address + bytes - 1) >> burst_bits_;
    double done = now;
    for (auto number = address >> burst_bits_; number <= last; ++number)
      done = std::max(done, burst(now, number, writes));
    return done;
  }

 private:
  static constexpr std::uint64_t kClosed = ~std::uint64_t{0};
  static constexpr unsigned kTurns = 4;
  /// A row is open, or will be.
  struct Turn {
    std::uint64_t row = kClosed;
    double column = 0;  ///< its next column command, less tRCD
  };
  struct Bank {
    std::array<Turn, kTurns> turns;  ///< the last ones
    unsigned last = 0;
    double closes = 0;  ///< a precharge after the last one, at the earliest

    /// The turn that an access joins at `now`; null: none.
    Turn* find(std::uint64_t row, double now) {
      if (turns[last].row == row) return &turns[last];
      for (Turn& turn : turns)
        if (turn.row == row && turn.column > now) return &turn;
      return nullptr;
    }
  };

  static unsigned bits(unsigned value) { return static_cast<unsigned>(std::countr_zero(value)); }
  /// The next turn of a resource that takes `cycles` for each; it is asked for at `now`.
  static double next(double& free, double now, double cycles) {
    const double begins = std::max(free, now);
    free = begins + cycles;
    return begins;
  }

  double burst(double now, std::uint64_t number, bool writes) {
    const auto group = number & (timing_.groups - 1);
    const auto of_group = number >> (group_bits_ + column_bits_);
    const auto row = of_group >> bank_bits_;
    Bank& bank = banks_[(of_group & (timing_.banks - 1)) << group_bits_ | group];
    const double moves = next(bus_, now, burst_cycles_);
    Turn* open = bank.find(row, now);
    if (!open) open = &activate(bank, row, now);
    const double column = std::max(next(groups_[group], now, timing_.tccd_l), open->column);
    open->column = column + timing_.tccd_l;
    const double recovers = writes ? timing_.tcwl + burst_cycles_ + timing_.twr : timing_.trtp;
    if (open == &bank.turns[bank.last]) bank.closes = std::max(bank.closes, column + timing_.trcd + recovers);
    return std::max(moves, column) + burst_cycles_;
  }
  Turn& activate(Bank& bank, std::uint64_t row, double now) {
    const bool closed = bank.turns[bank.last].row == kClosed;
    const double precharged = closed ? now : std::max(now, bank.closes) + timing_.trp;
    const double activated = std::max(next(activates_, now, activate_cycles_), precharged);
    bank.last = (bank.last + 1) % kTurns;
    bank.closes = activated + timing_.tras;
    return bank.turns[bank.last] = {row, activated};
  }

  DramTiming timing_;
  double burst_cycles_, activate_cycles_;
  unsigned burst_bits_, group_bits_, column_bits_, bank_bits_;
  double bus_ = 0, activates_ = 0;
  std::vector<double> groups_;  ///< of each: when it takes a column command
  std::vector<Bank> banks_;     ///< [bank of a group][group]
};

}  // namespace thalweg
