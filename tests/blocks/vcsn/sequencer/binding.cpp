// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>
#include <vector>

#include "bisim/bisim.hpp"
#include "vcsn/sequencer.hpp"

namespace {

using thalweg::Tick;
using top::Inputs, top::Outputs, top::Parameters;
namespace vcsn = thalweg::vcsn;
using Kind = vcsn::commands::Kind;

struct Twin {
  struct State {
    thalweg::Domains domains;
    vcsn::Sequencer sequencer{domains.add({1, 0})};
    bool ready = false;
    Tick ended = -1;
  };
  std::unique_ptr<State> state = std::make_unique<State>();
  std::vector<vcsn::Instruction> loaded;
  Tick now = 0;

  Twin() {
    state->sequencer.offer = [of = state.get()](Tick, const vcsn::Command&) { return of->ready; };
    state->sequencer.offered = state->sequencer.freed = [] {};
    state->sequencer.ended = [of = state.get()](Tick cycle) { of->ended = cycle; };
  }

  void outputs(const Inputs&, Outputs& out) const {
    const vcsn::Sequencer& of = state->sequencer;
    out = {};
    if (const vcsn::Command* command = of.gives(now)) {
      out.command_valid_o.set(true);
      out.command_data_o.set({.kind = command->word.high >> 56,
                              .place = command->word.high >> 48 & 0xFF,
                              .body = {command->word.low, command->word.high & 0xFFFF'FFFF'FFFF}});
    }
    out.out_valid_o.set(of.offers() <= now);
    out.in_ready_o.set(of.accepts() <= now);
    out.ended_o.set(state->ended == now);
  }
  void step(const Inputs& in) {
    vcsn::Sequencer& of = state->sequencer;
    for (unsigned engine = 0; engine < Parameters::Dmas; ++engine)
      if ((of.waits_for(Kind::read, engine) && in.read_ended_i.bit(engine)) ||
          (of.waits_for(Kind::write, engine) && in.write_ended_i.bit(engine)))
        of.complete(now);
    if (of.offers() <= now && in.out_ready_i.get()) of.take(now);
    if (of.accepts() <= now && in.in_valid_i.get()) of.put(now, {});
    state->ready = in.command_ready_i.get();
    of.step(now);
    if (in.program_valid_i.get()) load(in);
    ++now;
  }

 private:
  void load(const Inputs& in) {
    const auto data = in.program_data_i.get();
    const auto kind = static_cast<Kind>(data.kind);
    vcsn::Instruction next{
        .command = {.word = vcsn::commands::word(kind, static_cast<unsigned>(data.place), data.body[0], data.body[1])}};
    next.ends_transfer = (kind == Kind::read || kind == Kind::write) && (data.body[0] >> 8 & 1) != 0;
    loaded.push_back(std::move(next));
    if (kind != Kind::finish) return;
    state->sequencer.load(std::exchange(loaded, {}));
    state->sequencer.begin(now);
  }
};

/// Programs of any commands, one after another. Lanes: programs, the events for which they wait.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 300, 30)),
        longest_(run.pick(1, 5, Parameters::Words - 1)),
        ready_(run.pick(1000, 500, 50)),
        ends_(run.pick(1000, 300, 50)),
        one_kind_(run.pick(0, 0, 900)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice dice = draws.lane(0), others = draws.lane(1);
    next.command_ready_i.set(others.chance(ready_));
    next.out_ready_i.set(others.chance(ready_));
    next.in_valid_i.set(others.chance(ready_));
    for (unsigned engine = 0; engine < Parameters::Dmas; ++engine) {
      next.read_ended_i.set_bit(engine, others.chance(ends_));
      next.write_ended_i.set_bit(engine, others.chance(ends_));
    }
    if (seen.ended_o.get()) runs_ = false;
    if (runs_ || !dice.chance(load_)) return;
    if (left_ == 0) {
      left_ = 2 + dice.below(longest_);
      kind_ = dice.below(12);
    }
    --left_;
    const Kind kind = left_ == 0               ? Kind::finish
                      : dice.chance(one_kind_) ? static_cast<Kind>(kind_)
                                               : static_cast<Kind>(dice.below(12));
    const bool engine = kind == Kind::read || kind == Kind::write;
    next.program_valid_i.set(true);
    next.program_data_i.set({.kind = static_cast<std::uint64_t>(kind),
                             .place = engine ? dice.below(Parameters::Dmas) : dice.below(256),
                             .body = {std::uint64_t{dice.bits()} << 32 | dice.bits(), dice.bits()}});
    runs_ = left_ == 0;
  }

 private:
  unsigned load_, longest_, ready_, ends_, one_kind_;
  unsigned left_ = 0, kind_ = 0;
  bool runs_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
