// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <optional>

#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "mpi_fpga/progress.hpp"

namespace {

using thalweg::mpi_fpga::PacketLengths, thalweg::mpi_fpga::Process, thalweg::mpi_fpga::Progress,
    thalweg::mpi_fpga::Turns;
using top::Inputs, top::Outputs, top::Parameters;

/// Processes that the stimulus uses.
constexpr unsigned kProcesses = std::min<unsigned>(Parameters::Processes, 24);

unsigned log2_of(unsigned flits) {
  return static_cast<unsigned>(std::countr_zero(flits));
}

std::uint64_t packets_of(std::uint64_t given) {
  return given ? given : Progress::kAll;
}

class Twin {
 public:
  void outputs(const Inputs& in, Outputs& out) const {
    out.at_valid_o.set(valid_);
    const Progress& at = processes_[asked_];
    out.at_step_o.set(at.step());
    out.at_round_o.set(at.round());
    out.at_stream_o.set(at.stream());
    out.at_descriptor_o.set(at.descriptor());
    const Progress::Part part = at.part(in.alone_i.get() != 0);
    out.at_size_o.set(log2_of(part.flits));
    out.at_elements_o.set(part.elements);
    out.at_first_o.set(part.first);
    out.at_last_o.set(part.last);
    Progress copy = at;
    const Progress::Next next = go(copy, in);
    out.at_next_step_o.set(next == Progress::Next::other_step);
    out.at_over_o.set(next == Progress::Next::over);
  }

  void step(const Inputs& in) {
    if (in.describe_i.get()) {
      const PacketLengths lengths{.element_bytes = std::size_t{1} << in.count_size_i.get(),
                                  .shortest = 1U << in.shortest_i.get(),
                                  .longest = 1U << in.longest_i.get(),
                                  .ring = in.ring_i.get() != 0,
                                  .together = static_cast<std::uint32_t>(in.together_i.get())};
      processes_[went_].describe(in.count_i.get(), lengths.of(in.count_i.get()));
    }
    went_ = asked_;
    if (in.go_i.get()) go(processes_[asked_], in);
    if (in.start_valid_i.get()) {
      processes_[in.start_process_i.get()] = {};
    }
    asked_ = in.request_process_i.get();
    valid_ = in.request_valid_i.get() != 0;
  }

 private:
  static Progress::Next go(Progress& progress, const Inputs& in) {
    return progress.advance(
        {.steps = static_cast<std::uint8_t>(in.steps_i.get()), .rounds = static_cast<std::uint32_t>(in.rounds_i.get())},
        static_cast<std::uint32_t>(in.streams_i.get()), packets_of(in.packets_i.get()),
        progress.part(in.alone_i.get() != 0).last);
  }

  std::array<Progress, Parameters::Processes> processes_{};
  bool valid_ = false;
  std::uint64_t asked_ = 0, went_ = 0;
};

/// Processes of random shape, each tried as often as permitted; attempts succeed or fail. Lanes: shapes, attempts,
/// counts.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3;

  explicit Stimulus(bisim::Dice run)
      : goes_(run.pick(900, 1000, 300)), long_(run.pick(0, 200)), together_(run.pick(1, 64, 60000)) {
    for (unsigned i = 0; i < kProcesses; ++i) numbers_[i] = i * (Parameters::Processes / kProcesses);
  }

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice shapes = draws.lane(0), tries = draws.lane(1), counts = draws.lane(2);
    if (went_) describe(*went_, next, counts);
    went_.reset();
    if (asked_) attempt(*asked_, next, tries);
    asked_.reset();
    const unsigned i = tries.below(kProcesses);
    const bool busy = i == tried_[0] || i == tried_[1];
    tried_[1] = tried_[0];
    tried_[0] = kProcesses;
    if (busy) return;
    tried_[0] = i;
    if (!shapes_[i].running) start(i, next, shapes);
    asked_ = i;
    next.request_valid_i.set(true);
    next.request_process_i.set(numbers_[i]);
  }

 private:
  struct Shape {
    bool running = false, alone = false;
    Process process;
    std::array<std::uint32_t, 3> streams{};
    std::uint64_t packets = 0, count = 0;
    unsigned size = 0;
    PacketLengths lengths;
    Progress progress;
  };

  void start(unsigned i, Inputs& next, bisim::Dice& dice) {
    next.start_valid_i.set(true);
    next.start_process_i.set(numbers_[i]);
    Shape& shape = shapes_[i];
    shape = {};
    shape.running = true;
    shape.alone = dice.chance(50);
    shape.process.steps = static_cast<std::uint8_t>(1 + dice.below(3));
    shape.packets = dice.chance(500) ? 0 : dice.chance(300) ? 1 : 2 + dice.below(5);
    if (shape.packets > 0) shape.process.rounds = 1 + dice.below(3);
    for (auto& streams : shape.streams) streams = 1 + dice.below(3);
    shape.size = dice.below(5);
    const unsigned shortest = dice.below(6), longest = shortest + dice.below(7 - shortest);
    shape.lengths = {.element_bytes = std::size_t{1} << shape.size,
                     .shortest = 1U << shortest,
                     .longest = 1U << longest,
                     .ring = dice.chance(300),
                     .together = 1 + dice.below(together_)};
    shape.count = a_count(dice);
  }

  std::uint64_t a_count(bisim::Dice& dice) const {
    if (dice.chance(long_)) return std::uint64_t{dice.bits()} << dice.below(16);
    return dice.below(1U << dice.below(13));
  }

  void attempt(unsigned i, Inputs& next, bisim::Dice& dice) {
    Shape& shape = shapes_[i];
    next.size_i.set(shape.size);
    next.alone_i.set(shape.alone);
    if (!dice.chance(goes_)) return;
    const std::uint32_t streams = shape.streams[shape.progress.step()];
    next.go_i.set(true);
    next.steps_i.set(shape.process.steps);
    next.rounds_i.set(shape.process.rounds);
    next.streams_i.set(streams);
    next.packets_i.set(shape.packets);
    const bool descriptor = shape.progress.descriptor();
    if (descriptor) went_ = i;
    const bool last = shape.progress.part(shape.alone).last;
    if (descriptor && shape.packets == 0) shape.count = shape.alone ? 0 : shape.count + dice.below(9);
    shape.progress.describe(shape.count, shape.lengths.of(shape.count));
    const auto ended = shape.progress.advance(shape.process, streams, packets_of(shape.packets), last);
    if (ended == Progress::Next::over || dice.chance(2)) shape.running = false;  // or it is stopped
  }

  void describe(unsigned i, Inputs& next, bisim::Dice&) {
    const Shape& shape = shapes_[i];
    next.describe_i.set(true);
    next.count_i.set(shape.count);
    next.count_size_i.set(shape.size);
    next.shortest_i.set(log2_of(shape.lengths.shortest));
    next.longest_i.set(log2_of(shape.lengths.longest));
    next.ring_i.set(shape.lengths.ring);
    next.together_i.set(shape.lengths.together);
  }

  unsigned goes_, long_, together_;
  std::array<unsigned, kProcesses> numbers_{};
  std::array<Shape, kProcesses> shapes_{};
  std::optional<unsigned> asked_, went_;
  std::array<unsigned, 2> tried_{kProcesses, kProcesses};
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
