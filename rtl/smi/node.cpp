// SPDX-License-Identifier: Apache-2.0
// The Verilated tw_node as a rank of the simulator's boards.
#include "engine/whole.hpp"
#include "smi/node_circuit.hpp"
#include "smi/open_ports.hpp"
#include "smi/packet_ports.hpp"

namespace {

using thalweg::smi::NodeCircuit, thalweg::smi::NodeModel;
using top::Parameters;

class Circuit final : public NodeCircuit, private engine::Whole<Vtop> {
 public:
  explicit Circuit(unsigned rank) : Whole(rank) {
    stay_awake();  // kernels poll always
    shown_.links.resize(Parameters::Links);
    shown_.endpoints.resize(Parameters::Endpoints);
    in_.rank_i.set(rank);
    top::load(model_, in_);
    reset();
    model_.rst_i = 1;  // until the tables are loaded
  }

  void load(bool receive, unsigned link, unsigned index, unsigned to) override {
    in_.table_valid_i.set(1);
    in_.table_receive_i.set(receive);
    in_.table_link_i.set(link);
    in_.table_index_i.set(index);
    in_.table_data_i.set(to);
    cycle();
    in_.table_valid_i.set(0);
  }

  [[nodiscard]] const Outputs& outputs() override {
    top::store(model_, out_);
    for (unsigned l = 0; l < Parameters::Links; ++l) {
      auto& link = shown_.links[l];
      link.packet_ready = out_.link_in_ready_o.bit(l);
      link.valid = out_.link_out_valid_o.bit(l);
      if (link.valid) link.packet = blocks::packet_of<Parameters::PacketBytes>(out_.link_out_data_o.get(l));
    }
    for (unsigned e = 0; e < Parameters::Endpoints; ++e)
      shown_.endpoints[e] = {.open_ready = out_.open_ready_o.bit(e),
                             .element_ready = out_.element_in_ready_o.bit(e),
                             .valid = out_.element_out_valid_o.bit(e),
                             .element = {.data = out_.element_out_data_o.get(e),
                                         .source = static_cast<unsigned>(out_.element_out_source_o.get(e))}};
    shown_.strays = out_.strays_o.get();
    shown_.unrouted = out_.unrouted_o.get();
    return shown_;
  }

  void edge(const NodeModel::Inputs& in) override {
    model_.rst_i = 0;
    for (unsigned l = 0; l < Parameters::Links; ++l) {
      const auto& link = in.links[l];
      in_.link_in_valid_i.set_bit(l, link.packet != nullptr);
      if (link.packet) in_.link_in_data_i.set(blocks::words_of<Parameters::PacketBytes>(*link.packet), l);
      in_.link_out_ready_i.set_bit(l, link.taken);
    }
    for (unsigned e = 0; e < Parameters::Endpoints; ++e) {
      const auto& at = in.endpoints[e];
      in_.open_valid_i.set_bit(e, at.open != nullptr);
      if (at.open) in_.open_i.set(blocks::open_port(*at.open), e);
      in_.element_in_valid_i.set_bit(e, at.element != nullptr);
      if (at.element) {
        in_.element_in_data_i.set(at.element->data, e);
        in_.element_in_flush_i.set_bit(e, at.element->flush);
      }
      in_.element_out_ready_i.set_bit(e, at.taken);
    }
    cycle();
  }

 private:
  void cycle() { Whole::edge(now_++, top::load(model_, in_)); }

  thalweg::Tick now_ = 0;
  top::Inputs in_{};
  top::Outputs out_{};
  Outputs shown_;
};

}  // namespace

extern "C" NodeCircuit* smi_make_node(unsigned rank) {
  return new Circuit(rank);
}
