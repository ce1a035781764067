// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "accl/exchange_ports.hpp"
#include "bisim/bisim.hpp"

namespace {

using thalweg::accl::ExchangeMemory, thalweg::accl::ExchangePorts;
using top::Inputs, top::Outputs;

struct Twin {
  ExchangePorts ports;

  void outputs(const Inputs&, Outputs& out) const {
    out = {};
    for (unsigned p = 0; p < 2; ++p) {
      out.access_ready_o.set_bit(p, ports.ready(p));
      out.answer_valid_o.set_bit(p, ports.answer(p).has_value());
      if (!ports.answer(p)) continue;
      out.answer_refused_o.set_bit(p, ports.answer(p)->refused);
      out.answer_data_o.set(ports.answer(p)->data, p);
    }
  }
  void step(const Inputs& in) {
    std::array<std::optional<ExchangePorts::Access>, 2> next;
    for (unsigned p = 0; p < 2; ++p)
      if (in.access_valid_i.bit(p))
        next[p] = {.write = in.access_write_i.bit(p),
                   .at = static_cast<std::uint32_t>(in.access_at_i.get(p)),
                   .data = static_cast<std::uint32_t>(in.access_data_i.get(p))};
    ports.step(next, static_cast<std::uint32_t>(in.identity_i.get()));
  }
};

/// Accesses at close addresses, to the identity, at the end of the memory and beyond it. Lanes: the ports.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 500, 50)),
        writes_(run.pick(500, 100, 900)),
        stray_(run.pick(0, 50, 500)),
        words_(run.pick(4, 64, ExchangeMemory::kBytes / 4)),
        identity_(static_cast<std::uint32_t>(run.bits())) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    next.identity_i.set(identity_);
    for (unsigned p = 0; p < 2; ++p) {
      bisim::Dice dice = draws.lane(p);
      if (!waiting_[p] && dice.chance(load_)) {
        waiting_[p] = true;
        const std::uint32_t word = dice.pick(0, ExchangeMemory::kBytes / 4 - words_) + dice.below(words_);
        std::uint32_t at = 4 * word;
        if (dice.chance(stray_)) at ^= 1U << dice.pick(0, 1, 13, 14, 31);
        next.access_at_i.set(at, p);
        next.access_data_i.set(dice.bits() & 0xFFFF'FFFF, p);
        next.access_write_i.set_bit(p, dice.chance(writes_));
      }
      next.access_valid_i.set_bit(p, waiting_[p]);
      if (seen.access_ready_o.bit(p)) waiting_[p] = false;
    }
  }

 private:
  unsigned load_, writes_, stray_, words_;
  std::uint32_t identity_;
  std::array<bool, 2> waiting_{};
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
