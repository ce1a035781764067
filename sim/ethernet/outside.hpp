// SPDX-License-Identifier: Apache-2.0
// The end of a line that is attached to a network interface of this computer. Arriving frames are kept without FCS
// until they are read. Frames written to it get an FCS and enter the line.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "cluster/assembly.hpp"
#include "core/clock.hpp"
#include "core/require.hpp"
#include "ethernet/frame.hpp"
#include "ethernet/line.hpp"

namespace thalweg::ethernet {

class Outside final : public Component, public AssembledNode {
 public:
  Outside(Domain& domain, Frames& frames) : frames_(&frames) {
    port_.domain = &domain;
    port_.component = domain.scheduler.add(*this);
  }

  std::deque<FrameRef> left;  ///< frames that have reached the end of the line, in order

  [[nodiscard]] LinkPort& port(unsigned number) override {
    require(number == 0, "port " + std::to_string(number) + " does not exist; an interface has only port 0");
    return port_;
  }

  /// True if the line is free before `tick`. Frames given to a busy line are queued in memory.
  [[nodiscard]] bool has_time(Tick tick) const {
    return port_.out->rate.seen(port_.out->free()) <= port_.domain->clock.cycle_from(tick);
  }
  /// Sends a frame (from its destination address, without FCS) as soon as the line is free. Call between two advances.
  /// Throws std::invalid_argument if its size is invalid.
  void give(std::span<const std::byte> bytes) {
    port_.out->send(port_.domain->next() * port_.out->rate.cycle, frames_->copy(bytes));
  }

  bool step(Tick now) override {
    Line& in = *port_.in;
    while (const Arrival* first = in.front(now)) {
      if (const Tick end = in.rate.seen(first->end(in.rate)); end > now) {
        in.reader.wake(end);
        break;
      }
      if (first->damaged)
        ++damaged_;
      else
        left.push_back(first->frame);
      in.pop();
    }
    return false;
  }

  void lost(NodeId node, std::vector<Lost>& all) const override {
    if (damaged_ > 0) all.push_back({node, "frames with a wrong FCS", damaged_});
  }

 private:
  Port port_;
  Frames* frames_;
  std::uint64_t damaged_ = 0;
};

}  // namespace thalweg::ethernet
