// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "switch/stream_switch.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;
using Data = bisim::Word<Parameters::Width>::Value;

constexpr unsigned kInputs = Parameters::Inputs, kOutputs = Parameters::Outputs;

struct Flit {
  Data data;
  bool last;
};
using Switch = thalweg::StreamSwitch<Flit, kInputs, kOutputs>;

struct Twin {
  Switch packets;

  void outputs(const Inputs&, Outputs& out) const {
    for (unsigned i = 0; i < kInputs; ++i) out.in_ready_o.set_bit(i, packets.ready(i));
    for (unsigned o = 0; o < kOutputs; ++o) {
      out.out_valid_o.set_bit(o, packets.valid(o));
      if (!packets.valid(o)) continue;
      out.out_data_o.set(packets.front(o).data, o);
      out.out_last_o.set_bit(o, packets.front(o).last);
    }
  }
  void step(const Inputs& in) {
    std::array<Flit, kInputs> words;
    std::array<Switch::Offer, kInputs> offers;
    for (unsigned i = 0; i < kInputs; ++i) {
      words[i] = {in.in_data_i.get(i), in.in_last_i.bit(i)};
      if (in.in_valid_i.bit(i)) offers[i] = {&words[i], static_cast<unsigned>(in.in_to_i.get(i))};
    }
    packets.step(offers, static_cast<std::uint32_t>(in.out_ready_i.get()));
  }
};

/// Packets of any length, with pauses. Lanes: each input, each output.
class Stimulus {
 public:
  static constexpr unsigned kLanes = kInputs + kOutputs;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 900, 300, 20)), more_(run.pick(850, 500, 0)), stall_(run.pick(0, 100, 500, 950)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    next = kept_;
    for (unsigned i = 0; i < kInputs; ++i) {
      bisim::Dice dice = draws.lane(i);
      if (!shown_[i]) {
        shown_[i] = dice.chance(load_);
        next.in_valid_i.set_bit(i, shown_[i]);
        next.in_data_i.set(data(dice), i);
        if (!within_[i]) next.in_to_i.set(dice.below(kOutputs), i);
        next.in_last_i.set_bit(i, !dice.chance(more_));
      }
      if (!shown_[i] || !seen.in_ready_o.bit(i)) continue;
      shown_[i] = false;
      within_[i] = !next.in_last_i.bit(i);
    }
    for (unsigned o = 0; o < kOutputs; ++o) next.out_ready_i.set_bit(o, !draws.lane(kInputs + o).chance(stall_));
    kept_ = next;
  }

 private:
  static Data data(bisim::Dice& dice) {
    bisim::Port<bisim::Word<Parameters::Width>> port;
    blocks::fill(port, dice);
    return port.get();
  }

  unsigned load_, more_, stall_;
  std::array<bool, kInputs> shown_{}, within_{};
  Inputs kept_{};
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
