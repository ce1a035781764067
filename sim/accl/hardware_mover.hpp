// SPDX-License-Identifier: Apache-2.0
// Hardware that executes a board's moves (rtl/accl/top/tw_accl_node.sv). The sequencer that issues them is the
// simulator's.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "accl/hardware_ports.hpp"
#include "accl/move_maker.hpp"

namespace thalweg::accl {

class HardwareMover final : public HardwarePorts {
 public:
  /// As HardwarePorts.
  HardwareMover(const NodeConfig& config, Memory& device, Memory& host, UdpPort& udp, Domain& engine,
                KernelStreams& kernels, ethernet::Frames& frames, Waker waker,
                const std::vector<ethernet::UdpEnd>& ends, std::unique_ptr<NodeCircuit> circuit)
      : HardwarePorts(config, device, host, udp, engine, kernels, frames, waker, ends, std::move(circuit)),
        slots_(limits_.slots) {
    static_cast<void>(configure({}, 0));
  }

  [[nodiscard]] bool configure(const std::vector<std::uint64_t>& addresses, std::uint32_t bytes) override {
    if (addresses.size() > limits_.buffers || addresses.size() == 1 || bytes % kGrain != 0 ||
        bytes > std::uint64_t{limits_.packets} * config_.packet_bytes)
      return false;
    buffers_ = addresses.size();
    buffer_bytes_ = bytes;
    for (unsigned k = 0; k < addresses.size(); ++k)
      set(NodeCircuit::Sets::buffer, k,
          {static_cast<std::uint32_t>(addresses[k]), static_cast<std::uint32_t>(addresses[k] >> 32)});
    const auto last = addresses.empty() ? 0 : static_cast<std::uint32_t>(addresses.size() - 1);
    set(NodeCircuit::Sets::sizes, 0, {last << 24 | bytes / kWord << 8 | config_.packet_bytes / kWord});
    commands_.push_back({.does = NodeCircuit::Does::clear});
    wake();
    return true;
  }
  void reset(Tick /*now*/) override {
    moves_.reset();
    ending_.clear();
    static_cast<void>(configure({}, 0));
  }
  [[nodiscard]] bool know(std::uint32_t communicator) override {
    if (communicators_.contains(communicator)) return true;
    if (communicators_.size() == limits_.communicators) return false;
    const auto index = static_cast<unsigned>(communicators_.size());
    communicators_[communicator] = index;
    set(NodeCircuit::Sets::communicator, index, {communicator, 1});
    return true;
  }
  [[nodiscard]] Buffers buffers() const override { return {.bytes = buffer_bytes_, .all = buffers_}; }
  [[nodiscard]] std::uint64_t most_in_circle(const Context& context) const override {
    return std::max<std::uint64_t>(1, context.call.count);
  }

  [[nodiscard]] bool segment(Context& context, Move& move, Tick now) override {
    if (move.continues && move.what->z.kind == OperandKind::res && context.call.streams(Role::res)) {
      context.fail(code::kNotImplemented,
                   "the hardware forwards a message that arrives in parts to a kernel's stream as several packets");
      context.resumes_at = now;
      return true;
    }
    const auto free = std::ranges::find_if(slots_, [](const Slot& slot) { return !slot.busy; });
    if (free == slots_.end()) {  // a slot becomes free when a move in flight ends
      waiting_.push_back(&move);
      move.resumes_at = kNever;
      return false;
    }
    const auto slot = static_cast<unsigned>(free - slots_.begin());
    commands_.push_back(
        {.does = NodeCircuit::Does::begin, .slot = slot, .move = moves_.make(context, move, number_of(context))});
    *free = {.busy = true, .context = &context, .move = &move};
    move.resumes_at = kNever;
    wake();
    return false;
  }
  void release(const Context& context, Tick /*now*/) override {
    bool cancels = false;
    std::erase_if(waiting_, [&](const Move* move) { return move == &context.move || move == &context.background; });
    for (unsigned k = 0; k < slots_.size(); ++k) {
      Slot& slot = slots_[k];
      if (!slot.busy || slot.context != &context) continue;
      commands_.push_back({.does = NodeCircuit::Does::cancel, .slot = k});
      slot.context = nullptr;
      slot.move = nullptr;
      slot.of = context.collective;
      slot.communicator = context.communicator_id;
      cancels = true;
    }
    moves_.release(context);
    if (context.is_collective() && communicators_.contains(context.communicator_id)) {
      ending_.push_back({context.communicator_id, context.collective});
      if (!cancels) end_collectives();
    }
    wake();
  }

