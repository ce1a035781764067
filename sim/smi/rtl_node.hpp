// SPDX-License-Identifier: Apache-2.0
// A Verilated rank on a board, in lockstep with the C++ model: both must have the same outputs in every cycle.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "smi/node.hpp"
#include "smi/node_circuit.hpp"

namespace thalweg::smi {

/// Thrown when the two differ; what() states the cycle, rank and port.
class NodeDifference : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class RtlNode final : public NodeModel {
 public:
  RtlNode(const Config& config, std::unique_ptr<NodeCircuit> circuit)
      : sim_(config),
        circuit_(std::move(circuit)),
        nothing_(config.links, static_cast<unsigned>(config.endpoints.size())),
        rank_(config.rank) {}

  [[nodiscard]] unsigned links() const override { return sim_.links(); }
  void load_send(unsigned link, unsigned index, unsigned to) override {
    sim_.load_send(link, index, to);
    circuit_->load(false, link, index, to);
  }
  void load_receive(unsigned link, unsigned index, unsigned to) override {
    sim_.load_receive(link, index, to);
    circuit_->load(true, link, index, to);
  }

  [[nodiscard]] const Outputs& outputs() const override { return sim_.outputs(); }
  [[nodiscard]] std::string waits(unsigned e) const override { return sim_.waits(e); }
  [[nodiscard]] std::uint64_t strays() const override { return sim_.strays(); }
  [[nodiscard]] std::uint64_t unrouted() const override { return sim_.unrouted(); }

  void step(const Inputs& in) override {
    compare();
    circuit_->edge(in);
    sim_.step(in);
    ++cycle_;
  }
  [[nodiscard]] Tick rest() const override { return sim_.rest(); }
  /// The hardware cannot skip: it executes all edges.
  void skip(Tick cycles) override {
    for (Tick i = 0; i < cycles; ++i) circuit_->edge(nothing_);
    sim_.skip(cycles);
    cycle_ += cycles;
    compare();
  }

 private:
  void compare() const {
    const auto& out = circuit_->outputs();
    const auto& expected = sim_.outputs();
    for (unsigned l = 0; l < out.links.size(); ++l) {
      const auto& shown = out.links[l];
      const auto& [packet, packet_ready] = expected.links[l];
      check(shown.packet_ready == packet_ready, "link_in_ready_o", "link", l);
      check(shown.valid == (packet != nullptr), "link_out_valid_o", "link", l);
      if (packet) check(shown.packet == *packet, "link_out_data_o", "link", l);
    }
    for (unsigned e = 0; e < out.endpoints.size(); ++e) {
      const auto& shown = out.endpoints[e];
      const auto& [element, open_ready, element_ready] = expected.endpoints[e];
      check(shown.open_ready == open_ready, "open_ready_o", "endpoint", e);
      check(shown.element_ready == element_ready, "element_in_ready_o", "endpoint", e);
      check(shown.valid == (element != nullptr), "element_out_valid_o", "endpoint", e);
      if (!element) continue;
      check(shown.element.data == element->data, "element_out_data_o", "endpoint", e);
      check(shown.element.source == element->source, "element_out_source_o", "endpoint", e);
    }
    check(out.strays == sim_.strays(), "strays_o");
    check(out.unrouted == sim_.unrouted(), "unrouted_o");
  }
  void check(bool same, const char* port, const char* of = nullptr, unsigned number = 0) const {
    if (same) return;
    std::string where = "cycle ";
    where += std::to_string(cycle_) + ", rank " + std::to_string(rank_) + ", " + port;
    if (of) where += std::string(" of ") + of + " " + std::to_string(number);
    throw NodeDifference(where + ": simulator and hardware differ");
  }

  Node sim_;
  std::unique_ptr<NodeCircuit> circuit_;
  Inputs nothing_;
  unsigned rank_;
  Tick cycle_ = 0;
};

}  // namespace thalweg::smi
