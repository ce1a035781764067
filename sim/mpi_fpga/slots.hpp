// SPDX-License-Identifier: Apache-2.0
// Slots: the receive buffers of a collective unit's edges, and the credits of the sending ends; C++ model of rtl/mpi_fpga/tw_slots.sv.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "common/ring.hpp"
#include "mpi_fpga/context_table.hpp"
#include "mpi_fpga/packet.hpp"
#include "mpi_fpga/slot_bank.hpp"
#include "mpi_fpga/slot_waits.hpp"
#include "mpi_fpga/slow_reads.hpp"

namespace thalweg::mpi_fpga {

/// Every edge of every row has a slot for packets, in the bank of the link over which they come, and credits for the slot at its
/// other end. What arrives in a cycle is seen in the next one; processes that wait for it are woken at once.
class Slots {
 public:
  /// Room of a slot that its other end is to be told of.
  struct Due {
    std::uint32_t row;
    unsigned edge;
    std::uint32_t flits;
  };

  /// Edge k's credits go by local port k modulo `ports`. They are due when `batch` flits of its slot have become free.
  Slots(unsigned links, unsigned ports, unsigned units, std::uint32_t rows, std::uint32_t slot_flits,
        std::uint32_t batch);

  /// Says over which link an edge's packets come. Credits stay as they are: those of the former row's edge may still come.
  void load(std::uint32_t row, unsigned edge, unsigned link) { at(row, edge).link = static_cast<std::uint8_t>(link); }
  /// All room that has become free in the row's slots has been told.
  [[nodiscard]] bool settled(std::uint32_t row) const;

  // Arrivals. In a cycle: `begin`, `arrive`, `wake`, what steps do, `wake`, `keep`.

  void begin() { arrivals_.clear(); }
  void arrive(const SlotArrival& arrival) { arrivals_.push_back(arrival); }
  [[nodiscard]] std::span<const SlotArrival> arrivals() const { return arrivals_; }
  template <class Give>
  void wake(Give&& give) {
    waits_.wake(arrivals_, give);
  }
  [[nodiscard]] const SlotWaits& waits() const { return waits_; }
  /// Writes what has come where it is seen; flits(packet) says how long it is. Throws std::logic_error where a slot overflows: flits
  /// are written over before they are read.
  template <class Flits>
  void keep(Tick now, Flits&& flits) {
    for (const SlotArrival& arrival : arrivals_) {
      Edge& edge = at(arrival.row, arrival.edge);
      if (arrival.credits)
        edge.credits += arrival.value;
      else
        push(edge, arrival.value, flits(arrival.value), now);
    }
  }

  // What a process sees, and does.

  [[nodiscard]] const Ring<PacketId>& packets(std::uint32_t row, unsigned edge) const { return at(row, edge).packets; }
  [[nodiscard]] std::uint32_t credits(std::uint32_t row, unsigned edge) const { return at(row, edge).credits; }
  [[nodiscard]] unsigned link(std::uint32_t row, unsigned edge) const { return at(row, edge).link; }
  void await(std::uint32_t row, unsigned edge, bool credits, std::uint32_t process) {
    waits_.await(row, edge, credits, process);
  }
  /// Takes the packet in front, to read a flit of it in `pace` cycles. True: credits have become due, `final` ones however few they
  /// are.
  bool take(std::uint32_t row, unsigned edge, unsigned flits, bool final, unsigned pace, Tick now);
  /// Credits of the edges from which a unit reads slowly are not told before `until`.
  void hold(unsigned unit, std::uint32_t row, std::uint32_t edges, Tick until) { slow_.begin(unit, row, edges, until); }
  /// Takes credits for a packet that leaves by the edge.
  void give(std::uint32_t row, unsigned edge, unsigned flits) { at(row, edge).credits -= flits; }

  [[nodiscard]] const ReadPorts& bank(unsigned link) const { return banks_[link]; }
  [[nodiscard]] ReadPorts& bank(unsigned link) { return banks_[link]; }

  // Credits due at a port, in the order in which they became due.

  [[nodiscard]] unsigned port(unsigned edge) const { return edge % static_cast<unsigned>(due_.size()); }
  [[nodiscard]] bool due(unsigned port) const { return !due_[port].empty(); }
  /// The next ones can be told: what is read has got far enough.
  [[nodiscard]] bool tells(unsigned port, Tick now) const {
    return due(port) && !(slow_.held(due_[port].front().row, now) >> due_[port].front().edge & 1);
  }
  [[nodiscard]] Due next_due(unsigned port) const {
    const auto [row, edge] = due_[port].front();
    return {row, edge, at(row, edge).owed};
  }
  void reported(unsigned port);

  [[nodiscard]] std::uint32_t slot_flits() const { return slot_flits_; }
  /// Credits that are not at home, over all edges.
  [[nodiscard]] std::uint64_t credits_out() const;

 private:
  struct Edge {
    std::uint8_t link = 0;      ///< over which its packets come, whose bank has the slot
    bool due = false;           ///< it is in its port's queue
    std::uint32_t credits = 0;  ///< flits for which the slot at the other end has room
    std::uint32_t owed = 0;     ///< flits that have left the slot here, which is not yet told
    std::uint32_t held = 0;     ///< flits of the packets in it
    SlowPacket read;            ///< that is longest on its way out
    Ring<PacketId> packets;
  };

  struct SlotAddress {
    std::uint16_t row;
    std::uint8_t edge;
  };

  void push(Edge& edge, PacketId packet, unsigned flits, Tick now);
  [[nodiscard]] Edge& at(std::uint32_t row, unsigned edge) { return rows_[row][edge]; }
  [[nodiscard]] const Edge& at(std::uint32_t row, unsigned edge) const { return rows_[row][edge]; }

  std::uint32_t slot_flits_, batch_;
  std::vector<std::array<Edge, kMaxEdges>> rows_;
  SlotWaits waits_;
  std::vector<SlotArrival> arrivals_;   ///< of this cycle
  std::vector<Ring<SlotAddress>> due_;  ///< of each port
  std::vector<ReadPorts> banks_;        ///< of each link
  SlowReads slow_;
};

}  // namespace thalweg::mpi_fpga
