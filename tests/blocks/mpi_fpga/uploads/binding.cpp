// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "mpi_fpga/uploads.hpp"

namespace {

using thalweg::mpi_fpga::Uploads;
using top::Inputs, top::Outputs, top::Parameters;

class Twin {
 public:
  void outputs(const Inputs& in, Outputs& out) const {
    const bool ready = now_ >= Parameters::Processes;
    const auto tried = static_cast<std::uint32_t>(in.tried_process_i.get());
    bool early = false, late = false;
    if (ready) {
      Uploads uploads = uploads_;
      begin(uploads, in);
      uploads.wake([&](std::uint32_t) { early = true; });
      if (in.wait_i.get()) uploads.await(tried);
      uploads.wake([&](std::uint32_t) { late = true; });
    }
    out.ready_o.set(ready);
    out.there_o.set(ready && uploads_.there(tried) > 0);
    out.early_valid_o.set(early);
    out.late_valid_o.set(late);
  }

  void step(const Inputs& in) {
    if (++now_ <= Parameters::Processes) return;
    const auto nobody = [](std::uint32_t) {};
    const auto tried = static_cast<std::uint32_t>(in.tried_process_i.get());
    begin(uploads_, in);
    uploads_.wake(nobody);
    if (in.take_i.get()) uploads_.take(tried);
    if (in.wait_i.get()) uploads_.await(tried);
    uploads_.wake(nobody);
    uploads_.keep();
  }

 private:
  static void begin(Uploads& uploads, const Inputs& in) {
    if (in.announce_valid_i.get()) uploads.announce(static_cast<std::uint32_t>(in.announce_process_i.get()));
    uploads.begin();
  }

  Uploads uploads_;
  std::uint64_t now_ = 0;
};

/// Packets for any process that has room, and processes that take an available one, or otherwise wait or do not. Lanes:
/// packets, processes.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run)
      : announce_(run.pick(500, 100, 1000)), wait_(run.pick(500, 900)), used_(1 + run.below(kUsed)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    if (!seen.ready_o.get()) return;
    bisim::Dice packets = draws.lane(0), tries = draws.lane(1);
    const unsigned tried = tries.below(used_);
    Process& process = processes_[tried];
    next.tried_process_i.set(tried);
    const bool takes = process.there > 0 && tries.chance(700),
               waits = process.there == 0 && !process.waits && tries.chance(wait_);
    next.take_i.set(takes);
    next.wait_i.set(waits);
    const unsigned to = packets.chance(300) ? tried : packets.below(used_);
    if (processes_[to].there < Parameters::Packets && packets.chance(announce_)) {
      next.announce_valid_i.set(true);
      next.announce_process_i.set(to);
      process.waits |= waits;
      processes_[to].waits = false;
      ++processes_[to].there;
    } else {
      process.waits |= waits;
    }
    process.there -= takes;
  }

 private:
  static constexpr unsigned kUsed = std::min<unsigned>(Parameters::Processes, 9);
  struct Process {
    unsigned there = 0;
    bool waits = false;
  };

  unsigned announce_, wait_, used_;
  std::array<Process, kUsed> processes_{};
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
