// SPDX-License-Identifier: Apache-2.0
// Compares frames with those that make_udp makes from whole datagrams.
#include <memory>

#include "bisim/bisim.hpp"
#include "blocks/ethernet/ends.hpp"
#include "blocks/ethernet/random_datagrams.hpp"
#include "blocks/ethernet/words.hpp"
#include "ethernet/udp_sender.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;
namespace ethernet = thalweg::ethernet;

struct Twin {
  std::unique_ptr<ethernet::Frames> frames = std::make_unique<ethernet::Frames>();
  ethernet::UdpSender sender{blocks::kOwn, Parameters::Words, *frames};

  void outputs(const Inputs&, Outputs& out) const {
    out = {};
    out.in_ready_o.set(sender.ready());
    out.tx_valid_o.set(sender.valid());
    if (!sender.valid()) return;
    const ethernet::Word word = sender.front();
    out.tx_data_o.set(blocks::data_of(word.bytes));
    out.tx_keep_o.set(blocks::keep_of(word.size));
    out.tx_last_o.set(word.last);
  }
  void step(const Inputs& in) {
    const ethernet::UdpSender::In word{.bytes = blocks::bytes_of(in.in_data_i.get()),
                                       .last = in.in_last_i.get() != 0,
                                       .to = blocks::end_of(in.in_to_i.get()),
                                       .size = static_cast<std::uint16_t>(in.in_bytes_i.get())};
    sender.step(in.in_valid_i.get() ? &word : nullptr, in.tx_ready_i.get() != 0);
  }
};

/// Lanes: datagrams, the MAC.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run) : stall_(run.pick(0, 100, 500, 900)), datagrams_(run) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice mac = draws.lane(1);
    next.own_i.set(blocks::port_of<decltype(next.own_i)>(blocks::kOwn));
    next.tx_ready_i.set(!mac.chance(stall_));
    datagrams_.drive(seen, draws.lane(0), next);
  }

 private:
  unsigned stall_;
  blocks::RandomDatagrams datagrams_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
