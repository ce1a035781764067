// SPDX-License-Identifier: Apache-2.0
// The buffers between processes of a collective operation; C++ model of rtl/mpi_fpga/tw_stages.sv.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "common/ring.hpp"
#include "core/types.hpp"
#include "mpi_fpga/packet.hpp"
#include "mpi_fpga/slots.hpp"

namespace thalweg::mpi_fpga {

/// A stage is filled by one process and emptied by another one. It lies in the bank of the unit whose results fill it, which has
/// places for each operation, two for a process. A packet is whole when its last flit is written, and seen in the next cycle; a process that waits for it is woken at once.
class Stages {
 public:
  static constexpr std::uint32_t kNobody = SlotWaits::kNobody;

  /// Where the lowest stage lies that a process fills; the other one's place is the next.
  struct Home {
    unsigned unit = 0, place = 0;
    friend bool operator==(const Home&, const Home&) = default;
  };

  /// Stages of `flits` flits, in `places` of each unit.
  Stages(std::uint32_t operations, unsigned units, unsigned places, std::uint32_t flits)
      : places_(places), flits_(flits), operations_(operations), coming_(units), banks_(units), slow_(units) {}

  /// Says where the stages lie that a process fills, which are empty: throws std::logic_error where they are not.
  void load(std::uint32_t operation, std::uint64_t stages, Home home);

  // In a cycle: `begin`, `wake`, what the process does that is tried, `wake`.

  void begin(Tick now);
  /// Calls give(unit, process) for those that wait for what is whole after this cycle, and wait no more.
  template <class Give>
  void wake(Give&& give) {
    for (const Arrival& arrival : arrivals_) {
      Stage& stage = at(arrival.operation, arrival.stage);
      if (stage.reader != kNobody) give(stage.home.unit, std::exchange(stage.reader, kNobody));
    }
  }

  // What a process sees, and does.

  /// Those among the stages that lack a whole packet, as bits.
  [[nodiscard]] std::uint64_t empty(std::uint32_t operation, std::uint64_t stages, Tick now) const;
  /// Those of a process's stages that lack room for so many flits, or in whose places a packet is read slowly.
  [[nodiscard]] std::uint64_t full(std::uint32_t operation, std::uint64_t stages, unsigned flits, Home home,
                                   Tick now) const;
  void await(std::uint32_t operation, unsigned stage, std::uint32_t process) { at(operation, stage).reader = process; }
  [[nodiscard]] std::uint32_t reader(std::uint32_t operation, unsigned stage) const {
    return at(operation, stage).reader;
  }
  /// Takes the packet in front, to read a flit of it in `pace` cycles. Its room is free.
  PacketId take(std::uint32_t operation, unsigned stage, unsigned flits, unsigned pace, Tick now);
  /// Nothing is put into the stages out of which a unit reads slowly before `until`.
  void hold(unsigned unit, std::uint32_t operation, std::uint64_t stages, Tick until);
  /// Room that was held is free from the next cycle on.
  [[nodiscard]] bool freed(Tick now) const { return slow_.freed(now); }
  /// Takes room for a result, whose last flit is written at `last` at the earliest. Throws std::logic_error where what lay there has not
  /// been read then.
  void reserve(std::uint32_t operation, unsigned stage, unsigned flits, Tick last);
  /// Its last flit is written at `last`.
  void fill(std::uint32_t operation, unsigned stage, PacketId packet, Tick last);

  [[nodiscard]] unsigned unit(std::uint32_t operation, unsigned stage) const { return at(operation, stage).home.unit; }
  [[nodiscard]] const ReadPorts& bank(unsigned unit) const { return banks_[unit]; }
  [[nodiscard]] ReadPorts& bank(unsigned unit) { return banks_[unit]; }

 private:
  struct Staged {
    PacketId packet;
    Tick whole;  ///< when it can be read
  };

  struct Stage {
    Ring<Staged> packets;
    std::uint32_t room = 0;  ///< flits
    Home home;
    SlowPacket read;                 ///< that is longest on its way out
    std::uint32_t reader = kNobody;  ///< the process that waits for a packet
  };

  /// A result that is whole after `at`.
  struct Arrival {
    Tick at;
    std::uint32_t operation;
    std::uint8_t stage;
  };

  [[nodiscard]] Wide bit(Home home) const { return Wide{1} << (home.unit * places_ + home.place); }
  [[nodiscard]] Stage& at(std::uint32_t operation, unsigned stage) { return operations_[operation][stage]; }
  [[nodiscard]] const Stage& at(std::uint32_t operation, unsigned stage) const { return operations_[operation][stage]; }

  unsigned places_;
  std::uint32_t flits_;
  std::vector<std::vector<Stage>> operations_;  ///< as many stages of each as have been needed
  std::vector<Ring<Arrival>> coming_;           ///< of each unit, in the order of time
  std::vector<Arrival> arrivals_;               ///< of this cycle
  std::vector<ReadPorts> banks_;                ///< of each unit
  SlowReads slow_;
};

}  // namespace thalweg::mpi_fpga
