// SPDX-License-Identifier: Apache-2.0
#include "bisim/bisim.hpp"
#include "blocks/peach2/packets.hpp"
#include "peach2/ingress.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;
namespace peach2 = thalweg::peach2;

constexpr std::uint16_t kOwn = 2;

class Twin {
 public:
  void outputs(const Inputs&, Outputs& out) const {
    out.in_ready_o.set(ingress_.ready());
    blocks::put_word(out, ingress_.front());
    if (ingress_.front()) out.out_to_o.set(ingress_.to());
    out.freed_valid_o.set(ingress_.freed().has_value());
    if (ingress_.freed()) out.freed_units_o.set(*ingress_.freed());
    const auto& refused = ingress_.refused();
    out.refused_valid_o.set(refused.has_value());
    if (!refused) return;
    out.refused_reason_o.set(static_cast<unsigned>(refused->reason));
    out.refused_read_o.set(refused->read);
    bisim::put_bits(out.refused_source_o.words, 0, 7, refused->source.node << 3 | refused->source.port);
    out.refused_address_o.set(refused->address);
  }
  void step(const Inputs& in) {
    const auto word = blocks::get_word(in);
    ingress_.step(in.in_valid_i.get() ? &word : nullptr, in.out_ready_i.get() != 0,
                  static_cast<std::uint32_t>(in.owners_i.get()));
    if (in.load_valid_i.get())
      ingress_.windows().load(static_cast<unsigned>(in.load_index_i.get()), blocks::get_window(in.load_window_i));
  }

 private:
  peach2::Ingress ingress_{{.port = Parameters::Port,
                            .reads = Parameters::Reads != 0,
                            .answers = Parameters::Answers != 0,
                            .words = Parameters::Words,
                            .packets = Parameters::Packets,
                            .windows = Parameters::Windows,
                            .base = blocks::kBase},
                           kOwn};
};

/// Lanes: packets, windows, the receiver.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3;

  explicit Stimulus(bisim::Dice run)
      : source_(run.pick(1000, 900, 300)), stall_(run.pick(0, 100, 500, 950)), loads_(run.pick(5, 100)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice packets = draws.lane(0), loads = draws.lane(1), taker = draws.lane(2);
    next.own_i.set(kOwn);
    next.base_i.set(blocks::kBase);
    if (loads.chance(5)) owners_ = loads.below(65536);
    next.owners_i.set(owners_);
    if (source_.empty() && packets.chance(900)) source_.add(blocks::packet(packets, kOwn));
    if (blocks::offer(source_, packets, seen.in_ready_o.get() != 0, next)) source_.taken();
    next.out_ready_i.set(!taker.chance(stall_));
    if (loaded_ < Parameters::Windows || loads.chance(loads_)) {
      next.load_valid_i.set(true);
      next.load_index_i.set(loaded_ < Parameters::Windows ? loaded_++ : loads.below(Parameters::Windows));
      blocks::put_window(next.load_window_i, blocks::window(loads));
    }
  }

 private:
  blocks::PacketSource source_;
  unsigned stall_, loads_, loaded_ = 0, owners_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
