// SPDX-License-Identifier: Apache-2.0
#include "mpi_fpga/stages.hpp"

#include <bit>
#include <stdexcept>

#include "common/bits.hpp"

namespace thalweg::mpi_fpga {

void Stages::load(std::uint32_t operation, std::uint64_t stages, Home home) {
  auto& all = operations_[operation];
  each_bit(stages, [&](unsigned index) {
    while (all.size() <= index) {
      all.emplace_back();
      all.back().room = flits_;
    }
    Stage& stage = all[index];
    if (stage.room != flits_) throw std::logic_error("an operation has left packets in a stage");
    if (stage.home != home) stage.read = {};
    stage.home = home;
    ++home.place;
  });
}

void Stages::take_arrivals(Tick now) {
  next_ = kNever;
  for (Ring<Arrival>& coming : coming_) {
    for (; !coming.empty() && coming.front().at <= now; coming.pop()) arrivals_.push_back(coming.front());
    if (!coming.empty()) next_ = std::min(next_, coming.front().at);
  }
}

std::uint64_t Stages::empty(std::uint32_t operation, std::uint64_t stages, Tick now) const {
  std::uint64_t empty = 0;
  for (; stages; stages &= stages - 1) {
    const auto& packets = at(operation, static_cast<unsigned>(std::countr_zero(stages))).packets;
    if (packets.empty() || packets.front().whole > now) empty |= stages & -stages;
  }
  return empty;
}

std::uint64_t Stages::full(std::uint32_t operation, std::uint64_t stages, unsigned flits, Home home, Tick now) const {
  if (!stages) return 0;
  const Wide held = slow_.held(operation, now);
  std::uint64_t full = 0;
  for (; stages; stages &= stages - 1, ++home.place)
    if ((held & bit(home)) || at(operation, static_cast<unsigned>(std::countr_zero(stages))).room < flits)
      full |= stages & -stages;
  return full;
}

void Stages::hold(unsigned unit, std::uint32_t operation, std::uint64_t stages, Tick until) {
  Wide places = 0;
  each_bit(stages, [&](unsigned stage) { places |= bit(at(operation, stage).home); });
  slow_.begin(unit, operation, places, until);
}

PacketId Stages::take(std::uint32_t operation, unsigned index, unsigned flits, unsigned pace, Tick now) {
  Stage& stage = at(operation, index);
  const PacketId packet = stage.packets.front().packet;
  stage.packets.pop();
  stage.room += flits;
  if (const SlowPacket read{now, flits, pace}; read.until() > stage.read.until()) stage.read = read;
  return packet;
}

void Stages::reserve(std::uint32_t operation, unsigned index, unsigned flits, Tick last) {
  Stage& stage = at(operation, index);
  stage.room -= flits;
  if (stage.room < stage.read.unread(last))
    throw std::logic_error("a stage overflows: its previous contents have not been read");
}

void Stages::fill(std::uint32_t operation, unsigned stage, PacketId packet, Tick last) {
  Stage& filled = at(operation, stage);
  filled.packets.push_growing({packet, last + 1});
  coming_[filled.home.unit].push_growing({last, operation, static_cast<std::uint8_t>(stage)});
  next_ = std::min(next_, last);
}

}  // namespace thalweg::mpi_fpga
