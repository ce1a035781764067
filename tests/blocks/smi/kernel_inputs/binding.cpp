// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "blocks/polled.hpp"
#include "blocks/smi/packets.hpp"
#include "smi/kernel_inputs.hpp"

namespace {

using thalweg::smi::KernelInputs;
using top::Inputs, top::Outputs, top::Parameters;
constexpr unsigned kInputs = Parameters::Inputs, kOutputs = Parameters::Outputs, kBytes = Parameters::PacketBytes;

struct Twin {
  KernelInputs inputs{
      {.inputs = kInputs, .outputs = kOutputs, .reads = Parameters::Reads, .circuits = Parameters::Circuits != 0}};

  void outputs(const Inputs&, Outputs& out) const {
    const auto& words = inputs.words();
    for (unsigned i = 0; i < kInputs; ++i) out.in_ready_o.set_bit(i, words.ready(i));
    const auto* front = words.front();
    out.out_valid_o.set(front != nullptr);
    if (!front) return;
    out.out_data_o.set(blocks::words_of<kBytes>(front->word));
    for (unsigned o = 0; o < kOutputs; ++o) out.out_to_o.set_bit(o, front->to == o);
    out.out_nowhere_o.set(front->to == kOutputs);
  }
  void step(const Inputs& in) {
    const bool goes = inputs.words().front() && in.out_goes_i.get();
    for (unsigned i = 0; i < kInputs; ++i) {
      const auto packet = blocks::packet_of<kBytes>(in.in_data_i.get(i));
      inputs.step(i, in.in_valid_i.bit(i) ? &packet : nullptr, static_cast<unsigned>(in.in_to_i.get(i)), goes);
    }
    inputs.words().turn(goes);
  }
};

/// Any outputs, and none, for packets and circuits.
class Stimulus {
 public:
  static constexpr unsigned kLanes = blocks::Polled<kInputs>::kLanes;

  explicit Stimulus(bisim::Dice run) : polled_(run) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    polled_.drive(seen, draws, next, [this](unsigned i, bisim::Dice& dice) {
      packets_[i] = arrivals_[i].next(dice, Parameters::Circuits != 0, [](blocks::Packet&) {});
      to_[i] = dice.below(kOutputs + 1);
    });
    for (unsigned i = 0; i < kInputs; ++i) {
      next.in_data_i.set(blocks::words_of<kBytes>(packets_[i]), i);
      next.in_to_i.set(to_[i], i);
    }
  }

 private:
  blocks::Polled<kInputs> polled_;
  std::array<blocks::Packet, kInputs> packets_{};
  std::array<unsigned, kInputs> to_{};
  std::array<blocks::Arrivals<kBytes>, kInputs> arrivals_{};
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
