// SPDX-License-Identifier: Apache-2.0
// Which way the blocks of a collective go: straight from rank to rank, around the ring, or in parts. All ranks have to choose alike, so it follows
// from the operation, the count and how boards are set up, and not from where a rank has its operands.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "accl/config.hpp"
#include "accl/context.hpp"
#include "accl/exchange_memory.hpp"
#include "accl/memory.hpp"
#include "accl/move_engine.hpp"
#include "accl/packet.hpp"

namespace thalweg::accl {

class CollectivePlan {
 public:
  /// What is given outlives it.
  CollectivePlan(const NodeConfig& config, const ExchangeMemory& exchange, const Memory& device)
      : config_(config), exchange_(exchange), device_(device) {}

  /// Sets the registers of a call by which its program chooses.
  void operator()(Context& context, const MoveEngine& mover) const {
    const Call& call = context.call;
    context[Register::most] = call.scenario == Scenario::bcast ? call.count : mover.most_in_circle(context);
    context[Register::spare] = exchange_.spare();
    context[Register::flat] = flat(context, mover.buffers());
    context[Register::part] = call.count;
    if (context.units)
      context[Register::flat] = context[Register::spare] = 0;
    else if (call.scenario == Scenario::bcast)
      divide(context, mover.buffers());
  }

 private:
  static constexpr std::uint64_t kLeastParts = 8;  ///< of a bcast in parts; it takes longer with fewer
  static constexpr std::uint32_t kOperand1 = 2;    ///< its bit of compression flags and of places in the host's memory

  /// Elements up to which a collective goes straight from rank to rank. They have to find room at one rank, in half of its receive
  /// buffers; with sessions in half of a window. What is rounded on the wire goes one way around.
  [[nodiscard]] std::uint64_t flat(const Context& context, const MoveEngine::Buffers& buffers) const {
    using enum Scenario;
    const Call& call = context.call;
    if (call.scenario != gather && call.scenario != allgather && call.scenario != alltoall && call.scenario != reduce &&
        call.scenario != allreduce)
      return 0;
    if (call.compressed_on_wire() || (call.scenario == reduce && context[Register::spare] == 0)) return 0;
    const std::uint64_t bytes =
        exchange_.tuning(call.scenario == reduce ? ExchangeMemory::kReduceFlat : ExchangeMemory::kGatherFlat);
    const auto ranks = std::max<std::size_t>(context.communicator.members.size(), 2);
    const auto room = config_.reliable
                          ? config_.window() / 2 * std::min<std::uint64_t>(buffers.bytes, config_.packet_bytes)
                          : buffers.all / 2 / (ranks - 1) * buffers.bytes;
    return std::min(bytes, room) / std::max(1U, context.wire_bytes());
  }
  /// Whether a bcast goes in parts from rank to rank: by its size, as only one rank knows that its result is a kernel's stream.
  void divide(Context& context, const MoveEngine::Buffers& buffers) const {
    Call& call = context.call;
    const auto spare = std::exchange(context[Register::spare], 0);
    const std::uint64_t wire = std::max(1U, context.wire_bytes());
    // The spare buffer has four times these bytes, and elements in it have up to twice those on the wire. Of a kernel's stream, parts are whole words.
    const auto most = 2 * exchange_.tuning(ExchangeMemory::kReduceFlat) / wire;
    const auto part = most - most % kWord;
    if (spare == 0 || part == 0 || call.count <= kLeastParts * part ||
        context.communicator.members.size() <= exchange_.tuning(ExchangeMemory::kBroadcastFlat))
      return;
    if (!config_.reliable) {
      // A quarter of the receive buffers is for segments of parts and for an answer of the next rank to each part.
      auto segment = std::max<std::uint64_t>(1, buffers.bytes / wire);
      if (segment >= kWord) segment -= segment % kWord;
      const auto ahead = buffers.all / 4 / ((part + segment - 1) / segment + 1);
      if (ahead < 2) return;
      context[Register::most] = ahead * part;
    }
    context[Register::part] = part;
    const bool keeps = !call.streams(Role::res) && context.bytes(Role::res) >= wire;
    if (keeps || context.communicator.rank == call.root) return;
    context[Register::spare] = spare;
    call.compression &= ~kOperand1;
    call.stream &= ~(kOperand1 << 8);
    if (!device_.has(spare, part * context.bytes(Role::op1)))
      context.fail(code::kSize, "the spare buffer is not in memory that was allocated");
  }

  const NodeConfig& config_;
  const ExchangeMemory& exchange_;
  const Memory& device_;
};

}  // namespace thalweg::accl
