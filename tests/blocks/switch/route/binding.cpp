#include "blocks/router_config.hpp"
#include "switch/route.hpp"
#include "thalweg_spec.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;

constexpr thalweg::NodeId kSelf = Parameters::Nodes / 2;

struct Twin {
  std::vector<thalweg::RouteEntry> row{Parameters::Nodes, {.port = thalweg::kNoRoute}};
  thalweg::RouteTable table{blocks::route_config(), kSelf, row};

  void outputs(const Inputs& in, Outputs& out) const {
    for (unsigned i = 0; i < Parameters::Lookups; ++i) {
      namespace spec = thalweg::spec;
      const spec::NetworkHeader header{
          .destination = static_cast<std::uint16_t>(in.destination_i.get(i)),
          .collective = in.collective_i.bit(i) ? spec::Collective::reduce : spec::Collective::point_to_point};
      const thalweg::Route route = table.route(header.pack(), static_cast<unsigned>(in.vc_i.get(i)));
      out.port_o.set(route.port, i);
      out.channels_o.set(route.channels, i);
      out.sinks_o.set_bit(i, route.sinks);
    }
  }

  void step(const Inputs& in) {
    if (!in.table_valid_i.get()) return;
    row[in.table_index_i.get()] = blocks::written_entry(in);
    table = thalweg::RouteTable{blocks::route_config(), kSelf, row};
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
      next.collective_i.set_bit(i, lookup.chance(500));
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
