// SPDX-License-Identifier: Apache-2.0
// A Verilated hub in a node, in lockstep with the C++ model: both must have the same outputs in every cycle.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "core/clock.hpp"
#include "peach2/hub_circuit.hpp"
#include "peach2/hub_model.hpp"

namespace thalweg::peach2 {

/// Thrown when the two differ; what() states the cycle, hub and port.
class HubDifference : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class RtlHub final : public HubModel {
 public:
  RtlHub(const Hub::Config& config, std::uint16_t own, unsigned node, std::unique_ptr<HubCircuit> circuit)
      : sim_(config, own), node_(node), circuit_(std::move(circuit)) {
    circuit_->edges(false, false, in_, out_);
  }

  void bind(Domain& net, ComponentId at_net, Domain& bus, ComponentId at_bus) override {
    net_ = {&net, at_net};
    bus_ = {&bus, at_bus};
    sim_.bind(net, at_net, bus, at_bus);
    settling_.bind(net, bus);
  }
  void begin(Tick tick) override {
    if (tick == due_) return;  // simultaneous edges are one evaluation
    if (net_due_ || bus_due_) clock_hardware();
    net_due_ = bus_due_ = false;
    due_ = tick;
    compare();
  }
  [[nodiscard]] const HubWord* out(unsigned link) override { return sim_.out(link); }
  [[nodiscard]] std::optional<unsigned> freed(unsigned link) override { return sim_.freed(link); }
  [[nodiscard]] const BusBeat* memory() override { return sim_.memory(); }
  [[nodiscard]] std::uint64_t beats_taken() const override { return sim_.beats_taken(); }

  void step_net(Tick cycle, const std::array<Hub::LinkIn, kLinks>& links) override {
    for (unsigned l = 0; l < kLinks; ++l) {
      auto& to = in_.links[l];
      to.valid = links[l].word != nullptr;
      to.credit_valid = links[l].credit.has_value();
      if (to.valid) {
        to.data = links[l].word->data;
        to.last = links[l].word->last;
      }
      if (to.credit_valid) to.credit_units = *links[l].credit;
    }
    net_due_ = true;
    sim_.step_net(cycle, links);
    advance_side(net_, bus_, cycle, SimHub::comes(links) || !sim_.net_idle(cycle + 1));
  }
  void step_bus(Tick cycle, bool ready, const Word<128>* reply) override {
    in_.memory_ready = ready;
    in_.reply_valid = reply != nullptr;
    if (reply) in_.reply = *reply;
    bus_due_ = true;
    sim_.step_bus(cycle, ready, reply);
    advance_side(bus_, net_, cycle, reply || !sim_.bus_idle(cycle + 1));
  }
  [[nodiscard]] bool net_idle(Tick cycle) const override { return net_.domain->clock.edge(cycle) > settling_.until(); }
  [[nodiscard]] bool bus_idle(Tick cycle) const override { return bus_.domain->clock.edge(cycle) > settling_.until(); }
  [[nodiscard]] const Settling& settling() const override { return settling_; }
  [[nodiscard]] Hub::Report take_report() override { return sim_.take_report(); }
  [[nodiscard]] std::vector<DmaReader::Unanswered> unanswered() const override { return sim_.unanswered(); }

 private:
  struct Side {
    Domain* domain = nullptr;
    ComponentId component = 0;
  };

  /// Keeps both clocks running while one domain is active and its changes pass through synchronizers, which need their edges.
  void advance_side(const Side& own, const Side& other, Tick cycle, bool active) {
    const Clock clock = own.domain->clock;
    const Tick now = clock.edge(cycle);
    if (active) settling_.active(now);
    if (now <= settling_.until()) other.domain->wake(other.component, other.domain->clock.cycle_after(now));
  }

  /// A failed assertion of the hardware is a difference, too.
  void clock_hardware() {
    try {
      circuit_->edges(net_due_, bus_due_, in_, out_);
    } catch (const std::logic_error& failed) {
      throw HubDifference(where() + failed.what());
    }
  }

  void compare() {
    for (unsigned l = 0; l < kLinks; ++l) {
      const auto* word = sim_.out(l);
      const auto freed = sim_.freed(l);
      const auto& shown = out_.links[l];
      check(shown.valid == (word != nullptr), "net_out_valid_o", static_cast<int>(l));
      if (word) {
        check(shown.data == word->data, "net_out_data_o", static_cast<int>(l));
        check(shown.last == word->last, "net_out_last_o", static_cast<int>(l));
      }
      check(shown.freed_valid == freed.has_value(), "net_freed_valid_o", static_cast<int>(l));
      if (freed) check(shown.freed_units == *freed, "net_freed_units_o", static_cast<int>(l));
    }
    const auto* beat = sim_.memory();
    check(out_.memory_valid == (beat != nullptr), "bus_memory_valid_o");
    if (!beat) return;
    check(out_.memory_write == beat->write && out_.memory_address == beat->address % (1U << 25),
          "bus_memory_address_o");
    if (beat->write) check(out_.memory_data == beat->data && out_.memory_enable == beat->enable, "bus_memory_data_o");
  }
  void check(bool same, const char* port, int link = -1) const {
    if (same) return;
    const std::string of = link < 0 ? "" : " of link " + std::to_string(link);
    throw HubDifference(where() + port + of + ": simulator and hardware differ");
  }
  [[nodiscard]] std::string where() const {
    return "cycle " + std::to_string(net_.domain->clock.cycle_from(due_)) + ", hub " + std::to_string(node_) + ", ";
  }

  SimHub sim_;
  unsigned node_;
  std::unique_ptr<HubCircuit> circuit_;
  Side net_, bus_;
  HubCircuit::Inputs in_;
  HubCircuit::Outputs out_;
  Tick due_ = -1;
  Settling settling_;
  bool net_due_ = false, bus_due_ = false;
};

}  // namespace thalweg::peach2
