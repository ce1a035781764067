// SPDX-License-Identifier: Apache-2.0
#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "ethernet/frame_fifo.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;

struct Twin {
  thalweg::ethernet::FrameFifo<bisim::Word<Parameters::Width>::Value> fifo{Parameters::Depth, Parameters::Room};

  void outputs(const Inputs&, Outputs& out) const {
    out = {};
    out.room_o.set(fifo.room());
    out.out_valid_o.set(fifo.valid());
    if (fifo.valid()) out.out_data_o.set(fifo.front());
  }
  void step(const Inputs& in) {
    const auto word = in.in_data_i.get();
    fifo.step(in.in_valid_i.get() ? &word : nullptr, in.in_commit_i.get() != 0, in.in_drop_i.get() != 0,
              in.out_ready_i.get() != 0);
  }
};

/// Bursts of up to Room words if there is room, each of frames that are committed or dropped with a word or later.
/// Lanes: writer, reader.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 500, 50)),
        stall_(run.pick(0, 100, 500, 900)),
        ends_(run.pick(300, 50, 1000)),
        drops_(run.pick(0, 200, 900)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice writer = draws.lane(0), reader = draws.lane(1);
    next.out_ready_i.set(!reader.chance(stall_));
    if (seen.room_o.get()) left_ = Parameters::Room;
    blocks::fill(next.in_data_i, writer);
    const bool writes = left_ > 0 && writer.chance(load_);
    next.in_valid_i.set(writes);
    left_ -= writes;
    // A frame that fills the whole FIFO would never leave.
    if (!writer.chance(left_ == 0 ? 500 : ends_)) return;
    if (writer.chance(drops_))
      next.in_drop_i.set(true);
    else
      next.in_commit_i.set(true);
  }

 private:
  unsigned load_, stall_, ends_, drops_;
  unsigned left_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
