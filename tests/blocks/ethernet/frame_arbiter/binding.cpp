// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <vector>

#include "bisim/bisim.hpp"
#include "blocks/ethernet/words.hpp"
#include "ethernet/frame_arbiter.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;
namespace ethernet = thalweg::ethernet;

constexpr unsigned kInputs = Parameters::Inputs;

struct Twin {
  ethernet::FrameArbiter arbiter{kInputs};

  void outputs(const Inputs&, Outputs& out) const {
    out = {};
    for (unsigned i = 0; i < kInputs; ++i) out.in_ready_o.set_bit(i, arbiter.ready(i));
    out.tx_valid_o.set(arbiter.valid());
    if (!arbiter.valid()) return;
    const ethernet::Word& word = arbiter.front();
    out.tx_data_o.set(blocks::data_of(word.bytes));
    out.tx_keep_o.set(blocks::keep_of(word.size));
    out.tx_last_o.set(word.last);
  }
  void step(const Inputs& in) {
    std::array<ethernet::Word, kInputs> words;
    std::vector<const ethernet::Word*> shown(kInputs);
    for (unsigned i = 0; i < kInputs; ++i) {
      if (!in.in_valid_i.bit(i)) continue;
      words[i] = {.bytes = blocks::bytes_of(in.in_data_i.get(i)),
                  .size = blocks::size_of(in.in_keep_i.get(i)),
                  .last = in.in_last_i.bit(i)};
      shown[i] = &words[i];
    }
    arbiter.step(shown, in.tx_ready_i.get() != 0);
  }
};

/// Frames of any length at all inputs, with gaps. Lanes: the MAC, inputs.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 1 + kInputs;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 500, 50)), stall_(run.pick(0, 100, 500, 900)), ends_(run.pick(300, 50, 1000)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice mac = draws.lane(0);
    next.tx_ready_i.set(!mac.chance(stall_));
    for (unsigned i = 0; i < kInputs; ++i) {
      bisim::Dice input = draws.lane(1 + i);
      Offer& offer = offers_[i];
      if (!offer.valid && input.chance(load_)) {
        offer.valid = true;
        offer.word.last = input.chance(ends_);
        offer.word.size = offer.word.last ? 1 + input.below(ethernet::kWord) : ethernet::kWord;
        for (auto& byte : offer.word.bytes) byte = static_cast<std::byte>(input.below(256));
      }
      next.in_valid_i.set_bit(i, offer.valid);
      next.in_data_i.set(blocks::data_of(offer.word.bytes), i);
      next.in_keep_i.set(blocks::keep_of(offer.word.size), i);
      next.in_last_i.set_bit(i, offer.word.last);
      if (seen.in_ready_o.bit(i)) offer.valid = false;
    }
  }

 private:
  struct Offer {
    bool valid = false;
    ethernet::Word word;
  };
  unsigned load_, stall_, ends_;
  std::array<Offer, kInputs> offers_{};
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
