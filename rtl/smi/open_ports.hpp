// SPDX-License-Identifier: Apache-2.0
// Conversion of channel opens to ports of the hardware, and back.
#pragma once

#include <cstdint>

#include "smi/endpoint.hpp"
#include "top.hpp"

namespace blocks {

using thalweg::smi::Open;

/// Number of packets in a circuit that carries the message.
template <unsigned Bytes>
[[nodiscard]] std::uint32_t circuit_packets(const Open& open) {
  const unsigned whole = thalweg::smi::payload_elements(Bytes, open.size);
  return (open.count + whole - 1) / whole;
}

[[nodiscard]] inline top::open_t open_port(const Open& open) {
  top::open_t port;
  port.count = open.count;
  port.datatype = static_cast<unsigned>(open.type);
  port.size = open.size;
  port.op = static_cast<unsigned>(open.op);
  port.per_packet = open.per_packet;
  port.window = open.window;
  port.packets = open.packets;
  port.peer = open.peer;
  port.root = open.root;
  port.own = open.own;
  port.first = open.first;
  port.stride = open.stride;
  port.ranks = open.ranks;
  port.arity = open.arity;
  port.tile = open.tile;
  port.any_order = open.any_order;
  return port;
}
[[nodiscard]] inline Open open_of(const top::open_t& port) {
  const auto number = [](std::uint64_t value) { return static_cast<unsigned>(value); };
  Open open;
  open.count = number(port.count);
  open.type = static_cast<thalweg::spec::Datatype>(port.datatype);
  open.size = number(port.size);
  open.op = static_cast<thalweg::spec::Operator>(port.op);
  open.per_packet = number(port.per_packet);
  open.window = number(port.window);
  open.packets = number(port.packets);
  open.peer = number(port.peer);
  open.root = number(port.root);
  open.own = number(port.own);
  open.first = number(port.first);
  open.stride = number(port.stride);
  open.ranks = number(port.ranks);
  open.arity = number(port.arity);
  open.tile = number(port.tile);
  open.any_order = port.any_order != 0;
  return open;
}

}  // namespace blocks
