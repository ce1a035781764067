// SPDX-License-Identifier: Apache-2.0
// A Verilated router in the simulator's fabric: connects a RouterModel to the simulator's wires.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "switch/router_model.hpp"
#include "switch/vc_router.hpp"

namespace thalweg {

/// The first cycle in which a hardware block, "vc_router" or "collective_unit", diverges from the simulator or fails an
/// assertion.
struct RtlDifference : std::runtime_error {
  std::string block;
  NodeId node;
  Tick cycle;

  RtlDifference(std::string block, NodeId node, Tick cycle, const std::string& port, const std::string& expected,
                const std::string& got);
  RtlDifference(std::string block, NodeId node, Tick cycle, const std::string& failure);
};

/// A flit on an input port's wires in tick t is an input of the model's edge t; the model's registers after that edge
/// are on the wires in tick t + 1. The router sleeps like the simulator's: without flits, or while none can leave. A
/// model without activity at its ports for longer than a flit's latency does not change; earlier cycles, which change
/// only its internal state, are clocked when it wakes.
class RtlRouter final : public VcRouter::Stages {
 public:
  /// `own`: the simulator's router, for comparison; null: none. `recording`: of the model's signals; null: none.
  RtlRouter(const RouterConfig& config, NodeId self, const RouteRow& row, std::unique_ptr<RouterModel> model,
            std::unique_ptr<VcRouter> own, const Recording* recording);
  ~RtlRouter() override;

  Inbox& inbox(unsigned channel) override { return inbox_[channel / 64]; }
  [[nodiscard]] unsigned depth(unsigned port) const override {
    return port < config_.link_ports ? config_.buffer_flits : config_.local_buffer_flits;
  }
  FlitWire connect_input(unsigned port, Tick latency, EventWire back) override;
  FlitWire connect_ejection(unsigned port, Tick latency, FlitSink& to) override;
  void connect_output(unsigned port, FlitWire to, unsigned depth, RateLimit rate, FlitWire eject,
                      const Level* ready) override;
  bool step(Tick now) override;
  [[nodiscard]] std::uint64_t flits_sent(unsigned port) const override { return sent_[port]; }
  [[nodiscard]] std::uint64_t flits_unrouted() const override { return unrouted_; }
  [[nodiscard]] bool empty() const override { return inside_ == 0; }
  /// Waits inside the hardware are not visible.
  [[nodiscard]] std::vector<VcRouter::Blocked> blocked() const override { return {}; }

 private:
  class Comparison;

  /// Cycles after which a flit that is not blocked has left: six for the flit, two more for its credit.
  static constexpr unsigned kThrough = 8;

  void clock(Tick now);
  void settle(Tick now);
  void take_arrivals(Tick now);
  void hand_on(Tick now);

  RouterConfig config_;
  NodeId self_;
  unsigned bits_, inputs_, outputs_;
  std::unique_ptr<RouterModel> model_;
  std::unique_ptr<Comparison> comparison_;
  const Recording* recording_;  ///< null: none, or already started
  std::array<Inbox, 2> inbox_;
  FlitBuffers arriving_;
  std::vector<FlitWire> in_, to_, eject_;
  std::vector<EventWire> back_;
  std::vector<const Level*> ready_;  ///< per output port; null: always ready
  std::vector<Flit> flits_;          ///< per input port: flit on the wires
  std::vector<std::uint64_t> sent_;
  RouterModel::Inputs on_wires_;
  RouterModel::Outputs shown_;
  std::array<std::uint16_t, RouterModel::kMaxPorts> stops_{};  ///< per input port: as last reported
  std::uint64_t inside_ = 0, unrouted_ = 0;                    ///< flits
  unsigned settling_ = 0, quiet_ = 0;                          ///< cycles
  Tick next_ = 0;                                              ///< first cycle not clocked yet
  bool gated_ = false;                                         ///< some outputs are not always ready
};

}  // namespace thalweg
