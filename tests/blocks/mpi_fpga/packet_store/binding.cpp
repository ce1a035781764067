// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "mpi_fpga/packet_store.hpp"

namespace {

using thalweg::mpi_fpga::PacketStore;
using top::Inputs, top::Outputs, top::Parameters;

constexpr unsigned kUnits = Parameters::Units, kProcesses = Parameters::Processes, kEntries = Parameters::Entries;

class Twin {
 public:
  void outputs(const Inputs&, Outputs& out) const {
    out.ready_o.set(now_ >= kProcesses);
    out.announce_valid_o.set(announced_.has_value());
    out.announce_process_o.set(announced_.value_or(0));
    for (unsigned u = 0; u < kUnits; ++u) {
      out.host_valid_o.set_bit(u, host_[u].has_value());
      if (host_[u]) out.host_data_o.set(*host_[u], u);
    }
    out.free_valid_o.set(store_.free().has_value());
    out.free_place_o.set(store_.free().value_or(0));
  }

  void step(const Inputs& in) {
    ++now_;
    if (in.free_ready_i.get() && store_.free()) store_.give_free();
    if (in.take_valid_i.get())
      store_.take(static_cast<unsigned>(in.take_unit_i.get()), static_cast<std::uint32_t>(in.take_process_i.get()),
                  1u << in.take_size_i.get(), static_cast<unsigned>(in.take_pace_i.get()));
    for (unsigned u = 0; u < kUnits; ++u) host_[u] = store_.read(u);
    announced_.reset();
    if (!in.in_valid_i.get()) return;
    const auto process = static_cast<std::uint32_t>(in.in_process_i.get());
    const bool last = in.in_last_i.get() != 0;
    store_.put(static_cast<std::uint32_t>(in.in_place_i.get()), in.in_data_i.get(), last, process);
    if (last) announced_ = process;
  }

 private:
  PacketStore store_{kUnits, kProcesses, kEntries};
  std::uint64_t now_ = 0;
  std::optional<std::uint32_t> announced_;
  std::array<std::optional<PacketStore::Data>, kUnits> host_;
};

/// Packets for a few processes, which units take once they have read the previous one, and entries that the host
/// reuses. Lanes: the host, the processes, the free entries.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3;

  explicit Stimulus(bisim::Dice run)
      : gives_(run.pick(1000, 500, 50)),
        takes_(run.pick(1000, 500, 50)),
        accepts_(run.pick(1000, 500, 50)),
        shortest_(run.below(std::countr_zero(Parameters::Flits) + 1)),
        used_(std::min(kProcesses, 1 + run.below(9))),
        packets_(kEntries, 0),
        free_(kEntries) {
    std::iota(free_.begin(), free_.end(), 0u);
  }

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice host = draws.lane(0), tries = draws.lane(1), places = draws.lane(2);
    if (!seen.ready_o.get()) return;
    take(tries, next);
    put(host, next);
    const bool accepts = places.chance(accepts_);
    next.free_ready_i.set(accepts);
    if (accepts && seen.free_valid_o.get()) free_.push_back(static_cast<unsigned>(seen.free_place_o.get()));
  }

 private:
  static constexpr unsigned kUsed = std::min(kProcesses, 9u);

  void take(bisim::Dice& dice, Inputs& next) {
    for (unsigned& busy : busy_) busy -= busy > 0;
    const unsigned process = dice.below(used_), unit = dice.below(kUnits);
    std::vector<unsigned>& queue = queues_[process];
    const unsigned pace = 1 + (dice.chance(300) ? dice.below(15) : 0);
    const bool took = std::exchange(took_, kProcesses) == process;
    if (queue.empty() || busy_[unit] || took || !dice.chance(takes_)) return;
    took_ = process;
    next.take_valid_i.set(1);
    next.take_process_i.set(process);
    next.take_unit_i.set(unit);
    next.take_size_i.set(packets_[queue.front()]);
    next.take_pace_i.set(pace);
    busy_[unit] = pace << packets_[queue.front()];
    queue.erase(queue.begin());
  }

  void put(bisim::Dice& dice, Inputs& next) {
    if (arrived_) queues_[process_].push_back(place_);
    arrived_ = false;
    if (!left_) {
      if (free_.empty() || !dice.chance(gives_)) return;
      const unsigned which = dice.below(static_cast<unsigned>(free_.size()));
      place_ = free_[which];
      free_.erase(free_.begin() + which);
      process_ = dice.below(used_);
      packets_[place_] = shortest_ + dice.below(std::countr_zero(Parameters::Flits) + 1 - shortest_);
      left_ = 1u << packets_[place_];
    } else if (!dice.chance(std::max(gives_, 500u))) {
      return;
    }
    next.in_valid_i.set(1);
    blocks::fill(next.in_data_i, dice);
    next.in_process_i.set(process_);
    next.in_place_i.set(place_);
    next.in_last_i.set(--left_ == 0);
    arrived_ = left_ == 0;
  }

  unsigned gives_, takes_, accepts_, shortest_, used_;
  std::vector<unsigned> packets_;  ///< log2 of the flits, by entry
  std::vector<unsigned> free_;
  std::array<std::vector<unsigned>, kUsed> queues_;
  std::array<unsigned, kUnits> busy_{};  ///< cycles until the unit has read its packet
  unsigned took_ = kProcesses;           ///< the process that took a packet in the cycle before
  unsigned place_ = 0, process_ = 0, left_ = 0;
  bool arrived_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
