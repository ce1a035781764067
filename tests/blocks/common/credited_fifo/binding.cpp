// SPDX-License-Identifier: Apache-2.0
#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "common/credited_fifo.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;

struct Twin {
  thalweg::CreditedFifo<bisim::Word<Parameters::Width>::Value> fifo{Parameters::Depth};

  void outputs(const Inputs&, Outputs& out) const {
    out.room_o.set(fifo.room());
    out.out_valid_o.set(fifo.valid());
    if (fifo.valid()) out.out_data_o.set(fifo.front());
  }
  void step(const Inputs& in) {
    const auto word = in.in_data_i.get();
    fifo.step(in.take_i.get() != 0, in.in_valid_i.get() ? &word : nullptr, in.out_ready_i.get() != 0);
  }
};

/// Entries are reserved for words that arrive in any later cycle. Lanes: reservations, the pipeline, the reader.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 900, 500, 50)), pace_(run.pick(1000, 900, 500, 50)), stall_(run.pick(0, 100, 500, 900)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice taker = draws.lane(0), pipeline = draws.lane(1), reader = draws.lane(2);
    const bool takes = seen.room_o.get() && taker.chance(load_);
    under_way_ += takes;
    const bool comes = under_way_ > 0 && pipeline.chance(pace_);
    under_way_ -= comes;
    next.take_i.set(takes);
    next.in_valid_i.set(comes);
    blocks::fill(next.in_data_i, pipeline);
    next.out_ready_i.set(!reader.chance(stall_));
  }

 private:
  unsigned load_, pace_, stall_;
  unsigned under_way_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
