// SPDX-License-Identifier: Apache-2.0
#include <span>

#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "common/crc32.hpp"

namespace {

using top::Inputs, top::Outputs;

constexpr unsigned kWidth = top::Parameters::Width;

struct Twin {
  std::uint32_t crc = 0;

  void outputs(const Inputs&, Outputs& out) const { out.crc_o.set(crc); }
  void step(const Inputs& in) {
    if (!in.in_valid_i.get()) return;
    std::array<std::uint64_t, (kWidth + 63) / 64> words;
    for (unsigned i = 0; i < words.size(); ++i)
      words[i] = bisim::get_bits(in.in_data_i.words, 64 * i, std::min(64U, kWidth - 64 * i));
    crc = thalweg::crc32(words, kWidth);
  }
};

class Stimulus {
 public:
  static constexpr unsigned kLanes = 1;

  explicit Stimulus(bisim::Dice run) : load_(run.pick(1000, 500)) {}

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice dice = draws.lane(0);
    next.in_valid_i.set(dice.chance(load_));
    blocks::fill(next.in_data_i, dice);
  }

 private:
  unsigned load_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
