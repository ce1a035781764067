// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "accl/control_plane.hpp"
#include "accl/node_circuit.hpp"
#include "bisim/main.hpp"

namespace {

using thalweg::accl::ControlPlane, thalweg::accl::ExchangeMemory, thalweg::accl::kCallWords, thalweg::accl::Scenario;
using top::Inputs, top::Outputs, top::Parameters;
using Circuit = thalweg::accl::NodeCircuit;

struct Twin {
  ControlPlane plane{Parameters::Ports, Parameters::Calls,           Parameters::Communicators,
                     Parameters::Ranks, Parameters::Arithmetic != 0, Parameters::Conversions != 0};

  void outputs(const Inputs&, Outputs& out) const {
    out = {};
    for (unsigned k = 0; k < Parameters::Ports; ++k) out.call_ready_o.set_bit(k, plane.word_ready(k));
    out.access_ready_o.set(plane.exchange().ready(0));
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
      out.status_code_o.set(status->code);
    }
    const auto command = plane.command();
    out.command_valid_o.set(command.has_value());
    if (!command) return;
    out.command_kind_o.set(static_cast<std::uint64_t>(command->does));
    out.command_slot_o.set(command->slot);
    out.command_move_o.set(thalweg::accl::move_of<top::move_t>(command->move));
  }
  void step(const Inputs& in) {
    ControlPlane::In next;
    if (in.set_valid_i.get())
      next.set = {{.index = static_cast<unsigned>(in.set_index_i.get()),
                   .known = in.set_known_i.get() != 0,
                   .at = static_cast<std::uint32_t>(in.set_at_i.get())},
                  static_cast<std::uint32_t>(in.set_identity_i.get())};
    next.clear = in.clear_i.get() != 0;
    next.buffers.bytes = static_cast<std::uint32_t>(512 * in.grains_i.get());
    next.buffers.all = static_cast<std::size_t>(in.buffers_i.get());
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
    plane.step(next);
  }
};

/// A host that writes the exchange memory, and then calls by all ports, few of them wrong. Lanes: the host, the ports, the move engine, status.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3 + Parameters::Ports;

  explicit Stimulus(bisim::Dice run)
      : pause_(run.pick(0, 0, 300)),
        load_(run.pick(1000, 20, 5)),
        stall_(run.pick(0, 0, 500)),
        ends_(run.pick(500, 50)),
        fails_(run.pick(0, 0, 30)),
        wrong_(run.pick(0, 0, 20)),
        reads_(run.pick(0, 300)),
        counts_(run.pick(40, 4, 4000)),
        buffers_(run.pick(16, 8, 64)),
        identity_(static_cast<std::uint32_t>(run.bits())) {
    fill(run);
  }

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice host = draws.lane(0), engine = draws.lane(1), status = draws.lane(2);
    next.identity_i.set(identity_);
    next.buffers_i.set(buffers_);
    next.grains_i.set(2);
    next.clear_i.set(0);
    next.set_valid_i.set(set_ < Parameters::Communicators);
    if (set_ < Parameters::Communicators) {
      next.set_index_i.set(set_);
      next.set_known_i.set(1);
      next.set_at_i.set(at_[set_]);
      next.set_identity_i.set(0x1000 + set_);
      ++set_;
    }
    if (!waits_) {
      waits_ = written_ < writes_.size() || host.chance(reads_);
      const bool writes = written_ < writes_.size();
      next.access_write_i.set(writes);
      next.access_at_i.set(writes ? writes_[written_].first : host.below(0x2100) & ~3U);
      next.access_data_i.set(writes ? writes_[written_].second : 0);
    }
    next.access_valid_i.set(waits_);
    if (waits_ && seen.access_ready_o.get()) {
      waits_ = false;
      if (written_ < writes_.size()) ++written_;
    }

    const bool reports = !status.chance(stall_), takes = !engine.chance(stall_);
    next.status_ready_i.set(reports);
    next.command_ready_i.set(takes);
    if (seen.command_valid_o.get() && takes && seen.command_kind_o.get() == 0)
      slots_.push_back(static_cast<unsigned>(seen.command_slot_o.get()));
    next.ended_valid_i.set(0);
    if (!slots_.empty() && engine.chance(ends_)) {
      const auto which = slots_.begin() + engine.below(static_cast<unsigned>(slots_.size()));
      next.ended_valid_i.set(1);
      next.ended_slot_i.set(*which);
      next.ended_how_i.set(engine.chance(fails_) ? 1 + engine.below(2) : 0);
      slots_.erase(which);
    }
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

  void fill(bisim::Dice& run) {
    std::uint32_t at = 64;
    for (unsigned k = 0; k < Parameters::Communicators; ++k) {
      at_[k] = at;
      sizes_[k] = run.pick(Parameters::Ranks, 1 + run.below(Parameters::Ranks < 6 ? Parameters::Ranks : 6));
      writes_.push_back({at, sizes_[k]});
      ranks_[k] = run.below(sizes_[k]);
      writes_.push_back({at + 4, ranks_[k]});
      for (std::uint32_t rank = 0; rank < sizes_[k]; ++rank) writes_.push_back({at + 24 + 24 * rank, run.below(256)});
      at += 8 + 24 * Parameters::Ranks;
      if (at + 8 + 24 * Parameters::Ranks > kTypes) at = 64 + 4 * k;  // over another's end: its sizes are no longer so
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
    const unsigned which = dice.below(Parameters::Communicators);
    to = {dice.below(14), dice.below(counts_), at_[which], dice.below(sizes_[which]),
          dice.below(2),  dice.below(4),       kTypes};
    if (dice.chance(300)) to[3] = ranks_[which];
    to[7] = dice.chance(700) ? 0 : dice.below(16) | 4;
    to[8] = dice.chance(800) ? 0 : dice.below(4) | dice.below(8) << 8;
    for (const unsigned k : {9U, 11U, 13U}) to[k] = dice.below(64) << 10;
    if (dice.chance(wrong_)) to[dice.below(kCallWords)] ^= 1U << dice.below(32);
  }

  unsigned pause_, load_, stall_, ends_, fails_, wrong_, reads_, counts_, buffers_;
  std::uint32_t identity_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> writes_;
  std::array<std::uint32_t, Parameters::Communicators> at_{}, sizes_{}, ranks_{};
  std::array<Port, Parameters::Ports> ports_{};
  std::vector<unsigned> slots_;
  std::size_t written_ = 0;
  unsigned set_ = 0;
  bool waits_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
