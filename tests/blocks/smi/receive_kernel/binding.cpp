// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <optional>

#include "bisim/bisim.hpp"
#include "blocks/smi/packets.hpp"
#include "smi/receive_kernel.hpp"

namespace {

using thalweg::smi::ReceiveKernel;
using top::Inputs, top::Outputs, top::Parameters;
constexpr unsigned kInputs = Parameters::Inputs, kOutputs = Parameters::Outputs, kBytes = Parameters::PacketBytes;
constexpr unsigned kRank = 0xA5;

struct Twin {
  ReceiveKernel kernel{
      kRank,
      {.inputs = kInputs, .outputs = kOutputs, .reads = Parameters::Reads, .circuits = Parameters::Circuits != 0}};

  void outputs(const Inputs&, Outputs& out) const {
    const auto& words = kernel.words();
    for (unsigned i = 0; i < kInputs; ++i) out.in_ready_o.set_bit(i, words.ready(i));
    const auto* front = words.front();
    out.out_valid_o.set(front != nullptr);
    out.dropped_o.set(front && front->to >= kOutputs);
    if (!front) return;
    out.out_data_o.set(blocks::words_of<kBytes>(front->word));
    for (unsigned o = 0; o < kOutputs; ++o) out.out_to_o.set_bit(o, front->to == o);
  }
  void step(const Inputs& in) {
    auto& words = kernel.words();
    const auto* front = words.front();
    const bool goes = front && (front->to >= kOutputs || in.out_ready_i.bit(front->to));
    for (unsigned i = 0; i < kInputs; ++i) {
      const auto packet = blocks::packet_of<kBytes>(in.in_data_i.get(i));
      kernel.step(i, in.in_valid_i.bit(i) ? &packet : nullptr, goes);
    }
    words.turn(goes);
    if (in.table_valid_i.get())
      kernel.load(static_cast<unsigned>(in.table_index_i.get()), static_cast<unsigned>(in.table_data_i.get()));
  }
};

/// Packets for this rank and for others. Lanes: each input, the outputs' room, the table.
class Stimulus {
 public:
  static constexpr unsigned kLanes = kInputs + 2;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 700, 200, 20)), stall_(run.pick(0, 100, 500, 950)), own_(run.pick(800, 300, 1000)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice room = draws.lane(kInputs), table = draws.lane(kInputs + 1);
    next.rank_i.set(kRank);
    for (unsigned i = 0; i < kInputs; ++i) {
      bisim::Dice dice = draws.lane(i);
      if (!shown_[i] && table_.done() && dice.chance(load_)) {
        shown_[i] = true;
        packets_[i] = arrivals_[i].next(dice, Parameters::Circuits != 0, [&](blocks::Packet& packet) {
          packet.set_header(dice.below(256), dice.chance(own_) ? kRank : dice.below(256), dice.below(256),
                            static_cast<blocks::Operation>(dice.below(7)), dice.below(32));
        });
      }
      next.in_valid_i.set_bit(i, shown_[i]);
      next.in_data_i.set(blocks::words_of<kBytes>(packets_[i]), i);
      if (seen.in_ready_o.bit(i)) shown_[i] = false;
    }
    for (unsigned o = 0; o < kOutputs; ++o) next.out_ready_i.set_bit(o, !room.chance(stall_));
    table_.drive(table, kOutputs, next);
  }

 private:
  unsigned load_, stall_, own_;
  blocks::TableWriter table_{512};
  std::array<bool, kInputs> shown_{};
  std::array<blocks::Packet, kInputs> packets_{};
  std::array<blocks::Arrivals<kBytes>, kInputs> arrivals_{};
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
