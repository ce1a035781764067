// SPDX-License-Identifier: Apache-2.0
#include "bisim/bisim.hpp"
#include "common/reset_sync.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;

/// Recreated at each reset; only the end of a reset is compared.
struct Twin {
  thalweg::ResetSync sync{Parameters::Stages};

  Twin() { sync.step(true); }
  void outputs(const Inputs&, Outputs& out) const { out.rst_o.set(sync.asserted()); }
  void step(const Inputs&) { sync.step(false); }
};

struct Stimulus {
  static constexpr unsigned kLanes = 0;

  explicit Stimulus(bisim::Dice) {}
  void drive(const Outputs&, const bisim::Draws&, Inputs&) {}
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
