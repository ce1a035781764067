// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>

#include "blocks/elements.hpp"
#include "peach2/calculator.hpp"

namespace {

using thalweg::peach2::Calculator;
using top::Inputs, top::Outputs, top::Parameters;

constexpr unsigned kWords = Parameters::Bytes / 8;

class Twin {
 public:
  void outputs(const Inputs&, Outputs& out) const {
    out.write_ready_o.set(calculator_.ready());
    for (unsigned i = 0; i < kWords; ++i) bisim::put_bits(out.read_data_o.words, 64 * i, 64, calculator_.data()[i]);
    out.done_valid_o.set(calculator_.done().has_value());
    if (calculator_.done()) out.done_context_o.set(*calculator_.done());
    out.stray_o.set(calculator_.stray());
  }
  void step(const Inputs& in) {
    std::optional<std::pair<unsigned, Calculator::Setup>> setup;
    if (in.setup_valid_i.get())
      setup = {static_cast<unsigned>(in.setup_context_i.get()),
               {static_cast<std::uint32_t>(in.setup_beats_i.get()),
                static_cast<thalweg::spec::Operator>(in.setup_operation_i.get()),
                static_cast<thalweg::spec::Datatype>(in.setup_datatype_i.get()),
                static_cast<unsigned>(in.setup_record_i.get()), in.setup_tree_i.get() != 0}};
    Calculator::Beat beat{
        static_cast<unsigned>(in.write_context_i.get()), static_cast<unsigned>(in.write_place_i.get()), {}};
    for (unsigned i = 0; i < kWords; ++i) beat.data[i] = bisim::get_bits(in.write_data_i.words, 64 * i, 64);
    calculator_.step(setup, in.write_valid_i.get() ? &beat : nullptr, static_cast<unsigned>(in.read_context_i.get()),
                     static_cast<unsigned>(in.read_beat_i.get()), in.kept_i.get());
  }

 private:
  Calculator calculator_{{.bytes = Parameters::Bytes,
                          .contexts = Parameters::Contexts,
                          .sums = Parameters::Sums,
                          .latency = Parameters::Latency,
                          .records = Parameters::Records}};
};

/// Reductions of contexts, one after the other or interleaved, their beats in order or not; setups in between; results
/// that are kept for a while. Lanes: setups, beats, reads.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 900, 300)),
        stay_(run.pick(990, 500)),
        order_(run.pick(1000, 700)),
        setups_(run.pick(3, 20)),
        keeps_(run.pick(0, 500, 1000)),
        releases_(run.pick(20, 3)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice setups = draws.lane(0), beats = draws.lane(1), reads = draws.lane(2);
    if (setups_done_ < Parameters::Contexts || setups.chance(setups_)) set(setups, next);
    if (!waiting_ && beats.chance(load_)) {
      waiting_ = true;
      if (!beats.chance(stay_)) context_ = beats.below(Parameters::Contexts);
      const unsigned place =
          beats.chance(order_) ? number_[context_] % Parameters::Sums : beats.below(Parameters::Sums);
      ++number_[context_];
      beat_.write_context_i.set(context_);
      beat_.write_place_i.set(place);
      for (unsigned i = 0; i < kWords; ++i)
        bisim::put_bits(beat_.write_data_i.words, 64 * i, 64, blocks::element(beats));
    }
    next.write_valid_i.set(waiting_);
    next.write_context_i = beat_.write_context_i;
    next.write_place_i = beat_.write_place_i;
    next.write_data_i = beat_.write_data_i;
    if (seen.write_ready_o.get()) waiting_ = false;
    next.read_context_i.set(reads.below(Parameters::Contexts));
    next.read_beat_i.set(reads.below(Parameters::Records));
    for (unsigned c = 0; c < Parameters::Contexts; ++c)
      if (kept_ >> c & 1 && reads.chance(releases_)) kept_ &= ~(1U << c);
    if (seen.done_valid_o.get() && reads.chance(keeps_)) kept_ |= 1U << seen.done_context_o.get();
    next.kept_i.set(kept_);
  }

 private:
  void set(bisim::Dice& dice, Inputs& next) {
    const unsigned context = setups_done_ < Parameters::Contexts ? setups_done_++ : dice.below(Parameters::Contexts);
    const blocks::Pair pair = pairs_[dice.below(static_cast<unsigned>(pairs_.size()))];
    const unsigned record = dice.below(std::bit_width(Parameters::Records));
    next.setup_valid_i.set(true);
    next.setup_context_i.set(context);
    next.setup_beats_i.set(dice.chance(50) ? 0 : dice.chance(500) ? 1 + dice.below(12) : 1 + dice.below(200));
    next.setup_operation_i.set(static_cast<std::uint64_t>(pair.op));
    next.setup_datatype_i.set(static_cast<std::uint64_t>(pair.type));
    next.setup_record_i.set(record);
    next.setup_tree_i.set(dice.chance(300));
  }

  unsigned load_, stay_, order_, setups_, keeps_, releases_;
  unsigned kept_ = 0;
  std::vector<blocks::Pair> pairs_ = blocks::built();
  unsigned setups_done_ = 0, context_ = 0;
  std::array<unsigned, Parameters::Contexts> number_{};
  bool waiting_ = false;
  Inputs beat_{};
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
