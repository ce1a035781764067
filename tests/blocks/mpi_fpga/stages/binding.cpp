// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bisim/bisim.hpp"
#include "common/bits.hpp"
#include "mpi_fpga/stages.hpp"

namespace {

using thalweg::each_bit, thalweg::mpi_fpga::ReadPorts, thalweg::mpi_fpga::Stages, thalweg::Tick;
using top::Inputs, top::Outputs, top::Parameters;

constexpr unsigned kOperations = Parameters::Operations, kStages = Parameters::Stages, kUnits = Parameters::Units,
                   kEntries = Parameters::Entries, kSlotFlits = Parameters::SlotFlits;

using Data = std::array<std::uint64_t, 4>;

/// The stages of a set, ascending, by the unit that has filled them.
template <class UnitOf>
std::array<std::vector<unsigned>, kUnits> by_bank(std::uint64_t stages, UnitOf&& unit_of) {
  std::array<std::vector<unsigned>, kUnits> banks;
  each_bit(stages, [&](unsigned stage) { banks[unit_of(stage)].push_back(stage); });
  return banks;
}

/// The simulator's stages hold packets, whose ends are known at the step; here they arrive and are read flit by flit.
class Twin {
 public:
  Twin() {
    for (unsigned operation = 0; operation < kOperations; ++operation)
      for (unsigned stage = 0; stage < kStages; ++stage) stages_.load(operation, std::uint64_t{1} << stage, {});
  }

  void outputs(const Inputs& in, Outputs& out) const {
    const auto operation = static_cast<std::uint32_t>(in.operation_i.get());
    const std::uint64_t lacking = stages_.empty(operation, in.from_i.get(), now_);
    out.status_valid_o.set(now_ >= kOperations);
    out.status_there_o.set(lacking == 0);
    out.status_room_o.set(stages_.full(operation, in.to_i.get(), 1U << in.size_i.get(), home(in), now_) == 0);
    out.freed_o.set(stages_.freed(now_) || (in.step_valid_i.get() && in.from_i.get() && held(in) < 2));
    bool free = true;
    for (unsigned unit = 0; const auto& stages : banks(operation, in.from_i.get())) {
      if (!stages.empty()) free &= stages_.bank(unit).choose(static_cast<unsigned>(stages.size()), now_) != 0;
      ++unit;
    }
    out.status_free_o.set(free);

    for (unsigned unit = 0; unit < kUnits; ++unit) {
      const std::optional<StageAddress> whole = becomes_whole(in, unit);
      const bool waits = whole && stages_.reader(whole->operation, whole->stage) != Stages::kNoProcess;
      out.early_valid_o.set_bit(unit, waits);
      if (waits) out.early_process_o.set(stages_.reader(whole->operation, whole->stage), unit);
      out.late_valid_o.set_bit(unit, in.wait_valid_i.get() && whole && whole->operation == operation &&
                                         whole->stage == thalweg::first(lacking));
    }

    for (unsigned p = 0; p < 2 * kUnits; ++p) {
      const auto read = reading_[p].find(now_);
      out.read_valid_o.set_bit(p, read != reading_[p].end());
      if (read == reading_[p].end()) continue;
      out.read_data_o.set(read->second.data, p);
      out.read_unit_o.set(read->second.unit, p);
      out.read_operand_o.set(read->second.operand, p);
      out.read_head_o.set_bit(p, read->second.head);
      out.read_tail_o.set_bit(p, read->second.tail);
    }
  }

  void step(const Inputs& in) {
    const auto operation = static_cast<std::uint32_t>(in.operation_i.get());
    for (unsigned unit = 0; unit < kUnits; ++unit) bring(in, unit);
    stages_.begin(now_);
    const auto nothing = [](unsigned, std::uint32_t) {};
    stages_.wake(nothing);
    if (in.wait_valid_i.get())
      stages_.await(operation, thalweg::first(stages_.empty(operation, in.from_i.get(), now_)),
                    static_cast<std::uint32_t>(in.wait_process_i.get()));
    if (in.step_valid_i.get()) take(in);
    stages_.wake(nothing);
    for (auto& reads : reading_) reads.erase(now_);
    ++now_;
  }

 private:
  struct StageAddress {
    std::uint32_t operation;
    unsigned stage;
  };
  struct Result {
    std::uint32_t operation;
    std::uint64_t to;
    std::vector<Data> words;
  };
  struct Read {
    Data data;
    unsigned unit, operand;
    bool head, tail;
  };

  [[nodiscard]] std::array<std::vector<unsigned>, kUnits> banks(std::uint32_t operation, std::uint64_t stages) const {
    return by_bank(stages, [&](unsigned stage) { return stages_.unit(operation, stage); });
  }

