// SPDX-License-Identifier: Apache-2.0
#include "bisim/bisim.hpp"
#include "blocks/clocks.hpp"
#include "blocks/random_port.hpp"
#include "common/async_fifo.hpp"

namespace {

using bisim::Clocks, bisim::Instant, blocks::clock, blocks::cycle;
using top::Inputs, top::Outputs, top::Parameters;

constexpr unsigned kWriter = 0, kReader = 1;

struct Twin {
  thalweg::AsyncFifo<bisim::Word<Parameters::Width>::Value> fifo;

  explicit Twin(const Clocks& clocks)
      : fifo(Parameters::Depth, Parameters::Stages, clock(clocks, kWriter), clock(clocks, kReader)) {}

  void outputs(const Inputs&, const Instant& now, Outputs& out) const {
    out.wr_ready_o.set(fifo.ready(cycle(now, kWriter)));
    out.rd_valid_o.set(fifo.valid(cycle(now, kReader)));
    if (out.rd_valid_o.get()) out.rd_data_o.set(fifo.front());
  }
  void step(const Inputs& in, const Instant& now) {
    const auto writes = [&] {
      const auto at = cycle(now, kWriter);
      if (now.edge(kWriter) && in.wr_valid_i.get() && fifo.ready(at)) fifo.push(at, in.wr_data_i.get());
    };
    const auto reads = [&] {
      const auto at = cycle(now, kReader);
      if (now.edge(kReader) && in.rd_ready_i.get() && fifo.valid(at)) fifo.pop(at);
    };
    // In either order.
    if (cycle(now, kWriter) & 1) {
      writes();
      reads();
    } else {
      reads();
      writes();
    }
  }
};

/// A writer repeats its word until it is accepted.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 900, 500, 100, 20)), stall_(run.pick(0, 100, 500, 900, 980)) {}

  void drive(const Outputs& seen, const Instant& now, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice writer = draws.lane(kWriter), reader = draws.lane(kReader);
    if (now.edge(kWriter)) {
      if (!waiting_ && writer.chance(load_)) {
        waiting_ = true;
        blocks::fill(next.wr_data_i, writer);
      }
      next.wr_valid_i.set(waiting_);
      if (seen.wr_ready_o.get()) waiting_ = false;
    }
    if (now.edge(kReader)) next.rd_ready_i.set(!reader.chance(stall_));
  }

 private:
  unsigned load_, stall_;
  bool waiting_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
