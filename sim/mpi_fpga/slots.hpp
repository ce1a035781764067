// SPDX-License-Identifier: Apache-2.0
// Slots: receive buffers of a collective unit's edges, and the credits at the sending ends; C++ model of
// rtl/mpi_fpga/tw_slots.sv.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "common/growing.hpp"
#include "common/ring.hpp"
#include "mpi_fpga/context_table.hpp"
#include "mpi_fpga/packet.hpp"
#include "mpi_fpga/slot_bank.hpp"
#include "mpi_fpga/slot_waits.hpp"
#include "mpi_fpga/slow_reads.hpp"

namespace thalweg::mpi_fpga {

/// Every edge of every row has a slot for packets, in the bank of the link over which they arrive, and credits for the
/// slot at its far end. Arrivals are visible in the next cycle; processes that wait for them are woken at once.
class Slots {
 public:
  /// Freed room of a slot, to be returned to the far end as credits.
  struct Due {
    std::uint32_t row;
    unsigned edge;
    std::uint32_t flits;
  };

  /// Edge k's credits leave by local port k modulo `ports`. They are due when `batch` flits of its slot have been
  /// freed.
  Slots(unsigned links, unsigned ports, unsigned units, std::uint32_t slot_flits, std::uint32_t batch);

  /// Sets the link over which an edge's packets arrive. Credits are kept: those of the former row's edge may still
  /// arrive.
  void load(std::uint32_t row, unsigned edge, unsigned link) { at(row, edge).link = static_cast<std::uint8_t>(link); }
  /// The row will have this number of edges at most.
  void reserve(std::uint32_t row, unsigned edges) { rows_[row].reserve(edges); }
  /// True if all room freed in the row's slots has been returned as credits.
  [[nodiscard]] bool settled(std::uint32_t row) const;

  // Arrivals. Per cycle: `begin`, `arrive`, `wake`, then the steps, `wake`, `keep`.

  void begin() { arrivals_.clear(); }
  void arrive(const SlotArrival& arrival) { arrivals_.push_back(arrival); }
  [[nodiscard]] std::span<const SlotArrival> arrivals() const { return arrivals_; }
  template <class Notify>
  void wake(Notify&& notify) {
    waits_.wake(arrivals_, notify);
  }
  [[nodiscard]] const SlotWaits& waits() const { return waits_; }
  /// Stores the arrivals; flits(packet) returns a packet's length. Throws std::logic_error if a slot overflows: unread
  /// flits would be overwritten.
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

  // Interface to processes.

  [[nodiscard]] const Ring<PacketId>& packets(std::uint32_t row, unsigned edge) const { return at(row, edge).packets; }
  [[nodiscard]] std::uint32_t credits(std::uint32_t row, unsigned edge) const { return at(row, edge).credits; }
  [[nodiscard]] unsigned link(std::uint32_t row, unsigned edge) const { return at(row, edge).link; }
  void await(std::uint32_t row, unsigned edge, bool credits, std::uint32_t process) {
    waits_.await(row, edge, credits, process);
  }
  /// Takes the packet at the head, to read one flit per `pace` cycles. True if credits have become due; `final`: due at
  /// any number.
  bool take(std::uint32_t row, unsigned edge, unsigned flits, bool final, unsigned pace, Tick now);
  /// Withholds the credits of edges from which a unit reads slowly until `until`.
  void hold(unsigned unit, std::uint32_t row, std::uint32_t edges, Tick until) { slow_.begin(unit, row, edges, until); }
  /// Consumes credits for a packet sent over the edge.
  void use_credits(std::uint32_t row, unsigned edge, unsigned flits) { at(row, edge).credits -= flits; }

  [[nodiscard]] const ReadPorts& bank(unsigned link) const { return banks_[link]; }
  [[nodiscard]] ReadPorts& bank(unsigned link) { return banks_[link]; }

  // Credits due at a port, in the order of becoming due.

  [[nodiscard]] unsigned port(unsigned edge) const { return edge % static_cast<unsigned>(due_.size()); }
  [[nodiscard]] bool due(unsigned port) const { return !due_[port].empty(); }
  /// True if the next credits may be sent: the read has progressed far enough.
  [[nodiscard]] bool tells(unsigned port, Tick now) const {
    return due(port) && !(slow_.held(due_[port].front().row, now) >> due_[port].front().edge & 1);
  }
  [[nodiscard]] Due next_due(unsigned port) const {
    const auto [row, edge] = due_[port].front();
    return {row, edge, at(row, edge).owed};
  }
  void reported(unsigned port);

  [[nodiscard]] std::uint32_t slot_flits() const { return slot_flits_; }
  /// Outstanding credits, over all edges.
  [[nodiscard]] std::uint64_t credits_out() const;

 private:
  struct Edge {
    std::uint8_t link = 0;      ///< link over which its packets arrive, and whose bank has the slot
    bool due = false;           ///< the edge is in its port's queue
    std::uint32_t credits = 0;  ///< free flits in the slot at the far end
    std::uint32_t owed = 0;     ///< flits read from the slot here, not yet returned as credits
    std::uint32_t held = 0;     ///< flits in the slot
    SlowPacket read;            ///< read that ends last
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
  Growing<Growing<Edge>> rows_;
  SlotWaits waits_;
  std::vector<SlotArrival> arrivals_;   ///< of this cycle
  std::vector<Ring<SlotAddress>> due_;  ///< per port
  std::vector<ReadPorts> banks_;        ///< per link
  SlowReads slow_;
};

}  // namespace thalweg::mpi_fpga
