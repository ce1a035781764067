// SPDX-License-Identifier: Apache-2.0
// Random operations of SMI's endpoints, the same for all ranks. Must be included after bisim's header.
#pragma once

#include <algorithm>

#include "bisim/dice.hpp"
#include "smi/endpoint.hpp"

namespace blocks {

using thalweg::smi::Element, thalweg::smi::Endpoint, thalweg::smi::EndpointKind, thalweg::smi::Open;
using thalweg::spec::Datatype, thalweg::spec::Operator;

/// A collective of some of `all` ranks that includes `member`.
[[nodiscard]] inline Open collective(EndpointKind kind, const Endpoint::Config& config, unsigned all, unsigned member,
                                     unsigned longest, bisim::Dice& dice) {
  Open open;
  open.stride = 1 + dice.below(3);
  open.first = member % open.stride + open.stride * dice.below(member / open.stride + 1);
  const unsigned least = (member - open.first) / open.stride + 1, most = (all - 1 - open.first) / open.stride + 1;
  open.ranks = least + dice.below(most - least + 1);
  open.root = dice.below(open.ranks);
  const unsigned linear = std::max(1u, open.ranks - 1);
  open.arity = std::min({linear, config.children, dice.chance(500) ? linear : 1 + dice.below(3)});
  if (kind == EndpointKind::scatter || kind == EndpointKind::gather) open.arity = linear;
  open.count = dice.chance(30) ? 0 : 1 + dice.below(dice.chance(300) ? 10 : longest);
  constexpr Datatype kTypes[] = {Datatype::int32, Datatype::float32, Datatype::float64, Datatype::int8,
                                 Datatype::int16};
  constexpr unsigned kSizes[] = {2, 2, 3, 0, 1};
  const unsigned type = dice.below(5);
  open.type = kTypes[type];
  open.size = kSizes[type];
  constexpr Operator kOperators[] = {Operator::sum, Operator::min, Operator::max};
  open.op = kOperators[dice.below(3)];
  const unsigned fit = thalweg::smi::max_elements(config.packet_bytes, open.size);
  open.per_packet = dice.chance(700) ? fit : 1 + dice.below(fit);
  open.tile = dice.chance(500) ? config.tile : 1 + dice.below(config.tile);
  open.any_order = dice.chance(400);
  return open;
}
/// A rank's number in a communicator, or -1.
[[nodiscard]] inline int own_of(const Open& open, unsigned rank) {
  if (rank < open.first || (rank - open.first) % open.stride != 0) return -1;
  const unsigned own = (rank - open.first) / open.stride;
  return own < open.ranks ? static_cast<int>(own) : -1;
}

/// Elements that a kernel gives, and gets.
[[nodiscard]] inline std::uint64_t gives(EndpointKind kind, const Open& open) {
  const bool root = open.own == open.root;
  switch (kind) {
    case EndpointKind::pop:
      return 0;
    case EndpointKind::broadcast:
      return root ? open.count : 0;
    case EndpointKind::scatter:
      return root ? std::uint64_t{open.count} * open.ranks : 0;
    default:
      return open.count;
  }
}
[[nodiscard]] inline std::uint64_t gets(EndpointKind kind, const Open& open) {
  const bool root = open.own == open.root;
  switch (kind) {
    case EndpointKind::push:
      return 0;
    case EndpointKind::broadcast:
      return root ? 0 : open.count;
    case EndpointKind::gather:
      return root ? std::uint64_t{open.count} * open.ranks : 0;
    case EndpointKind::reduce:
      return root ? open.count : 0;
    default:
      return open.count;
  }
}
[[nodiscard]] inline Element element(bisim::Dice& dice) {
  static constexpr std::uint64_t kSpecial[] = {0x0000000000000000, 0x8000000080008000, 0x7FF0000000000000,
                                               0xFFF0000000000000, 0x7F8000007F800000, 0x7FFFFFFF7FFF7FFF};
  const std::uint64_t bits = dice.bits();
  const unsigned sort = dice.below(10);
  return {sort < 6 ? bits : sort < 9 ? (bits & 0xC3FFFFFFC3FFFFFF) | 0x3C0000003C000000 : kSpecial[dice.below(6)]};
}

}  // namespace blocks
