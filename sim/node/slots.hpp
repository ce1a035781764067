// The receiving ends of a collective unit's edges, and the credits of the sending ends; twin of rtl/node/tw_slots.sv.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "common/ring.hpp"
#include "node/context_table.hpp"
#include "node/packet.hpp"
#include "node/slot_bank.hpp"
#include "node/slot_waits.hpp"

namespace thalweg {

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
  Slots(unsigned links, unsigned ports, std::uint32_t rows, std::uint32_t slot_flits, std::uint32_t batch);

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
  /// Writes what has come where it is seen. Throws std::logic_error where a slot overflows.
  void keep();

  // What a process sees, and does.

  [[nodiscard]] const Ring<PacketId>& packets(std::uint32_t row, unsigned edge) const { return at(row, edge).packets; }
  [[nodiscard]] std::uint32_t credits(std::uint32_t row, unsigned edge) const { return at(row, edge).credits; }
  [[nodiscard]] unsigned link(std::uint32_t row, unsigned edge) const { return at(row, edge).link; }
  void await(std::uint32_t row, unsigned edge, bool credits, std::uint32_t process) {
    waits_.await(row, edge, credits, process);
  }
  /// Takes the packet in front. Its room is free, as reading begins at once and goes on ahead of whatever may be written there. True: credits have become due, `final` ones however few they are.
  bool take(std::uint32_t row, unsigned edge, unsigned flits, bool final);
  /// Takes credits for a packet that leaves by the edge.
  void give(std::uint32_t row, unsigned edge, unsigned flits) { at(row, edge).credits -= flits; }

  [[nodiscard]] const ReadPorts& bank(unsigned link) const { return banks_[link]; }
  [[nodiscard]] ReadPorts& bank(unsigned link) { return banks_[link]; }

  // Credits due at a port, in the order in which they became due.

  [[nodiscard]] unsigned port(unsigned edge) const { return edge % static_cast<unsigned>(due_.size()); }
  [[nodiscard]] bool due(unsigned port) const { return !due_[port].empty(); }
  [[nodiscard]] Due next_due(unsigned port) const {
    const auto [row, edge] = due_[port].front();
    return {row, edge, at(row, edge).owed};
  }
  void told(unsigned port);

  [[nodiscard]] std::uint32_t slot_flits() const { return slot_flits_; }
  /// Credits that are not at home, over all edges.
  [[nodiscard]] std::uint64_t credits_out() const;

 private:
  struct Edge {
    std::uint8_t link = 0;      ///< over which its packets come, whose bank has the slot
    bool due = false;           ///< it is in its port's queue
    std::uint32_t credits = 0;  ///< flits for which the slot at the other end has room
    std::uint32_t owed = 0;     ///< flits that have left the slot here, which is not yet told
    Ring<PacketId> packets;
  };

  struct Place {
    std::uint16_t row;
    std::uint8_t edge;
  };

  [[nodiscard]] Edge& at(std::uint32_t row, unsigned edge) { return rows_[row][edge]; }
  [[nodiscard]] const Edge& at(std::uint32_t row, unsigned edge) const { return rows_[row][edge]; }

  std::uint32_t slot_flits_, batch_;
  std::vector<std::array<Edge, kMaxEdges>> rows_;
  SlotWaits waits_;
  std::vector<SlotArrival> arrivals_;  ///< of this cycle
  std::vector<Ring<Place>> due_;       ///< of each port
  std::vector<ReadPorts> banks_;       ///< of each link
};

}  // namespace thalweg
