// SPDX-License-Identifier: Apache-2.0
// Twin and stimulus of a collective's endpoint: rank 3 of seven, the others twins, all of their kernels, and a network
// that is in-order between each pair of ranks only. Must be included after bisim's header.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "bisim/bisim.hpp"
#include "blocks/smi/operations.hpp"
#include "blocks/smi/packets.hpp"
#include "smi/endpoint.hpp"
#include "smi/open_ports.hpp"

namespace blocks {

constexpr unsigned kRanks = 7, kRank = 3, kBytes = top::Parameters::PacketBytes;

template <class Hardware>
struct EndpointTwin {
  Hardware hardware;

  explicit EndpointTwin(Endpoint::Config config) : hardware(config) {}

  void outputs(const top::Inputs&, top::Outputs& out) const {
    out.open_ready_o.set(hardware.open_ready());
    out.in_ready_o.set(hardware.element_ready());
    out.data_ready_o.set(hardware.data_ready());
    out.out_valid_o.set(hardware.element() != nullptr);
    if (hardware.element()) out.out_data_o.set(hardware.element()->data);
    const auto* packet = hardware.packet();
    out.packet_valid_o.set(packet != nullptr);
    if (packet) out.packet_data_o.set(words_of<kBytes>(*packet));
  }
  void step(const top::Inputs& in) {
    const Open open = open_of(in.open_i.get());
    const Element element{in.in_data_i.get()};
    const auto data = packet_of<kBytes>(in.data_data_i.get());
    const auto control = packet_of<kBytes>(in.control_data_i.get());
    hardware.step({.open = in.open_valid_i.get() ? &open : nullptr,
                   .element = in.in_valid_i.get() ? &element : nullptr,
                   .element_taken = hardware.element() && in.out_ready_i.get(),
                   .data = in.data_valid_i.get() ? &data : nullptr,
                   .control = in.control_valid_i.get() ? &control : nullptr,
                   .packet_taken = hardware.packet() && in.packet_ready_i.get()});
  }
};

/// Lanes: the rank's kernel, its reception, its packets, the network, the other ranks.
template <class Hardware>
class Peers {
 public:
  static constexpr unsigned kLanes = 5;

  Peers(bisim::Dice run, EndpointKind kind, Endpoint::Config config)
      : kind_(kind),
        config_(config),
        gives_(run.pick(1000, 900, 300)),
        takes_(run.pick(1000, 900, 300)),
        sends_(run.pick(1000, 900, 300)),
        others_(run.pick(1000, 900, 300)),
        latency_(run.pick(1, 20, 60)),
        jitter_(run.pick(1, 10, 50)),
        longest_(run.pick(10, 100, 400)),
        operations_dice_(run) {
    for (unsigned r = 0; r < kRanks; ++r) {
      config.rank = r;
      ranks_[r].hardware = std::make_unique<Hardware>(config);
    }
  }

  void drive(const top::Outputs& seen, const bisim::Draws& draws, top::Inputs& next) {
    bisim::Dice kernel = draws.lane(0), taking = draws.lane(1), sending = draws.lane(2), network = draws.lane(3),
                others = draws.lane(4);
    next.rank_i.set(kRank);
    for (unsigned r = 0; r < kRanks; ++r) {
      if (r == kRank)
        own(seen, kernel, taking, sending, network, next);
      else
        other(r, others, network);
    }
    ++now_;
  }

 private:
  struct Rank {
    std::unique_ptr<Hardware> hardware;
    std::size_t operation = 0;
    bool open = false, shows_open = false, shows = false;
    std::uint64_t given = 0, got = 0;
    Element element;
    int from = -1;  ///< source of the data packet that it is shown
  };
  struct Sent {
    std::uint64_t due;
    Packet packet;
  };

  // --- operations, the same for all ranks

  const Open& operation(std::size_t index) {
    while (operations_.size() <= index)
      operations_.push_back(collective(kind_, config_, kRanks, kRank, longest_, operations_dice_));
    return operations_[index];
  }
  /// A rank's next operation, as it opens it.
  Open next_of(unsigned r) {
    Rank& rank = ranks_[r];
    while (own_of(operation(rank.operation), r) < 0) ++rank.operation;
    Open open = operation(rank.operation);
    open.own = static_cast<unsigned>(own_of(open, r));
    return open;
  }

