// SPDX-License-Identifier: Apache-2.0
#include "blocks/router_config.hpp"
#include "switch/route.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;

constexpr thalweg::NodeId kSelf = Parameters::Nodes / 2;

thalweg::RouterConfig config() {
  thalweg::RouterConfig config = blocks::route_config();
  config.header.unit_mask = 1 << 16;
  return config;
}

struct Twin {
  std::vector<thalweg::RouteEntry> row{Parameters::Nodes, {.port = thalweg::kNoRoute}};
  thalweg::RouteTable table{config(), kSelf, row};

  void outputs(const Inputs& in, Outputs& out) const {
    for (unsigned i = 0; i < Parameters::Lookups; ++i) {
      const std::uint64_t header = in.destination_i.get(i) | std::uint64_t{in.for_unit_i.bit(i)} << 16;
      const thalweg::Route route = table.route(header, static_cast<unsigned>(in.vc_i.get(i)));
      out.port_o.set(route.port, i);
      out.channels_o.set(route.channels, i);
      out.sinks_o.set_bit(i, route.sinks);
    }
  }

  void step(const Inputs& in) {
    if (!in.table_valid_i.get()) return;
    row[in.table_index_i.get()] = blocks::written_entry(in);
    table = thalweg::RouteTable{config(), kSelf, row};
  }
};

class Stimulus {
 public:
  static constexpr unsigned kLanes = Parameters::Lookups + 1;

  explicit Stimulus(bisim::Dice run) : write_(run.pick(20, 1, 500)) {}

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    next.self_i.set(kSelf);
    for (unsigned i = 0; i < Parameters::Lookups; ++i) {
      bisim::Dice lookup = draws.lane(i);
      next.destination_i.set(lookup.chance(30) ? lookup.below(65536) : lookup.below(Parameters::Nodes), i);
      next.for_unit_i.set_bit(i, lookup.chance(500));
      next.vc_i.set(lookup.below(Parameters::Vcs), i);
    }
    bisim::Dice writer = draws.lane(Parameters::Lookups);
    if (writer.chance(write_)) blocks::write_entry(next, writer.below(Parameters::Nodes), writer, 100);
  }

 private:
  unsigned write_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
