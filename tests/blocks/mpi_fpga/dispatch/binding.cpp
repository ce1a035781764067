// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <deque>

#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "mpi_fpga/dispatch.hpp"

namespace {

using thalweg::mpi_fpga::Dispatch, thalweg::Tick;
using top::Inputs, top::Outputs, top::Parameters;

constexpr unsigned kUnits = Parameters::Units, kPorts = Parameters::Ports, kRows = Parameters::Rows,
                   kEdges = Parameters::Edges;

Dispatch::Step step_of(const Inputs& in) {
  return {.row = static_cast<unsigned>(in.step_row_i.get()),
          .to_edges = static_cast<std::uint32_t>(in.step_to_edges_i.get()),
          .to_stages = in.step_to_stages_i.get() != 0,
          .own = static_cast<unsigned>(in.step_own_i.get()),
          .room = in.step_room_i.get(),
          .kept = in.step_kept_i.get(),
          .latency = in.step_latency_i.get()};
}

class Twin {
 public:
  void outputs(const Inputs& in, Outputs& out) const {
    const Dispatch::Choice choice = dispatch_.choose(step_of(in), now_);
    out.choice_valid_o.set(choice.unit.has_value());
    out.choice_unit_o.set(choice.unit.value_or(0));
    out.choice_room_o.set(choice.room);
  }

  void step(const Inputs& in) {
    const Dispatch::Step step = step_of(in);
    if (const auto choice = dispatch_.choose(step, now_); in.take_i.get() && choice.unit)
      dispatch_.take(*choice.unit, step, static_cast<unsigned>(in.take_ports_i.get()), now_ + in.take_read_i.get(),
                     now_ + in.take_left_i.get());
    for (unsigned p = 0; p < kPorts; ++p)
      if (in.sent_valid_i.bit(p))
        dispatch_.sent(static_cast<unsigned>(in.sent_unit_i.get(p)), static_cast<unsigned>(in.sent_row_i.get(p)),
                       static_cast<unsigned>(in.sent_edge_i.get(p)), in.sent_done_i.bit(p));
    ++now_;
  }

 private:
  Dispatch dispatch_{kUnits};
  Tick now_ = 0;
};

/// Steps to any edges, accepted if there is a free unit and the ports' queues have room; ports send queued results at
/// any later time. The stimulus has a dispatch of its own to know the unit that took each step. Lanes: steps, and each
/// port.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 1 + kPorts;

  explicit Stimulus(bisim::Dice run)
      : take_(run.pick(900, 300)), send_(run.pick(300, 100, 900)), long_(run.pick(2, 6)) {}

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice dice = draws.lane(0);
    const Dispatch::Step step{
        .row = dice.below(kRows),
        .to_edges = static_cast<std::uint32_t>(dice.bits() & dice.bits() & ((std::uint64_t{1} << kEdges) - 1)),
        .to_stages = dice.chance(100),
        .own = dice.below(kUnits),
        .room = (dice.bits() | dice.bits() | dice.bits()) & ((std::uint64_t{1} << kUnits) - 1),
        .kept = dice.bits() & dice.bits() & dice.bits() & ((std::uint64_t{1} << kUnits) - 1),
        .latency = dice.below(1U << (Parameters::TimeBits - 2))};
    next.step_row_i.set(step.row);
    next.step_to_edges_i.set(step.to_edges);
    next.step_to_stages_i.set(step.to_stages);
    next.step_own_i.set(step.own);
    next.step_room_i.set(step.room);
    next.step_kept_i.set(step.kept);
    next.step_latency_i.set(step.latency);

    const auto choice = own_.choose(step, now_);
    for (unsigned p = 0; p < kPorts; ++p) {
      bisim::Dice port = draws.lane(1 + p);
      if (!queues_[p].empty() && port.chance(send_)) send(p, next);
    }
    if (choice.unit && dice.chance(take_) && room(*choice.unit, step)) take(*choice.unit, step, next, dice);
    ++now_;
  }

 private:
  struct Queued {
    unsigned unit, row;
    std::uint32_t edges;  ///< remaining edges
  };

  static std::uint32_t edges_of(unsigned port, std::uint32_t edges) {
    std::uint32_t of = 0;
    for (unsigned k = port; k < kEdges; k += kPorts) of |= edges & 1U << k;
    return of;
  }

  [[nodiscard]] bool room(unsigned unit, const Dispatch::Step& step) const {
    for (unsigned p = 0; p < kPorts; ++p)
      if (edges_of(p, step.to_edges) &&
          std::ranges::count(queues_[p], unit, &Queued::unit) >= static_cast<std::ptrdiff_t>(Parameters::Words))
        return false;
    return true;
  }

  void take(unsigned unit, const Dispatch::Step& step, Inputs& next, bisim::Dice& dice) {
    unsigned ports = 0;
    for (unsigned p = 0; p < kPorts; ++p)
      if (const std::uint32_t edges = edges_of(p, step.to_edges)) {
        ++ports;
        queues_[p].push_back({unit, step.row, edges});
      }
    const Tick read = 1 + dice.below(1U << std::min<unsigned>(long_, Parameters::TimeBits - 2)),
               left = read + step.latency;
    next.take_i.set(true);
    next.take_ports_i.set(ports);
    next.take_read_i.set(read);
    next.take_left_i.set(left);
    own_.take(unit, step, ports, now_ + read, now_ + left);
  }

  void send(unsigned port, Inputs& next) {
    Queued& packet = queues_[port].front();
    const auto edge = static_cast<unsigned>(std::countr_zero(packet.edges));
    packet.edges &= packet.edges - 1;
    const bool done = packet.edges == 0;
    next.sent_valid_i.set_bit(port);
    next.sent_unit_i.set(packet.unit, port);
    next.sent_row_i.set(packet.row, port);
    next.sent_edge_i.set(edge, port);
    next.sent_done_i.set_bit(port, done);
    own_.sent(packet.unit, packet.row, edge, done);
    if (done) queues_[port].pop_front();
  }

  unsigned take_, send_, long_;
  Dispatch own_{kUnits};
  Tick now_ = 0;
  std::array<std::deque<Queued>, kPorts> queues_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
