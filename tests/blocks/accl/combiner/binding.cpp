// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <optional>

#include "accl/combiner.hpp"
#include "blocks/elements.hpp"

namespace {

namespace accl = thalweg::accl;
using top::Inputs, top::Outputs, top::Parameters;
using Data = thalweg::Word<512>;

const std::vector<blocks::Pair> kPairs = blocks::built();

/// The words offered at the inputs.
struct Offered {
  std::optional<accl::Combiner::In> x;
  std::optional<accl::DataWord> y;

  explicit Offered(const Inputs& in) {
    if (in.x_valid_i.get()) {
      x.emplace();
      x->word = {.data = in.x_data_i.get(), .last = in.x_last_i.get() != 0};
      if (in.x_combines_i.get())
        x->unit = accl::Unit{static_cast<thalweg::spec::Operator>(in.x_operation_i.get()),
                             static_cast<thalweg::spec::Datatype>(in.x_datatype_i.get())};
    }
    if (in.y_valid_i.get()) y = accl::DataWord{.data = in.y_data_i.get(), .last = in.y_last_i.get() != 0};
  }
  [[nodiscard]] const accl::Combiner::In* x_word() const { return x ? &*x : nullptr; }
  [[nodiscard]] const accl::DataWord* y_word() const { return y ? &*y : nullptr; }
};

struct Twin {
  accl::Combiner combiner{!kPairs.empty(), Parameters::Latency};

  void outputs(const Inputs& in, Outputs& out) const {
    const Offered offered{in};
    out.x_ready_o.set(combiner.x_ready(offered.x_word(), offered.y_word()));
    out.y_ready_o.set(combiner.y_ready(offered.x_word()));
    out.out_valid_o.set(combiner.valid());
    if (!combiner.valid()) return;
    out.out_data_o.set(combiner.front().data);
    out.out_last_o.set(combiner.front().last);
  }
  void step(const Inputs& in) {
    const Offered offered{in};
    combiner.step(offered.x_word(), offered.y_word(), in.out_ready_i.get() != 0);
  }
};

/// Packets of one word or more, some of which are combined; y may be ahead of x. Lanes: sender of x, of y, receiver.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3;

  explicit Stimulus(bisim::Dice run)
      : x_load_(run.pick(1000, 900, 500, 50)),
        y_load_(run.pick(1000, 900, 500, 50)),
        stall_(run.pick(0, 100, 500, 900)),
        most_(run.pick(1, 4, 40)),
        passes_(kPairs.empty() ? 1000 : run.pick(0, 100, 500, 950)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice x = draws.lane(0), y = draws.lane(1), receiver = draws.lane(2);
    const bool pops = !receiver.chance(stall_);
    next.out_ready_i.set(pops);
    if (!y_ && y.chance(y_load_)) {
      if (y_packets_.empty()) draw(y);
      if (!y_packets_.empty()) y_ = word(y);
    }
    if (!x_ && x.chance(x_load_)) {
      if (packets_.empty()) draw(x);
      x_ = packets_.front().pair && y_ && x.chance(200) ? near(*y_, x) : word(x);
    }
    const bool combines = x_ && packets_.front().pair;
    if (x_) {
      next.x_valid_i.set(true);
      next.x_data_i.set(*x_);
      next.x_last_i.set(packets_.front().words == 1);
    }
    if (combines) {
      next.x_combines_i.set(true);
      next.x_operation_i.set(static_cast<std::uint64_t>(packets_.front().pair->op));
      next.x_datatype_i.set(static_cast<std::uint64_t>(packets_.front().pair->type));
    }
    if (y_) {
      next.y_valid_i.set(true);
      next.y_data_i.set(*y_);
      next.y_last_i.set(y_packets_.front().words == 1);
    }

    const bool room = kPairs.empty() ? seen.x_ready_o.get() != 0 : held_ < Parameters::Latency + 3;
    const bool takes = x_ && room && (!combines || y_);
    held_ += takes;
    held_ -= seen.out_valid_o.get() && pops;
    if (!takes) return;
    x_.reset();
    if (--packets_.front().words == 0) packets_.pop_front();
    if (!combines) return;
    y_.reset();
    if (--y_packets_.front().words == 0) y_packets_.pop_front();
  }

 private:
  struct Packet {
    unsigned words = 0;
    std::optional<blocks::Pair> pair;
  };

  void draw(bisim::Dice& dice) {
    Packet packet{.words = 1 + dice.below(most_), .pair = {}};
    if (!dice.chance(passes_)) packet.pair = kPairs[dice.below(static_cast<unsigned>(kPairs.size()))];
    packets_.push_back(packet);
    if (packet.pair) y_packets_.push_back(packet);
  }
  static Data word(bisim::Dice& dice) {
    Data made;
    for (auto& part : made) part = blocks::element(dice);
    return made;
  }
  static Data near(Data word, bisim::Dice& dice) {
    for (auto& part : word) part ^= dice.chance(500) ? dice.bits() & dice.bits() & dice.bits() & dice.bits() : 0;
    return word;
  }

  unsigned x_load_, y_load_, stall_, most_, passes_;
  std::deque<Packet> packets_, y_packets_;  ///< with the remaining words of each
  std::optional<Data> x_, y_;
  unsigned held_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
