// The Verilated tw_vc_router as the router of a simulated fabric: what RouterLibrary loads.
#if VM_TRACE
#include <verilated_vcd_c.h>
#endif

#include <memory>
#include <optional>
#include <stdexcept>

#include "bisim/runtime.hpp"
#include "common/bits.hpp"
#include "switch/router_model.hpp"
#include "top.hpp"

namespace {

using top::Parameters;

/// Everything that reset leaves open is random, the same in every run.
struct Context : VerilatedContext {
  explicit Context(unsigned self) {
    randReset(2);
    randSeed(static_cast<int>(self) + 1);
    traceEverOn(VM_TRACE);
  }
};

class Model final : public thalweg::RouterModel {
 public:
  explicit Model(unsigned self) : context_(self), model_(&context_) {
    in_.self_i.set(self);
    model_.rst_i = 1;
    for (unsigned cycle = 0; cycle < 2; ++cycle) edge(0);
    model_.rst_i = 0;
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
    edge(0);
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
    edge(now);
    if (!bisim::assertion_failure().empty()) throw std::logic_error(bisim::assertion_failure());
    top::store(model_, out_);
    out.valid = out_.out_valid_o.get();
    out.ejected = out_.eject_valid_o.get();
    thalweg::each_bit(out.valid, [&](unsigned port) { out.flit[port] = flit(out_.out_flit_o.get(port)); });
    thalweg::each_bit(out.ejected, [&](unsigned link) { out.eject[link] = flit(out_.eject_flit_o.get(link)); });
    for (unsigned port = 0; port < Parameters::Inputs; ++port)
      out.back[port] = static_cast<std::uint16_t>(out_.in_back_o.get(port));
  }

  void record(const std::string& file) override {
#if VM_TRACE
    model_.trace(&waves_.emplace(), 99);
    waves_->open(file.c_str());
#else
    throw std::logic_error("no waves for " + file + ": this library was built without them");
#endif
  }

 private:
  static thalweg::Flit flit(const top::flit_t& wires) {
    return {.data = wires.data,
            .vc = static_cast<std::uint8_t>(wires.vc),
            .head = wires.head != 0,
            .tail = wires.tail != 0};
  }

  void edge([[maybe_unused]] thalweg::Tick now) {
    top::load(model_, in_);
    for (const bool level : {false, true}) {
      model_.clk_i = level;
      model_.eval();
#if VM_TRACE
      if (!waves_) continue;
      waves_->dump(static_cast<std::uint64_t>(2 * now + level));
      waves_->flush();  // this may be the cycle that ends it all
#endif
    }
  }

  Context context_;
  Vtop model_;
#if VM_TRACE
  std::optional<VerilatedVcdC> waves_;
#endif
  top::Inputs in_{};
  top::Outputs out_{};
};

}  // namespace

extern "C" thalweg::RouterModel* thalweg_make_router(unsigned self) {
  return new Model(self);
}