  /// A kernel's action in a cycle: opens, or gives an element.
  void act(unsigned r, bisim::Dice& dice, unsigned often) {
    Rank& rank = ranks_[r];
    if (rank.shows_open || rank.shows || !dice.chance(often)) return;
    const Open open = next_of(r);
    if (!rank.open) {
      rank.shows_open = true;
    } else if (rank.given < gives(kind_, open)) {
      rank.shows = true;
      rank.element = blocks::element(dice);
    }
  }
  void acted(unsigned r, bool opened, bool gave, bool got) {
    Rank& rank = ranks_[r];
    if (opened) rank.open = true, rank.shows_open = false;
    if (gave) rank.shows = false;
    rank.given += gave;
    rank.got += got;
    const Open open = next_of(r);
    if (!rank.open || rank.given < gives(kind_, open) || rank.got < gets(kind_, open)) return;
    ++rank.operation;
    rank.open = false;
    rank.given = rank.got = 0;
  }

  // --- the network

  std::deque<Sent>& link(unsigned from, unsigned to, bool control) {
    return links_[(from * kRanks + to) * 2 + control];
  }
  void send(unsigned from, const Packet& packet, bisim::Dice& dice) {
    auto& to = link(from, packet.destination(), packet.control());
    const std::uint64_t due = now_ + latency_ + dice.below(jitter_);
    to.push_back({to.empty() ? due : std::max(due, to.back().due), packet});
  }
  int arrived(unsigned to, bool control, bisim::Dice& dice) {
    const unsigned first = dice.below(kRanks);
    for (unsigned i = 0; i < kRanks; ++i) {
      const auto& from = link((first + i) % kRanks, to, control);
      if (!from.empty() && from.front().due <= now_) return static_cast<int>((first + i) % kRanks);
    }
    return -1;
  }

  // --- the ranks

  void own(const top::Outputs& seen, bisim::Dice& kernel, bisim::Dice& taking, bisim::Dice& sending,
           bisim::Dice& network, top::Inputs& next) {
    Rank& rank = ranks_[kRank];
    act(kRank, kernel, gives_);
    const Open open = next_of(kRank);
    next.open_valid_i.set(rank.shows_open);
    next.open_i.set(open_port(open));
    next.in_valid_i.set(rank.shows);
    next.in_data_i.set(rank.element.data);
    const bool takes = taking.chance(takes_);
    next.out_ready_i.set(takes);
    const bool sends = sending.chance(sends_);
    next.packet_ready_i.set(sends);
    if (sends && seen.packet_valid_o.get()) send(kRank, packet_of<kBytes>(seen.packet_data_o.get()), network);
    if (rank.from < 0) rank.from = arrived(kRank, false, network);
    if (rank.from >= 0) {
      auto& from = link(static_cast<unsigned>(rank.from), kRank, false);
      next.data_valid_i.set(true);
      next.data_data_i.set(words_of<kBytes>(from.front().packet));
      if (seen.data_ready_o.get()) from.pop_front(), rank.from = -1;
    }
    if (const int from = arrived(kRank, true, network); from >= 0) {
      auto& control = link(static_cast<unsigned>(from), kRank, true);
      next.control_valid_i.set(true);
      next.control_data_i.set(words_of<kBytes>(control.front().packet));
      control.pop_front();
    }
    acted(kRank, rank.shows_open && seen.open_ready_o.get(), rank.shows && seen.in_ready_o.get(),
          takes && seen.out_valid_o.get());
  }
  void other(unsigned r, bisim::Dice& dice, bisim::Dice& network) {
    Rank& rank = ranks_[r];
    auto& hardware = *rank.hardware;
    act(r, dice, others_);
    const Open open = next_of(r);
    Endpoint::Inputs in{.open = rank.shows_open ? &open : nullptr, .element = rank.shows ? &rank.element : nullptr};
    in.element_taken = hardware.element() && dice.chance(others_);
    if (hardware.packet() && dice.chance(others_)) {
      in.packet_taken = true;
      send(r, *hardware.packet(), network);
    }
    Packet data, control;
    if (rank.from < 0) rank.from = arrived(r, false, network);
    if (rank.from >= 0) {
      auto& from = link(static_cast<unsigned>(rank.from), r, false);
      data = from.front().packet;
      in.data = &data;
      if (hardware.data_ready()) from.pop_front(), rank.from = -1;
    }
    if (const int from = arrived(r, true, network); from >= 0) {
      auto& controls = link(static_cast<unsigned>(from), r, true);
      control = controls.front().packet;
      in.control = &control;
      controls.pop_front();
    }
    const bool opened = in.open && hardware.open_ready(), gave = in.element && hardware.element_ready();
    hardware.step(in);
    acted(r, opened, gave, in.element_taken);
  }

  EndpointKind kind_;
  Endpoint::Config config_;
  unsigned gives_, takes_, sends_, others_, latency_, jitter_, longest_;
  bisim::Dice operations_dice_;
  std::deque<Open> operations_;
  std::array<Rank, kRanks> ranks_;
  std::array<std::deque<Sent>, std::size_t{kRanks} * kRanks * 2> links_;
  std::uint64_t now_ = 0;
};

}  // namespace blocks
