// SPDX-License-Identifier: Apache-2.0
// An aggregation unit, flit by flit: operands, a join, and one queue per output; C++ model of
// rtl/reduce/tw_aggregation_unit.sv.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "reduce/fork.hpp"
#include "reduce/join.hpp"

namespace thalweg {

class FlitAggregationUnit {
 public:
  using Data = Word<256>;
  struct Step {
    unsigned operands;
    bool descriptor;  ///< descriptors: the first operand is forwarded
    unsigned flits;   ///< flits of the packet
    unsigned bytes;   ///< bytes of the packet, up to the end of its last element
    spec::Operator op;
    spec::Datatype type;
    bool paced;  ///< flits arrive with gaps
    std::uint32_t outputs;
    std::uint64_t tag;
  };
  struct Result {
    Data data;
    std::uint64_t tag;
    bool last;
  };

  /// `words`: depth of an output's queue, in flits; `latency`: cycles of a lane, also for the user's `own` operators.
  FlitAggregationUnit(unsigned inputs, unsigned outputs, unsigned words, unsigned latency,
                      std::vector<UserOperator> own = {})
      : join_(inputs, latency, std::move(own)), fork_(outputs, words), held_operands_(inputs) {}

  [[nodiscard]] unsigned room(unsigned output) const { return fork_.room(output); }
  /// This cycle's result.
  [[nodiscard]] std::optional<Result> result() const {
    const FlitJoin::Result* joined = join_.result();
    if (!joined) return std::nullopt;
    return Result{joined->data, in_join_.front().tag, in_join_.front().last};
  }
  /// The next flit of an output, if there is one.
  [[nodiscard]] std::optional<Result> front(unsigned output) const {
    const auto arrival = next_arrival(output);
    const Result* word = fork_.word(output, arrival ? &*arrival : nullptr);
    return word ? std::optional(*word) : std::nullopt;
  }

  /// One clock edge. `begins`: null, or the step whose operands arrive from the next cycle, while the last ones of the
  /// current step arrive; `operands`: this cycle's flits, by index; `ready`: outputs that take their flit; `again`:
  /// outputs that, after a last flit, read the packet again.
  void step(const Step* begins, std::span<const std::optional<Data>> operands, std::uint32_t ready,
            std::uint32_t again) {
    const auto arrival = next_arrival();
    fork_.step(arrival && outputs_now() ? &*arrival : nullptr, ready, again,
               begins ? Fork::Taking{begins->outputs, begins->flits} : Fork::Taking{});
    if (arrival) in_join_.pop_front();
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (operands[i]) held_operands_[i] = operands[i];
    const auto received =
        std::ranges::count_if(held_operands_, [](const auto& operand) { return operand.has_value(); });
    if (received > 0 && received == step_.operands)
      enter();
    else
      join_.step(nullptr);
    if (begins) step_ = *begins;
  }

 private:
  using Fork = FlitFork<Result>;
  struct InFlight {
    std::uint64_t tag;
    std::uint32_t outputs;
    bool last, paced;
  };

  [[nodiscard]] std::uint32_t outputs_now() const { return in_join_.front().outputs; }
  [[nodiscard]] std::optional<Fork::Arrival> next_arrival() const {
    const auto now = result();
    if (!now) return std::nullopt;
    return Fork::Arrival{*now, now->last, in_join_.front().paced};
  }
  [[nodiscard]] std::optional<Fork::Arrival> next_arrival(unsigned output) const {
    const auto arrival = next_arrival();
    return arrival && outputs_now() >> output & 1 ? arrival : std::nullopt;
  }

  /// All operands of a flit position have arrived.
  void enter() {
    const bool wide = spec::size_of(step_.type) == 16;
    const unsigned whole = sizeof(Data), before = flit_ * whole, most = wide && flit_ == 0 ? 24 : whole;
    FlitOperands flits{.op = step_.op,
                       .type = step_.type,
                       .head = flit_ == 0,
                       .bytes = step_.bytes > before ? std::min(step_.bytes - before, most) : 0,
                       .operands = {},
                       .tag = 0};
    for (unsigned i = 0; i < (step_.descriptor ? 1 : step_.operands); ++i) flits.operands.push_back(*held_operands_[i]);
    join_.step(&flits);
    std::ranges::fill(held_operands_, std::nullopt);
    flit_ = flit_ + 1 == step_.flits ? 0 : flit_ + 1;
    in_join_.push_back({step_.tag, step_.outputs, flit_ == 0, step_.paced});
  }

  FlitJoin join_;
  Fork fork_;
  Step step_{};
  unsigned flit_ = 0;  ///< of the step's packet
  std::vector<std::optional<Data>> held_operands_;
  std::deque<InFlight> in_join_;  ///< flits in the join
};

}  // namespace thalweg
