// SPDX-License-Identifier: Apache-2.0
#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "common/level_sync.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;

struct Twin {
  thalweg::LevelSync<bisim::Word<Parameters::Width>::Value> sync{Parameters::Stages, {2, 1}};
  thalweg::Tick cycle = 0;

  void outputs(const Inputs&, Outputs& out) const { out.level_o.set(sync.read(cycle)); }
  void step(const Inputs& in) { sync.write(2 * cycle++, in.level_i.get()); }  // between this edge and the last
};

class Stimulus {
 public:
  static constexpr unsigned kLanes = 1;

  explicit Stimulus(bisim::Dice run) : changes_(run.pick(1000, 500, 100, 20)) {}

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice dice = draws.lane(0);
    if (dice.chance(changes_)) blocks::fill(level_, dice);
    next.level_i = level_;
  }

 private:
  unsigned changes_;
  decltype(Inputs::level_i) level_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
