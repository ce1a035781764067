// SPDX-License-Identifier: Apache-2.0
#include "bisim/bisim.hpp"
#include "blocks/peach2/packets.hpp"
#include "peach2/translate.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;
namespace peach2 = thalweg::peach2;

class Twin {
 public:
  void outputs(const Inputs&, Outputs& out) const {
    out.in_ready_o.set(translate_.ready());
    blocks::put_word(out, translate_.out());
  }
  void step(const Inputs& in) {
    const auto word = blocks::get_word(in);
    translate_.step(in.in_valid_i.get() ? &word : nullptr, in.out_ready_i.get() != 0);
    if (in.load_valid_i.get()) translate_.load(blocks::get_window(in.load_window_i));
  }

 private:
  peach2::Translate translate_{Parameters::Inbound != 0};
};

/// Packets of all kinds, some with short headers; translations of few pages and of many. Lanes: packets, translations, the
/// receiver.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3;

  explicit Stimulus(bisim::Dice run)
      : source_(run.pick(1000, 900, 300)), ready_(run.pick(1000, 800, 200)), loads_(run.pick(3, 100)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice packets = draws.lane(0), loads = draws.lane(1), out = draws.lane(2);
    next.out_ready_i.set(out.chance(ready_));
    if (source_.empty() && packets.chance(900)) {
      auto packet = blocks::packet(packets, 2);
      auto& header = packet[0].data;
      if (peach2::kind(header) != peach2::Kind::completion && packets.chance(300)) {
        if (packets.chance(500)) header[1] &= std::uint64_t{0xFFFFFFFF} << 32;  // below 4 GByte
        if (Parameters::Inbound) header = peach2::shortened(header);
      }
      source_.add(packet);
    }
    if (blocks::offer(source_, packets, seen.in_ready_o.get() != 0, next)) source_.taken();
    if (!loads.chance(loads_)) return;
    peach2::Window window = blocks::window(loads);
    if (loads.chance(500)) window.mask &= ~loads.below(1 << 18);
    window.lower &= window.mask;
    if (loads.chance(900)) window.upper &= window.mask;
    next.load_valid_i.set(true);
    blocks::put_window(next.load_window_i, window);
  }

 private:
  blocks::PacketSource source_;
  unsigned ready_, loads_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
