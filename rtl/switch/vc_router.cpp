// SPDX-License-Identifier: Apache-2.0
// The Verilated tw_vc_router of a simulated fabric, loaded by RouterLibrary.
#include "common/bits.hpp"
#include "engine/whole.hpp"
#include "switch/router_model.hpp"
#include "top.hpp"

namespace {

using top::Parameters;

class Model final : public thalweg::RouterModel, private engine::Whole<Vtop> {
 public:
  explicit Model(unsigned self) : Whole(self) {
    stay_awake();  // RtlRouter knows when it rests, without comparing its buffers
    in_.self_i.set(self);
    top::load(model_, in_);
    reset();
  }

  void write_table(thalweg::NodeId destination, const thalweg::RouteEntry& entry) override {
    const bool keeps = entry.route_class == thalweg::kKeepClass;
    in_.table_valid_i.set(1);
    in_.table_index_i.set(destination);
    in_.table_reachable_i.set(entry.port != thalweg::kNoRoute);
    in_.table_entry_i.set({.keep_class = keeps,
                           .route_class = keeps ? 0U : entry.route_class,
                           .last_link = entry.last_link,
                           .port = entry.port});
    cycle(0);
    in_.table_valid_i.set(0);
  }

  void clock(thalweg::Tick now, const Inputs& in, Outputs& out) override {
    in_.in_valid_i.set(in.valid);
    thalweg::each_bit(in.valid, [&](unsigned port) {
      const thalweg::Flit& flit = *in.flit[port];
      in_.in_flit_i.set({.data = flit.data, .vc = flit.vc, .head = flit.head, .tail = flit.tail}, port);
    });
    for (unsigned port = 0; port < Parameters::Outputs; ++port) in_.out_back_i.set(in.back[port], port);
    in_.out_ready_i.set(in.ready & ((std::uint64_t{1} << Parameters::LinkPorts) - 1));
    cycle(now);
    top::store(model_, out_);
    out.valid = out_.out_valid_o.get();
    out.ejected = out_.eject_valid_o.get();
    out.unrouted = static_cast<std::uint32_t>(out_.unrouted_o.get());
    thalweg::each_bit(out.valid, [&](unsigned port) { out.flit[port] = flit(out_.out_flit_o.get(port)); });
    thalweg::each_bit(out.ejected, [&](unsigned link) { out.eject[link] = flit(out_.eject_flit_o.get(link)); });
    for (unsigned port = 0; port < Parameters::Inputs; ++port)
      out.back[port] = static_cast<std::uint16_t>(out_.in_back_o.get(port));
  }

  void record(const std::string& file) override { begin_waves(file); }

 private:
  static thalweg::Flit flit(const top::flit_t& wires) {
    return {.data = wires.data,
            .vc = static_cast<std::uint8_t>(wires.vc),
            .head = wires.head != 0,
            .tail = wires.tail != 0};
  }

  void cycle(thalweg::Tick now) { edge(now, top::load(model_, in_)); }

  top::Inputs in_{};
  top::Outputs out_{};
};

}  // namespace

extern "C" thalweg::RouterModel* thalweg_make_router(unsigned self) {
  return new Model(self);
}
