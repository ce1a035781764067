// SPDX-License-Identifier: Apache-2.0
// Twin and stimulus of a collective's endpoint: rank 3 of seven, the others twins, all of their kernels, and a network between them that
// keeps the order of what goes from one to another and no other. Included behind bisim's header.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "bisim/main.hpp"
#include "blocks/smi/opens.hpp"
#include "blocks/smi/packets.hpp"
#include "smi/endpoint.hpp"

namespace blocks {

using thalweg::smi::Element, thalweg::smi::Endpoint, thalweg::smi::EndpointKind;
using thalweg::spec::Datatype, thalweg::spec::Operator;

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

/// Lanes: the rank's kernel, what it takes, its packets, the network, the other ranks.
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
    int from = -1;  ///< whose packet of data it is shown
  };
  struct Sent {
    std::uint64_t due;
    Packet packet;
  };

  // --- operations, the same for all ranks

  const Open& operation(std::size_t index) {
    while (operations_.size() <= index) operations_.push_back(any());
    return operations_[index];
  }
  /// One of which the rank is a member.
  Open any() {
    bisim::Dice& dice = operations_dice_;
    Open open;
    open.stride = 1 + dice.below(3);
    open.first = kRank % open.stride + open.stride * dice.below(kRank / open.stride + 1);
    const unsigned least = (kRank - open.first) / open.stride + 1, most = (kRanks - 1 - open.first) / open.stride + 1;
    open.ranks = least + dice.below(most - least + 1);
    open.root = dice.below(open.ranks);
    const unsigned linear = std::max(1u, open.ranks - 1);
    open.arity = std::min({linear, config_.children, dice.chance(500) ? linear : 1 + dice.below(3)});
    if (kind_ == EndpointKind::scatter || kind_ == EndpointKind::gather) open.arity = linear;
    open.count = dice.chance(30) ? 0 : 1 + dice.below(dice.chance(300) ? 10 : longest_);
    constexpr Datatype kTypes[] = {Datatype::int32, Datatype::float32, Datatype::float64, Datatype::int8,
                                   Datatype::int16};
    constexpr unsigned kSizes[] = {2, 2, 3, 0, 1};
    const unsigned type = dice.below(5);
    open.type = kTypes[type];
    open.size = kSizes[type];
    constexpr Operator kOperators[] = {Operator::sum, Operator::min, Operator::max};
    open.op = kOperators[dice.below(3)];
    const unsigned fit = thalweg::smi::most_elements(kBytes, open.size);
    open.per_packet = dice.chance(700) ? fit : 1 + dice.below(fit);
    open.tile = dice.chance(500) ? config_.tile : 1 + dice.below(config_.tile);
    open.any_order = dice.chance(400);
    return open;
  }
  static int own_of(const Open& open, unsigned rank) {
    if (rank < open.first || (rank - open.first) % open.stride != 0) return -1;
    const unsigned own = (rank - open.first) / open.stride;
    return own < open.ranks ? static_cast<int>(own) : -1;
  }
  [[nodiscard]] std::uint64_t gives(const Open& open, bool root) const {
    if (kind_ == EndpointKind::broadcast) return root ? open.count : 0;
    if (kind_ == EndpointKind::scatter) return root ? std::uint64_t{open.count} * open.ranks : 0;
    return open.count;
  }
  [[nodiscard]] std::uint64_t gets(const Open& open, bool root) const {
    if (kind_ == EndpointKind::broadcast) return root ? 0 : open.count;
    if (kind_ == EndpointKind::scatter) return open.count;
    if (kind_ == EndpointKind::gather) return root ? std::uint64_t{open.count} * open.ranks : 0;
    return root ? open.count : 0;
  }
  /// The one that a rank has to do next, as it opens it.
  Open next_of(unsigned r) {
    Rank& rank = ranks_[r];
    while (own_of(operation(rank.operation), r) < 0) ++rank.operation;
    Open open = operation(rank.operation);
    open.own = static_cast<unsigned>(own_of(open, r));
    return open;
  }
  static Element element(bisim::Dice& dice) {
    static constexpr std::uint64_t kSpecial[] = {0x0000000000000000, 0x8000000080008000, 0x7FF0000000000000,
                                                 0xFFF0000000000000, 0x7F8000007F800000, 0x7FFFFFFF7FFF7FFF};
    const std::uint64_t bits = dice.bits();
    const unsigned sort = dice.below(10);
    return {sort < 6 ? bits : sort < 9 ? (bits & 0xC3FFFFFFC3FFFFFF) | 0x3C0000003C000000 : kSpecial[dice.below(6)]};
  }

  /// What a kernel does in a cycle: opens, or gives an element.
  void act(unsigned r, bisim::Dice& dice, unsigned often) {
    Rank& rank = ranks_[r];
    if (rank.shows_open || rank.shows || !dice.chance(often)) return;
    const Open open = next_of(r);
    if (!rank.open) {
      rank.shows_open = true;
    } else if (rank.given < gives(open, open.own == open.root)) {
      rank.shows = true;
      rank.element = element(dice);
    }
  }
  void acted(unsigned r, bool opened, bool gave, bool got) {
    Rank& rank = ranks_[r];
    if (opened) rank.open = true, rank.shows_open = false;
    if (gave) rank.shows = false;
    rank.given += gave;
    rank.got += got;
    const Open open = next_of(r);
    const bool root = open.own == open.root;
    if (!rank.open || rank.given < gives(open, root) || rank.got < gets(open, root)) return;
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
