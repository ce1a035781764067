// SPDX-License-Identifier: Apache-2.0
// Interface of a node to its hub: the C++ model or the Verilated hub.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "peach2/hub.hpp"

namespace thalweg::peach2 {

/// When changes in one clock domain of a hub have passed all synchronizers of its hardware.
class Settling {
 public:
  void bind(const Domain& net, const Domain& bus) { slowest_ = std::max(net.clock.period, bus.clock.period); }
  void active(Tick tick) { until_ = tick + kCycles * slowest_; }
  /// The last tick in which they may pass one.
  [[nodiscard]] Tick until() const { return until_; }
  /// The tick from which the hub rests, however it is simulated.
  [[nodiscard]] Tick rests() const { return until_ + 2 * slowest_; }

 private:
  static constexpr Tick kCycles = 32;

  Tick slowest_ = 1, until_ = -1;
};

class HubModel {
 public:
  virtual ~HubModel() = default;
  /// Sets the components that step it.
  virtual void bind(Domain& net, ComponentId at_net, Domain& bus, ComponentId at_bus) = 0;

  /// Called before the edges at `tick`; all earlier edges have been stepped.
  virtual void begin(Tick tick) = 0;

  // Outputs at that tick.
  [[nodiscard]] virtual const HubWord* out(unsigned link) = 0;
  [[nodiscard]] virtual std::optional<unsigned> freed(unsigned link) = 0;
  [[nodiscard]] virtual const BusBeat* memory() = 0;
  /// Number of beats that its bus has accepted, register reads excepted.
  [[nodiscard]] virtual std::uint64_t beats_taken() const = 0;

  virtual void step_net(Tick cycle, const std::array<Hub::LinkIn, kLinks>& links) = 0;
  virtual void step_bus(Tick cycle, bool ready, const Word<128>* reply) = 0;

  /// After a step of the cycle before: true if, without inputs, edges from that cycle on change nothing.
  [[nodiscard]] virtual bool net_idle(Tick cycle) const = 0;
  [[nodiscard]] virtual bool bus_idle(Tick cycle) const = 0;
  [[nodiscard]] virtual const Settling& settling() const = 0;

  [[nodiscard]] virtual Hub::Report take_report() = 0;
  [[nodiscard]] virtual std::vector<DmaReader::Unanswered> unanswered() const = 0;
};

class SimHub final : public HubModel {
 public:
  SimHub(const Hub::Config& config, std::uint16_t own) : hub_(config, own) {}

  void bind(Domain& net, ComponentId at_net, Domain& bus, ComponentId at_bus) override {
    hub_.bind(net, at_net, bus, at_bus);
    net_ = &net;
    bus_ = &bus;
    settling_.bind(net, bus);
  }
  void begin(Tick) override {}
  [[nodiscard]] const HubWord* out(unsigned link) override { return hub_.out(link); }
  [[nodiscard]] std::optional<unsigned> freed(unsigned link) override { return hub_.freed(link); }
  [[nodiscard]] const BusBeat* memory() override { return hub_.memory(); }
  [[nodiscard]] std::uint64_t beats_taken() const override { return hub_.beats_taken(); }
  void step_net(Tick cycle, const std::array<Hub::LinkIn, kLinks>& links) override {
    hub_.step_net(cycle, links);
    net_idle_ = hub_.net_idle(cycle + 1);
    if (!net_idle_ || comes(links)) settling_.active(net_->clock.edge(cycle));
  }
  void step_bus(Tick cycle, bool ready, const Word<128>* reply) override {
    hub_.step_bus(cycle, ready, reply);
    bus_idle_ = hub_.bus_idle(cycle + 1);
    if (!bus_idle_ || reply) settling_.active(bus_->clock.edge(cycle));
  }
  [[nodiscard]] bool net_idle(Tick) const override { return net_idle_; }
  [[nodiscard]] bool bus_idle(Tick) const override { return bus_idle_; }
  [[nodiscard]] const Settling& settling() const override { return settling_; }
  /// True if a word or credits arrive.
  [[nodiscard]] static bool comes(const std::array<Hub::LinkIn, kLinks>& links) {
    return std::ranges::any_of(links, [](const auto& link) { return link.word || link.credit; });
  }
  [[nodiscard]] Hub::Report take_report() override { return hub_.take_report(); }
  [[nodiscard]] std::vector<DmaReader::Unanswered> unanswered() const override { return hub_.unanswered(); }

 private:
  Hub hub_;
  Domain *net_ = nullptr, *bus_ = nullptr;
  bool net_idle_ = true, bus_idle_ = true;  ///< after the last step
  Settling settling_;
};

}  // namespace thalweg::peach2
