// SPDX-License-Identifier: Apache-2.0
#include "bisim/bisim.hpp"
#include "peach2/events.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;

constexpr unsigned kSources = Parameters::Sources;

struct Twin {
  thalweg::peach2::Events<std::uint64_t, kSources> events;

  void outputs(const Inputs&, Outputs& out) const {
    out.out_valid_o.set(events.valid());
    if (!events.valid()) return;
    const auto event = events.front();
    out.out_place_o.set(event.place);
    out.out_count_o.set(event.count);
    out.out_note_o.set(event.note);
  }
  void step(const Inputs& in) {
    std::array<std::optional<std::uint64_t>, kSources> happened;
    for (unsigned i = 0; i < kSources; ++i)
      if (in.happened_i.bit(i)) happened[i] = in.note_i.get(i);
    events.step(happened, in.out_ready_i.get() != 0);
  }
};

/// Lanes: all sources, the receiver.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run) : often_(run.pick(10, 300, 1000)), ready_(run.pick(1000, 200, 0)) {}

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice places = draws.lane(0), delivered = draws.lane(1);
    for (unsigned i = 0; i < kSources; ++i) {
      next.happened_i.set_bit(i, places.chance(often_));
      next.note_i.set(places.bits() & ((std::uint64_t{1} << Parameters::Width) - 1), i);
    }
    next.out_ready_i.set(delivered.chance(ready_));
  }

 private:
  unsigned often_, ready_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
