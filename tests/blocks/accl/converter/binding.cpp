// SPDX-License-Identifier: Apache-2.0
#include "accl/converter.hpp"
#include "bisim/bisim.hpp"
#include "blocks/accl/floats.hpp"

namespace {

using thalweg::accl::Conversion, thalweg::accl::Converter;
using top::Inputs, top::Outputs, top::Parameters;

struct Twin {
  Converter converter{Parameters::Conversions != 0};

  void outputs(const Inputs&, Outputs& out) const {
    out.in_ready_o.set(converter.ready());
    out.out_valid_o.set(converter.valid());
    if (!converter.valid()) return;
    out.out_data_o.set(converter.front().data);
    out.out_last_o.set(converter.front().last);
  }
  void step(const Inputs& in) {
    const Converter::In word{.word = {.data = in.in_data_i.get(), .last = in.in_last_i.get() != 0},
                             .conversion = static_cast<Conversion>(in.in_conversion_i.get()),
                             .half = in.in_half_i.get() != 0};
    converter.step(in.in_valid_i.get() ? &word : nullptr, in.out_ready_i.get() != 0);
  }
};

/// Packets of one word or more, each with a conversion. Lanes: sender, receiver.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 900, 500, 50)), stall_(run.pick(0, 100, 500, 900)), ends_(run.pick(1000, 500, 100, 20)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice sender = draws.lane(0), receiver = draws.lane(1);
    next.out_ready_i.set(!receiver.chance(stall_));
    if (!waiting_ && sender.chance(load_)) {
      waiting_ = true;
      if (last_ && Parameters::Conversions != 0) conversion_ = sender.below(3);
      last_ = sender.chance(ends_);
      word_ = blocks::convertible_word(sender);
      half_ = sender.chance(500);
    }
    next.in_valid_i.set(waiting_);
    next.in_data_i.set(word_);
    next.in_last_i.set(last_);
    next.in_conversion_i.set(conversion_);
    next.in_half_i.set(half_);
    if (seen.in_ready_o.get()) waiting_ = false;
  }

 private:
  unsigned load_, stall_, ends_;
  bool waiting_ = false, last_ = true, half_ = false;
  unsigned conversion_ = 0;
  thalweg::Word<512> word_{};
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
