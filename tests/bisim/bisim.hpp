// SPDX-License-Identifier: Apache-2.0
// One process drives a C++ twin and its Verilated module with the same seeded stimulus and backpressure and
// compares their ports in every cycle, but never internal signals. A payload port `<channel>_<field>_o` is compared if
// `<channel>_valid_o` is set; every other output always. A failed assertion of the RTL is also a difference, and so is
// an exception of the twin.
//
// Interface of twin and stimulus (Inputs and Outputs are generated from the RTL):
//   struct Twin {                                      // state after reset
//     void outputs(const Inputs&, Outputs&) const;     // this cycle's outputs
//     void step(const Inputs&);                        // the clock edge
//   };
//   struct Stimulus {
//     static constexpr unsigned kLanes;                // independent actors, at most 63
//     explicit Stimulus(Dice run);                     // constants of a run: loads, pauses
//     void drive(const Outputs& seen, const Draws&, Inputs& next);  // inputs of this cycle, initially zero
//   };
// `seen` holds the outputs that depend on no input of this cycle. Some runs have a reset in the middle, unless the twin
// has a member kMemoryOutlivesReset: it would restart with an empty memory. A twin with a member reset() is kept, and
// restarts by that call.
//
// A module with several clocks is stepped from instant to instant, at which one or more of them have an edge: a cycle,
// above, is then an instant, and a port is compared at the edges of its own clock. Twin and stimulus receive the
// instant, and the periods and phases of the clocks in this run; a stimulus changes only the inputs of clocks that
// have an edge:
//   explicit Twin(const Clocks&);
//   void outputs(const Inputs&, const Instant&, Outputs&) const;
//   void step(const Inputs&, const Instant&);
//   void drive(const Outputs& seen, const Instant&, const Draws&, Inputs& next);  // initially the previous inputs
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "pair.hpp"
#include "runtime.hpp"
#include "top.hpp"

namespace bisim {

using top::Inputs;
using top::Outputs;

template <class Twin, class Stimulus>
class PairOf final : public Pair {
 public:
  [[nodiscard]] Shape shape() const override {
    constexpr bool outlives = requires { Twin::kMemoryOutlivesReset; };
    return {top::kInputs,
            top::kOutputs,
            words_of<Inputs>(top::kInputs.size()),
            words_of<Outputs>(top::kOutputs.size()),
            top::kPeriods,
            Stimulus::kLanes,
            outlives};
  }

  void begin(VerilatedContext& context) override {
    model_ = std::make_unique<Vtop>(&context);
    twin_.reset();
  }
  void set(const std::uint32_t* in, bool reset) override {
    top::load(*model_, inputs(in));
    top::set_resets(*model_, reset);
  }
  void eval(unsigned clocks) override {
    top::set_clocks(*model_, clocks);
    model_->eval();
  }
  void get(std::uint32_t* out) const override { top::store(*model_, outputs(out)); }

  void restart(const Clocks& clocks, Dice run) override {
    if constexpr (requires { twin_->reset(); }) {
      if (!twin_) twin_.emplace();
      twin_->reset();
    } else if constexpr (kOneClock) {
      twin_.emplace();
    } else {
      twin_.emplace(clocks);
    }
    stimulus_.emplace(run);
  }
  void drive(const std::uint32_t* seen, const Instant& now, const Draws& draws, std::uint32_t* in) override {
    if constexpr (kOneClock) {
      stimulus_->drive(outputs(seen), draws, inputs(in));
    } else {
      stimulus_->drive(outputs(seen), now, draws, inputs(in));
    }
  }
  void outputs(const std::uint32_t* in, const Instant& now, std::uint32_t* out) const override {
    if constexpr (kOneClock) {
      twin_->outputs(inputs(in), outputs(out));
    } else {
      twin_->outputs(inputs(in), now, outputs(out));
    }
  }
  void step(const std::uint32_t* in, const Instant& now) override {
    if constexpr (kOneClock) {
      twin_->step(inputs(in));
    } else {
      twin_->step(inputs(in), now);
    }
  }

 private:
  static constexpr bool kOneClock = top::kPeriods.size() == 1;

  template <class Ports>
  static constexpr std::size_t words_of(std::size_t ports) {
    return ports ? sizeof(Ports) / sizeof(std::uint32_t) : 0;  // an empty class has a size, too
  }
  static const Inputs& inputs(const std::uint32_t* words) { return *reinterpret_cast<const Inputs*>(words); }
  static Inputs& inputs(std::uint32_t* words) { return *reinterpret_cast<Inputs*>(words); }
  static const Outputs& outputs(const std::uint32_t* words) { return *reinterpret_cast<const Outputs*>(words); }
  static Outputs& outputs(std::uint32_t* words) { return *reinterpret_cast<Outputs*>(words); }

  std::unique_ptr<Vtop> model_;
  std::optional<Twin> twin_;
  std::optional<Stimulus> stimulus_;
};

template <class Twin, class Stimulus>
int main(int argc, char** argv) {
  PairOf<Twin, Stimulus> pair;
  return main(pair, argc, argv);
}

}  // namespace bisim
