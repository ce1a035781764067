// SPDX-License-Identifier: Apache-2.0
// Chooses the algorithm of a collective: direct (flat) from rank to rank, around the ring, or pipelined in parts. All
// ranks must choose alike. The choice therefore depends on the operation, the count and the boards' configuration, not
// on where a rank has its operands.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "accl/config.hpp"
#include "accl/context.hpp"
#include "accl/exchange_memory.hpp"
#include "accl/move_engine.hpp"
#include "accl/packet.hpp"
#include "core/types.hpp"

namespace thalweg::accl {

class CollectivePlan {
 public:
  /// The arguments must outlive the object.
  CollectivePlan(const NodeConfig& config, const ExchangeMemory& exchange) : config_(config), exchange_(exchange) {}

  /// Sets the registers by which a call's program chooses. `most`: elements for which there is always buffer space
  /// around a ring. Returns the cycles in which the hardware (call_port.hpp) computes the quotients.
  Tick operator()(Context& context, const MoveEngine::Buffers& buffers, std::uint64_t most) const {
    const Call& call = context.call;
    context[Register::most] = call.scenario == Scenario::bcast ? call.count : most;
    context[Register::spare] = exchange_.spare();
    context[Register::flat] = 0;
    context[Register::part] = call.count;
    if (context.units) {
      context[Register::spare] = 0;
      return 0;
    }
    return call.scenario == Scenario::bcast ? divide(context, buffers) : flat(context, buffers);
  }

 private:
  static constexpr std::uint64_t kLeastParts = 8;  ///< parts of a bcast in parts; with fewer it takes longer
  static constexpr std::uint32_t kOperand1 = 2;    ///< its bit in the compression flags and in the host-memory flags

  /// Computes the maximum number of elements for a direct (flat) collective. They must fit into half of one rank's
  /// receive buffers; with sessions, into half of a window. Elements rounded on the wire always go
  /// around the ring.
  Tick flat(Context& context, const MoveEngine::Buffers& buffers) const {
    using enum Scenario;
    const Call& call = context.call;
    if (call.scenario != gather && call.scenario != allgather && call.scenario != alltoall && call.scenario != reduce &&
        call.scenario != allreduce)
      return 0;
    if (call.compressed_on_wire() || (call.scenario == reduce && context[Register::spare] == 0)) return 0;
    const std::uint64_t bytes =
        exchange_.tuning(call.scenario == reduce ? ExchangeMemory::kReduceFlat : ExchangeMemory::kGatherFlat);
    const auto ranks = std::max<std::size_t>(context.communicator.members.size(), 2);
    const auto each = buffers.all / 2 / (ranks - 1);
    const auto room = config_.reliable
                          ? config_.window() / 2 * std::min<std::uint64_t>(buffers.bytes, config_.packet_bytes)
                          : each * buffers.bytes;
    context[Register::flat] = std::min(bytes, room) / std::max(1U, context.wire_bytes());
    return config_.reliable ? 0 : static_cast<Tick>(each + 2);
  }
  /// Decides whether a bcast is pipelined in parts: by its size, as only one rank knows that its result is a kernel's
  /// stream.
  Tick divide(Context& context, const MoveEngine::Buffers& buffers) const {
    Call& call = context.call;
    const auto spare = std::exchange(context[Register::spare], 0);
    const std::uint64_t wire = std::max(1U, context.wire_bytes());
    // The spare buffer has four times these bytes; its elements have up to twice the bytes on the wire. For a kernel's
    // stream, parts are whole words.
    const auto most = 2 * std::uint64_t{exchange_.tuning(ExchangeMemory::kReduceFlat)} / wire;
    const auto part = most - most % kWord;
    if (spare == 0 || part == 0 || call.count <= kLeastParts * part ||
        context.communicator.members.size() <= exchange_.tuning(ExchangeMemory::kBroadcastFlat))
      return 0;
    Tick cycles = 0;
    if (!config_.reliable) {
      // A quarter of the receive buffers is for the segments of parts, and for an answer of the next rank to each part.
      auto segment = std::max<std::uint64_t>(1, buffers.bytes / wire);
      if (segment >= kWord) segment -= segment % kWord;
      const auto needed = (part + segment - 1) / segment + 1;
      const auto ahead = buffers.all / 4 / needed;
      if (ahead < 2) return static_cast<Tick>(std::max<std::size_t>(1, buffers.all / 8));
      context[Register::most] = ahead * part;
      cycles = static_cast<Tick>(needed + ahead + 1);
    }
    context[Register::part] = part;
    const bool keeps = !call.streams(Role::res) && context.bytes(Role::res) >= wire;
    if (keeps || context.communicator.rank == call.root) return cycles;
    context[Register::spare] = spare;
    call.compression &= ~kOperand1;
    call.stream &= ~(kOperand1 << 8);
    return cycles;
  }

  const NodeConfig& config_;
  const ExchangeMemory& exchange_;
};

}  // namespace thalweg::accl
