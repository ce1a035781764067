// SPDX-License-Identifier: Apache-2.0
// The Verilated tw_vcsn_node as a node of the simulator.
#include "Vtop___024root.h"
#include "vcsn/circuit.hpp"

namespace {

using top::Parameters;

class Circuit final : public engine::NodeOf<Vtop___024root> {
 public:
  explicit Circuit(const std::vector<std::uint64_t>& addresses)
      : NodeOf(Parameters::Kernels, Parameters::Dmas, Parameters::Ports), addresses_(addresses) {
    reset();
  }

 private:
  void constants(top::Inputs& in) override {
    for (unsigned k = 0; k < Parameters::Ports; ++k) in.mac_address_i.set(addresses_[k], k);
  }
  void drive(const Inputs& from, top::Inputs& in) override {
    for (unsigned k = 0; k < Parameters::Ports; ++k) {
      const auto& port = from.ports[k];
      in.mac_tx_ready_i.set_bit(k, port.takes);
      in.mac_rx_valid_i.set_bit(k, port.comes);
      if (!port.comes) continue;
      in.mac_rx_data_i.set(port.data, k);
      in.mac_rx_keep_i.set(port.keep, k);
      in.mac_rx_last_i.set_bit(k, port.last);
      in.mac_rx_error_i.set_bit(k, port.damaged);
    }
  }
  void read(const top::Outputs& out, Outputs& to) override {
    to.refuses = out.shell_refused_o.get() != 0;
    to.programs_ended.resize(Parameters::Sequencers);
    for (unsigned k = 0; k < Parameters::Sequencers; ++k) to.programs_ended[k] = out.shell_program_ended_o.bit(k);
    for (unsigned k = 0; k < Parameters::Ports; ++k) {
      auto& port = to.ports[k];
      port.offers = out.mac_tx_valid_o.bit(k);
      if (port.offers) {
        port.data = out.mac_tx_data_o.get(k);
        port.keep = out.mac_tx_keep_o.get(k);
        port.last = out.mac_tx_last_o.bit(k);
      }
      constexpr auto kOutcomes = sizeof(out.mac_counts_o.words) / sizeof(std::uint32_t) / Parameters::Ports;
      const auto* counts = out.mac_counts_o.words + k * kOutcomes;
      port.counts.assign(counts, counts + kOutcomes);
      port.sessions.clear();
      constexpr unsigned kState = 5;  // bits
      for (unsigned i = 0; i < Parameters::VirtualPorts; ++i)
        port.sessions.push_back(out.mac_session_o.get(k) >> (i * kState) & ((1U << kState) - 1));
    }
  }

  std::vector<std::uint64_t> addresses_;
};

}  // namespace

extern "C" thalweg::vcsn::NodeCircuit* vcsn_make_node(const std::vector<std::uint64_t>& addresses) {
  return new Circuit(addresses);
}
