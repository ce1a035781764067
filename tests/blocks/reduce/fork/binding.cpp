// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <optional>

#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "reduce/fork.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;
using Value = bisim::Word<Parameters::Width>::Value;

constexpr unsigned kOutputs = Parameters::Outputs;

class Twin {
 public:
  void outputs(const Inputs& in, Outputs& out) const {
    const auto arrival = arrival_of(in);
    for (unsigned o = 0; o < kOutputs; ++o) {
      out.room_o.set(fork_.room(o), o);
      const Value* word = fork_.word(o, arrival ? &*arrival : nullptr);
      out.out_valid_o.set_bit(o, word != nullptr);
      if (!word) continue;
      out.out_data_o.set(*word, o);
      out.out_last_o.set_bit(o, fork_.last(o));
    }
  }

  void step(const Inputs& in) {
    const auto arrival = arrival_of(in);
    fork_.step(arrival ? &*arrival : nullptr, static_cast<std::uint32_t>(in.out_ready_i.get()),
               static_cast<std::uint32_t>(in.out_again_i.get()),
               {static_cast<std::uint32_t>(in.take_i.get()), static_cast<unsigned>(in.take_words_i.get())});
  }

 private:
  using Fork = thalweg::FlitFork<Value>;

  static std::optional<Fork::Arrival> arrival_of(const Inputs& in) {
    if (!in.in_valid_i.get()) return std::nullopt;
    return Fork::Arrival{in.in_data_i.get(), in.in_last_i.get() != 0, in.in_held_i.get() != 0};
  }

  Fork fork_{kOutputs, Parameters::Words};
};

/// Packets for any of the outputs, as soon as there is room or later; words with pauses; outputs that stall, and read
/// again. Lanes: arrivals, and each output.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 1 + kOutputs;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(900, 200, 1000)),
        pause_(run.pick(0, 300)),
        longest_(1 + run.below(run.pick(Parameters::Words, 4))),
        ready_(run.pick(900, 1000, 300)),
        again_(run.pick(100, 0, 600)),
        held_(run.pick(200, 0, 1000)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice arrivals = draws.lane(0);
    if (!words_.empty() && !arrivals.chance(pause_)) {
      Packet& packet = words_.front();
      next.in_valid_i.set(packet.outputs);
      next.in_held_i.set(packet.held);
      blocks::fill(next.in_data_i, arrivals);
      next.in_last_i.set(--packet.left == 0);
      if (packet.left == 0) words_.pop_front();
    }
    if (arrivals.chance(load_)) {
      const unsigned length = 1 + arrivals.below(std::min<unsigned>(longest_, Parameters::Words));
      std::uint32_t outputs = 0;
      for (unsigned o = 0; o < kOutputs; ++o)
        if (arrivals.chance(400) && seen.room_o.get(o) >= length) outputs |= 1U << o;
      if (outputs) {
        next.take_i.set(outputs);
        next.take_words_i.set(length);
        words_.push_back({outputs, length, arrivals.chance(held_)});
      }
    }
    for (unsigned o = 0; o < kOutputs; ++o) {
      bisim::Dice output = draws.lane(1 + o);
      next.out_ready_i.set_bit(o, output.chance(ready_));
      next.out_again_i.set_bit(o, output.chance(again_));
    }
  }

 private:
  struct Packet {
    std::uint32_t outputs;
    unsigned left;
    bool held;
  };

  unsigned load_, pause_, longest_, ready_, again_, held_;
  std::deque<Packet> words_;  ///< packets with reserved room, whose words are outstanding
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
