// SPDX-License-Identifier: Apache-2.0
// Frames are compared with those that make_udp makes of whole datagrams.
#include <algorithm>
#include <memory>

#include "bisim/main.hpp"
#include "blocks/ethernet/ends.hpp"
#include "blocks/ethernet/words.hpp"
#include "blocks/random_port.hpp"
#include "ethernet/udp_sender.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;
namespace ethernet = thalweg::ethernet;

constexpr unsigned kMost = Parameters::MostBytes;

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

/// Datagrams of all lengths to anywhere, with pauses in them. Lanes: datagrams, the MAC.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 500, 50)), stall_(run.pick(0, 100, 500, 900)), short_(run.pick(0, 500, 1000)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice sender = draws.lane(0), mac = draws.lane(1);
    next.own_i.set(blocks::port_of<decltype(next.own_i)>(blocks::kOwn));
    next.tx_ready_i.set(!mac.chance(stall_));
    if (!offers_ && sender.chance(load_)) {
      offers_ = true;
      first_ = left_ == 0;
      if (first_) left_ = size_ = std::min(kMost, sender.below(sender.chance(short_) ? 200 : kMost + 1));
      last_ = left_ <= ethernet::kWord;
      left_ -= std::min(left_, ethernet::kWord);
      blocks::fill(data_, sender);
      blocks::fill(to_, sender);
      bytes_ = first_ ? size_ : sender.below(1 << 16);
    }
    next.in_valid_i.set(offers_);
    next.in_data_i = data_;
    next.in_last_i.set(last_);
    next.in_to_i = to_;
    next.in_bytes_i.set(bytes_);
    if (seen.in_ready_o.get()) offers_ = false;
  }

 private:
  unsigned load_, stall_, short_;
  bool offers_ = false, first_ = false, last_ = false;
  unsigned left_ = 0, size_ = 0, bytes_ = 0;
  decltype(Inputs::in_data_i) data_;
  decltype(Inputs::in_to_i) to_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