  [[nodiscard]] static Stages::Home home(const Inputs& in) {
    return {static_cast<unsigned>(in.own_i.get()), static_cast<unsigned>(in.place_i.get())};
  }
  /// Cycles for which the entries that a step reads stay occupied.
  [[nodiscard]] static Tick held(const Inputs& in) {
    return static_cast<Tick>((in.step_pace_i.get() - 1) << in.size_i.get());
  }

  /// False once the last flit has arrived, as a stimulus sees the effect of a cycle's inputs in the next one.
  [[nodiscard]] bool comes(const Inputs& in, unsigned unit) const {
    return in.result_valid_i.bit(unit) && in.result_staged_i.bit(unit) && !coming_[unit].empty();
  }

  /// Address of a packet whose last flit is written in this cycle.
  [[nodiscard]] std::optional<StageAddress> becomes_whole(const Inputs& in, unsigned unit) const {
    if (second_[unit]) return second_[unit];
    if (!comes(in, unit) || !in.result_last_i.bit(unit)) return std::nullopt;
    const Result& result = coming_[unit].front();
    return StageAddress{result.operation, thalweg::first(result.to)};
  }

  void bring(const Inputs& in, unsigned unit) {
    second_[unit].reset();
    if (!comes(in, unit)) return;
    Result& result = coming_[unit].front();
    result.words.push_back(in.result_data_i.get(unit));
    if (!in.result_last_i.bit(unit)) return;
    Tick last = now_;
    each_bit(result.to, [&](unsigned stage) {
      if (last > now_) second_[unit] = StageAddress{result.operation, stage};
      packets_[++last_packet_] = result.words;
      stages_.fill(result.operation, stage, last_packet_, last++);
    });
    coming_[unit].pop_front();
  }

  void take(const Inputs& in) {
    const auto operation = static_cast<std::uint32_t>(in.operation_i.get());
    const auto step_unit = static_cast<unsigned>(in.step_unit_i.get());
    const unsigned flits = 1U << in.size_i.get();
    const auto pace = static_cast<unsigned>(in.step_pace_i.get());
    const std::uint64_t from = in.from_i.get(), to = in.to_i.get();
    if (from && held(in) > 1) stages_.hold(step_unit, operation, from, now_ + held(in));
    for (unsigned unit = 0; const auto& stages : banks(operation, from)) {
      ReadPorts& bank = stages_.bank(unit);
      const unsigned ports = stages.empty() ? 0 : bank.choose(static_cast<unsigned>(stages.size()), now_);
      bank.take(ports, now_ + Tick{pace} * flits);
      for (unsigned i = 0; i < stages.size(); ++i) {
        const std::uint32_t packet = stages_.take(operation, stages[i], flits, pace, now_);
        const unsigned port = 2 * unit + (stages.size() == 1 ? ports >> 1 : i);
        const auto operand = static_cast<unsigned>(in.step_operand_i.get()) + (stages[i] != thalweg::first(from));
        for (unsigned f = 0; f < flits; ++f)
          reading_[port][now_ + 1 + Tick{f} * pace] = {
              packets_.at(packet).at(f), step_unit, operand % (1U << Parameters::OperandWidth), f == 0, f + 1 == flits};
        packets_.erase(packet);
      }
      ++unit;
    }
    Stages::Home lies = home(in);
    each_bit(to, [&](unsigned stage) {
      if (lies_[operation][stage] != lies) stages_.load(operation, std::uint64_t{1} << stage, lies);
      lies_[operation][stage] = lies;
      ++lies.place;
      stages_.reserve(operation, stage, flits, now_ + flits);
    });
    if (to) coming_[step_unit].push_back({operation, to, {}});
  }

  Tick now_ = 0;
  Stages stages_{kOperations, kUnits, kEntries, kSlotFlits};
  std::array<std::array<Stages::Home, kStages>, kOperations> lies_{};
  std::array<std::deque<Result>, kUnits> coming_;
  std::array<std::optional<StageAddress>, kUnits> second_;  ///< where a packet ends that has ended in a lower stage
  std::unordered_map<std::uint32_t, std::vector<Data>> packets_;  ///< in stages
  std::uint32_t last_packet_ = 0;
  std::array<std::map<Tick, Read>, 2 * kUnits> reading_;  ///< of each port, by the cycle in which it is shown
};

/// Plays processes that take available packets and fill stages with room, at most one waiting process per stage, and
/// units that deliver the results, in order, among others that are not for stages. A stage moves to another entry only
/// if both it and the stage there are empty. Lanes: steps, waits, and each unit.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2 + kUnits;

