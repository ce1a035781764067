#include "../examples/operators/operators.cpp"
#include "bisim/main.hpp"
#include "reduce/lane.hpp"
#include "reduce/user_operators.hpp"

namespace {

using thalweg::spec::Datatype, thalweg::spec::Operator;
using top::Inputs, top::Outputs, top::Parameters;

struct Pair {
  Operator op;
  Datatype type;
};

/// What the module is built for: bit [type][operator].
[[nodiscard]] std::vector<Pair> built() {
  std::vector<Pair> pairs;
  for (unsigned bit = 0; bit < 512; ++bit)
    if (Parameters::Pairs[bit / 64] >> (bit % 64) & 1)
      pairs.push_back({static_cast<Operator>(bit % 16), static_cast<Datatype>(bit / 16)});
  return pairs;
}

/// Those of examples/operators, whose list is headed by the last one.
[[nodiscard]] std::vector<thalweg::UserOperator> own() {
  std::vector<thalweg::UserOperator> operators;
  for (auto entry = thalweg_operators; entry != nullptr; entry = entry->next)
    operators.insert(operators.begin(), {entry->name, entry->bytes, entry->latency, entry->combine});
  return operators;
}

struct Twin {
  thalweg::FlitLane lane{Parameters::Latency, own()};

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

/// Flits of random elements, among them many that are special in one format or another, or nearly equal.
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
      a[word] = element(data);
      b[word] = element(data);
      if (data.chance(250)) b[word] = a[word] ^ (data.bits() & data.bits() & data.bits() & data.bits());
      if (data.chance(125)) b[word] = a[word] ^ (data.bits() & 0x8000800080008000);
    }
    next.in_a_i.set(a);
    next.in_b_i.set(b);
  }

 private:
  /// Eight bytes: of a small choice each, special in all formats at once, or random.
  [[nodiscard]] static std::uint64_t element(bisim::Dice& dice) {
    static constexpr std::uint64_t kSpecial[] = {0x0000000000000000, 0x8000000080008000, 0x7FF0000000000000,
                                                 0xFFF0000000000000, 0x7F8000007F800000, 0xFF800000FF800000,
                                                 0x7C007C007C007C00, 0xFC00FC00FC00FC00, 0x7FFFFFFF7FFF7FFF,
                                                 0xFFFFFFFFFFFFFFFF, 0x3FF0000000000001, 0x0000000100010001};
    switch (dice.below(4)) {
      case 0:
        return dice.bits();
      case 1:
        return kSpecial[dice.below(std::size(kSpecial))];
      case 2:  // exponents near the middle
        return (dice.bits() & 0x83FF83FF83FF83FF) | 0x3C003C003C003C00;
      default: {
        std::uint64_t word = 0;
        for (unsigned i = 0; i < 4; ++i) word |= (kSpecial[dice.below(std::size(kSpecial))] & 0xFFFF) << (16 * i);
        return word;
      }
    }
  }

  const std::vector<Pair> pairs_ = built();
  const std::vector<thalweg::UserOperator> own_ = own();
  Pair pair_ = pairs_.front();
  std::uint64_t ends_ = 0;  ///< cycles from now on in which a result comes, for no other one may meet it
  unsigned load_, stay_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
