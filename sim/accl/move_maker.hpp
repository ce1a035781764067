// SPDX-License-Identifier: Apache-2.0
// Converts moves of call programs into moves of the hardware's move engine.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "accl/context.hpp"
#include "accl/move_engine.hpp"
#include "accl/node_circuit.hpp"

namespace thalweg::accl {

class MoveMaker {
 public:
  /// `communicator`: the hardware's index of the call's communicator. Numbers the messages that the move receives and
  /// sends.
  [[nodiscard]] NodeCircuit::Move make(Context& context, Move& move, unsigned communicator) {
    using From = NodeCircuit::Source;
    using To = NodeCircuit::Target;
    const Instruction& what = *move.what;
    NodeCircuit::Move made;
    const std::array<OperandKind, 2> kinds{
        what.operation == spec::programs::Operation::await_ ? OperandKind::recv : what.x.kind, what.y.kind};
    made.wire_bytes = std::max(1U, context.wire_bytes());
    made.elements = move.elements;
    const bool combines = kinds[1] != OperandKind::none;
    unsigned stored = made.wire_bytes;
    for (std::size_t k = 0; k < 2; ++k) {
      if (kinds[k] == OperandKind::none) continue;
      auto& source = k == 0 ? made.x_source : made.y_source;
      auto& place = k == 0 ? made.x : made.y;
      place.bytes = made.wire_bytes;
      if (const auto role = MoveEngine::role_of(kinds[k])) {
        source = context.call.streams(*role) ? From::stream : From::memory;
        place.bytes = context.bytes(*role);
        place.host = context.call.in_host(*role);
        place.at = move.at[k];
      } else {
        source = From::message;
        made.from_communicator = communicator;
        made.from = static_cast<unsigned>(move.at[k]);
        made.from_collective = context.is_collective();
        made.from_tag = context.is_collective() ? context.collective : context.call.tag;
        if (context.is_collective()) made.from_number = taken_[{&context, made.from}]++;
        move.from = made.from;
      }
      stored = place.bytes;
      if (!combines) continue;
      place.conversion = conversion(stored, MoveEngine::combined_bytes(context));
      stored = MoveEngine::combined_bytes(context);
    }
    if (combines) {
      const auto with = *MoveEngine::unit(context);
      made.operation = static_cast<unsigned>(with.op);
      made.datatype = static_cast<unsigned>(with.type);
    }
    made.z.bytes = made.wire_bytes;
    if (const auto role = MoveEngine::role_of(what.z.kind)) {
      made.target = context.call.streams(*role) ? To::stream : To::memory;
      made.z.bytes = context.bytes(*role);
      made.z.host = context.call.in_host(*role);
      made.z.at = move.at[2];
      made.stream = context.call.tag == kAnyTag ? 0 : context.call.tag & 0xFF;
    } else if (const auto peer = MoveEngine::sends_to(move)) {
      const auto kind = MoveEngine::kind_of(context, move);
      const auto rank = static_cast<std::uint32_t>(*peer);
      made.target = To::rank;
      made.to = context.communicator.members[rank].session;
      made.to_communicator = context.communicator_id;
      made.own_rank = context.communicator.rank;
      made.kind = static_cast<unsigned>(kind);
      made.stream = kind == spec::MessageKind::stream ? context.call.tag & 0xFF : 0;
      made.to_tag = context.is_collective() ? context.collective : context.call.tag;
      made.to_number =
          kind == spec::MessageKind::collective ? context.sent[rank]++ : sent_[{context.communicator_id, rank, kind}]++;
    }
    if (move.elements > 0) made.z.conversion = conversion(stored, made.z.bytes);
    return made;
  }

  /// Call when the call has ended.
  void release(const Context& context) {
    std::erase_if(taken_, [&](const auto& each) { return each.first.first == &context; });
  }
  void reset() {
    taken_.clear();
    sent_.clear();
  }

 private:
  [[nodiscard]] static NodeCircuit::Conversion conversion(unsigned from, unsigned to) {
    return from == to  ? NodeCircuit::Conversion::none
           : from > to ? NodeCircuit::Conversion::narrow
                       : NodeCircuit::Conversion::widen;
  }

  std::map<std::pair<const Context*, unsigned>, std::uint32_t> taken_;  ///< messages of a collective, by rank
  std::map<std::tuple<std::uint32_t, std::uint32_t, spec::MessageKind>, std::uint32_t> sent_;
};

}  // namespace thalweg::accl
