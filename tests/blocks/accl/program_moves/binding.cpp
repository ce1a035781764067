// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "accl/node_circuit.hpp"
#include "accl/program_moves.hpp"
#include "bisim/bisim.hpp"

namespace {

using thalweg::accl::OperandKind, thalweg::accl::ProgramMoves, thalweg::accl::Scenario, thalweg::accl::Unit;
using thalweg::spec::programs::Operation;
using top::Inputs, top::Outputs, top::Parameters;
using Circuit = thalweg::accl::NodeCircuit;

struct Twin {
  ProgramMoves moves{Parameters::Calls, Parameters::Communicators, Parameters::Ranks};

  void outputs(const Inputs&, Outputs& out) const {
    out = {};
    out.move_ready_o.set(moves.ready());
    out.end_ready_o.set(moves.ready());
    out.program_valid_o.set(moves.ended().has_value());
    if (moves.ended()) {
      out.program_call_o.set(moves.ended()->call);
      out.program_beside_o.set(moves.ended()->background);
      out.program_stops_o.set(moves.ended()->stops);
    }
    out.access_valid_o.set(moves.access().has_value());
    if (moves.access()) out.access_at_o.set(*moves.access());
    out.status_valid_o.set(moves.status().has_value());
    if (moves.status()) {
      out.status_port_o.set(moves.status()->port);
      out.status_call_o.set(moves.status()->number);
      out.status_code_o.set(moves.status()->code);
    }
    out.config_valid_o.set(moves.config().has_value());
    if (moves.config()) {
      out.config_setting_o.set(moves.config()->setting);
      out.config_count_o.set(moves.config()->count);
    }
    const auto command = moves.command();
    out.command_valid_o.set(command.has_value());
    if (!command) return;
    out.command_kind_o.set(static_cast<std::uint64_t>(command->does));
    out.command_slot_o.set(command->slot);
    out.command_move_o.set(thalweg::accl::move_of<top::move_t>(command->move));
  }
  void step(const Inputs& in) {
    ProgramMoves::In next{.clear = in.clear_i.get() != 0,
                          .access_ready = in.access_ready_i.get() != 0,
                          .command_ready = in.command_ready_i.get() != 0,
                          .status_ready = in.status_ready_i.get() != 0,
                          .resets = in.resets_i.get() != 0};
    if (in.config_done_i.get()) next.configured = static_cast<std::uint32_t>(in.config_code_i.get());
    if (in.set_valid_i.get())
      next.set = {.index = static_cast<unsigned>(in.set_index_i.get()),
                  .value = static_cast<std::uint32_t>(in.set_identity_i.get())};
    if (in.call_valid_i.get()) next.call = begins(in.call_i.get());
    if (in.move_valid_i.get()) {
      const auto from = in.move_data_i.get();
      next.move = {.number = static_cast<unsigned>(in.move_call_i.get()),
                   .move = {.operation = static_cast<Operation>(from.operation),
                            .x = static_cast<OperandKind>(from.x),
                            .y = static_cast<OperandKind>(from.y),
                            .z = static_cast<OperandKind>(from.z),
                            .at = {from.x_at, from.y_at, from.z_at},
                            .elements = from.elements}};
    }
    if (in.end_valid_i.get()) next.end = static_cast<unsigned>(in.end_call_i.get());
    if (in.ended_valid_i.get())
      next.ended = {.slot = static_cast<unsigned>(in.ended_slot_i.get()),
                    .how = static_cast<Circuit::How>(in.ended_how_i.get())};
    if (in.answer_valid_i.get()) next.answer = static_cast<std::uint32_t>(in.answer_data_i.get());
    moves.step(next);
  }

 private:
  static ProgramMoves::Begins begins(const top::call_t& from) {
    ProgramMoves::Begins to{.number = static_cast<unsigned>(from.number)};
    auto& call = to.call;
    call.port = static_cast<unsigned>(from.port);
    call.code = static_cast<std::uint32_t>(from.code);
    call.has_communicator = from.has_communicator;
    call.communicator = static_cast<unsigned>(from.communicator);
    call.rank = static_cast<std::uint32_t>(from.rank);
    call.collective_number = static_cast<std::uint32_t>(from.collective_number);
    call.unit =
        Unit{static_cast<thalweg::spec::Operator>(from.operation), static_cast<thalweg::spec::Datatype>(from.datatype)};
    call.bytes = {1U << from.x_size, 1U << from.y_size, 1U << from.z_size};
    call.wire_bytes = 1U << from.wire_size;
    call.combined_bytes = 1U << from.combined_size;
    call.call.scenario = static_cast<Scenario>(from.scenario);
    call.call.communicator = static_cast<std::uint32_t>(from.communicator_at);
    call.call.function = static_cast<std::uint32_t>(from.setting);
    call.call.count = static_cast<std::uint32_t>(from.count);
    call.call.tag = static_cast<std::uint32_t>(from.tag);
    call.call.stream = static_cast<std::uint32_t>(from.host << 8 | from.streams);
    return to;
  }
};

/// Calls with any moves that programs could have. Lanes: calls, the programs' actions, ends of moves, the exchange
/// memory, the move engine, status.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 6;

