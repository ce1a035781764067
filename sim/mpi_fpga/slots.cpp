// SPDX-License-Identifier: Apache-2.0
#include "mpi_fpga/slots.hpp"

#include <algorithm>
#include <stdexcept>

namespace thalweg::mpi_fpga {

Slots::Slots(unsigned links, unsigned ports, unsigned units, std::uint32_t slot_flits, std::uint32_t batch)
    : slot_flits_(slot_flits), batch_(batch), due_(ports), banks_(links), slow_(units) {
  Edge unused;
  unused.credits = slot_flits_;
  rows_ = Growing<Growing<Edge>>(Growing<Edge>(unused));
}

bool Slots::settled(std::uint32_t row) const {
  return std::ranges::all_of(rows_[row], [](const Edge& edge) { return edge.owed == 0; });
}

void Slots::push(Edge& edge, PacketId packet, unsigned flits, Tick now) {
  edge.held += flits;
  if (edge.held + edge.read.unread(now) > slot_flits_)
    throw std::logic_error("a slot overflows: its sender ignores credits or received them too early");
  edge.packets.push_growing(packet);
}

bool Slots::take(std::uint32_t row, unsigned k, unsigned flits, bool final, unsigned pace, Tick now) {
  Edge& edge = at(row, k);
  edge.packets.pop();
  edge.held -= flits;
  edge.owed += flits;
  if (const SlowPacket read{now, flits, pace}; read.until() > edge.read.until()) edge.read = read;
  if (edge.due || (!final && edge.owed < batch_)) return false;
  edge.due = true;
  due_[port(k)].push_growing({static_cast<std::uint16_t>(row), static_cast<std::uint8_t>(k)});
  return true;
}

void Slots::reported(unsigned port) {
  Edge& edge = at(due_[port].front().row, due_[port].front().edge);
  edge.owed = 0;
  edge.due = false;
  due_[port].pop();
}

std::uint64_t Slots::credits_out() const {
  std::uint64_t out = 0;
  for (const auto& edges : rows_)
    for (const Edge& edge : edges) out += slot_flits_ - edge.credits;
  return out;
}

}  // namespace thalweg::mpi_fpga
