// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "bisim/bisim.hpp"
#include "mpi_fpga/slow_reads.hpp"

namespace {

using thalweg::mpi_fpga::SlowReads, thalweg::Tick;
using top::Inputs, top::Outputs, top::Parameters;

constexpr unsigned kUnits = Parameters::Units, kEntries = Parameters::Entries, kMembers = Parameters::Members,
                   kQueries = Parameters::Queries;

class Twin {
 public:
  void outputs(const Inputs& in, Outputs& out) const {
    for (unsigned query = 0; query < kQueries; ++query)
      out.held_o.set(
          static_cast<std::uint64_t>(reads_.held(static_cast<std::uint32_t>(in.request_entry_i.get(query)), now_)),
          query);
    out.freed_o.set(reads_.freed(now_) || (in.step_valid_i.get() && in.step_members_i.get() && cycles(in) < 2));
  }

  void step(const Inputs& in) {
    if (in.step_valid_i.get() && in.step_members_i.get() && cycles(in) > 1)
      reads_.begin(static_cast<unsigned>(in.step_unit_i.get()), static_cast<std::uint32_t>(in.step_entry_i.get()),
                   in.step_members_i.get(), now_ + cycles(in));
    ++now_;
  }

 private:
  static Tick cycles(const Inputs& in) { return static_cast<Tick>((in.step_pace_i.get() - 1) << in.step_size_i.get()); }

  Tick now_ = 1;
  SlowReads reads_{kUnits};
};

/// Units that read one packet after another, some of them slowly. Lanes: steps, queries.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run)
      : steps_(run.pick(300, 30, 1000)),
        slow_(run.pick(500, 50, 1000)),
        paces_(run.pick(3, 16)),
        sizes_(run.pick(3, 8)),
        places_(run.pick(1, kEntries)) {}

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    ++now_;
    bisim::Dice steps = draws.lane(0), asks = draws.lane(1);
    for (unsigned query = 0; query < kQueries; ++query) next.request_entry_i.set(asks.below(places_), query);
    const unsigned unit = steps.below(kUnits), size = steps.below(sizes_),
                   pace = steps.chance(slow_) ? 1 + steps.below(paces_ - 1) : 1;
    next.step_unit_i.set(unit);
    next.step_entry_i.set(steps.below(places_));
    next.step_members_i.set(steps.bits() & ((std::uint64_t{1} << kMembers) - 1));
    next.step_size_i.set(size);
    next.step_pace_i.set(pace);
    if (!steps.chance(steps_) || read_[unit] > now_) return;
    next.step_valid_i.set(1);
    read_[unit] = now_ + (Tick{pace} << size);
  }

 private:
  unsigned steps_, slow_, paces_, sizes_, places_;
  Tick now_ = 0;
  std::array<Tick, kUnits> read_{};  ///< when each has read
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