  explicit Stimulus(bisim::Dice run)
      : calls_(run.pick(1000, 50)),
        pause_(run.pick(0, 0, 500)),
        over_(run.pick(20, 100, 300)),
        wrong_(run.pick(0, 5, 100)),
        busy_(run.pick(0, 500)),
        late_(run.pick(0, 8, 30)),
        stall_(run.pick(0, 300, 900)),
        ranks_(run.pick(2, 2, Parameters::Ranks)),
        most_(run.pick(1, Parameters::Calls)),
        configs_(run.pick(0, 100, 500)),
        resets_(run.pick(0, 0, 20)) {
    for (auto& one : identities_) one = static_cast<std::uint32_t>(run.bits());
    for (auto& one : collectives_) one = static_cast<std::uint32_t>(run.bits()) >> run.pick(0, 30);
  }

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice calls = draws.lane(0), programs = draws.lane(1), ends = draws.lane(2), exchange = draws.lane(3),
                engine = draws.lane(4), status = draws.lane(5);
    next.set_valid_i.set(set_ < Parameters::Communicators);
    next.set_index_i.set(set_ % Parameters::Communicators);
    next.set_identity_i.set(identities_[set_ % Parameters::Communicators]);
    const bool sets = set_ < Parameters::Communicators;
    if (sets) ++set_;

