// SPDX-License-Identifier: Apache-2.0
// The Verilated tw_hub as a hub of the simulator's nodes.
#include "engine/edges.hpp"
#include "peach2/hub_circuit.hpp"
#include "top.hpp"

namespace {

using thalweg::peach2::HubCircuit;

class Circuit final : public HubCircuit, private engine::Edges<Vtop> {
 public:
  Circuit(unsigned own, unsigned base) : Edges(own) {
    in_.net_own_i.set(own);
    in_.net_base_i.set(base);
    reset(in_);
  }

  void edges(bool net, bool bus, const Inputs& in, Outputs& out) override {
    for (unsigned l = 0; l < kLinks; ++l) {
      const auto& link = in.links[l];
      in_.net_in_valid_i.set_bit(l, link.valid);
      in_.net_credit_valid_i.set_bit(l, link.credit_valid);
      if (link.valid) {
        in_.net_in_data_i.set(link.data, l);
        in_.net_in_last_i.set_bit(l, link.last);
      }
      if (link.credit_valid) in_.net_credit_units_i.set(link.credit_units, l);
    }
    in_.bus_memory_ready_i.set(in.memory_ready);
    in_.bus_memory_reply_valid_i.set(in.reply_valid);
    in_.bus_memory_reply_data_i.set(in.reply);
    top::load(model_, in_);
    evaluate(net | bus << 1);
    top::store(model_, out_);
    for (unsigned l = 0; l < kLinks; ++l)
      out.links[l] = {.valid = out_.net_out_valid_o.bit(l),
                      .last = out_.net_out_last_o.bit(l),
                      .freed_valid = out_.net_freed_valid_o.bit(l),
                      .data = out_.net_out_data_o.get(l),
                      .freed_units = static_cast<unsigned>(out_.net_freed_units_o.get(l))};
    out.memory_valid = out_.bus_memory_valid_o.get() != 0;
    out.memory_write = out_.bus_memory_write_o.get() != 0;
    out.memory_address = out_.bus_memory_address_o.get();
    out.memory_data = out_.bus_memory_data_o.get();
    out.memory_enable = static_cast<unsigned>(out_.bus_memory_enable_o.get());
  }

 private:
  top::Inputs in_{};
  top::Outputs out_{};
};

}  // namespace

extern "C" HubCircuit* peach2_make_hub(unsigned own, unsigned base) {
  return new Circuit(own, base);
}
