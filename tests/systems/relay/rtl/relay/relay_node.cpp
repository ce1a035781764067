// SPDX-License-Identifier: Apache-2.0
// The Verilated tw_relay_node as a node of the simulator.
#include "engine/edges.hpp"
#include "relay/node_model.hpp"
#include "top.hpp"

namespace {

class Model final : public relay::NodeModel, private engine::Edges<Vtop> {
 public:
  explicit Model(unsigned self) : Edges(self) {
    in_.core_self_i.set(self);
    reset(in_);
  }

  void edges(bool net, bool core, const Inputs& in, Outputs& out) override {
    in_.net_in_valid_i.set(in.in_valid);
    in_.net_in_data_i.set(in.in_data);
    in_.net_out_ready_i.set(in.out_ready);
    in_.core_host_valid_i.set(in.host_valid);
    in_.core_host_data_i.set(in.host_data);
    top::load(model_, in_);
    evaluate(net | core << 1);
    top::store(model_, out_);
    out = {.in_ready = out_.net_in_ready_o.get() != 0,
           .out_valid = out_.net_out_valid_o.get() != 0,
           .host_ready = out_.core_host_ready_o.get() != 0,
           .done_valid = out_.core_done_valid_o.get() != 0,
           .out_data = out_.net_out_data_o.get(),
           .done_data = out_.core_done_data_o.get()};
  }

 private:
  top::Inputs in_{};
  top::Outputs out_{};
};

}  // namespace

extern "C" relay::NodeModel* relay_make_node(unsigned self) {
  return new Model(self);
}