    const bool reports = !status.chance(stall_);
    next.status_ready_i.set(reports);
    if (seen.status_valid_o.get() && reports) {
      under_way_[seen.status_call_o.get()] = false;
      --active_;
    }
    if (status.chance(resets_)) resetting_ = !resetting_;
    next.resets_i.set(resetting_);
    const bool configured = seen.config_valid_o.get() && !status.chance(stall_);
    next.config_done_i.set(configured);
    next.config_code_i.set(configured && status.chance(500) ? status.bits() & 0xFFFF'FFFF : 0);
    const bool takes = !engine.chance(stall_);
    next.command_ready_i.set(takes);
    if (seen.command_valid_o.get() && takes && seen.command_kind_o.get() == 0)
      slots_.push_back(static_cast<unsigned>(seen.command_slot_o.get()));
    next.ended_valid_i.set(0);
    if (!slots_.empty() && !ends.chance(700)) {
      const auto which = slots_.begin() + ends.below(static_cast<unsigned>(slots_.size()));
      next.ended_valid_i.set(1);
      next.ended_slot_i.set(*which);
      next.ended_how_i.set(ends.chance(wrong_) ? 1 + ends.below(2) : 0);
      slots_.erase(which);
    }

    const bool reads = !exchange.chance(busy_);
    next.access_ready_i.set(reads);
    if (seen.access_valid_o.get() && reads) answer_ = 2 + exchange.below(late_ + 1);
    next.answer_valid_i.set(0);
    next.answer_data_i.set(exchange.bits() & 0xFFFF'FFFF);
    if (answer_ && (*answer_)-- == 0) {
      next.answer_valid_i.set(1);
      answer_.reset();
    }

    if (waits_ && seen.move_ready_o.get()) {
      if (ending_) ended_[of_] = true;
      waits_ = false;
    }
    if (!waits_ && !programs.chance(pause_)) offer(programs, next);
    next.call_valid_i.set(0);
    next.clear_i.set(0);
    if (!sets && !waits_ && active_ == 0 && calls.chance(5) && slots_.empty() && !seen.command_valid_o.get() &&
        seen.move_ready_o.get()) {
      next.clear_i.set(1);
    } else if (!sets && active_ < (config_ ? 1 : most_) && calls.chance(calls_)) {
      const unsigned number = calls.below(Parameters::Calls);
      if (!under_way_[number]) {
        next.call_valid_i.set(1);
        next.call_i.set(draw(calls, number));
        under_way_[number] = true;
        ended_[number] = false;
        ++active_;
      }
    }
    next.move_valid_i.set(waits_ && !ending_);
    next.end_valid_i.set(waits_ && ending_);
  }

 private:
  [[nodiscard]] bool moves(unsigned number) const {
    return std::ranges::any_of(slots_, [&](unsigned slot) { return slot / 2 == number; });
  }
  top::call_t draw(bisim::Dice& dice, unsigned number) {
    const unsigned unit = dice.below(24);
    const auto what = *thalweg::accl::unit_of(unit);
    const unsigned combined = thalweg::accl::bytes_of(what.type);
    const bool halves = (combined == 2 || combined == 4) && dice.chance(500);
    const auto size = [&] { return thalweg::accl::log_of(halves ? dice.pick(2, 4) : combined); };
    const unsigned scenario = active_ == 0 && dice.chance(configs_) ? 0 : 1 + dice.below(13);
    config_ = scenario == 0;
    const bool remote = scenario >= 3, collective = scenario >= 5;
    const unsigned communicator = remote ? dice.below(Parameters::Communicators) : 0;
    collects_[number] = collective;
    remote_[number] = remote;
    return {.number = number,
            .port = dice.below(4),
            .begin_at = 0,
            .code = dice.chance(wrong_) ? dice.bits() & 0xFFFF'FFFF : 0,
            .scenario = scenario,
            .setting = dice.below(256),
            .count = dice.bits() & 0xFFFF'FFFF,
            .has_communicator = remote,
            .collective = collective,
            .communicator = communicator,
            .communicator_at = dice.below(0x2000),
            .rank = dice.below(Parameters::Ranks),
            .root = 0,
            .tag = dice.chance(300) ? 0xFFFF'FFFF : dice.bits() & 0xFFFF'FFFF,
            .collective_number = collective ? collectives_[communicator]++ : 0,
            .operation = static_cast<std::uint64_t>(what.op),
            .datatype = static_cast<std::uint64_t>(what.type),
            .x_size = size(),
            .y_size = size(),
            .z_size = size(),
            .wire_size = size(),
            .combined_size = thalweg::accl::log_of(combined),
            .host = dice.below(8),
            .streams = dice.below(4)};
  }
  void offer(bisim::Dice& dice, Inputs& next) {
    of_ = dice.below(Parameters::Calls);
    if (!under_way_[of_] || ended_[of_]) return;
    ending_ = dice.chance(over_) || config_;
    if (moves(of_)) return;
    waits_ = true;
    next.move_call_i.set(of_);
    next.end_call_i.set(of_);
    if (ending_) return;
    const auto place = [&](bool any, auto... more) {
      return static_cast<OperandKind>(any ? dice.pick(OperandKind::op0, OperandKind::op1, OperandKind::res, more...)
                                          : dice.pick(OperandKind::op0, OperandKind::op1, OperandKind::res));
    };
    const bool remote = remote_[of_], collective = collects_[of_];
    Operation operation = dice.chance(300) ? Operation::start : Operation::move;
    OperandKind x = place(remote, OperandKind::recv, OperandKind::take, OperandKind::recv), y = OperandKind::none;
    if (dice.chance(400))
      y = place(remote && x != OperandKind::recv && x != OperandKind::take, OperandKind::recv, OperandKind::take);
    OperandKind z = place(remote, OperandKind::send, OperandKind::give, OperandKind::put, OperandKind::send);
    if (z == OperandKind::put && collective) z = OperandKind::send;
    if (collective && dice.chance(100)) {
      operation = dice.chance(500) ? Operation::signal : Operation::await_;
      x = y = z = OperandKind::none;
    }
    const auto at = [&](bool rank) { return rank ? dice.below(ranks_) : dice.bits() & 0xFFFF'FFFF'FFFF; };
    const auto receives = [](OperandKind of) { return of == OperandKind::recv || of == OperandKind::take; };
    const bool sends = z == OperandKind::send || z == OperandKind::give || z == OperandKind::put;
    const bool empty = operation == Operation::signal || operation == Operation::await_;
    next.move_data_i.set({.operation = static_cast<std::uint64_t>(operation),
                          .x = static_cast<std::uint64_t>(x),
                          .y = static_cast<std::uint64_t>(y),
                          .z = static_cast<std::uint64_t>(z),
                          .x_at = at(receives(x) || empty),
                          .y_at = at(receives(y)),
                          .z_at = at(sends || empty),
                          .elements = empty ? 0 : 1 + (dice.bits() & 0xFF'FFFF'FFFF) / 2,
                          .continues = 0});
  }

  unsigned calls_, pause_, over_, wrong_, busy_, late_, stall_, ranks_, most_, configs_, resets_;
  std::array<std::uint32_t, Parameters::Communicators> identities_{}, collectives_{};
  std::array<bool, Parameters::Calls> under_way_{}, ended_{}, collects_{}, remote_{};
  std::vector<unsigned> slots_;
  std::optional<unsigned> answer_;
  unsigned set_ = 0, active_ = 0, of_ = 0;
  bool waits_ = false, ending_ = false, config_ = false, resetting_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