 private:
  static constexpr std::uint32_t kGrain = 512;  ///< granularity of receive buffers in bytes

  struct Slot {
    bool busy = false;
    const Context* context = nullptr;  ///< null: the call has ended
    Move* move = nullptr;
    std::uint32_t of = 0, communicator = 0;
  };
  /// The hardware's index of the call's communicator.
  [[nodiscard]] unsigned number_of(const Context& context) const {
    const auto found = communicators_.find(context.communicator_id);
    return found == communicators_.end() ? 0 : found->second;
  }
  void end_collectives() {
    std::erase_if(ending_, [&](const auto& one) {
      if (std::ranges::any_of(slots_, [&](const Slot& slot) {
            return slot.busy && !slot.move && slot.communicator == one.first && slot.of == one.second;
          }))
        return false;
      commands_.push_back({.does = NodeCircuit::Does::end_collective,
                           .move = {.from_communicator = communicators_.at(one.first), .from_tag = one.second}});
      return true;
    });
  }

  bool tell(NodeCircuit::Inputs& in, Tick /*now*/) override {
    in.commands = !in.sets && !commands_.empty();
    if (in.commands) in.command = commands_.front();
    return in.commands;
  }
  bool look(const NodeCircuit::Inputs& in, const NodeCircuit::Outputs& out, Tick now) override {
    if (in.commands && out.takes_command) commands_.pop_front();
    if (out.moves)
      if (Move* move = slots_[out.moves_slot].move) move->waits = kNever;
    wait(out, now);
    if (out.ended) end(out, now);
    return out.ended;
  }
  [[nodiscard]] unsigned quiet() const override { return 512; }
  /// Records waiting moves. A wait ends when a piece moves.
  void wait(const NodeCircuit::Outputs& out, Tick now) {
    for (auto bits = out.message_waits | out.kernel_waits; bits != 0; bits &= bits - 1) {
      const auto slot = static_cast<unsigned>(std::countr_zero(bits));
      Move* move = slots_[slot].move;
      if (!move || move->waits != kNever) continue;
      move->waits = now;
      move->for_kernel = (out.kernel_waits >> slot & 1) != 0;
      waker_.wake(now + 1);
    }
  }
  void end(const NodeCircuit::Outputs& out, Tick now) {
    Slot& slot = slots_[out.slot];
    if (slot.move) {
      auto& context = const_cast<Context&>(*slot.context);
      Move& move = *slot.move;
      if (out.how == NodeCircuit::How::differs) {
        differ(context, move, now + 1, move.from, out.length, "has sent");
      } else {
        const bool background = &move == &context.background;
        if (!background || context.resumes_at == kNever) context.resumes_at = now + 1;
        move = {};
      }
    }
    slot = {};
    for (Move* waits : std::exchange(waiting_, {})) waits->resumes_at = now + 1;
    end_collectives();
    waker_.wake(now + 1);
  }

  std::vector<Slot> slots_;
  std::vector<Move*> waiting_;  ///< moves that wait for a slot
  std::deque<NodeCircuit::Command> commands_;
  std::map<std::uint32_t, unsigned> communicators_;
  MoveMaker moves_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ending_;  ///< ended collectives with moves still to be cancelled
  std::size_t buffers_ = 0;
  std::uint32_t buffer_bytes_ = 0;
};

}  // namespace thalweg::accl
