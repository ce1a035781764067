// SPDX-License-Identifier: Apache-2.0
// Decides when the hardware's calls start, cycle by cycle, as Node::begins does. C++ model of
// rtl/accl/tw_call_order.sv.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "accl/call.hpp"
#include "accl/call_port.hpp"
#include "accl/context.hpp"
#include "accl/program_moves.hpp"
#include "core/types.hpp"

namespace thalweg::accl {

class CallOrder {
 public:
  struct In {
    bool number_ready = false, begin_ready = false;
    std::optional<CallPort::Load> load{};        ///< a register write
    std::optional<ProgramMoves::Begins> call{};  ///< taken if ready()
    std::optional<unsigned> ended{};
  };
  struct Begin {
    unsigned number = 0;
    std::uint16_t at = 0;
  };

  explicit CallOrder(unsigned calls) : calls_(calls) {}

  [[nodiscard]] const std::optional<unsigned>& number() const { return offered_; }
  [[nodiscard]] bool ready() const { return left_ == 1; }
  [[nodiscard]] const std::optional<Begin>& begin() const { return begin_; }

  void step(const In& in) {
    const auto freed = in.ended;
    if (begin_) {
      if (in.begin_ready) begin_.reset();
    } else if (const auto next = find([](const Of& one) { return one.ready; })) {
      begin_ = {*next, calls_[*next].begin_at};
      calls_[*next].waiting = calls_[*next].ready = false;
    }
    for (Of& one : calls_) one.ready = one.waiting && one.waits == 0;
    if (offered_) {
      if (in.number_ready) offered_.reset();
    } else if ((offered_ = find([](const Of& one) { return !one.taken; }))) {
      calls_[*offered_].taken = true;
    }
    if (left_ > 0) {
      if (--left_ == 0) enter();
    } else if (in.call) {
      take(*in.call);
    }
    if (in.load) registers_[static_cast<std::size_t>(in.load->to)] = in.load->data;
    if (!freed) return;
    calls_[*freed].taken = calls_[*freed].under_way = false;
    for (Of& one : calls_) one.waits &= ~(1U << *freed);
  }

 private:
  struct Of {
    Context context{};
    std::uint16_t begin_at = 0;
    bool taken = false, under_way = false, waiting = false, ready = false;
    unsigned waits = 0;  ///< a bit for each call
  };
  static constexpr Tick kRanges = 9, kBlocks = 14, kEach = 3, kEnters = 3;  ///< cycles

  template <class Is>
  [[nodiscard]] std::optional<unsigned> find(const Is& is) const {
    const auto found = std::ranges::find_if(calls_, is);
    return found == calls_.end() ? std::nullopt : std::optional(static_cast<unsigned>(found - calls_.begin()));
  }
  [[nodiscard]] std::uint64_t operator[](Register name) const { return registers_[static_cast<std::size_t>(name)]; }

  void take(const ProgramMoves::Begins& from) {
    number_ = from.number;
    Of& call = calls_[number_];
    call.begin_at = from.call.begin_at;
    Context& context = call.context = {};
    context.call = from.call.call;
    context.call.communicator &= 0x1FFF;
    context.call.root &= 0xFF;
    context.call.address = {(*this)[Register::op0], (*this)[Register::op1], (*this)[Register::res]};
    context.communicator.rank = from.call.rank;
    context.communicator.members.resize((*this)[Register::size] & 127);
    context.registers = registers_;
    ProgramMoves::set_sizes(context,
                            {static_cast<unsigned>((*this)[Register::e0]), static_cast<unsigned>((*this)[Register::e1]),
                             static_cast<unsigned>((*this)[Register::er]), 0, 0});
    left_ = kRanges + kEnters;
    // Block sums take a cycle per bit of the number of ranks.
    using enum Scenario;
    const bool is_root = context.communicator.rank == context.call.root;
    const auto scenario = context.call.scenario;
    left_ += kBlocks * ((scenario == scatter && is_root) + (scenario == gather && is_root) + (scenario == allgather) +
                        (scenario == reduce_scatter) + 2 * (scenario == alltoall));
    conflicts_ = 0;
    for (unsigned k = 0; k < calls_.size(); ++k) {
      if (!calls_[k].under_way) continue;
      left_ += kEach;
      if (conflicts(calls_[k].context, context)) conflicts_ |= 1U << k;
    }
  }
  void enter() {
    Of& call = calls_[number_];
    call.waits = 0;
    for (unsigned k = 0; k < calls_.size(); ++k)
      if (calls_[k].under_way) call.waits |= conflicts_ & 1U << k;
    call.under_way = call.waiting = true;
  }

  std::vector<Of> calls_;
  Registers registers_{};
  std::optional<unsigned> offered_;
  std::optional<Begin> begin_;
  Tick left_ = 0;
  unsigned number_ = 0, conflicts_ = 0;
};

}  // namespace thalweg::accl
