// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "accl/control_plane.hpp"
#include "accl/node_circuit.hpp"
#include "bisim/bisim.hpp"

namespace {

using thalweg::accl::ControlPlane, thalweg::accl::ExchangeMemory, thalweg::accl::kCallWords, thalweg::accl::Scenario;
using top::Inputs, top::Outputs, top::Parameters;
using Circuit = thalweg::accl::NodeCircuit;

constexpr unsigned kSlots = 2 * Parameters::Calls;

struct Twin {
  ControlPlane plane{{.ports = Parameters::Ports,
                      .calls = Parameters::Calls,
                      .communicators = Parameters::Communicators,
                      .ranks = Parameters::Ranks,
                      .buffers = Parameters::Buffers,
                      .packets = Parameters::MostPackets,
                      .packet_bytes = Parameters::PacketBytes,
                      .cycles_per_us = Parameters::CyclesPerUs,
                      .arithmetic = Parameters::Arithmetic != 0,
                      .conversions = Parameters::Conversions != 0}};

  void outputs(const Inputs&, Outputs& out) const {
    out = {};
    for (unsigned k = 0; k < Parameters::Ports; ++k) out.call_ready_o.set_bit(k, plane.word_ready(k));
    out.access_ready_o.set(plane.access_ready());
    const auto& answer = plane.exchange().answer(0);
    out.answer_valid_o.set(answer.has_value());
    if (answer) {
      out.answer_refused_o.set(answer->refused);
      out.answer_data_o.set(answer->data);
    }
    const auto status = plane.status();
    out.status_valid_o.set(status.has_value());
    if (status) {
      out.status_port_o.set(status->port);
      out.status_count_o.set(status->count);
      out.status_code_o.set(status->code);
    }
    const auto set = plane.set();
    out.set_valid_o.set(set.has_value());
    if (set)
      out.set_o.set({.kind = static_cast<std::uint64_t>(set->sets),
                     .index = set->index,
                     .value = {set->value[0] | std::uint64_t{set->value[1]} << 32, set->value[2]}});
    out.own_o.set(plane.own());
    const auto command = plane.command();
    out.command_valid_o.set(command.has_value());
    if (!command) return;
    out.command_kind_o.set(static_cast<std::uint64_t>(command->does));
    out.command_slot_o.set(command->slot);
    const bool moves = command->does == Circuit::Does::begin || command->does == Circuit::Does::end_collective;
    out.move_valid_o.set(moves);
    if (moves) out.move_data_o.set(thalweg::accl::move_of<top::move_t>(command->move));
  }
  void step(const Inputs& in) {
    ControlPlane::In next;
    next.identity = static_cast<std::uint32_t>(in.identity_i.get());
    if (in.access_valid_i.get())
      next.access = {.write = in.access_write_i.get() != 0,
                     .at = static_cast<std::uint32_t>(in.access_at_i.get()),
                     .data = static_cast<std::uint32_t>(in.access_data_i.get())};
    for (unsigned k = 0; k < Parameters::Ports; ++k)
      next.words.push_back(in.call_valid_i.bit(k) ? std::optional(static_cast<std::uint32_t>(in.call_data_i.get(k)))
                                                  : std::nullopt);
    next.status_ready = in.status_ready_i.get() != 0;
    next.command_ready = in.command_ready_i.get() != 0;
    if (in.ended_valid_i.get())
      next.ended = {.slot = static_cast<unsigned>(in.ended_slot_i.get()),
                    .how = static_cast<Circuit::How>(in.ended_how_i.get())};
    next.waits = in.waits_i.get();
    if (in.moves_i.get()) next.moves = static_cast<unsigned>(in.moves_slot_i.get());
    plane.step(next);
  }
};

/// A host that writes the exchange memory, configures the engine, and then calls through all ports; few calls are
/// invalid, and some moves wait. Lanes: the host, the move engine, status, the ports.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3 + Parameters::Ports;

