// SPDX-License-Identifier: Apache-2.0
#include "blocks/handshake.hpp"
#include "smi/message_fifo.hpp"

namespace {

using top::Inputs, top::Outputs;
using Data = bisim::Word<top::Parameters::Width>::Value;

struct Twin {
  thalweg::smi::MessageFifo<Data> fifo{top::Parameters::Depth};

  void outputs(const Inputs&, Outputs& out) const {
    out.in_ready_o.set(fifo.ready());
    out.out_valid_o.set(fifo.valid());
    if (fifo.valid()) out.out_data_o.set(fifo.front());
  }
  void step(const Inputs& in) {
    const Data word = in.in_data_i.get();
    fifo.step(in.in_valid_i.get() ? &word : nullptr, in.in_last_i.get() != 0, in.out_ready_i.get() != 0);
  }
};

/// A word's lowest bits determine whether it is the last one.
class Stimulus : public blocks::Handshake {
 public:
  explicit Stimulus(bisim::Dice run) : Handshake(run), not_last_(run.pick(3, 0, 15)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    Handshake::drive(seen, draws, next);
    next.in_last_i.set((next.in_data_i.get() & not_last_) == 0);
  }

 private:
  unsigned not_last_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
