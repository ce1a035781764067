// The hardware's collective unit beside the simulator's: it gets the same inputs in every cycle, and what it shows is compared.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "node/context_table.hpp"
#include "node/packet.hpp"
#include "node/unit_model.hpp"

namespace thalweg {

class RtlUnit {
 public:
  RtlUnit(NodeId self, const UnitLibrary& library, bool credits);

  // Between cycles.

  /// Of an edge: the virtual channel to its far end, and the link over which its packets come.
  using Way = std::pair<std::uint8_t, std::uint8_t>;
  /// A row is written from a cycle on. Throws std::invalid_argument where the hardware is too small for it.
  void load(std::uint32_t id, const Row& row, const std::array<Way, kMaxEdges>& ways, Tick from);
  void unload(std::uint32_t id) { new_unloads_.push_back(id); }
  void start(const UnitModel::Start& start) { new_starts_.push_back(start); }
  /// The host reads a result of a unit, the last flit in `last`.
  void read(unsigned unit, const Packet& packet, Tick last);

  // In a cycle.

  void relay(unsigned port, const Flit& flit);
  void single(unsigned port, const Flit& flit);
  void came(unsigned link, const Flit& flit);
  void announced(std::uint32_t process) { in_.announce = process; }
  /// A step takes a packet of the host's.
  void took(const UnitModel::Take& take, const Packet& packet, Tick now);
  /// A result for the host.
  void told(unsigned unit, const UnitModel::Told& told) { told_[unit].push_back(told); }
  void ended(std::uint32_t process) { ended_ = process; }
  void sent(unsigned port, const Flit& flit);
  /// Credits or changes of stop bits, bit vc for channel vc.
  void back(unsigned port, std::uint64_t events);

  /// The cycle's end: the hardware goes through it, and through those that the simulator slept. Throws RouterDifference.
  void clock(Tick now);

 private:
  struct Loading {
    std::uint32_t id;
    Row row;
    std::array<Way, kMaxEdges> ways;
    Tick from, cycles;
  };
  struct HostFlit {
    Tick at;
    UnitModel::Data data;
  };
  struct Read {
    Tick at;
    UnitModel::Data data;
    bool last;
  };

  /// Cycles after which nothing in the hardware changes unless something comes: those in which a longest packet is read and joined.
  static constexpr Tick kSettled = 1024;

  void cycle(Tick now);
  void write(Tick now);
  void compare(Tick now, const std::string& port, const std::string& expected, const std::string& got) const;

  NodeId self_;
  std::unique_ptr<UnitModel> model_;
  const Recording* recording_;  ///< null: none, or it has begun
  UnitModel::Sizes sizes_;
  bool credits_;
  UnitModel::Inputs in_;
  UnitModel::Outputs out_;
  Tick next_ = 0;  ///< the cycle that comes
  std::deque<Loading> loading_;
  std::deque<std::uint32_t> unloads_;
  std::deque<UnitModel::Start> starts_;  ///< one goes in a cycle
  std::vector<std::uint32_t> new_unloads_;
  std::vector<UnitModel::Start> new_starts_;       ///< of this cycle
  std::vector<std::deque<HostFlit>> host_;         ///< of each unit
  std::vector<std::deque<Read>> reads_;            ///< of each unit
  std::vector<std::deque<UnitModel::Told>> told_;  ///< of each unit, in the order of its results
  std::optional<UnitModel::Take> take_;
  std::optional<std::uint32_t> ended_;
  std::uint32_t sending_ = 0, sent_ = 0;  ///< ports, in this cycle, and in the one before
  std::array<Flit, UnitModel::kMaxPorts> sending_flit_, sent_flit_;
  std::array<std::uint16_t, UnitModel::kMaxPorts> back_{};  ///< levels of the cycle before
};

}  // namespace thalweg