  explicit Stimulus(bisim::Dice run)
      : pause_(run.pick(0, 0, 300)),
        load_(run.pick(1000, 20, 5)),
        stall_(run.pick(0, 0, 500)),
        ends_(run.pick(500, 50, 3)),
        fails_(run.pick(0, 0, 30)),
        wrong_(run.pick(0, 0, 20)),
        reads_(run.pick(0, 300)),
        rewrites_(run.pick(0, 5, 100)),
        counts_(run.pick(40, 4, 4000)),
        configs_(run.pick(0, 20, 200)),
        waits_often_(run.pick(0, 100, 900)),
        time_out_(run.pick(0, 1, 3, 1 << 20)),
        identity_(static_cast<std::uint32_t>(run.bits())) {
    fill(run);
  }

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice host = draws.lane(0), engine = draws.lane(1), status = draws.lane(2);
    next.identity_i.set(identity_);
    if (!offers_) {
      const bool writes = written_ < writes_.size() || host.chance(rewrites_);
      offers_ = writes || host.chance(reads_);
      access_ = writes && written_ == writes_.size() ? writes_[host.below(static_cast<unsigned>(writes_.size()))]
                : writes                             ? writes_[written_]
                                                     : std::pair{host.below(0x2100) & ~3U, 0U};
      access_writes_ = writes;
    }
    next.access_valid_i.set(offers_);
    next.access_write_i.set(access_writes_);
    next.access_at_i.set(access_.first);
    next.access_data_i.set(access_.second);
    if (offers_ && seen.access_ready_o.get()) {
      offers_ = false;
      if (written_ < writes_.size()) ++written_;
    }

