// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <optional>
#include <vector>

#include "bisim/bisim.hpp"
#include "vcsn/circuit_table.hpp"

namespace {

using thalweg::vcsn::Circuit, thalweg::vcsn::CircuitTable;
using top::Inputs, top::Outputs, top::Parameters;

constexpr unsigned kPorts = Parameters::Ports;

struct Twin {
  CircuitTable table{kPorts};
  std::array<bool, kPorts> joined{};

  void outputs(const Inputs&, Outputs& out) const {
    for (unsigned i = 0; i < kPorts; ++i) {
      out.joined_o.set_bit(i, joined[i]);
      const auto& row = table.of(i);
      out.row_valid_o.set_bit(i, row.has_value());
      if (!row) continue;
      out.row_address_o.set(row->address, i);
      out.row_port_o.set(row->port, i);
    }
  }
  void step(const Inputs& in) {
    const Circuit from{in.from_address_i.get(), static_cast<std::uint8_t>(in.from_port_i.get())};
    const auto to = static_cast<unsigned>(in.to_port_i.get());
    for (unsigned i = 0; i < kPorts; ++i) joined[i] = i == to && table.joins(to, from);
    if (!in.write_valid_i.get()) return;
    const auto row = in.write_row_i.get();
    table.set(static_cast<unsigned>(in.write_port_i.get()),
              row.open ? std::optional<Circuit>({row.address, static_cast<std::uint8_t>(row.port)}) : std::nullopt);
  }
};

/// Few addresses and ports, which differ in one bit, so that frames often belong to a circuit. Lanes: writes, frames.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run) : writes_(run.pick(10, 100, 500)), open_(run.pick(500, 900)) {
    base_ = std::uint64_t{run.bits()} << 16 | run.below(1 << 16);
  }

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice writes = draws.lane(0), frames = draws.lane(1);
    if (writes.chance(writes_)) {
      next.write_valid_i.set(true);
      next.write_port_i.set(writes.below(kPorts));
      next.write_row_i.set({.open = writes.chance(open_), .address = address(writes), .port = writes.below(2) * 129});
    }
    next.from_address_i.set(address(frames));
    next.from_port_i.set(frames.below(2) * 129);
    next.to_port_i.set(frames.chance(900) ? frames.below(kPorts) : frames.below(256));
  }

 private:
  std::uint64_t address(bisim::Dice& dice) const { return base_ ^ std::uint64_t{dice.chance(300)} << dice.below(48); }

  unsigned writes_, open_;
  std::uint64_t base_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
