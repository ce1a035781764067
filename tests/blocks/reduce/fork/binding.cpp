#include <array>
#include <deque>
#include <memory>

#include "bisim/main.hpp"
#include "blocks/random_port.hpp"
#include "reduce/fork.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;
using Value = bisim::Word<Parameters::Width>::Value;

constexpr unsigned kOutputs = Parameters::Outputs;

/// The simulator's fork holds references to packets; here the packets are words that come after their room was taken.
class Twin {
 public:
  void outputs(const Inputs&, Outputs& out) const {
    for (unsigned o = 0; o < kOutputs; ++o) {
      unsigned room = Parameters::Words;
      while (!fork_.room(1U << o, room)) --room;
      out.room_o.set(room, o);
      const bool valid = !fork_.empty(o) && read_[o] < fork_.front(o)->words.size();
      out.out_valid_o.set_bit(o, valid);
      if (!valid) continue;
      const Packet& packet = *fork_.front(o);
      out.out_data_o.set(packet.words[read_[o]], o);
      out.out_last_o.set_bit(o, read_[o] + 1 == packet.length);
    }
  }

  void step(const Inputs& in) {
    std::array<bool, kOutputs> pop{};
    for (unsigned o = 0; o < kOutputs; ++o)
      pop[o] = in.out_ready_i.bit(o) && !fork_.empty(o) && read_[o] < fork_.front(o)->words.size();
    if (in.take_i.get()) {
      const auto length = static_cast<unsigned>(in.take_words_i.get());
      const auto packet = std::make_shared<Packet>(Packet{{}, length});
      coming_.push_back(packet);
      for (unsigned o = 0; o < kOutputs; ++o)
        if (in.take_i.bit(o)) fork_.push(o, packet, length);
    }
    for (unsigned o = 0; o < kOutputs; ++o) {
      if (!pop[o] || ++read_[o] < fork_.front(o)->length) continue;
      read_[o] = 0;
      if (!in.out_again_i.bit(o)) fork_.pop(o, fork_.front(o)->length);
    }
    if (in.in_valid_i.get()) {
      Packet& packet = *coming_.front();
      packet.words.push_back(in.in_data_i.get());
      if (in.in_last_i.get()) coming_.pop_front();
    }
  }

 private:
  struct Packet {
    std::vector<Value> words;  ///< that have come
    unsigned length;
  };

  thalweg::Fork<std::shared_ptr<Packet>> fork_{kOutputs, Parameters::Words};
  std::array<std::size_t, kOutputs> read_{};
  std::deque<std::shared_ptr<Packet>> coming_;
};

/// Packets for any of the outputs, as soon as there is room or later; words with pauses; outputs that stall, and read again.
/// Lanes: what comes, and each output.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 1 + kOutputs;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(900, 200, 1000)),
        pause_(run.pick(0, 300)),
        longest_(1 + run.below(run.pick(Parameters::Words, 4))),
        ready_(run.pick(900, 1000, 300)),
        again_(run.pick(100, 0, 600)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice coming = draws.lane(0);
    if (!words_.empty() && !coming.chance(pause_)) {
      Packet& packet = words_.front();
      next.in_valid_i.set(packet.outputs);
      blocks::fill(next.in_data_i, coming);
      next.in_last_i.set(--packet.left == 0);
      if (packet.left == 0) words_.pop_front();
    }
    if (coming.chance(load_)) {
      const unsigned length = 1 + coming.below(std::min<unsigned>(longest_, Parameters::Words));
      std::uint32_t outputs = 0;
      for (unsigned o = 0; o < kOutputs; ++o)
        if (coming.chance(400) && seen.room_o.get(o) >= length) outputs |= 1U << o;
      if (outputs) {
        next.take_i.set(outputs);
        next.take_words_i.set(length);
        words_.push_back({outputs, length});
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
  };

  unsigned load_, pause_, longest_, ready_, again_;
  std::deque<Packet> words_;  ///< packets that have room, whose words are to come
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
