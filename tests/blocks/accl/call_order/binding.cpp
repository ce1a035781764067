// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "accl/call_order.hpp"
#include "bisim/bisim.hpp"

namespace {

using thalweg::accl::CallOrder, thalweg::accl::ProgramMoves, thalweg::accl::Register, thalweg::accl::Scenario;
using top::Inputs, top::Outputs, top::Parameters;

struct Twin {
  CallOrder order{Parameters::Calls};

  void outputs(const Inputs&, Outputs& out) const {
    out = {};
    out.number_valid_o.set(order.number().has_value());
    out.number_data_o.set(order.number().value_or(0));
    out.call_ready_o.set(order.ready());
    out.begin_valid_o.set(order.begin().has_value());
    if (!order.begin()) return;
    out.begin_call_o.set(order.begin()->number);
    out.begin_at_o.set(order.begin()->at);
  }
  void step(const Inputs& in) {
    CallOrder::In next{.number_ready = in.number_ready_i.get() != 0, .begin_ready = in.begin_ready_i.get() != 0};
    if (in.load_valid_i.get())
      next.load = {.to = static_cast<Register>(in.load_register_i.get()), .data = in.load_data_i.get()};
    if (in.call_valid_i.get()) {
      const auto from = in.call_i.get();
      auto& to = next.call.emplace();
      to.number = static_cast<unsigned>(from.number);
      to.call.begin_at = static_cast<std::uint16_t>(from.begin_at);
      to.call.rank = static_cast<std::uint32_t>(from.rank);
      auto& call = to.call.call;
      call.scenario = static_cast<Scenario>(from.scenario);
      call.count = static_cast<std::uint32_t>(from.count);
      call.communicator = static_cast<std::uint32_t>(from.communicator_at);
      call.root = static_cast<std::uint32_t>(from.root);
      call.tag = static_cast<std::uint32_t>(from.tag);
      call.stream = static_cast<std::uint32_t>(from.host << 8 | from.streams);
    }
    if (in.ended_valid_i.get()) next.ended = static_cast<unsigned>(in.ended_call_i.get());
    order.step(next);
  }
};

/// Calls whose ranges, streams and messages sometimes conflict. Lanes: numbers and registers, begins, ends.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3;

  explicit Stimulus(bisim::Dice run)
      : pause_(run.pick(0, 100, 800)),
        stall_(run.pick(0, 500)),
        ends_(run.pick(30, 5, 300)),
        places_(run.pick(4, 64, 1024)),
        streams_(run.pick(0, 100)),
        kinds_(run.pick(0, 500)),
        most_(run.pick(16, 3, 300)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice calls = draws.lane(0), begins = draws.lane(1), ends = draws.lane(2);
    next.number_ready_i.set(0);
    next.load_valid_i.set(0);
    if (!number_) {
      if (seen.number_valid_o.get() && takes_) {
        number_ = static_cast<unsigned>(seen.number_data_o.get());
        takes_ = false;
        at_ = 0;
        draw(calls);
      } else {
        takes_ = !calls.chance(pause_);
      }
    } else if (at_ < kLoads.size()) {
      if (!calls.chance(pause_)) {
        next.load_valid_i.set(1);
        next.load_register_i.set(static_cast<std::uint64_t>(kLoads[at_]));
        next.load_data_i.set(values_[at_]);
        ++at_;
      }
    } else {
      offers_ = true;
    }
    next.number_ready_i.set(takes_ && !number_);
    next.call_valid_i.set(offers_);
    if (number_) call_.number = *number_;
    next.call_i.set(call_);
    if (offers_ && seen.call_ready_o.get()) {
      number_.reset();
      offers_ = false;
    }

    const bool accepts = !begins.chance(stall_);
    next.begin_ready_i.set(accepts);
    if (seen.begin_valid_o.get() && accepts) under_way_.push_back(static_cast<unsigned>(seen.begin_call_o.get()));
    next.ended_valid_i.set(0);
    if (!under_way_.empty() && ends.chance(ends_)) {
      const auto which = under_way_.begin() + ends.below(static_cast<unsigned>(under_way_.size()));
      next.ended_valid_i.set(1);
      next.ended_call_i.set(*which);
      under_way_.erase(which);
    }
  }

 private:
  static constexpr std::array kLoads{Register::size, Register::op0,   Register::op1, Register::res,  Register::e0,
                                     Register::er,   Register::spare, Register::e1,  Register::flat, Register::part};

  void draw(bisim::Dice& dice) {
    const unsigned size = 1 + dice.below(dice.pick(4, 64)), rank = dice.below(size);
    unsigned scenario = dice.chance(kinds_) ? dice.pick(3, 4) : dice.below(14);
    if (scenario == 0 && !dice.chance(100)) scenario = 1;
    if (dice.chance(20)) scenario = 255;
    const bool local = scenario < 3 || scenario == 255, plain = dice.chance(30), halves = dice.chance(300);
    const unsigned bytes = dice.pick(1, 2, 4, 8);
    const auto log = [&] {
      return plain ? 0U : halves ? dice.pick(1, 2) : static_cast<unsigned>(std::countr_zero(bytes));
    };
    const std::array<unsigned, 3> logs{log(), log(), log()};
    const std::uint64_t count = dice.chance(20)    ? 0
                                : dice.chance(100) ? dice.bits() >> (32 + dice.below(16))
                                                   : dice.below(most_);
    const auto place = [&] {
      const std::uint64_t low = dice.below(places_) * dice.pick(1, 16, 64);
      const std::uint64_t high = dice.chance(300) ? 1 + dice.below(3) : 0;
      return (low + (high << dice.pick(17, 34, 16, 33, 47))) & 0xFFFF'FFFF'FFFF;
    };
    const auto element = [&](unsigned k) { return plain ? std::uint64_t{0} : std::uint64_t{1} << logs[k]; };
    values_ = {local ? 0 : size,
               place(),
               place(),
               place(),
               element(0),
               element(2),
               dice.chance(500) ? 0 : place(),
               element(1),
               dice.pick(0, count, count + 1, count == 0 ? 0 : count - 1),
               dice.chance(500) ? count : count / 3};
    if (dice.chance(50)) values_[8] = std::uint64_t{1} << 32;
    call_ = {.number = 0,
             .port = 0,
             .begin_at = dice.below(369),
             .code = 0,
             .scenario = scenario,
             .setting = 0,
             .count = count,
             .has_communicator = !local,
             .collective = 0,
             .communicator = 0,
             .communicator_at = 8 * dice.below(2),
             .rank = rank,
             .root = dice.chance(400) ? rank : dice.below(size),
             .tag = dice.chance(100) ? 0xFFFF'FFFF : dice.below(3),
             .collective_number = 0,
             .operation = 0,
             .datatype = 0,
             .x_size = logs[0],
             .y_size = logs[1],
             .z_size = logs[2],
             .wire_size = 0,
             .combined_size = 0,
             .host = dice.chance(300) ? dice.below(8) : 0,
             .streams = dice.chance(streams_) ? dice.below(4) : 0};
  }

  unsigned pause_, stall_, ends_, places_, streams_, kinds_, most_;
  std::optional<unsigned> number_;
  bool takes_ = false, offers_ = false;
  std::size_t at_ = 0;
  std::array<std::uint64_t, kLoads.size()> values_{};
  top::call_t call_{};
  std::vector<unsigned> under_way_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
