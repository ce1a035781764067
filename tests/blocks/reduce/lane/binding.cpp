// SPDX-License-Identifier: Apache-2.0
#include "blocks/elements.hpp"
#include "blocks/own_operators.hpp"
#include "reduce/lane.hpp"

namespace {

using thalweg::spec::Datatype, thalweg::spec::Operator;
using top::Inputs, top::Outputs, top::Parameters;

struct Twin {
  thalweg::FlitLane lane{Parameters::Latency, blocks::own_operators()};

  void outputs(const Inputs&, Outputs& out) const {
    const thalweg::FlitLane::Result* result = lane.result();
    out.out_valid_o.set(result != nullptr);
    if (!result) return;
    out.out_data_o.set(result->data);
    out.out_tag_o.set(result->tag);
  }
  void step(const Inputs& in) {
    const thalweg::FlitPair pair{static_cast<Operator>(in.in_operation_i.get()),
                                 static_cast<Datatype>(in.in_datatype_i.get()),
                                 in.in_head_i.get() != 0,
                                 static_cast<unsigned>(in.in_bytes_i.get()),
                                 in.in_a_i.get(),
                                 in.in_b_i.get(),
                                 in.in_tag_i.get()};
    lane.step(in.in_valid_i.get() ? &pair : nullptr);
  }
};

/// Flits of random elements, many of them special in one format or another, or nearly equal.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run) : load_(run.pick(1000, 900, 500, 50)), stay_(run.pick(0, 500, 990)) {}

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice flow = draws.lane(0), data = draws.lane(1);
    ends_ >>= 1;
    if (!flow.chance(load_)) return;
    if (!flow.chance(stay_)) pair_ = pairs_[flow.below(static_cast<unsigned>(pairs_.size()))];
    const thalweg::UserOperator* user = thalweg::user_operator(own_, pair_.op);
    const std::uint64_t end = std::uint64_t{1} << (user ? user->latency : Parameters::Latency);
    if (ends_ & end) return;
    ends_ |= end;
    const auto size = static_cast<unsigned>(thalweg::spec::size_of(pair_.type));
    const bool head = flow.chance(300);
    const unsigned from = head ? 8 : 0, most = (32 - from) / size;
    const unsigned elements = flow.chance(800) ? most : flow.below(most) + 1;
    next.in_valid_i.set(true);
    next.in_operation_i.set(static_cast<std::uint64_t>(pair_.op));
    next.in_datatype_i.set(static_cast<std::uint64_t>(pair_.type));
    next.in_head_i.set(head);
    next.in_bytes_i.set(from + elements * size);
    next.in_tag_i.set(flow.bits() & ((std::uint64_t{1} << Parameters::TagBits) - 1));
    std::array<std::uint64_t, 4> a{}, b{};
    for (unsigned word = 0; word < 4; ++word) {
      a[word] = blocks::element(data);
      b[word] = blocks::element(data);
      if (data.chance(250)) b[word] = a[word] ^ (data.bits() & data.bits() & data.bits() & data.bits());
      if (data.chance(125)) b[word] = a[word] ^ (data.bits() & 0x8000800080008000);
    }
    next.in_a_i.set(a);
    next.in_b_i.set(b);
  }

 private:
  const std::vector<blocks::Pair> pairs_ = blocks::built();
  const std::vector<thalweg::UserOperator> own_ = blocks::own_operators();
  blocks::Pair pair_ = pairs_.front();
  std::uint64_t ends_ = 0;  ///< cycles from now on in which a result comes out; no two may coincide
  unsigned load_, stay_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
