// SPDX-License-Identifier: Apache-2.0
#include "bisim/bisim.hpp"
#include "blocks/peach2/packets.hpp"
#include "peach2/windows.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;

struct Twin {
  thalweg::peach2::Windows windows{Parameters::Windows, blocks::kBase};

  void outputs(const Inputs&, Outputs& out) const {
    out.found_valid_o.set(windows.found().has_value());
    if (!windows.found()) return;
    out.found_hit_o.set(windows.found()->hit);
    out.found_to_o.set(windows.found()->to);
  }
  void step(const Inputs& in) {
    std::optional<std::uint32_t> page;
    if (in.ask_valid_i.get()) page = static_cast<std::uint32_t>(in.ask_page_i.get());
    windows.step(page);
    if (in.load_valid_i.get())
      windows.load(static_cast<unsigned>(in.load_index_i.get()), blocks::get_window(in.load_window_i));
  }
};

/// Windows are loaded while pages are looked up. Lanes: windows, pages.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run) : loads_(run.pick(20, 300, 1)) {}

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    next.base_i.set(blocks::kBase);
    bisim::Dice loads = draws.lane(0), asks = draws.lane(1);
    if (loads.chance(loads_)) {
      next.load_valid_i.set(true);
      next.load_index_i.set(loads.below(Parameters::Windows));
      blocks::put_window(next.load_window_i, blocks::window(loads));
    }
    next.ask_valid_i.set(asks.chance(700));
    next.ask_page_i.set(blocks::page(asks));
  }

 private:
  unsigned loads_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
