// SPDX-License-Identifier: Apache-2.0
// The Verilated tw_relay_node as a node of the simulator.
#include "bisim/runtime.hpp"
#include "relay/node_model.hpp"
#include "top.hpp"

namespace {

class Model final : public relay::NodeModel {
 public:
  explicit Model(unsigned self) : model_(&context_) {
    in_.core_self_i.set(self);
    top::load(model_, in_);
    top::set_resets(model_, true);
    for (unsigned edge = 0; edge < 8; ++edge) evaluate(3);
    top::set_resets(model_, false);
    evaluate(0);
  }
  ~Model() override {
    Verilated::threadContextp(&context_);  // where scopes end: that of the last one made may be gone
    model_.final();
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
  void evaluate(unsigned clocks) {
    top::set_clocks(model_, 0);
    model_.eval();
    top::set_clocks(model_, clocks);
    model_.eval();
    bisim::throw_assertion_failure();
  }

  VerilatedContext context_;
  Vtop model_;
  top::Inputs in_{};
  top::Outputs out_{};
};

}  // namespace

extern "C" relay::NodeModel* relay_make_node(unsigned self) {
  return new Model(self);
}
