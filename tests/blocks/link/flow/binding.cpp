// SPDX-License-Identifier: Apache-2.0
#include "bisim/bisim.hpp"
#include "link/flow.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;

constexpr auto kFlow = Parameters::Credits ? thalweg::FlowControl::credits : thalweg::FlowControl::margin;

struct Twin {
  thalweg::FlowSender sender{kFlow, Parameters::PeerDepth};
  thalweg::FlowReceiver receiver{kFlow, Parameters::Depth, Parameters::MarginFlits};
  bool back_in = false, back_out = false;

  void outputs(const Inputs&, Outputs& out) const {
    out.ready_o.set(sender.ready());
    out.back_o.set(back_out);
  }

  // The twin handles events: a credit is one, and so is a change of the stop level.
  void step(const Inputs& in) {
    const bool back = in.back_i.get() != 0, pop = in.pop_i.get() != 0;
    if (in.send_i.get()) sender.send();
    if (Parameters::Credits ? back : back != back_in) sender.event();
    back_in = back;
    if (pop) receiver.pop();
    if (in.push_i.get()) receiver.push();
    const bool event = receiver.update(pop);
    back_out = Parameters::Credits ? event : back_out != event;
  }
};

/// The sender sends when it may; the other side returns the credits it received. The buffer is filled up to its depth
/// regardless of back_o: the block only counts.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 4;

  explicit Stimulus(bisim::Dice run)
      : send_(run.pick(1000, 500, 50)),
        back_(run.pick(500, 1000, 50)),
        push_(run.pick(500, 1000, 50)),
        pop_(run.pick(500, 1000, 50)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    const bool send = seen.ready_o.get() && draws.lane(0).chance(send_);
    const bool back = (!Parameters::Credits || sent_ > 0) && draws.lane(1).chance(back_);
    const bool push = held_ < Parameters::Depth && draws.lane(2).chance(push_);
    const bool pop = held_ > 0 && draws.lane(3).chance(pop_);
    sent_ += send - back;
    held_ += push - pop;
    next.send_i.set(send);
    next.back_i.set(back);
    next.push_i.set(push);
    next.pop_i.set(pop);
  }

 private:
  unsigned send_, back_, push_, pop_;
  int sent_ = 0;
  unsigned held_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
