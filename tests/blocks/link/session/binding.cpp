// SPDX-License-Identifier: Apache-2.0
#include "bisim/bisim.hpp"
#include "blocks/link/faulty_wire.hpp"
#include "blocks/link/session_port.hpp"
#include "link/session.hpp"

namespace {

using blocks::Fault, blocks::FaultyWire, blocks::get_session, blocks::put_session;
using thalweg::Session, thalweg::SessionFields;
using top::Inputs, top::Outputs;

struct Twin {
  Session session;

  void reset() { session.reset(); }
  void outputs(const Inputs& in, Outputs& out) const {
    put_session(out.session_o, session.fields());
    out.current_o.set(in.peer_valid_i.get() && session.current(get_session(in.peer_i), in.hold_i.get()));
    out.flush_o.set(session.flush());
    out.lost_o.set(session.lost());
  }
  void step(const Inputs& in) {
    const SessionFields peer = get_session(in.peer_i);
    session.step(in.peer_valid_i.get() ? &peer : nullptr, in.hold_i.get());
  }
};

/// Another end, which sometimes restarts, over a wire that loses, repeats and pauses; in some runs frames are forged.
/// Lanes: hold, the wire to the other end, the wire to this end, restarts, forgery.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 5;

  explicit Stimulus(bisim::Dice run)
      : hold_(run.pick(0, 0, 100, 900)),
        fault_(run.pick(0, 100, 700)),
        restart_(run.pick(0, 5, 50, 300)),
        forge_(run.pick(0, 0, 300)),
        there_(1 + run.below(5)),
        here_(1 + run.below(5)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    next.hold_i.set(draws.lane(0).chance(hold_));
    const auto arrived = there_.step(get_session(seen.session_o), fault(draws.lane(1)));
    auto came = here_.step(peer_.fields(), fault(draws.lane(2)));
    if (draws.lane(3).chance(restart_)) {
      peer_.reset();
    } else {
      peer_.step(arrived ? &*arrived : nullptr, false);
    }
    bisim::Dice forgery = draws.lane(4);
    if (forgery.chance(forge_)) came = SessionFields::of(forgery.below(1u << SessionFields::kBits));
    if (!came) return;
    next.peer_valid_i.set(true);
    put_session(next.peer_i, *came);
  }

 private:
  [[nodiscard]] Fault fault(bisim::Dice dice) const {
    constexpr Fault kFaults[] = {Fault::loss, Fault::repetition, Fault::pause};
    return dice.chance(fault_) ? kFaults[dice.below(3)] : Fault::none;
  }

  unsigned hold_, fault_, restart_, forge_;
  Session peer_;
  FaultyWire<SessionFields> there_, here_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
