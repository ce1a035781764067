// SPDX-License-Identifier: Apache-2.0
// Timing of a DRAM channel: bursts on the data bus, opening and closing of rows, bank groups, activates, bus turnaround
// between reads and writes, and refresh.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/require.hpp"

namespace thalweg {

/// Times are in cycles of the caller, including fractions; names are JEDEC's.
struct DramTiming {
  double bytes_per_cycle = 64;  ///< rate of the data bus
  unsigned burst_bytes = 64;    ///< bytes per column command; sizes and counts are powers of two
  unsigned row_bytes = 8192;    ///< over all devices of the channel
  unsigned groups = 4;          ///< bank groups; 1 if the standard has none
  unsigned banks = 4;           ///< banks per group
  double trcd = 0;              ///< from an activate to a column command
  double trp = 0;               ///< from a precharge to an activate
  double tras = 0;              ///< minimum from an activate to a precharge
  double trtp = 0;              ///< from a read to a precharge
  double twr = 0;               ///< from the end of a write's data to a precharge
  double tcl = 0;               ///< CL, from a read to its data
  double tcwl = 0;              ///< CWL, from a write to its data
  double twtr = 0;              ///< from the end of a write's data to a read (of another group)
  double trtw = 0;              ///< idle time of the data bus from a read's data to a write's
  double tccd_l = 0;            ///< between column commands to one group
  double trrd = 0;              ///< between activates
  double tfaw = 0;              ///< window with at most four activates
  double trefi = 0;             ///< between refreshes; 0: no refreshes
  double trfc = 0;              ///< duration of a refresh
  unsigned starvation = 10;     ///< the controller's limit of commands that may overtake a waiting one
};

/// Each resource (data bus, activates, group, bank) serves its requests in order, and does not wait for other
/// resources' work for other accesses: simultaneous accesses take the time of the most loaded resource. A bank opens
/// rows one after another, and the data bus has batches of reads and of writes. An access joins a row or batch that has
/// not ended and overtakes those that wait for the next one; at most `starvation` accesses do so.
///
/// Refresh: at the end of each tREFI all banks are precharged, refreshed and opened again. Nothing else happens
/// meanwhile, so the rest of the model counts time without refreshes.
///
/// Address fields, from the lowest bits: byte of a burst, group, column, bank of the group, row. Rows stay open.
class Dram {
 public:
  /// Throws std::invalid_argument if `timing` is invalid.
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
    for (const double time :
         {timing.trcd, timing.trp, timing.tras, timing.trtp, timing.twr, timing.tcl, timing.tcwl, timing.twtr,
          timing.trtw, timing.tccd_l, timing.trrd, timing.tfaw, timing.trefi, timing.trfc})
      require(time >= 0, "a DRAM's times are not negative");
    if (timing.trefi > 0) between_ = timing.trefi - (timing.trp + timing.trfc + timing.trcd);
    require(between_ > 0, "a DRAM's refresh, with its tRP and tRCD, takes less than tREFI");
    burst_bits_ = bits(timing.burst_bytes);
    group_bits_ = bits(timing.groups);
    column_bits_ = bits(timing.row_bytes / timing.burst_bytes);
    bank_bits_ = bits(timing.banks);
  }

  [[nodiscard]] const DramTiming& timing() const { return timing_; }
  /// Bytes per stripe: consecutive bytes in the same row of every group.
  [[nodiscard]] std::uint64_t stripe() const { return std::uint64_t{timing_.row_bytes} * timing_.groups; }

  /// Requests an access of at least one byte at `now`. Returns the time at which its last burst has been transferred,
  /// excluding the time to open a closed row, which is part of a memory's latency.
  double access(double now, std::uint64_t address, std::uint64_t bytes, bool writes) {
    const auto last = (address + bytes - 1) >> burst_bits_;
    const double requested = without_refresh(now);
    double done = requested;
    for (auto number = address >> burst_bits_; number <= last; ++number)
      done = std::max(done, burst(requested, number, writes));
    return with_refresh(done);
  }

