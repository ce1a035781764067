// SPDX-License-Identifier: Apache-2.0
// Makes a Verilated module a part of the simulator: its context, its clock, and waves.
#pragma once

#if VM_TRACE
#include <verilated_vcd_c.h>
#endif

#include <optional>
#include <stdexcept>
#include <string>

#include "bisim/runtime.hpp"
#include "core/types.hpp"
#include "engine/clocked.hpp"
#include "engine/context.hpp"

namespace engine {

template <class Model>
class Whole : public Clocked {
 protected:
  explicit Whole(unsigned self) : context_(self), model_(&context_) {}

  ~Whole() override {
    Verilated::threadContextp(&context_);  // scopes end in it; the last module's may be gone
    model_.final();
  }

  /// Two cycles of reset, with the inputs in the model.
  void reset() {
    model_.rst_i = 1;
    for (unsigned cycle = 0; cycle < 2; ++cycle) edge(0, true);
    model_.rst_i = 0;
  }

  /// Advances one cycle. `other`: the inputs in the model differ from the last cycle's.
  void edge(thalweg::Tick now, bool other) {
    now_ = now;
    clock(other);
    bisim::throw_assertion_failure();
  }

  /// Called before the edge, with outputs that depend on inputs valid.
  virtual void before_edge() {}

  bool evaluate() final {
    for (const bool level : {false, true}) {
      model_.clk_i = level;
      model_.eval();
      if (!level) before_edge();
#if VM_TRACE
      if (!waves_) continue;
      waves_->dump(static_cast<std::uint64_t>(2 * now_ + level));
      waves_->flush();  // the simulation may end in this cycle
#endif
    }
    return true;
  }

  void begin_waves(const std::string& file) {
#if VM_TRACE
    model_.trace(&waves_.emplace(), 99);
    waves_->open(file.c_str());
    stay_awake();
#else
    throw std::logic_error("no waves for " + file + ": this library was built without them");
#endif
  }

 private:
  Context context_;

 protected:
  Model model_;

 private:
#if VM_TRACE
  std::optional<VerilatedVcdC> waves_;
#endif
  thalweg::Tick now_ = 0;
};

}  // namespace engine
