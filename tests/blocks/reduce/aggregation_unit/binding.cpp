// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <optional>
#include <vector>

#include "blocks/elements.hpp"
#include "blocks/own_operators.hpp"
#include "reduce/aggregation_unit.hpp"

namespace {

using thalweg::spec::Datatype, thalweg::spec::Operator;
using top::Inputs, top::Outputs, top::Parameters;
using Unit = thalweg::FlitAggregationUnit;

constexpr unsigned kInputs = Parameters::Inputs, kSources = Parameters::Sources, kOutputs = Parameters::Outputs;

class Twin {
 public:
  void outputs(const Inputs&, Outputs& out) const {
    const auto result = unit_.result();
    out.result_valid_o.set(result.has_value());
    if (result) {
      out.result_data_o.set(result->data);
      out.result_last_o.set(result->last);
      out.result_tag_o.set(result->tag);
    }
    for (unsigned o = 0; o < kOutputs; ++o) {
      out.room_o.set(unit_.room(o), o);
      const auto flit = unit_.front(o);
      out.out_valid_o.set_bit(o, flit.has_value());
      if (!flit) continue;
      out.out_data_o.set(flit->data, o);
      out.out_last_o.set_bit(o, flit->last);
      out.out_tag_o.set(flit->tag, o);
    }
  }

  void step(const Inputs& in) {
    const Unit::Step begins{.operands = static_cast<unsigned>(in.begin_count_i.get()),
                            .descriptor = in.begin_descriptor_i.get() != 0,
                            .flits = 1U << in.begin_size_i.get(),
                            .bytes = static_cast<unsigned>(in.begin_bytes_i.get()),
                            .op = static_cast<Operator>(in.begin_operation_i.get()),
                            .type = static_cast<Datatype>(in.begin_datatype_i.get()),
                            .paced = in.begin_paced_i.get() != 0,
                            .outputs = static_cast<std::uint32_t>(in.begin_outputs_i.get()),
                            .tag = in.begin_tag_i.get()};
    std::array<std::optional<Unit::Data>, kInputs> operands;
    for (unsigned s = 0; s < kSources; ++s)
      if (in.source_valid_i.bit(s)) operands[in.source_place_i.get(s)] = in.source_data_i.get(s);
    unit_.step(in.begin_valid_i.get() ? &begins : nullptr, operands, static_cast<std::uint32_t>(in.out_ready_i.get()),
               static_cast<std::uint32_t>(in.out_again_i.get()));
  }

 private:
  Unit unit_{kInputs, kOutputs, Parameters::Words, Parameters::Latency, blocks::own_operators()};
};

/// Steps as soon as the unit and its queues permit, or later, of any number of operands from any of the sources, in one
/// cycle or paced; outputs that stall, and read again. Lanes: steps, data, and each output.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2 + kOutputs;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 300)),
        longest_(run.pick(6, 2, 0)),
        paced_(run.pick(200, 0, 800)),
        ready_(run.pick(900, 1000, 300)),
        again_(run.pick(100, 0, 500)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice steps = draws.lane(0), data = draws.lane(1);
    if (result_free_ > 0) --result_free_;
    operands(next, data);
    if (left_ == 0 && steps.chance(load_)) begin(seen, next, steps);
    for (unsigned o = 0; o < kOutputs; ++o) {
      bisim::Dice output = draws.lane(2 + o);
      next.out_ready_i.set_bit(o, output.chance(ready_));
      next.out_again_i.set_bit(o, output.chance(again_));
    }
  }

 private:
  void begin(const Outputs& seen, Inputs& next, bisim::Dice& dice) {
    const unsigned count = 1 + dice.below(std::min(kInputs, kSources)), size = dice.below(longest_ + 1);
    const bool descriptor = dice.chance(200);
    const unsigned flits = descriptor ? 1 : 1U << size, pace = dice.chance(paced_) ? 2 + dice.below(3) : 1;
    const unsigned latency =
        1 + (descriptor ? 0 : static_cast<unsigned>(thalweg::join_depth(count)) * Parameters::Latency);
    if (result_free_ > latency) return;
    std::uint32_t outputs = 0;
    for (unsigned o = 0; o < kOutputs; ++o)
      if (dice.chance(400) && seen.room_o.get(o) >= flits) outputs |= 1U << o;
    const blocks::Pair pair = pairs_[dice.below(static_cast<unsigned>(pairs_.size()))];
    const unsigned bytes = thalweg::spec::size_of(pair.type), room = (flits * 32 - 8) / bytes;
    next.begin_valid_i.set(true);
    next.begin_count_i.set(count);
    next.begin_descriptor_i.set(descriptor);
    next.begin_size_i.set(descriptor ? 0 : size);
    const unsigned elements = dice.chance(700) ? room : 1 + dice.below(room);
    // Elements of 16 bytes after a packet's first one are stored two per flit.
    next.begin_bytes_i.set((bytes == 16 && elements > 1 ? 16 : 8) + bytes * elements);
    next.begin_operation_i.set(static_cast<std::uint64_t>(pair.op));
    next.begin_datatype_i.set(static_cast<std::uint64_t>(pair.type));
    next.begin_paced_i.set(pace > 1);
    next.begin_outputs_i.set(outputs);
    next.begin_tag_i.set(dice.bits() & ((1U << Parameters::TagBits) - 1));
    left_ = flits * pace;
    pace_ = pace;
    result_free_ = left_ + latency;
    count_ = count;
    const unsigned first = dice.below(kSources);
    for (unsigned i = 0; i < count; ++i) {
      source_[i] = (first + i) % kSources;
      when_[i] = i == 0 ? 0 : dice.below(pace);  // counted from the last cycle of a pace
    }
  }

  void operands(Inputs& next, bisim::Dice& data) {
    if (left_ == 0) return;
    const unsigned rest = (left_ - 1) % pace_;
    for (unsigned i = 0; i < count_; ++i) {
      if (when_[i] != rest) continue;
      std::array<std::uint64_t, 4> flit{};
      for (auto& word : flit) word = blocks::element(data);
      next.source_valid_i.set_bit(source_[i]);
      next.source_place_i.set(i, source_[i]);
      next.source_data_i.set(flit, source_[i]);
    }
    --left_;
  }

  const std::vector<blocks::Pair> pairs_ = blocks::built();
  unsigned load_, longest_, paced_, ready_, again_;
  unsigned left_ = 0, pace_ = 1, count_ = 0;  ///< of the step that is read: remaining cycles, cycles per flit, operands
  unsigned result_free_ = 0;                  ///< cycles until its last result has left the lanes
  std::array<unsigned, kInputs> source_{}, when_{};
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