 private:
  static constexpr std::uint64_t kClosed = ~std::uint64_t{0};
  static constexpr unsigned kActivations = 4;
  /// A period in which a row is open, now or later.
  struct Activation {
    std::uint64_t row = kClosed;
    double column = 0;  ///< next column command, less tRCD
    double closes = 0;  ///< earliest precharge
    unsigned overtaken = 0;
  };
  /// Bursts of one direction on the data bus.
  struct Batch {
    bool writes = false;
    double ends = -std::numeric_limits<double>::infinity();
    unsigned overtaken = 0;
  };
  struct Bank {
    std::array<Activation, kActivations> activations;  ///< the last ones, circular
    unsigned last = 0;

    /// Returns the turn that an access joins at `now`; null: none.
    Activation* find(std::uint64_t row, double now, unsigned starvation) {
      if (activations[last].row == row) return &activations[last];
      for (Activation& activation : activations)
        if (activation.row == row && activation.column > now && activation.overtaken < starvation) {
          ++activation.overtaken;
          return &activation;
        }
      return nullptr;
    }
    /// Extends a turn to at least `until`; later turns shift by the same time.
    void keep_open(const Activation& extended, double until) {
      const double later = until - extended.closes;
      if (later <= 0) return;
      auto i = static_cast<unsigned>(&extended - activations.data());
      activations[i].closes = until;
      while (i != last) {
        i = (i + 1) % kActivations;
        activations[i].column += later;
        activations[i].closes += later;
      }
    }
  };

  static unsigned bits(unsigned value) { return static_cast<unsigned>(std::countr_zero(value)); }
  /// Reserves a resource for `cycles`, requested at `now`, and returns the start.
  static double next(double& free, double now, double cycles) {
    const double begins = std::max(free, now);
    free = begins + cycles;
    return begins;
  }

  /// Converts time to time without refreshes, and back.
  [[nodiscard]] double without_refresh(double time) const {
    if (timing_.trefi == 0) return time;
    const double periods = std::floor(time / timing_.trefi);
    return periods * between_ + std::min(time - periods * timing_.trefi, between_);
  }
  [[nodiscard]] double with_refresh(double time) const {
    if (timing_.trefi == 0) return time;
    return time + std::max(0.0, std::ceil(time / between_) - 1) * (timing_.trefi - between_);
  }

  /// Reserves the data bus for a burst and returns its start.
  double bus(double now, bool writes) {
    if (writes != batch_.writes) {
      if (before_.ends > now && before_.overtaken < timing_.starvation) {
        ++before_.overtaken;
        batch_.ends += burst_cycles_;
        return next(before_.ends, now, burst_cycles_);
      }
      before_ = batch_;
      batch_ = {writes, batch_.ends + (writes ? timing_.trtw : timing_.twtr + timing_.tcl)};
    }
    return next(batch_.ends, now, burst_cycles_);
  }
  double burst(double now, std::uint64_t number, bool writes) {
    const auto group = number & (timing_.groups - 1);
    const auto of_group = number >> (group_bits_ + column_bits_);
    const auto row = of_group >> bank_bits_;
    Bank& bank = banks_[(of_group & (timing_.banks - 1)) << group_bits_ | group];
    const double moves = this->bus(now, writes);
    Activation* open = bank.find(row, now, timing_.starvation);
    if (!open) open = &activate(bank, row, now);
    const double column = std::max(next(groups_[group], now, timing_.tccd_l), open->column);
    open->column = column + timing_.tccd_l;
    const double recovers = writes ? timing_.tcwl + burst_cycles_ + timing_.twr : timing_.trtp;
    bank.keep_open(*open, column + timing_.trcd + recovers);
    return std::max(moves, column) + burst_cycles_;
  }
  Activation& activate(Bank& bank, std::uint64_t row, double now) {
    const Activation& before = bank.activations[bank.last];
    const double precharged = before.row == kClosed ? now : std::max(now, before.closes) + timing_.trp;
    const double activated = std::max(next(activates_, now, activate_cycles_), precharged);
    bank.last = (bank.last + 1) % kActivations;
    return bank.activations[bank.last] = {row, activated, activated + timing_.tras};
  }

  DramTiming timing_;
  double burst_cycles_, activate_cycles_;
  unsigned burst_bits_, group_bits_, column_bits_, bank_bits_;
  double between_ = 1;  ///< time between refreshes
  double activates_ = 0;
  Batch before_, batch_;        ///< the last two
  std::vector<double> groups_;  ///< per group: when it accepts a column command
  std::vector<Bank> banks_;     ///< [bank of a group][group]
};

}  // namespace thalweg
