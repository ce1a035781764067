// SPDX-License-Identifier: Apache-2.0
// A Verilated collective unit in co-simulation with the C++ model: it gets the same inputs in every cycle, and its outputs are compared.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "mpi_fpga/context_table.hpp"
#include "mpi_fpga/packet.hpp"
#include "mpi_fpga/unit_model.hpp"

namespace thalweg::mpi_fpga {

/// A communicator whose row the hardware's table cannot hold.
struct RtlTooSmall : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class RtlUnit {
 public:
  RtlUnit(const UnitLibrary& library, bool credits, const UnitModel::Ways& ways);

  // Between cycles.

  /// Of an edge: the virtual channel to its far end, and the link over which its packets come.
  using Way = std::pair<std::uint8_t, std::uint8_t>;
  /// A row is written from a cycle on. Throws RtlTooSmall.
  void load(std::uint32_t id, const Row& row, const std::array<Way, kMaxEdges>& ways, Tick from);
  void unload(std::uint32_t id) { new_unloads_.push_back(id); }
  void start(const UnitModel::Start& start) { new_starts_.push_back(start); }
  /// The host reads a result of a unit, of so many flits, the last one in `last`.
  void read(unsigned unit, unsigned flits, Tick last) { reads_[unit].push_back({last + 1 - flits, last}); }
  /// Has all room of a row been told? It may be loaded again then.
  void settled(std::uint32_t id, bool is) {
    in_.settled = id;
    shown_.settled = is;
  }

  // In a cycle.

  /// The next flit of the host's for other hosts.
  void own(unsigned port, const Flit& flit);
  void own_sent(unsigned port) { shown_.own |= 1u << port; }
  /// What the host can take of all-to-alls, in flits.
  void room(unsigned port, std::uint32_t flits) { in_.room[port] = flits; }
  /// A packet of an all-to-all for the host comes, from the next cycle on.
  void personal(unsigned port, const Packet& packet, Tick now);
  /// A rank has announced itself over a link.
  void announces(unsigned link, const UnitModel::Announced& announced);
  void came(unsigned link, const Flit& flit);
  void announced(std::uint32_t process) { in_.announce = process; }
  /// A step takes a packet of the host's.
  void took(const UnitModel::Take& take, const Packet& packet, Tick now);
  /// A result for the host, which sees it from `ready` on.
  void result(unsigned unit, const UnitModel::HostResult& host_result, const Packet& packet, Tick ready);
  void ended(std::uint32_t process) { shown_.ended = process; }
  void sent(unsigned port, const Flit& flit);
  /// Credits or changes of stop bits, bit vc for channel vc.
  void back(unsigned port, std::uint64_t events);

  /// The cycle's end: the hardware goes through it, and through those that the simulator slept. Throws RtlDifference.
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
  struct Coming {
    Tick at;
    UnitModel::Data data;
    bool last;
  };
  struct Result {
    Tick ready;
    UnitModel::HostResult host_result;
    std::deque<UnitModel::Data> flits;  ///< that were not read
  };
  struct Read {
    Tick first, last;
  };

  [[nodiscard]] bool rests() const;
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
  std::vector<UnitModel::Start> new_starts_;  ///< of this cycle
  std::vector<std::deque<HostFlit>> host_;    ///< of each unit
  std::vector<std::deque<Result>> results_;   ///< of each unit
  std::vector<std::deque<Read>> reads_;       ///< of each unit
  std::vector<std::deque<Coming>> came_;      ///< for all-to-alls, of each port
  /// What else the simulator's unit shows in this cycle; masks are of ports, and of links.
  struct Shown {
    std::optional<UnitModel::Take> take;
    std::optional<std::uint32_t> ended;
    std::uint32_t own = 0, sends = 0, announces = 0;
    bool settled = false;
  } shown_;
  std::uint32_t sent_ = 0, announced_ = 0;  ///< in the cycle before
  std::array<Flit, UnitModel::kMaxPorts> sending_flit_, sent_flit_;
  std::array<UnitModel::Announced, UnitModel::kMaxPorts> announcing_, announcement_;
  std::array<std::uint16_t, UnitModel::kMaxPorts> back_{};  ///< credits or levels of the cycle before
  std::array<std::uint32_t, UnitModel::kMaxPorts> room_{};  ///< as it was then
  bool quiet_ = false;                                      ///< nothing came then
};

}  // namespace thalweg::mpi_fpga
