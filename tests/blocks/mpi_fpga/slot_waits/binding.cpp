// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <vector>

#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "mpi_fpga/slot_waits.hpp"

namespace {

using thalweg::mpi_fpga::SlotArrival, thalweg::mpi_fpga::SlotWaits;
using top::Inputs, top::Outputs, top::Parameters;

constexpr unsigned kLinks = Parameters::Links, kRows = Parameters::Rows, kEdges = Parameters::Edges;

class Twin {
 public:
  void outputs(const Inputs& in, Outputs& out) const {
    out.early_valid_o.set(0);
    out.late_valid_o.set(0);
    SlotWaits waits = waits_;
    const auto arrivals = arriving(in);
    waits.wake(arrivals, [&](unsigned link, std::uint32_t process) {
      out.early_valid_o.set_bit(link);
      out.early_process_o.set(process, link);
    });
    await(waits, in);
    waits.wake(arrivals, [&](unsigned link, std::uint32_t) { out.late_valid_o.set_bit(link); });
  }

  void step(const Inputs& in) {
    if (in.clear_i.get()) waits_.clear(static_cast<std::uint32_t>(in.clear_row_i.get()));
    const auto arrivals = arriving(in);
    waits_.wake(arrivals, [](unsigned, std::uint32_t) {});
    await(waits_, in);
    waits_.wake(arrivals, [](unsigned, std::uint32_t) {});
  }

 private:
  [[nodiscard]] static std::vector<SlotArrival> arriving(const Inputs& in) {
    std::vector<SlotArrival> arrivals;
    for (unsigned link = 0; link < kLinks; ++link)
      if (in.arrival_valid_i.bit(link))
        arrivals.push_back({static_cast<std::uint8_t>(link), static_cast<std::uint8_t>(in.arrival_edge_i.get(link)),
                            in.arrival_credits_i.bit(link), static_cast<std::uint32_t>(in.arrival_row_i.get(link)), 0});
    return arrivals;
  }
  static void await(SlotWaits& waits, const Inputs& in) {
    if (in.wait_valid_i.get())
      waits.await(static_cast<std::uint32_t>(in.wait_row_i.get()), static_cast<unsigned>(in.wait_edge_i.get()),
                  in.wait_credits_i.get(), static_cast<std::uint32_t>(in.wait_process_i.get()));
  }

  SlotWaits waits_;
};

/// Clears all rows, then some again; in each cycle a packet of an edge arrives over at most one link, its credits over
/// any. Lanes: clears, new waits, each link.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2 + kLinks;

  explicit Stimulus(bisim::Dice run)
      : comes_(run.pick(300, 30, 900)),
        waits_(run.pick(500, 50, 1000)),
        clears_(run.pick(2, 0, 100)),
        rows_(run.pick(1, kRows)) {}

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice clears = draws.lane(0), waits = draws.lane(1);
    blocks::fill(next.arrival_row_i, waits);
    next.clear_row_i.set(cleared_ < kRows ? cleared_ : clears.below(kRows));
    if (cleared_ < kRows || clears.chance(clears_)) {
      next.clear_i.set(1);
      waiting_[next.clear_row_i.get()] = {};
      if (cleared_ < kRows) ++cleared_;
      return;
    }
    std::array<std::array<std::array<bool, 2>, kEdges>, kRows> comes{};
    for (unsigned link = 0; link < kLinks; ++link) {
      bisim::Dice dice = draws.lane(2 + link);
      const unsigned row = dice.below(rows_), edge = dice.below(kEdges);
      const bool credits = dice.chance(500);
      next.arrival_row_i.set(row, link);
      next.arrival_edge_i.set(edge, link);
      next.arrival_credits_i.set_bit(link, credits);
      if (!dice.chance(comes_) || (!credits && comes[row][edge][0])) continue;
      next.arrival_valid_i.set_bit(link);
      comes[row][edge][credits] = true;
    }
    const unsigned row = waits.below(rows_), edge = waits.below(kEdges);
    const bool credits = waits.chance(500);
    next.wait_row_i.set(row);
    next.wait_edge_i.set(edge);
    next.wait_credits_i.set(credits);
    next.wait_process_i.set(waits.bits() & ((1U << Parameters::ProcessBits) - 1));
    const bool begins = !waiting_[row][edge][credits] && waits.chance(waits_);
    next.wait_valid_i.set(begins);
    if (begins) waiting_[row][edge][credits] = true;
    for (unsigned r = 0; r < kRows; ++r)
      for (unsigned k = 0; k < kEdges; ++k)
        for (const unsigned kind : {0U, 1U})
          if (comes[r][k][kind]) waiting_[r][k][kind] = false;
  }

 private:
  unsigned comes_, waits_, clears_, rows_, cleared_ = 0;
  std::array<std::array<std::array<bool, 2>, kEdges>, kRows> waiting_{};  ///< for a packet, for credits
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
