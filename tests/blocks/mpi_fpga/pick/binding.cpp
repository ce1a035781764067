// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "mpi_fpga/pick.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;

constexpr unsigned kLinks = Parameters::Links, kUnits = Parameters::Units, kQueues = kLinks + kUnits + 3,
                   kHost = kLinks + kUnits, kStart = kHost + 1, kAnswer = kHost + 2;

class Twin {
 public:
  void outputs(const Inputs& in, Outputs& out) const {
    out.kept_o.set(pick_.kept());
    thalweg::mpi_fpga::Pick pick = pick_;
    const auto chosen = choose(pick, in);
    out.pick_valid_o.set(chosen.has_value());
    out.pick_process_o.set(chosen.value_or(0));
    out.tried_valid_o.set(tried_.has_value());
    out.tried_process_o.set(tried_.value_or(0));
  }

  void step(const Inputs& in) {
    const auto next = choose(pick_, in);
    const std::uint32_t tried = tried_.value_or(0);
    if (in.tried_time_i.get()) pick_.time(tried);
    if (in.tried_room_i.get()) pick_.room(tried);
    if (in.tried_turn_i.get()) pick_.turn(tried);
    if (in.tried_advances_i.get())
      pick_.unit(static_cast<unsigned>(in.tried_unit_i.get()), tried, now_ + in.tried_cycles_i.get());
    for (unsigned q = 0; q < kQueues; ++q)
      if (in.late_valid_i.bit(q)) give(pick_, q, tried);
    if (in.room_freed_i.get()) pick_.room_freed();
    if (in.process_ended_i.get()) pick_.process_ended();
    tried_ = next;
    ++now_;
  }

 private:
  static void give(thalweg::mpi_fpga::Pick& pick, unsigned queue, std::uint32_t process) {
    if (queue < kLinks) return pick.link(queue, process);
    if (queue < kHost) return pick.stage(queue - kLinks, process);
    if (queue == kHost) return pick.host(process);
    if (queue == kStart) return pick.start(process);
    pick.answer(process);
  }

  std::optional<std::uint32_t> choose(thalweg::mpi_fpga::Pick& pick, const Inputs& in) const {
    for (unsigned q = 0; q < kQueues; ++q)
      if (in.early_valid_i.bit(q)) give(pick, q, static_cast<std::uint32_t>(in.early_process_i.get(q)));
    return pick.choose(now_);
  }

  thalweg::mpi_fpga::Pick pick_{kLinks, kUnits};
  std::optional<std::uint32_t> tried_;
  thalweg::Tick now_ = 0;
};

/// Starts processes, decides the outcome of each attempt, and delivers the events for which processes wait. Each
/// process is in one state. Lanes: outcomes, arrivals.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run)
      : busy_(run.pick(300, 50, 900)), come_(run.pick(100, 20, 700)), free_(run.pick(50, 300)) {
    for (std::uint32_t i = 0; i < kProcesses; ++i) idle_.push_back(i);
  }

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice outcomes = draws.lane(0), arrivals = draws.lane(1);
    if (seen.tried_valid_o.get()) decide_try(static_cast<std::uint32_t>(seen.tried_process_o.get()), next, outcomes);
    if (arrivals.chance(busy_)) early(next, idle_, arrivals.chance(500) ? kStart : kAnswer, arrivals);
    for (unsigned q = 0; q < kStart; ++q)
      if (arrivals.chance(come_)) early(next, waiting_, q, arrivals);
    next.room_freed_i.set(arrivals.chance(free_));
    next.process_ended_i.set(arrivals.chance(free_));
  }

 private:
  static constexpr std::uint32_t kProcesses = std::min(std::uint32_t{Parameters::Depth}, 1u << Parameters::ProcessBits);

  static void early(Inputs& next, std::vector<std::uint32_t>& from, unsigned queue, bisim::Dice& dice) {
    if (from.empty() || next.late_valid_i.bit(queue)) return;
    const auto which = from.begin() + dice.below(static_cast<unsigned>(from.size()));
    next.early_valid_i.set_bit(queue);
    next.early_process_i.set(*which, queue);
    from.erase(which);
  }

  void decide_try(std::uint32_t process, Inputs& next, bisim::Dice& dice) {
    std::erase_if(kept_, [&](const auto& kept) { return kept.second == process; });
    const unsigned unit = dice.below(kUnits);
    switch (dice.below(8)) {
      case 0:
        next.tried_time_i.set(1);
        return;
      case 1:
        next.tried_room_i.set(1);
        return;
      case 2:
        next.tried_turn_i.set(1);
        return;
      case 3:
        next.late_valid_i.set_bit(dice.below(kQueues));
        return;
      case 4:
        idle_.push_back(process);
        return;
      case 5:
        waiting_.push_back(process);
        return;
      default:
        if (std::ranges::count(kept_, unit, [](const auto& kept) { return kept.first; })) {
          next.tried_time_i.set(1);
          return;
        }
        kept_.emplace_back(unit, process);
        next.tried_advances_i.set(1);
        next.tried_unit_i.set(unit);
        next.tried_cycles_i.set(1 + dice.below((1u << Parameters::CycleBits) - 1));
    }
  }

  unsigned busy_, come_, free_;
  std::vector<std::uint32_t> idle_, waiting_;
  std::vector<std::pair<unsigned, std::uint32_t>> kept_;  ///< unit and process
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
