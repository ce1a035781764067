// SPDX-License-Identifier: Apache-2.0
// Selects the aggregation unit for a step; C++ model of rtl/mpi_fpga/tw_dispatch.sv.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/bits.hpp"
#include "common/growing.hpp"
#include "core/types.hpp"
#include "mpi_fpga/context_table.hpp"

namespace thalweg::mpi_fpga {

/// Eligible units have read their previous packet, and their new result would not overlap the previous one in the
/// lanes. If an edge still has packets queued at a unit, only that unit is eligible, which keeps order; a step that
/// fills a stage uses its process's own unit. Of the eligible units, the one with the fewest queued packets is
/// selected, ties from the process's own unit onwards.
class Dispatch {
 public:
  struct Step {
    unsigned row = 0;
    std::uint32_t to_edges = 0;
    bool to_stages = false;
    unsigned own = 0;        ///< the process's unit
    std::uint64_t room = 0;  ///< units whose queues have room, as bits
    std::uint64_t kept = 0;  ///< units that hold a process, as bits
    Tick latency = 0;        ///< cycles to the result's first flit
  };
  struct Choice {
    std::optional<unsigned> unit;
    bool room = false;  ///< a unit may become eligible by time alone
  };

  explicit Dispatch(unsigned units) : units_(units) {}

  [[nodiscard]] Choice choose(const Step& step, Tick now) const {
    std::uint64_t allowed = step.to_stages ? std::uint64_t{1} << step.own : ~std::uint64_t{0};
    each_bit(step.to_edges, [&](unsigned k) {
      const Edge& edge = rows_[step.row][k];
      if (edge.queued > 0) allowed &= std::uint64_t{1} << edge.unit;
    });
    allowed &= step.room;
    Choice choice;
    for (unsigned i = 0; i < units_.size(); ++i) {
      const auto index = static_cast<unsigned>((step.own + i) % units_.size());
      const Unit& unit = units_[index];
      if (!(allowed >> index & 1)) continue;
      choice.room = true;
      if (step.kept >> index & 1 || unit.input_free > now || unit.output_free > now + step.latency) continue;
      if (!choice.unit || unit.queued < units_[*choice.unit].queued) choice.unit = index;
    }
    return choice;
  }
  /// The unit reads a packet until `read`; its result has left the lanes at `left` and is queued for `ports` ports.
  void take(unsigned unit, const Step& step, unsigned ports, Tick read, Tick left) {
    units_[unit].input_free = read;
    units_[unit].output_free = left;
    units_[unit].queued += ports;
    each_bit(step.to_edges, [&](unsigned k) {
      Edge& edge = rows_[step.row][k];
      ++edge.queued;
      edge.unit = static_cast<std::uint8_t>(unit);
    });
  }
  /// A packet has left for an edge; `done`: this was its port's last edge.
  void sent(unsigned unit, unsigned row, unsigned edge, bool done) {
    --rows_[row][edge].queued;
    units_[unit].queued -= done;
  }

 private:
  struct Unit {
    Tick input_free = 0;   ///< when the previous operands have been read
    Tick output_free = 0;  ///< when the previous result has left the lanes
    unsigned queued = 0;   ///< packets queued for ports
  };
  struct Edge {
    std::uint16_t queued = 0;  ///< packets in the queues of `unit`
    std::uint8_t unit = 0;
  };

  std::vector<Unit> units_;
  Growing<Growing<Edge>> rows_;
};

}  // namespace thalweg::mpi_fpga