  explicit Stimulus(bisim::Dice run)
      : steps_(run.pick(900, 200, 1000)),
        load_(run.pick(1000, 300, 900)),
        slow_(run.pick(0, 100)),
        longest_(run.pick(kLongest, 0)),
        waits_(run.pick(300, 20)),
        moves_(run.pick(200, 0, 1000)),
        operations_(run.pick(1, std::min(kOperations, 3U), kOperations)),
        stages_(run.pick(kStages, std::min(kStages, 3U))) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    ++now_;
    bisim::Dice steps = draws.lane(0), waits = draws.lane(1);
    next.operation_i.set(steps.below(kOperations));
    next.from_i.set(two(steps));
    next.to_i.set(two(steps));
    next.own_i.set(steps.below(kUnits));
    next.place_i.set(steps.below(kEntries - 1));
    next.size_i.set(steps.below(8));
    if (!seen.status_valid_o.get()) return;
    for (unsigned unit = 0; unit < kUnits; ++unit) bring(next, draws.lane(2 + unit), unit);
    if (steps.chance(steps_)) step(next, steps);
    if (!next.step_valid_i.get() && waits.chance(waits_)) wait(next, waits);
    for (Stage* stage : whole_) {
      stage->packets.push_back(stage->coming.front());
      stage->coming.pop_front();
      stage->waits = false;
    }
    whole_.clear();
  }

 private:
  static constexpr unsigned kLongest =
      std::min(6U, static_cast<unsigned>(std::bit_width(kSlotFlits)) - 1);  ///< log2 of flits

  struct Stage {
    Stages::Home home;
    bool known = false;  ///< true if it has an entry
    unsigned room = kSlotFlits;
    bool waits = false;                    ///< a process
    std::deque<unsigned> coming, packets;  ///< their sizes
  };
  struct Result {
    std::vector<Stage*> to;
    unsigned left;  ///< flits
    Tick from;
  };

  /// Two stages, or fewer.
  [[nodiscard]] static std::uint64_t two(bisim::Dice& dice) {
    std::uint64_t stages = 0;
    for (unsigned i = dice.below(3); i > 0; --i) stages |= std::uint64_t{1} << dice.below(kStages);
    return stages;
  }
  [[nodiscard]] Stage& at(unsigned operation, unsigned stage) { return all_[operation * kStages + stage]; }
  /// When the room of an entry becomes free.
  [[nodiscard]] Tick& held(unsigned operation, Stages::Home home) {
    return held_[(operation * kUnits + home.unit) * kEntries + home.place];
  }
  /// The stage in an entry; kStages if there is none.
  [[nodiscard]] unsigned lying(unsigned operation, Stages::Home home) {
    for (unsigned stage = 0; stage < kStages; ++stage)
      if (at(operation, stage).known && at(operation, stage).home == home) return stage;
    return kStages;
  }
  /// True if a stage can be filled there.
  [[nodiscard]] bool fits(unsigned operation, unsigned stage, Stages::Home home, unsigned flits) {
    const Stage& filled = at(operation, stage);
    const unsigned there = lying(operation, home);
    return filled.room >= flits && held(operation, home) <= now_ &&
           (there == stage ||
            (filled.room == kSlotFlits && (there == kStages || at(operation, there).room == kSlotFlits)));
  }

  /// A flit of the unit's next result, one that is not for a stage, or none.
  void bring(Inputs& next, bisim::Dice dice, unsigned unit) {
    Data data;
    for (auto& word : data) word = dice.bits();
    next.result_data_i.set(data, unit);
    next.result_last_i.set_bit(unit, dice.chance(500));
    Unit& own = units_[unit];
    if (own.second) whole_.push_back(own.second);
    own.second = nullptr;
    own.full = own.results.size() == Parameters::Pending;
    const bool pause = own.pause;
    own.pause = false;
    if (!dice.chance(load_)) return;
    next.result_valid_i.set_bit(unit);
    if (pause || own.results.empty() || own.results.front().from > now_ || dice.chance(100)) return;
    Result& result = own.results.front();
    next.result_staged_i.set_bit(unit);
    next.result_last_i.set_bit(unit, --result.left == 0);
    own.pause = result.to.size() > 1;
    if (result.left > 0) return;
    whole_.push_back(result.to[0]);
    if (result.to.size() > 1) own.second = result.to[1];
    own.results.pop_front();
  }

  void step(Inputs& next, bisim::Dice& dice) {
    const unsigned operation = dice.below(operations_), first = dice.below(stages_);
    const Stage& lowest = at(operation, first);
    const bool takes = !lowest.packets.empty();
    const unsigned size = takes ? lowest.packets.front() : dice.below(longest_ + 1), flits = 1U << size;
    std::uint64_t from = 0, to = 0;
    if (takes) from = std::uint64_t{1} << first;
    if (const unsigned other = dice.below(stages_); takes && dice.chance(500)) {
      const auto& packets = at(operation, other).packets;
      if (!packets.empty() && packets.front() == size) from |= std::uint64_t{1} << other;
    }
    const auto banks = by_bank(from, [&](unsigned stage) { return at(operation, stage).home.unit; });
    for (unsigned unit = 0; unit < kUnits; ++unit)
      if (!banks[unit].empty() && banks_[unit].choose(static_cast<unsigned>(banks[unit].size()), now_) == 0)
        for (const unsigned stage : banks[unit]) from &= ~(std::uint64_t{1} << stage);

    // At the first stage's entry, or anywhere; the second stage beside it.
    const unsigned low = dice.below(stages_), high = dice.below(stages_);
    Stages::Home home = at(operation, low).home;
    if (!at(operation, low).known || dice.chance(moves_)) home = {dice.below(kUnits), dice.below(kEntries)};
    const unsigned unit = home.unit;
    if (!units_[unit].full && dice.chance(700) && !(from >> low & 1) && fits(operation, low, home, flits)) {
      to = std::uint64_t{1} << low;
      const Stages::Home beside{home.unit, home.place + 1};
      if (high > low && beside.place < kEntries && !(from >> high & 1) && dice.chance(500) &&
          fits(operation, high, beside, flits))
        to |= std::uint64_t{1} << high;
    }
    if ((!from && !to) || units_[unit].read > now_) return;
    unsigned pace = std::max(1, std::popcount(to));
    if (dice.chance(slow_)) pace += dice.below(16 - pace);
    next.operation_i.set(operation);
    next.from_i.set(from);
    next.to_i.set(to);
    next.own_i.set(home.unit);
    next.place_i.set(home.place);
    next.size_i.set(size);
    next.step_valid_i.set(1);
    next.step_unit_i.set(unit);
    next.step_pace_i.set(pace);
    next.step_operand_i.set(dice.bits() & ((1U << Parameters::OperandWidth) - 1));

    const Tick until = now_ + Tick{pace} * flits;
    units_[unit].read = until;
    for (unsigned bank = 0; bank < kUnits; ++bank)
      if (!banks[bank].empty() && from >> banks[bank][0] & 1)
        banks_[bank].take(banks_[bank].choose(static_cast<unsigned>(banks[bank].size()), now_), until);
    each_bit(from, [&](unsigned stage) {
      Stage& taken = at(operation, stage);
      taken.packets.pop_front();
      taken.room += flits;
      held(operation, taken.home) = std::max(held(operation, taken.home), until - Tick{flits});
    });
    if (!to) return;
    Result result{{}, flits, now_ + 1};
    each_bit(to, [&](unsigned stage) {
      if (const unsigned there = lying(operation, home); there < kStages) at(operation, there).known = false;
      Stage& filled = at(operation, stage);
      filled.home = home;
      filled.known = true;
      ++home.place;
      filled.room -= flits;
      filled.coming.push_back(size);
      result.to.push_back(&filled);
    });
    units_[unit].results.push_back(std::move(result));
  }

  void wait(Inputs& next, bisim::Dice& dice) {
    const unsigned operation = dice.below(operations_);
    std::uint64_t from = 0;
    for (unsigned i = 0; i < 2; ++i) from |= std::uint64_t{1} << dice.below(stages_);
    for (std::uint64_t rest = from; rest; rest &= rest - 1) {
      Stage& stage = at(operation, thalweg::first(rest));
      if (!stage.packets.empty()) continue;
      if (stage.waits) return;
      stage.waits = true;
      next.operation_i.set(operation);
      next.from_i.set(from);
      next.wait_valid_i.set(1);
      next.wait_process_i.set(dice.bits() & ((1U << Parameters::ProcessBits) - 1));
      return;
    }
  }

  struct Unit {
    std::deque<Result> results;  ///< that are still to come
    Tick read = 0;               ///< when it has read
    bool full = false;           ///< of results, before this cycle
    bool pause = false;          ///< its last flit is being written to a second stage
    Stage* second = nullptr;     ///< the stage in which this completes a packet
  };

  unsigned steps_, load_, slow_, longest_, waits_, moves_, operations_, stages_;
  Tick now_ = 0;
  std::array<Stage, kOperations * kStages> all_;
  std::array<Tick, kOperations * kUnits * kEntries> held_{};
  std::array<Unit, kUnits> units_;
  std::array<ReadPorts, kUnits> banks_;
  std::vector<Stage*> whole_;  ///< of this cycle
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
