// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <vector>

#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "mpi_fpga/steps.hpp"

namespace {

using thalweg::mpi_fpga::Steps, thalweg::Tick;
using top::Inputs, top::Outputs, top::Parameters;
using Value = bisim::Word<Parameters::Width>::Value;

constexpr unsigned kProcesses = Parameters::Processes;

class Twin {
 public:
  void outputs(const Inputs&, Outputs& out) const {
    out.at_valid_o.set(valid_);
    out.at_entry_o.set(steps_.place(asked_));
    out.step_valid_o.set(valid_ && steps_.known(asked_, now_));
    out.step_data_o.set(words_[asked_][steps_.place(asked_)]);
  }

  void step(const Inputs& in) {
    if (in.leave_i.get()) steps_.advance(asked_);
    if (in.arriving_valid_i.get()) {
      const auto process = static_cast<std::uint32_t>(in.arriving_process_i.get());
      const unsigned place = in.arriving_start_i.get() ? 0 : static_cast<unsigned>(in.arriving_entry_i.get());
      words_[process][place] = in.arriving_step_i.get();
      if (in.arriving_start_i.get())
        steps_.start(process, now_);
      else
        steps_.keep(process, place, now_);
    }
    asked_ = static_cast<std::uint32_t>(in.request_process_i.get());
    valid_ = in.request_valid_i.get() != 0;
    ++now_;
  }

 private:
  Steps steps_;
  std::vector<std::array<Value, 2>> words_ = std::vector<std::array<Value, 2>>(kProcesses);
  std::uint32_t asked_ = 0;
  bool valid_ = false;
  Tick now_ = 1;
};

/// Processes that begin, proceed when their step is available, and get the next one at any later time. Lanes: steps,
/// attempts.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run) : come_(run.pick(500, 100, 1000)), leave_(run.pick(700, 200)) {}

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice steps = draws.lane(0), tries = draws.lane(1);
    bool left = false;
    if (asked_) {
      Process& process = processes_[tried_];
      left = known_ && tries.chance(leave_);
      next.leave_i.set(left);
      if (left) {
        process.there[process.place] = false;
        process.place = 1 - process.place;
      }
    }
    const unsigned to = steps.below(kUsed);
    Process& process = processes_[to];
    const unsigned other = 1 - process.place;
    if (steps.chance(come_) && !(left && to == tried_)) {
      const bool starts = !process.running || (steps.chance(50) && !(asked_ && to == tried_));
      const unsigned place = starts ? 0 : process.there[process.place] ? other : process.place;
      if (starts || !process.there[place]) {
        if (starts) process = {.running = true, .place = 0, .there = {}};
        process.there[place] = true;
        next.arriving_valid_i.set(true);
        next.arriving_start_i.set(starts);
        next.arriving_process_i.set(to);
        next.arriving_entry_i.set(starts ? steps.below(2) : place);
        blocks::fill(next.arriving_step_i, steps);
      }
    }
    tried_ = tries.chance(300) ? to : tries.below(kUsed);
    asked_ = processes_[tried_].running;
    known_ = processes_[tried_].there[processes_[tried_].place];
    next.request_valid_i.set(asked_);
    next.request_process_i.set(tried_);
  }

 private:
  static constexpr unsigned kUsed = std::min(kProcesses, 5U);
  struct Process {
    bool running = false;
    unsigned place = 0;
    std::array<bool, 2> there{};
  };

  unsigned come_, leave_;
  std::array<Process, kUsed> processes_{};
  unsigned tried_ = 0;
  bool asked_ = false, known_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
