// SPDX-License-Identifier: Apache-2.0
#include "blocks/handshake.hpp"
#include "common/ram_fifo.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;

struct Twin {
  thalweg::RamFifo<bisim::Word<Parameters::Width>::Value> fifo{Parameters::Depth};

  void outputs(const Inputs&, Outputs& out) const {
    out.in_ready_o.set(fifo.ready());
    out.out_valid_o.set(fifo.valid());
    if (fifo.valid()) out.out_data_o.set(fifo.front());
    out.count_o.set(fifo.size());
  }
  void step(const Inputs& in) {
    const auto word = in.in_data_i.get();
    fifo.step(in.in_valid_i.get() ? &word : nullptr, in.out_ready_i.get() != 0);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, blocks::Handshake>(argc, argv);
}
