// SPDX-License-Identifier: Apache-2.0
// An SMI cluster as seen by its hosts: boards with their tables, and the kernels' time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/assembly.hpp"
#include "cluster/engine.hpp"
#include "memory/bank.hpp"
#include "smi/board.hpp"

namespace thalweg::smi {

/// Tables of a rank: for each link, outputs of its send kernel by destination, and of its receive kernel by port * 2 + control.
struct Tables {
  std::vector<std::vector<std::uint8_t>> send, receive;
};

class Fabric {
 public:
  using MakeNode = std::function<std::unique_ptr<NodeModel>(const NodeModel::Config&, Domain&)>;
  static std::unique_ptr<NodeModel> sim_node(const NodeModel::Config& config, Domain& clock);

  /// Parameters of the kernels' channels, common to all ranks.
  struct Channels {
    unsigned packet_bytes = 32;
    bool eager = true;         ///< all messages; false: only messages of at most the asynchronicity degree
    bool synchronous = false;  ///< a push returns when its element has been popped
    unsigned circuits = 0;     ///< maximum number of further packets in a circuit; 0: no circuits
    unsigned arity = 0;
    unsigned tile = 32;
    unsigned children = 15;  ///< maximum children in a reduction
    Tick latency = 8;        ///< cycles of a reduction's adders
    bool any_order = false;
  };

  /// `endpoints`: of each rank. Throws std::invalid_argument, one line, for inconsistent values.
  Fabric(const Description& description, const std::vector<std::vector<EndpointOf>>& endpoints,
         const MakeNode& make_node = sim_node);

  [[nodiscard]] unsigned ranks() const { return assembly_.nodes(); }
  [[nodiscard]] Board& board(unsigned rank) { return dynamic_cast<Board&>(assembly_.node(rank)); }
  [[nodiscard]] const Channels& channels() const { return channels_; }
  [[nodiscard]] Domains& time() { return assembly_.time(); }
  [[nodiscard]] const Assembly& assembly() const { return assembly_; }
  /// The boards' clock.
  [[nodiscard]] Domain& clock() { return *clock_; }
  /// A clock named in the description.
  [[nodiscard]] Domain& clock(std::string_view name) { return assembly_.clock(name); }
  [[nodiscard]] double hertz() const { return hertz_; }
  [[nodiscard]] Tick ticks_per_second() const { return assembly_.ticks_per_second(); }

  /// Memory banks of a rank.
  struct Banks {
    unsigned number = 0;
    BankTiming timing{};
  };
  [[nodiscard]] const Banks& banks() const { return banks_; }

  /// Packets dropped by boards.
  [[nodiscard]] std::vector<Lost> lost();

  /// Throws std::invalid_argument if the tables do not match the ranks and links.
  void load(const std::vector<Tables>& tables);

 private:
  struct Parts;
  Fabric(const Description& description, const std::vector<std::vector<EndpointOf>>& endpoints,
         const MakeNode& make_node, std::unique_ptr<Parts> made);

  Assembly assembly_;
  Domain* clock_ = nullptr;
  double hertz_ = 0;
  Channels channels_;
  Banks banks_;
};

}  // namespace thalweg::smi