    next.status_ready_i.set(!status.chance(stall_));
    moves(engine, seen, next);
    for (unsigned k = 0; k < Parameters::Ports; ++k) {
      bisim::Dice dice = draws.lane(3 + k);
      Port& port = ports_[k];
      if (!port.offers && written_ == writes_.size() && (port.given > 0 ? !dice.chance(pause_) : dice.chance(load_))) {
        if (port.given == 0) draw(dice, port.words);
        port.offers = true;
      }
      next.call_valid_i.set_bit(k, port.offers);
      next.call_data_i.set(port.words[port.given], k);
      if (port.offers && seen.call_ready_o.bit(k)) {
        port.offers = false;
        if (++port.given == kCallWords) port.given = 0;
      }
    }
  }

 private:
  static constexpr std::uint32_t kTypes = 0x1800;
  struct Port {
    std::array<std::uint32_t, kCallWords> words{};
    unsigned given = 0;
    bool offers = false;
  };
  struct Slot {
    bool busy = false, waits = false, cancelled = false;
  };

  /// The move engine: moves begin, wait, and end or are cancelled.
  void moves(bisim::Dice& engine, const Outputs& seen, Inputs& next) {
    const bool takes = !engine.chance(stall_);
    next.command_ready_i.set(takes);
    if (seen.command_valid_o.get() && takes) {
      Slot& slot = slots_[seen.command_slot_o.get()];
      if (seen.command_kind_o.get() == 0) slot = {.busy = true, .waits = engine.chance(waits_often_)};
      if (seen.command_kind_o.get() == 1 && slot.busy) slot = {.busy = true, .waits = false, .cancelled = true};
    }
    std::vector<unsigned> may;
    for (unsigned k = 0; k < kSlots; ++k)
      if (slots_[k].busy && !slots_[k].waits) may.push_back(k);
    const unsigned which = engine.below(kSlots);
    if (slots_[which].waits && (engine.chance(waits_often_ == 900 ? 1 : 20) || time_out_ == 0))
      slots_[which].waits = false;
    std::uint64_t waits = 0;
    for (unsigned k = 0; k < kSlots; ++k) waits |= std::uint64_t{slots_[k].waits} << k;
    next.waits_i.set(waits);
    next.ended_valid_i.set(0);
    next.moves_i.set(0);
    if (may.empty()) return;
    const unsigned one = may[engine.below(static_cast<unsigned>(may.size()))];
    if (!slots_[one].cancelled && engine.chance(100)) {
      next.moves_i.set(1);
      next.moves_slot_i.set(one);
    } else if (engine.chance(ends_)) {
      next.ended_valid_i.set(1);
      next.ended_slot_i.set(one);
      next.ended_how_i.set(slots_[one].cancelled ? 2 : engine.chance(fails_) ? 1 + engine.below(2) : 0);
      slots_[one] = {};
    }
  }
  void fill(bisim::Dice& run) {
    const unsigned buffers = run.pick(Parameters::Buffers, run.below(Parameters::Buffers + 2));
    writes_.push_back({0, buffers});
    writes_.push_back({4, run.pick(512, 1024, 512 * run.below(600), 8)});
    std::uint32_t at = 8;
    for (unsigned k = 0; k < buffers; ++k, at += 28) {
      writes_.push_back({at + 4, static_cast<std::uint32_t>(run.bits())});
      writes_.push_back({at + 8, run.below(1 << 16)});
    }
    for (unsigned k = 0; k < kMade; ++k) {
      at_[k] = at;
      sizes_[k] = run.pick(Parameters::Ranks, 1 + run.below(Parameters::Ranks < 6 ? Parameters::Ranks : 6));
      ranks_[k] = run.below(sizes_[k]);
      const unsigned same = run.below(k + 1);  // the members of an earlier communicator, if it has the same size
      std::vector<std::uint32_t> members;
      for (std::uint32_t rank = 0; rank < sizes_[k]; ++rank) {
        const std::uint32_t ip = run.pick(0x0A000001 + rank, static_cast<std::uint32_t>(run.bits()) | 1U << 24);
        members.insert(members.end(), {ip, 1 + run.below(1 << 16), 0, 0, run.below(256), run.pick(0, 1024)});
      }
      if (run.chance(300) && same < k && sizes_[same] == sizes_[k]) {
        members = members_[same];
        ranks_[k] = ranks_[same];
      }
      if (run.chance(200)) members[1] = 0;
      members_[k] = members;
      writes_.push_back({at, run.chance(100) ? sizes_[k] + 1 : sizes_[k]});
      writes_.push_back({at + 4, run.chance(200) ? sizes_[k] : ranks_[k]});
      at += 8;
      for (const std::uint32_t word : members) {
        writes_.push_back({at, word});
        at += 4;
      }
      if (at + 8 + 24 * Parameters::Ranks > kTypes) at = 8 + 28 * buffers;  // overlaps another one
    }
    writes_.push_back({kTypes, 4});
    writes_.push_back({kTypes + 4, 2});
    writes_.push_back({kTypes + 20, 2});
    writes_.push_back({kTypes + 28, 0});
    writes_.push_back({kTypes + 32, 5});
    writes_.push_back({ExchangeMemory::kGatherFlat, run.pick(0, 64, 4096)});
    writes_.push_back({ExchangeMemory::kReduceFlat, run.pick(256, 0, 4096)});
    writes_.push_back({ExchangeMemory::kBroadcastFlat, run.pick(1, 3)});
    writes_.push_back({ExchangeMemory::kSpare, run.pick(0x8000, 0)});
  }
  void draw(bisim::Dice& dice, std::array<std::uint32_t, kCallWords>& to) {
    const unsigned which = dice.below(kMade);
    to = {dice.below(14), dice.below(counts_), at_[which], dice.below(sizes_[which]),
          dice.below(2),  dice.below(4),       kTypes};
    if (dice.chance(300)) to[3] = ranks_[which];
    to[7] = dice.chance(700) ? 0 : dice.below(16) | 4;
    to[8] = dice.chance(800) ? 0 : dice.below(4) | dice.below(8) << 8;
    for (const unsigned k : {9U, 11U, 13U}) to[k] = dice.below(64) << 10;
    if (config_ < 2 || dice.chance(configs_)) {
      to[0] = 0;
      to[4] = config_ < 2 ? 1 + config_ : dice.pick(0, 1, 1, 3, 4, dice.below(300));
      to[1] = to[4] == 2 ? time_out_ : dice.pick(512, 1024, dice.below(1 << 20));
      ++config_;
    }
    if (dice.chance(wrong_)) to[dice.below(kCallWords)] ^= 1U << dice.below(32);
  }

  static constexpr unsigned kMade = Parameters::Communicators + 1;  ///< communicators: one more than there is room for
  unsigned pause_, load_, stall_, ends_, fails_, wrong_, reads_, rewrites_, counts_, configs_, waits_often_, time_out_;
  std::uint32_t identity_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> writes_;
  std::pair<std::uint32_t, std::uint32_t> access_{};
  std::array<std::vector<std::uint32_t>, kMade> members_{};
  std::array<std::uint32_t, kMade> at_{}, sizes_{}, ranks_{};
  std::array<Port, Parameters::Ports> ports_{};
  std::array<Slot, kSlots> slots_{};
  std::size_t written_ = 0;
  unsigned config_ = 0;
  bool offers_ = false, access_writes_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
