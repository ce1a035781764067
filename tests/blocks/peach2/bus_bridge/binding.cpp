// SPDX-License-Identifier: Apache-2.0
#include "bisim/bisim.hpp"
#include "blocks/peach2/packets.hpp"
#include "peach2/bus_bridge.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;
namespace peach2 = thalweg::peach2;

constexpr std::uint16_t kOwn = 0x1234;

class Twin {
 public:
  void outputs(const Inputs&, Outputs& out) const {
    out.in_ready_o.set(bridge_.ready());
    blocks::put_word(out, bridge_.out());
    const auto* beat = bridge_.beat();
    out.beat_valid_o.set(beat != nullptr);
    if (!beat) return;
    out.beat_write_o.set(beat->write);
    out.beat_address_o.set(beat->address);
    out.beat_data_o.set(beat->data);
    out.beat_enable_o.set(beat->enable);
  }
  void step(const Inputs& in) {
    const auto word = blocks::get_word(in);
    const peach2::BusReply reply{in.reply_data_i.get(), in.reply_failed_i.get() != 0};
    bridge_.step(in.in_valid_i.get() ? &word : nullptr, in.out_ready_i.get() != 0, in.beat_ready_i.get() != 0,
                 in.reply_valid_i.get() ? &reply : nullptr);
  }

 private:
  peach2::BusBridge bridge_{Parameters::Reads, kOwn};
};

/// Lanes: packets, beats and replies, the receiver of completions.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3;

  explicit Stimulus(bisim::Dice run)
      : source_(run.pick(1000, 900, 300)),
        out_(run.pick(1000, 800, 100)),
        beats_(run.pick(1000, 800, 300)),
        replies_(run.pick(1000, 300)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice packets = draws.lane(0), beats = draws.lane(1), out = draws.lane(2);
    next.own_i.set(kOwn);
    next.out_ready_i.set(out.chance(out_));
    next.beat_ready_i.set(beats.chance(beats_));
    if (!due_.empty() && beats.chance(replies_)) {
      next.reply_valid_i.set(true);
      next.reply_failed_i.set(due_.front());
      due_.pop_front();
      next.reply_data_i.set({beats.bits(), beats.bits()});
    }
    if (seen.beat_valid_o.get() && !seen.beat_write_o.get() && next.beat_ready_i.get())
      due_.push_back(seen.beat_address_o.get() >> 8 & 1);  // every second page is unmapped
    if (source_.empty() && packets.chance(900)) add(packets);
    if (blocks::offer(source_, packets, seen.in_ready_o.get() != 0, next)) source_.taken();
  }

 private:
  void add(bisim::Dice& dice) {
    const unsigned dwords = dice.chance(300) ? 1 + dice.below(4) : dice.chance(500) ? 64 : 1 + dice.below(64);
    std::uint64_t address = (dice.bits() & (peach2::kAddresses - 1)) & ~std::uint64_t{3};
    address = std::min(address, (address | 4095) + 1 - 4 * dwords);  // within its page
    if (dice.chance(400))
      source_.add({blocks::read(address, dwords, dice.below(65536), dice.below(256), dice.below(16), dice.below(16))});
    else
      source_.add(blocks::write(address, dwords, dice, dice.below(16), dice.below(16)));
  }

  blocks::PacketSource source_;
  unsigned out_, beats_, replies_;
  std::deque<bool> due_;  ///< beats read, and whether nothing is at their addresses
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
