// SPDX-License-Identifier: Apache-2.0
// A Verilated module of several clocks as a part of the simulator, which gives it their edges one by one.
#pragma once

#include "bisim/runtime.hpp"
#include "engine/context.hpp"
#include "top.hpp"

namespace engine {

/// Clocks are bits, in the order of the module's.
template <class Model>
class Edges {
 public:
  Edges(const Edges&) = delete;
  Edges& operator=(const Edges&) = delete;

 protected:
  explicit Edges(unsigned self) : context_(self), model_(&context_) {}
  ~Edges() {
    Verilated::threadContextp(&context_);  // where scopes end: that of the last one made may be gone
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
  /// Edges of some clocks at one instant. Throws std::logic_error where an assertion fails.
  void evaluate(unsigned clocks) {
    settle();
    top::set_clocks(model_, clocks);
    model_.eval();
    bisim::throw_assertion_failure();
  }
  /// Outputs follow inputs, without an edge.
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
