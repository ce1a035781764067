// SPDX-License-Identifier: Apache-2.0
// A Verilated module with several clocks as a part of the simulator, which drives their edges one by one.
#pragma once

#include "bisim/runtime.hpp"
#include "engine/context.hpp"
#include "top.hpp"

namespace engine {

/// Clocks are bits, in the module's order.
template <class Model>
class Edges {
 public:
  Edges(const Edges&) = delete;
  Edges& operator=(const Edges&) = delete;

 protected:
  explicit Edges(unsigned self) : context_(self), model_(&context_) {}
  ~Edges() {
    Verilated::threadContextp(&context_);  // scopes end in it; the last module's may be gone
    model_.final();
  }

  static constexpr unsigned kAll = ~0U;

  /// Edges of all clocks in reset, with these inputs.
  void reset(const top::Inputs& in) {
    top::load(model_, in);
    top::set_resets(model_, true);
    for (unsigned edge = 0; edge < 8; ++edge) evaluate(kAll);
    top::set_resets(model_, false);
    evaluate(0);
  }
  /// Edges of some clocks at one instant. Throws std::logic_error if an assertion fails.
  void evaluate(unsigned clocks) {
    settle();
    top::set_clocks(model_, clocks);
    model_.eval();
    bisim::throw_assertion_failure();
  }
  /// Updates outputs from inputs, without an edge.
  void settle() {
    top::set_clocks(model_, 0);
    model_.eval();
  }

 private:
  Context context_;

 protected:
  Model model_;
};

}  // namespace engine
