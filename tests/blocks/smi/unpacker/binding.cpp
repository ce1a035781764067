// SPDX-License-Identifier: Apache-2.0
#include "bisim/bisim.hpp"
#include "blocks/smi/packets.hpp"
#include "smi/unpacker.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;
constexpr unsigned kBytes = Parameters::PacketBytes;

struct Twin {
  thalweg::smi::Unpacker unpacker;

  void outputs(const Inputs& in, Outputs& out) const {
    out.in_ready_o.set(unpacker.ready(in.out_ready_i.get() != 0));
    out.out_valid_o.set(unpacker.valid());
    out.out_data_o.set(unpacker.element());
  }
  void step(const Inputs& in) {
    const auto packet = blocks::packet_of<kBytes>(in.in_data_i.get());
    unpacker.step(in.in_valid_i.get() ? &packet : nullptr, static_cast<unsigned>(in.in_size_i.get()),
                  in.out_ready_i.get() != 0);
  }
};

/// Packets of one size, then, once it is empty, of another. Lanes: packets, the reader.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 900, 500, 50)), stall_(run.pick(0, 100, 500, 950)), most_(run.pick(31, 1, 3)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice packets = draws.lane(0), reader = draws.lane(1);
    const bool room = !reader.chance(stall_);
    const bool ready = left_ == 0 || (left_ == 1 && room);
    if (left_ > 0 && seen.out_valid_o.get() && room) --left_;
    next.out_ready_i.set(room);
    if (!shown_ && packets.chance(load_)) {
      shown_ = true;
      packet_ = blocks::random_packet<kBytes>(packets);
    }
    const bool empty = !seen.out_valid_o.get();
    if (shown_ && empty && packets.chance(300)) size_ = packets.below(4);
    const unsigned count = 1 + packets.below(std::min(most_, thalweg::smi::max_elements(kBytes, size_)));
    if (shown_ && counted_ != size_) {
      packet_.set_header(1, 2, 3, blocks::Operation::broadcast, count);
      counted_ = size_;
    }
    next.in_size_i.set(size_);
    next.in_valid_i.set(shown_);
    next.in_data_i.set(blocks::words_of<kBytes>(packet_));
    if (!shown_ || !ready) return;
    left_ = packet_.count();
    shown_ = false;
    counted_ = 4;
  }

 private:
  unsigned load_, stall_, most_, size_ = 0, counted_ = 4, left_ = 0;
  bool shown_ = false;
  blocks::Packet packet_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
