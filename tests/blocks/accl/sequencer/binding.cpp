// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "accl/sequencer.hpp"
#include "bisim/bisim.hpp"

namespace {

using thalweg::accl::Register, thalweg::accl::Sequencer;
using top::Inputs, top::Outputs, top::Parameters;
namespace programs = thalweg::spec::programs;

struct Twin {
  Sequencer sequencer{Parameters::Calls};

  void outputs(const Inputs&, Outputs& out) const {
    out = {};
    out.load_ready_o.set(sequencer.ready());
    out.end_valid_o.set(sequencer.ends());
    out.end_call_o.set(sequencer.call());
    const Sequencer::Move* move = sequencer.move();
    out.move_valid_o.set(move != nullptr);
    if (!move) return;
    out.move_call_o.set(sequencer.call());
    out.move_data_o.set({.operation = static_cast<std::uint64_t>(move->operation),
                         .x = static_cast<std::uint64_t>(move->x),
                         .y = static_cast<std::uint64_t>(move->y),
                         .z = static_cast<std::uint64_t>(move->z),
                         .x_at = move->at[0],
                         .y_at = move->at[1],
                         .z_at = move->at[2],
                         .elements = move->elements,
                         .continues = move->continues});
  }
  void step(const Inputs& in) {
    Sequencer::In next{.move_ready = in.move_ready_i.get() != 0, .end_ready = in.end_ready_i.get() != 0};
    if (in.load_valid_i.get())
      next.load = {.call = static_cast<unsigned>(in.load_call_i.get()),
                   .to = static_cast<unsigned>(in.load_register_i.get()),
                   .data = in.load_data_i.get(),
                   .begins = in.load_begins_i.get() != 0,
                   .program = static_cast<std::uint16_t>(in.load_program_i.get())};
    if (in.ended_valid_i.get())
      next.ended = {.call = static_cast<unsigned>(in.ended_call_i.get()),
                    .background = in.ended_background_i.get() != 0,
                    .stops = in.ended_stops_i.get() != 0};
    sequencer.step(next);
  }
};

/// Calls whose moves end in any order. Lanes: loads, moves, their ends, ends of calls.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 4;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 300)),
        stall_(run.pick(0, 300, 900)),
        ends_(run.pick(1000, 100, 20)),
        together_(run.pick(0, 500)),
        stops_(run.pick(0, 0, 5, 100)),
        stall_end_(run.pick(0, 500)),
        wild_(run.pick(0, 0, 0, 50)),
        calls_(1 + run.below(Parameters::Calls)),
        sizes_(run.pick(4, 16, 300)),
        counts_(run.pick(8, 40, 2)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice loads = draws.lane(0), moves = draws.lane(1), ended = draws.lane(2), end = draws.lane(3);
    next.ended_valid_i.set(0);
    if (!under_way_.empty() && ended.chance(ends_)) {
      const auto which =
          under_way_.begin() + (ended.chance(together_) ? 0 : ended.below(static_cast<unsigned>(under_way_.size())));
      next.ended_valid_i.set(1);
      next.ended_call_i.set(which->call);
      next.ended_background_i.set(which->background);
      next.ended_stops_i.set(ended.chance(stops_));
      under_way_.erase(which);
    }
    const bool takes = !moves.chance(stall_);
    next.move_ready_i.set(takes);
    if (seen.move_valid_o.get() && takes)
      under_way_.push_back(
          {static_cast<unsigned>(seen.move_call_o.get()),
           seen.move_data_o.get().operation == static_cast<std::uint64_t>(programs::Operation::start)});
    const bool leaves = !end.chance(stall_end_);
    next.end_ready_i.set(leaves);

    if (!waiting_ && loads.chance(load_)) prepare(loads);
    next.load_valid_i.set(waiting_);
    next.load_call_i.set(call_);
    next.load_register_i.set(at_);
    next.load_data_i.set(registers_[at_]);
    next.load_begins_i.set(at_ + 1 == registers_.size());
    next.load_program_i.set(program_);
    if (waiting_ && seen.load_ready_o.get()) {
      waiting_ = false;
      if (++at_ == registers_.size()) {
        busy_[call_] = true;
        at_ = 0;
      }
    }
    if (seen.end_valid_o.get() && leaves) busy_[seen.end_call_o.get()] = false;
  }

 private:
  struct UnderWay {
    unsigned call;
    bool background;
  };

  void prepare(bisim::Dice& dice) {
    if (at_ == 0) {
      call_ = dice.below(calls_);
      if (busy_[call_]) return;
      draw(dice);
    }
    waiting_ = true;
  }
  /// Registers with which each program ends; sometimes arbitrary ones.
  void draw(bisim::Dice& dice) {
    constexpr std::uint64_t kAll = (std::uint64_t{1} << programs::kRegisterBits) - 1;
    program_ = programs::kBegin[dice.below(programs::kBegin.size())].second;
    for (auto& value : registers_) value = (dice.bits() & kAll) >> dice.below(programs::kRegisterBits);
    if (dice.chance(wild_)) return;
    const auto set = [&](Register name, std::uint64_t value) { registers_[static_cast<std::size_t>(name)] = value; };
    const unsigned size = 1 + dice.below(sizes_), rank = dice.below(size);
    const std::uint64_t count = dice.bits() & kAll >> (programs::kRegisterBits - counts_);
    set(Register::rank, rank);
    set(Register::size, size);
    set(Register::root, dice.below(size));
    set(Register::next, rank + 1 < size ? rank + 1 : 0);
    set(Register::prev, (rank > 0 ? rank : size) - 1);
    set(Register::count, count);
    set(Register::n, count);
    set(Register::most, std::max<std::uint64_t>(1, dice.pick(count, count / 3)));
    set(Register::flat, dice.pick(0, count + 1));
    set(Register::part, dice.chance(500) ? count : std::max<std::uint64_t>(1, count / (1 + dice.below(5))));
    if (dice.chance(500)) set(Register::spare, 0);
    for (const Register bytes : {Register::e0, Register::e1, Register::er}) set(bytes, dice.pick(1, 2, 4, 8));
    set(Register::left, 0);
  }

  unsigned load_, stall_, ends_, together_, stops_, stall_end_, wild_, calls_, sizes_, counts_;
  std::vector<UnderWay> under_way_;
  std::array<bool, Parameters::Calls> busy_{};
  std::array<std::uint64_t, programs::kRegisters> registers_{};
  unsigned call_ = 0, at_ = 0;
  std::uint16_t program_ = 0;
  bool waiting_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
