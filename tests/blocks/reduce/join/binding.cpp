// SPDX-License-Identifier: Apache-2.0
#include <deque>

#include "blocks/elements.hpp"
#include "blocks/own_operators.hpp"
#include "reduce/join.hpp"

namespace {

using thalweg::spec::Datatype, thalweg::spec::Operator;
using top::Inputs, top::Outputs, top::Parameters;

struct Twin {
  thalweg::FlitJoin join{Parameters::Inputs, Parameters::Latency, blocks::own_operators()};

  void outputs(const Inputs&, Outputs& out) const {
    const thalweg::FlitJoin::Result* result = join.result();
    out.out_valid_o.set(result != nullptr);
    if (!result) return;
    out.out_data_o.set(result->data);
    out.out_tag_o.set(result->tag);
  }
  void step(const Inputs& in) {
    if (!in.in_valid_i.get()) return join.step(nullptr);
    thalweg::FlitOperands flits{.op = static_cast<Operator>(in.in_operation_i.get()),
                                .type = static_cast<Datatype>(in.in_datatype_i.get()),
                                .head = in.in_head_i.get() != 0,
                                .bytes = static_cast<unsigned>(in.in_bytes_i.get()),
                                .operands = {},
                                .tag = in.in_tag_i.get()};
    for (unsigned i = 0; i < in.in_count_i.get(); ++i) flits.operands.push_back(in.in_operands_i.get(i));
    join.step(&flits);
  }
};

/// Flits of any number of operands, such that no two results coincide: back to back, as far as their latencies permit.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run) : load_(run.pick(1000, 900, 300, 50)), stay_(run.pick(0, 800, 990)) {}

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice flow = draws.lane(0), data = draws.lane(1);
    taken_.pop_front();
    taken_.push_back(false);
    if (!flow.chance(load_)) return;
    if (!flow.chance(stay_)) {
      pair_ = pairs_[flow.below(static_cast<unsigned>(pairs_.size()))];
      count_ = 1 + flow.below(Parameters::Inputs);
    }
    bool& taken = taken_[std::size_t{thalweg::join_depth(count_)} * Parameters::Latency];
    if (taken) return;
    taken = true;
    const auto size = static_cast<unsigned>(thalweg::spec::size_of(pair_.type));
    const bool head = flow.chance(300);
    const unsigned from = head ? 8 : 0, most = (32 - from) / size;
    const unsigned elements = flow.chance(800) ? most : flow.below(most) + 1;
    next.in_valid_i.set(true);
    next.in_count_i.set(count_);
    next.in_operation_i.set(static_cast<std::uint64_t>(pair_.op));
    next.in_datatype_i.set(static_cast<std::uint64_t>(pair_.type));
    next.in_head_i.set(head);
    next.in_bytes_i.set(from + elements * size);
    next.in_tag_i.set(flow.bits() & ((std::uint64_t{1} << Parameters::TagBits) - 1));
    for (unsigned i = 0; i < Parameters::Inputs; ++i) {  // operands beyond count_ must not matter
      std::array<std::uint64_t, 4> operand{};
      for (auto& word : operand) word = blocks::element(data);
      next.in_operands_i.set(operand, i);
    }
  }

 private:
  const std::vector<blocks::Pair> pairs_ = blocks::built();
  blocks::Pair pair_ = pairs_.front();
  unsigned count_ = 1;
  unsigned load_, stay_;
  /// Cycles from now on in which there is a result.
  std::deque<bool> taken_ =
      std::deque<bool>(1 + std::size_t{thalweg::join_depth(Parameters::Inputs)} * Parameters::Latency);
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
