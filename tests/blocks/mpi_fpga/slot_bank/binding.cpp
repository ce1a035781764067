// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <vector>

#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "mpi_fpga/slot_bank.hpp"

namespace {

using thalweg::mpi_fpga::ReadPorts, thalweg::Tick;
using top::Inputs, top::Outputs, top::Parameters;
using Data = bisim::Word<256>::Value;

constexpr unsigned kEdges = Parameters::Edges, kFlits = Parameters::Flits, kSlotFlits = Parameters::SlotFlits,
                   kPorts = ReadPorts::kPorts;

unsigned packets_of(const Inputs& in) {
  return static_cast<unsigned>(std::popcount(in.from_i.get()));
}

class Twin {
 public:
  void outputs(const Inputs& in, Outputs& out) const {
    const unsigned packets = packets_of(in);
    out.packets_o.set(packets);
    out.free_o.set(packets == 0 || ports_.choose(packets, now_) != 0);
    for (unsigned q = 0; q < kPorts; ++q) {
      const auto read = reading_[q].find(now_);
      out.out_valid_o.set_bit(q, read != reading_[q].end());
      if (read == reading_[q].end()) continue;
      out.out_data_o.set(words_[read->second.address], q);
      out.out_unit_o.set(read->second.unit, q);
      out.out_operand_o.set(read->second.operand, q);
      out.out_head_o.set_bit(q, read->second.head);
      out.out_tail_o.set_bit(q, read->second.tail);
    }
  }

  void step(const Inputs& in) {
    for (auto& reads : reading_) reads.erase(now_);
    if (in.step_i.get()) take(in);
    if (in.write_valid_i.get()) words_[in.write_address_i.get()] = in.write_data_i.get();
    ++now_;
  }

 private:
  struct Read {
    unsigned address, unit, operand;
    bool head, tail;
  };

  void take(const Inputs& in) {
    const unsigned flits = 1U << in.size_i.get(), packets = packets_of(in);
    const auto pace = static_cast<unsigned>(in.pace_i.get());
    const unsigned ports = packets ? ports_.choose(packets, now_) : 0;
    ports_.take(ports, now_ + Tick{pace} * flits);
    unsigned i = 0;
    for (unsigned k = 0; k < kEdges; ++k) {
      if (!in.from_i.bit(k)) continue;
      auto& reads = reading_[packets == 1 ? ports >> 1 : i % 2];
      for (unsigned f = 0; f < flits; ++f)
        reads[now_ + 1 + i / 2 + Tick{f} * pace] = {
            static_cast<unsigned>(in.base_i.get(k) + (in.offset_i.get(k) + f) % kSlotFlits),
            static_cast<unsigned>(in.unit_i.get()), static_cast<unsigned>(in.operand_i.get(k)), f == 0, f + 1 == flits};
      ++i;
    }
  }

  Tick now_ = 0;
  ReadPorts ports_;
  std::array<Data, kFlits> words_{};
  std::array<std::map<Tick, Read>, kPorts> reading_;  ///< by the cycle in which it is shown
};

/// Writes slots in turn and at random, and takes their packets; a flit's entry may be overwritten one cycle after it
/// was read. Lanes: writes, steps.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run)
      : writes_(run.pick(1000, 300)),
        steps_(run.pick(900, 100, 1000)),
        slow_(run.pick(0, 100)),
        longest_(run.pick(kLongest, 0, 1)),
        slots_(run.pick(std::min(kSlots, 2 * kEdges), 1, kSlots)) {}

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice writes = draws.lane(0), steps = draws.lane(1);
    blocks::fill(next.base_i, steps);
    blocks::fill(next.offset_i, steps);
    blocks::fill(next.operand_i, steps);
    next.from_i.set(steps.bits() & steps.bits() & ((std::uint64_t{1} << kEdges) - 1));
    next.unit_i.set(steps.bits() & ((1U << Parameters::UnitWidth) - 1));
    if (steps.chance(steps_)) step(next, steps);
    if (writes.chance(writes_)) write(next, writes);
    ++now_;
  }

 private:
  static constexpr unsigned kSlots = kFlits / kSlotFlits;
  static constexpr unsigned kLongest = std::min(6U, static_cast<unsigned>(std::bit_width(kSlotFlits)) - 1);

  struct Slot {
    unsigned front = 0, count = 0;              ///< flits that were written and not taken
    std::array<Tick, kSlotFlits> read_until{};  ///< from when a flit's entry can be written
  };

  [[nodiscard]] static unsigned base(unsigned slot) { return slot * kSlotFlits + (kFlits - kSlots * kSlotFlits); }

  void write(Inputs& next, bisim::Dice& dice) {
    const unsigned index = dice.below(slots_);
    Slot& slot = all_[index];
    const unsigned at = (slot.front + slot.count) % kSlotFlits;
    if (slot.count == kSlotFlits || slot.read_until[at] >= now_) return;
    next.write_valid_i.set(1);
    next.write_address_i.set(base(index) + at);
    blocks::fill(next.write_data_i, dice);
    ++slot.count;
  }

  /// A write in this cycle is not visible yet: writes come after the steps.
  void step(Inputs& next, bisim::Dice& dice) {
    const unsigned size = dice.below(longest_ + 1), flits = 1U << size;
    const unsigned most = dice.chance(500) ? 1 : 1 + dice.below(kEdges);
    std::vector<std::pair<unsigned, unsigned>> taken;  // edges and slots
    const unsigned first = dice.below(slots_);
    for (unsigned i = 0, k = dice.below(kEdges - std::min(kEdges, most) + 1); i < slots_ && k < kEdges; ++i) {
      const unsigned index = (first + i) % slots_;
      if (all_[index].count < flits || taken.size() == most) continue;
      taken.emplace_back(k, index);
      k += 1 + (dice.chance(200) ? 1 : 0);
    }
    const auto packets = static_cast<unsigned>(taken.size());
    const unsigned ports = packets ? ports_.choose(packets, now_) : 0;
    if (packets && !ports) return;
    unsigned pace = std::max(1U, (packets + 1) / 2);
    if (dice.chance(slow_)) pace += dice.below(16 - pace);
    ports_.take(ports, now_ + Tick{pace} * flits);
    std::uint64_t from = 0;
    for (unsigned i = 0; const auto& [k, index] : taken) {
      Slot& slot = all_[index];
      from |= std::uint64_t{1} << k;
      next.base_i.set(base(index), k);
      next.offset_i.set(slot.front, k);
      for (unsigned f = 0; f < flits; ++f)
        slot.read_until[(slot.front + f) % kSlotFlits] = now_ + i / 2 + Tick{f} * pace;
      slot.front = (slot.front + flits) % kSlotFlits;
      slot.count -= flits;
      ++i;
    }
    next.from_i.set(from);
    next.step_i.set(1);
    next.size_i.set(size);
    next.pace_i.set(pace);
  }

  unsigned writes_, steps_, slow_, longest_, slots_;
  Tick now_ = 1;
  std::array<Slot, kSlots> all_;
  ReadPorts ports_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
