// SPDX-License-Identifier: Apache-2.0
// Buffers between the processes of a collective operation; C++ model of rtl/mpi_fpga/tw_stages.sv.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "common/ring.hpp"
#include "core/types.hpp"
#include "mpi_fpga/packet.hpp"
#include "mpi_fpga/slots.hpp"

namespace thalweg::mpi_fpga {

/// A stage is filled by one process and drained by another. It is in the bank of the unit whose results fill it, which
/// has entries per operation, two per process. A packet is complete when its last flit is written, and visible in the
/// next cycle; a process that waits for it is woken at once.
class Stages {
 public:
  static constexpr std::uint32_t kNoProcess = SlotWaits::kNoProcess;

  /// Location of the lowest stage that a process fills; its second stage has the next entry.
  struct Home {
    unsigned unit = 0, place = 0;
    friend bool operator==(const Home&, const Home&) = default;
  };

  /// Stages of `flits` flits, `places` per operation in each unit.
  Stages(std::uint32_t operations, unsigned units, unsigned places, std::uint32_t flits)
      : places_(places), flits_(flits), operations_(operations), coming_(units), banks_(units), slow_(units) {}

  /// Sets the location of the stages that a process fills. Throws std::logic_error if one is not empty.
  void load(std::uint32_t operation, std::uint64_t stages, Home home);

  // Per cycle: `begin`, `wake`, the process that is tried, `wake`.

  void begin(Tick now) {
    arrivals_.clear();
    if (now >= next_) take_arrivals(now);
  }
  /// True if a packet is complete after this cycle.
  [[nodiscard]] bool arrives() const { return !arrivals_.empty(); }
  /// Calls give(unit, process) for each process that waits for a packet that is complete after this cycle, and removes
  /// it.
  template <class Notify>
  void wake(Notify&& notify) {
    for (const Arrival& arrival : arrivals_) {
      Stage& stage = at(arrival.operation, arrival.stage);
      if (stage.reader != kNoProcess) notify(stage.home.unit, std::exchange(stage.reader, kNoProcess));
    }
  }

  // Interface to processes.

  /// Those of `stages` without a complete packet, as bits.
  [[nodiscard]] std::uint64_t empty(std::uint32_t operation, std::uint64_t stages, Tick now) const;
  /// Those of a process's stages, as bits, without room for `flits` flits, or from whose entries a packet is read
  /// slowly.
  [[nodiscard]] std::uint64_t full(std::uint32_t operation, std::uint64_t stages, unsigned flits, Home home,
                                   Tick now) const;
  void await(std::uint32_t operation, unsigned stage, std::uint32_t process) { at(operation, stage).reader = process; }
  [[nodiscard]] std::uint32_t reader(std::uint32_t operation, unsigned stage) const {
    return at(operation, stage).reader;
  }
  /// Takes the packet at the head, to read one flit per `pace` cycles. Its room is free.
  PacketId take(std::uint32_t operation, unsigned stage, unsigned flits, unsigned pace, Tick now);
  /// Blocks writes to stages from which a unit reads slowly until `until`.
  void hold(unsigned unit, std::uint32_t operation, std::uint64_t stages, Tick until);
  /// True if held room is released in the next cycle.
  [[nodiscard]] bool freed(Tick now) const { return slow_.freed(now); }
  /// Reserves room for a result whose last flit is written at `last` at the earliest. Throws std::logic_error if the
  /// former contents have not been read by then.
  void reserve(std::uint32_t operation, unsigned stage, unsigned flits, Tick last);
  /// Adds a result whose last flit is written at `last`.
  void fill(std::uint32_t operation, unsigned stage, PacketId packet, Tick last);

  [[nodiscard]] unsigned unit(std::uint32_t operation, unsigned stage) const { return at(operation, stage).home.unit; }
  [[nodiscard]] const ReadPorts& bank(unsigned unit) const { return banks_[unit]; }
  [[nodiscard]] ReadPorts& bank(unsigned unit) { return banks_[unit]; }

 private:
  struct Staged {
    PacketId packet;
    Tick whole;  ///< first cycle in which it can be read
  };

  struct Stage {
    Ring<Staged> packets;
    std::uint32_t room = 0;  ///< flits
    Home home;
    SlowPacket read;                    ///< read that ends last
    std::uint32_t reader = kNoProcess;  ///< process that waits for a packet
  };

  /// A result that is complete after `at`.
  struct Arrival {
    Tick at;
    std::uint32_t operation;
    std::uint8_t stage;
  };

  void take_arrivals(Tick now);
  [[nodiscard]] Wide bit(Home home) const { return Wide{1} << (home.unit * places_ + home.place); }
  [[nodiscard]] Stage& at(std::uint32_t operation, unsigned stage) { return operations_[operation][stage]; }
  [[nodiscard]] const Stage& at(std::uint32_t operation, unsigned stage) const { return operations_[operation][stage]; }

  unsigned places_;
  std::uint32_t flits_;
  std::vector<std::vector<Stage>> operations_;  ///< stages per operation, allocated on demand
  std::vector<Ring<Arrival>> coming_;           ///< per unit, in time order
  Tick next_ = kNever;                          ///< earliest of these
  std::vector<Arrival> arrivals_;               ///< of this cycle
  std::vector<ReadPorts> banks_;                ///< per unit
  SlowReads slow_;
};

}  // namespace thalweg::mpi_fpga
