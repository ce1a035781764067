// SPDX-License-Identifier: Apache-2.0
// A Verilated collective unit in co-simulation with the C++ model: it receives the same inputs in every cycle, and its
// outputs are compared.
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

/// The hardware's table cannot hold a communicator's row.
struct RtlTooSmall : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class RtlUnit {
 public:
  RtlUnit(const UnitLibrary& library, bool credits, const UnitModel::RelayRoutes& routes);

  // Between cycles.

  /// An edge's virtual channel to its far end, and the link over which its packets arrive.
  using EdgePath = std::pair<std::uint8_t, std::uint8_t>;
  /// Writes a row from cycle `from`. Throws RtlTooSmall.
  void load(std::uint32_t id, const Row& row, const std::array<EdgePath, kMaxEdges>& paths, Tick from);
  void unload(std::uint32_t id) { new_unloads_.push_back(id); }
  /// Starts an operation in cycle `at`, or later if others start before it.
  void start(const UnitModel::Start& start, Tick at) { starts_.push_back({at, start}); }
  /// The host reads a unit's result of `flits` flits, the last one in cycle `last`.
  void read(unsigned unit, unsigned flits, Tick last) { reads_[unit].push_back({last + 1 - flits, last}); }
  /// `value`: all credits of a row have been returned, so it may be loaded again.
  void settled(std::uint32_t id, bool value) {
    in_.settled = id;
    model_outputs_.settled = value;
  }

  // In a cycle.

  /// The host's next flit for other hosts.
  void own(unsigned port, const Flit& flit);
  void own_sent(unsigned port) { model_outputs_.own |= 1u << port; }
  /// Room at the host for all-to-alls, in flits.
  void room(unsigned port, std::uint32_t flits) { in_.room[port] = flits; }
  /// A packet of an all-to-all for the host arrives, from the next cycle.
  void personal(unsigned port, const Packet& packet, Tick now);
  /// A rank has announced itself over a link.
  void announces(unsigned link, const UnitModel::Announced& announced);
  void arrived(unsigned link, const Flit& flit);
  void announced(std::uint32_t process) { in_.announce = process; }
  /// A step takes a packet from the host.
  void take(const UnitModel::Take& take, const Packet& packet, Tick now);
  /// A result for the host, visible from `ready`.
  void result(unsigned unit, const UnitModel::HostResult& host_result, const Packet& packet, Tick ready);
  void ended(std::uint32_t process) { model_outputs_.ended = process; }
  void sent(unsigned port, const Flit& flit);
  /// Credits, or changes of stop bits; bit vc for channel vc.
  void back(unsigned port, std::uint64_t events);

  /// Ends the cycle: clocks the hardware through it, and through the cycles that the simulator skipped. Throws
  /// RtlDifference.
  void clock(Tick now);

 private:
  struct Loading {
    std::uint32_t id;
    Row row;
    std::array<EdgePath, kMaxEdges> paths;
    Tick from, cycles;
  };
  struct HostFlit {
    Tick at;
    UnitModel::Data data;
  };
  struct Arriving {
    Tick at;
    UnitModel::Data data;
    bool last;
  };
  struct Result {
    Tick ready;
    UnitModel::HostResult host_result;
    std::deque<UnitModel::Data> flits;  ///< not read yet
  };
  struct Read {
    Tick first, last;
  };
  struct Starting {
    Tick at;
    UnitModel::Start start;
  };

  [[nodiscard]] bool idle(Tick until) const;
  void cycle(Tick now);
  void write(Tick now);
  void compare(Tick now, const std::string& port, const std::string& expected, const std::string& got) const;

  NodeId self_;
  std::unique_ptr<UnitModel> model_;
  const Recording* recording_;  ///< null: none, or already started
  UnitModel::Sizes sizes_;
  bool credits_;
  UnitModel::Inputs in_;
  UnitModel::Outputs out_;
  Tick next_ = 0;  ///< next cycle
  std::deque<Loading> loading_;
  std::deque<std::uint32_t> unloads_;
  std::deque<Starting> starts_;  ///< applied one per cycle
  std::vector<std::uint32_t> new_unloads_;
  std::vector<std::deque<HostFlit>> host_;      ///< per unit
  std::vector<std::deque<Result>> results_;     ///< per unit
  std::vector<std::deque<Read>> reads_;         ///< per unit
  std::vector<std::deque<Arriving>> received_;  ///< packets of all-to-alls, per port
  /// Other outputs of the simulator's unit in this cycle; masks are over ports or links.
  struct ModelOutputs {
    std::optional<UnitModel::Take> take;
    std::optional<std::uint32_t> ended;
    std::uint32_t own = 0, sends = 0, announces = 0;
    bool settled = false;
  } model_outputs_;
  std::uint32_t sent_ = 0, announced_ = 0;  ///< previous cycle's
  std::array<Flit, UnitModel::kMaxPorts> sending_flit_, sent_flit_;
  std::array<UnitModel::Announced, UnitModel::kMaxPorts> announcing_, announcement_;
  std::array<std::uint16_t, UnitModel::kMaxPorts> back_{};  ///< previous cycle's credits or stop levels
  std::array<std::uint32_t, UnitModel::kMaxPorts> room_{};  ///< previous cycle's room
  bool quiet_ = false;                                      ///< the previous cycle had no inputs
};

}  // namespace thalweg::mpi_fpga
