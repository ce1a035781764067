// SPDX-License-Identifier: Apache-2.0
// Interface of a node to its hub: the C++ model or the Verilated hub.
#pragma once

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "peach2/hub.hpp"

namespace thalweg::peach2 {

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

  /// True if, without inputs, edges from that cycle on change nothing.
  [[nodiscard]] virtual bool net_idle(Tick cycle) const = 0;
  [[nodiscard]] virtual bool bus_idle(Tick cycle) const = 0;

  [[nodiscard]] virtual Hub::Report take_report() = 0;
  [[nodiscard]] virtual std::vector<DmaReader::Unanswered> unanswered() const = 0;
};

class SimHub final : public HubModel {
 public:
  SimHub(const Hub::Config& config, std::uint16_t own) : hub_(config, own) {}

  void bind(Domain& net, ComponentId at_net, Domain& bus, ComponentId at_bus) override {
    hub_.bind(net, at_net, bus, at_bus);
  }
  void begin(Tick) override {}
  [[nodiscard]] const HubWord* out(unsigned link) override { return hub_.out(link); }
  [[nodiscard]] std::optional<unsigned> freed(unsigned link) override { return hub_.freed(link); }
  [[nodiscard]] const BusBeat* memory() override { return hub_.memory(); }
  [[nodiscard]] std::uint64_t beats_taken() const override { return hub_.beats_taken(); }
  void step_net(Tick cycle, const std::array<Hub::LinkIn, kLinks>& links) override { hub_.step_net(cycle, links); }
  void step_bus(Tick cycle, bool ready, const Word<128>* reply) override { hub_.step_bus(cycle, ready, reply); }
  [[nodiscard]] bool net_idle(Tick cycle) const override { return hub_.net_idle(cycle); }
  [[nodiscard]] bool bus_idle(Tick cycle) const override { return hub_.bus_idle(cycle); }
  [[nodiscard]] Hub::Report take_report() override { return hub_.take_report(); }
  [[nodiscard]] std::vector<DmaReader::Unanswered> unanswered() const override { return hub_.unanswered(); }

 private:
  Hub hub_;
};

}  // namespace thalweg::peach2
