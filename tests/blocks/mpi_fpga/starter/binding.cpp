// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "mpi_fpga/starter.hpp"

namespace {

using thalweg::mpi_fpga::Starter;
using top::Inputs, top::Outputs, top::Parameters;

/// The simulator's starter knows the answer when it asks; here it gets it when the answer arrives.
class Twin {
 public:
  void outputs(const Inputs& in, Outputs& out) const {
    out.idle_o.set(starter_.idle(now_));
    out.request_valid_o.set(asks_.has_value());
    if (asks_) {
      out.request_operation_o.set(asks_->operation);
      out.request_along_tree_o.set(asks_->along_tree);
      out.request_process_o.set(asks_->process);
      out.request_step_o.set(asks_->step);
    }
    Starter starter = starter_;
    const auto next = look(starter, in);
    out.lookup_valid_o.set(next.has_value());
    if (next) out.lookup_operation_o.set(next->operation);
  }

  void step(const Inputs& in) {
    asks_ = look(starter_, in);
    ++now_;
    if (asks_ && asks_->along_tree) starter_.asked(1, 1, now_);
    if (asks_ && !asks_->along_tree)
      waits_since_ = now_;
    else if (in.answer_valid_i.get())
      waits_since_.reset();
  }

 private:
  /// The lookup in this cycle, which is asked in the next one.
  std::optional<Starter::Question> look(Starter& starter, const Inputs& in) const {
    const bool answered = waits_since_ && in.answer_valid_i.get();
    if (answered)
      starter.asked(static_cast<unsigned>(in.answer_processes_i.get()), static_cast<unsigned>(in.answer_steps_i.get()),
                    *waits_since_);
    if (in.add_valid_i.get())
      starter.add(static_cast<std::uint32_t>(in.add_operation_i.get()), in.add_along_tree_i.get() != 0, now_);
    if (in.busy_i.get()) starter.reserve(now_ + 1);
    if (waits_since_ && !answered) return std::nullopt;
    return starter.ask(now_ + 1);
  }

  Starter starter_;
  thalweg::Tick now_ = 0;
  std::optional<Starter::Question> asks_;     ///< in this cycle
  std::optional<thalweg::Tick> waits_since_;  ///< when the unanswered question was asked
};

/// Operations of random shape; running processes that also ask; answers three cycles after the question. Lanes:
/// operations, others.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run) : load_(run.pick(200, 50, 900)), busy_(run.pick(100, 0, 600)) {
    for (std::uint32_t i = 0; i < Parameters::Operations; ++i) free_.push_back(i);
  }

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice operations = draws.lane(0), others = draws.lane(1);
    next.busy_i.set(others.chance(busy_));
    next.arriving_i.set(asked_.back());
    std::ranges::rotate(asked_, asked_.end() - 1);
    asked_.front() = next.busy_i.get() != 0;
    std::ranges::rotate(answers_, answers_.begin() + 1);
    answers_.back().reset();
    if (seen.request_valid_o.get()) asked(seen);
    if (ended_) free_.push_back(*ended_);
    ended_.reset();
    if (answers_.front()) {
      ended_ = answers_.front()->ends;
      next.answer_valid_i.set(true);
      next.answer_processes_i.set(answers_.front()->processes);
      next.answer_steps_i.set(answers_.front()->steps);
    }
    if (!free_.empty() && operations.chance(load_)) {
      const std::uint32_t operation = free_.back();
      free_.pop_back();
      Shape& shape = shapes_[operation];
      shape.along_tree = operations.chance(500);
      shape.steps.assign(1 + operations.below(operations.chance(50) ? 32 : 4), 0);
      for (unsigned& steps : shape.steps) steps = 1 + operations.below(operations.chance(20) ? 64 : 4);
      next.add_valid_i.set(true);
      next.add_operation_i.set(operation);
      next.add_along_tree_i.set(shape.along_tree);
    }
  }

 private:
  struct Shape {
    bool along_tree = false;
    std::vector<unsigned> steps;  ///< of each process
  };
  struct Answer {
    unsigned processes, steps;
    std::optional<std::uint32_t> ends;  ///< the operation whose last process it is
  };

  void asked(const Outputs& seen) {
    const auto operation = static_cast<std::uint32_t>(seen.request_operation_o.get());
    const auto process = static_cast<unsigned>(seen.request_process_o.get());
    const Shape& shape = shapes_[operation];
    if (shape.along_tree) {
      if (process == 1) free_.push_back(operation);
      return;
    }
    if (process >= shape.steps.size()) return;  // the hardware is wrong: the comparison reports it
    const bool ends = process + 1 == shape.steps.size() && seen.request_step_o.get() + 1 == shape.steps[process];
    answers_.back() = {static_cast<unsigned>(shape.steps.size()), shape.steps[process],
                       ends ? std::optional(operation) : std::nullopt};
  }

  unsigned load_, busy_;
  std::vector<std::uint32_t> free_;
  std::array<Shape, Parameters::Operations> shapes_{};
  std::array<std::optional<Answer>, Starter::kAnswer + 1> answers_{};  ///< in the cycles from now on
  std::optional<std::uint32_t> ended_;                                 ///< in the cycle before
  std::array<bool, Starter::kAnswer> asked_{};                         ///< by running processes, in the cycles before
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
