// SPDX-License-Identifier: Apache-2.0
#include "bisim/bisim.hpp"
#include "blocks/smi/packets.hpp"
#include "smi/packer.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;
constexpr unsigned kBytes = Parameters::PacketBytes;

struct Twin {
  thalweg::smi::Packer packer{kBytes};

  void outputs(const Inputs& in, Outputs& out) const {
    out.in_ready_o.set(packer.ready(in.out_ready_i.get() != 0));
    out.empty_o.set(packer.empty());
    const auto* part = packer.part();
    out.out_valid_o.set(part != nullptr);
    if (!part) return;
    out.out_data_o.set(blocks::words_of<kBytes>(part->packet));
    out.out_last_o.set(part->last);
  }
  void step(const Inputs& in) {
    const std::uint64_t element = in.in_data_i.get();
    packer.step(in.in_valid_i.get() ? &element : nullptr, static_cast<unsigned>(in.in_size_i.get()),
                static_cast<unsigned>(in.in_per_packet_i.get()), in.in_last_i.get() != 0, in.out_ready_i.get() != 0,
                Parameters::Circuits && in.in_circuit_i.get());
  }
};

/// Elements of one size between two last elements. Lanes: elements, the reader.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 900, 500, 50)), stall_(run.pick(0, 100, 500, 950)), last_(run.pick(50, 5, 500)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice elements = draws.lane(0), reader = draws.lane(1);
    const bool room = !reader.chance(stall_);
    next.out_ready_i.set(room);
    if (!shown_ && elements.chance(load_)) {
      shown_ = true;
      if (begins_) {
        size_ = elements.below(4);
        circuit_ = Parameters::Circuits && elements.chance(500);
        const unsigned most =
            circuit_ ? thalweg::smi::payload_elements(kBytes, size_) : thalweg::smi::max_elements(kBytes, size_);
        per_packet_ = elements.chance(500) ? most : 1 + elements.below(most);
      }
      data_ = elements.bits();
      is_last_ = elements.chance(last_);
    }
    next.in_valid_i.set(shown_);
    next.in_data_i.set(data_);
    next.in_size_i.set(size_);
    next.in_per_packet_i.set(per_packet_);
    next.in_last_i.set(is_last_);
    next.in_circuit_i.set(circuit_);
    if (!shown_ || (seen.out_valid_o.get() && !room)) return;
    shown_ = false;
    begins_ = is_last_;
  }

 private:
  unsigned load_, stall_, last_, size_ = 0, per_packet_ = 1;
  bool shown_ = false, begins_ = true, is_last_ = false, circuit_ = false;
  std::uint64_t data_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
