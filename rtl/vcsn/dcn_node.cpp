// SPDX-License-Identifier: Apache-2.0
// The Verilated tw_dcn_node as a node of the simulator.
#include "Vtop___024root.h"
#include "vcsn/circuit.hpp"

namespace {

using top::Parameters;

class Circuit final : public engine::NodeOf<Vtop___024root> {
 public:
  Circuit() : NodeOf(Parameters::Kernels, Parameters::Dmas, Parameters::Ports) { reset(); }

 private:
  void constants(top::Inputs&) override {}
  void drive(const Inputs& from, top::Inputs& in) override {
    for (unsigned k = 0; k < Parameters::Ports; ++k) {
      const auto& port = from.ports[k];
      in.link_rx_valid_i.set_bit(k, port.comes);
      if (port.comes) in.link_rx_data_i.set(port.data, k);
      in.link_credit_i.set_bit(k, port.credit);
    }
  }
  void read(const top::Outputs& out, Outputs& to) override {
    for (unsigned k = 0; k < Parameters::Ports; ++k) {
      auto& port = to.ports[k];
      port.offers = out.link_tx_valid_o.bit(k);
      if (port.offers) port.data = out.link_tx_data_o.get(k);
      port.credit = out.link_credit_o.bit(k);
    }
  }
};

}  // namespace

extern "C" thalweg::vcsn::NodeCircuit* vcsn_make_node(const std::vector<std::uint64_t>&) {
  return new Circuit;
}
