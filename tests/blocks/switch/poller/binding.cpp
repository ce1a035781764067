// SPDX-License-Identifier: Apache-2.0
#include "blocks/polled.hpp"
#include "switch/poller.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;
using Data = bisim::Word<Parameters::Width>::Value;
using Words = thalweg::Poller<Data>;

struct Twin {
  Words words{Parameters::Inputs, Parameters::Outputs, Parameters::Reads};

  void outputs(const Inputs&, Outputs& out) const {
    for (unsigned i = 0; i < Parameters::Inputs; ++i) out.in_ready_o.set_bit(i, words.ready(i));
    const auto* front = words.front();
    out.out_valid_o.set(front != nullptr);
    if (!front) return;
    out.out_data_o.set(front->word);
    out.out_to_o.set(front->to);
  }
  void step(const Inputs& in) {
    const bool goes = words.front() && in.out_goes_i.get();
    for (unsigned i = 0; i < Parameters::Inputs; ++i) {
      const Words::Offer offer{in.in_data_i.get(i), static_cast<unsigned>(in.in_to_i.get(i)),
                               !Parameters::Circuits || in.in_last_i.bit(i)};
      words.step(i, in.in_valid_i.bit(i) ? &offer : nullptr, goes);
    }
    words.turn(goes);
  }
};

class Stimulus : public blocks::Polled<Parameters::Inputs> {
 public:
  explicit Stimulus(bisim::Dice run) : Polled(run), ends_(run.pick(300, 1000, 50)) { last_.fill(true); }

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    next = kept_;
    Polled::drive(seen, draws, next, [&](unsigned i, bisim::Dice& dice) {
      bisim::Port<bisim::Word<Parameters::Width>> port;
      blocks::fill(port, dice);
      next.in_data_i.set(port.get(), i);
      // If words form messages, those of one message go to one output.
      if (!Parameters::Circuits || last_[i]) next.in_to_i.set(dice.below(Parameters::Outputs), i);
      last_[i] = dice.chance(ends_);
      next.in_last_i.set_bit(i, last_[i]);
    });
    kept_ = next;
  }

 private:
  unsigned ends_;
  std::array<bool, Parameters::Inputs> last_;
  Inputs kept_{};
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
