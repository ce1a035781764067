// SPDX-License-Identifier: Apache-2.0
#include "smi/driver/fabric.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/require.hpp"
#include "memory/dram_values.hpp"
#include "smi/node.hpp"

namespace thalweg::smi {

std::unique_ptr<NodeModel> Fabric::sim_node(const NodeModel::Config& config, Domain&) {
  return std::make_unique<Node>(config);
}

namespace {

unsigned circuits_of(const Values& values) {
  if (values.get<std::string>("switching") != "circuit") return 0;
  const auto most = values.get<unsigned>("circuit_packets");
  return most > 0 ? most : kWholeMessages;
}

/// Packets per cycle, exact to 1 bit/s.
RateLimit rate_of(const Values& link, unsigned packet_bytes, Tick ticks_per_second, Tick period) {
  const auto bits_per_second = std::max<Tick>(1, std::llround(link.get<double>("gbit_s") * 1e9));
  const auto divisor = std::gcd(ticks_per_second, period);
  return RateLimit::of(bits_per_second * (period / divisor), Tick{8} * packet_bytes * (ticks_per_second / divisor));
}

}  // namespace

/// Values collected from the kinds during assembly.
struct Fabric::Parts {
  Domain* clock = nullptr;
  Tick ticks_per_second = 1;
  double hertz = 0;
  unsigned link_buffer = 2;
  Channels channels;
  Banks banks;
  Kinds kinds;
};

Fabric::Fabric(const Description& description, const std::vector<std::vector<EndpointOf>>& endpoints,
               const MakeNode& make_node)
    : Fabric(description, endpoints, make_node, std::make_unique<Parts>()) {}

Fabric::Fabric(const Description& description, const std::vector<std::vector<EndpointOf>>& endpoints,
               const MakeNode& make_node, std::unique_ptr<Parts> made)
    : assembly_(description, [&]() -> const Kinds& {
        auto& m = *made;
        require(endpoints.size() == description.nodes.size() && endpoints.size() <= kMaxRanks,
                std::to_string(description.nodes.size()) + " ranks and programs for " +
                    std::to_string(endpoints.size()) + "; the numbers must be equal, and at most " +
                    std::to_string(kMaxRanks));
        m.ticks_per_second = description.ticks_per_second;
        const auto ticks = static_cast<double>(description.ticks_per_second);
        m.kinds.nodes["smi"] = [&m, &endpoints, &make_node, ticks](const Values& values, unsigned rank,
                                                                   const Clocks& clocks) {
          Domain& clock = *clocks.at(values.get<std::string>("clock"));
          require(!m.clock || m.clock == &clock, values.of() + ": all boards must have the same clock");
          m.clock = &clock;
          m.hertz = ticks / static_cast<double>(clock.clock.period);
          const auto number = [&](const char* name) { return values.get<unsigned>(name); };
          m.link_buffer = number("link_buffer");
          m.channels = {.packet_bytes = number("packet_bytes"),
                        .eager = values.get<std::string>("protocol") == "eager",
                        .synchronous = values.get<std::string>("protocol") == "synchronous",
                        .circuits = circuits_of(values),
                        .arity = number("arity"),
                        .tile = number("tile"),
                        .children = number("children"),
                        .latency = number("latency"),
                        .any_order = values.get<bool>("any_order")};
          m.banks = {
              .number = number("banks"),
              .timing = {.latency = std::max<Tick>(1, std::llround(values.get<double>("bank_ns") * 1e-9 * m.hertz)),
                         .dram = dram_of(values, values.get<double>("bank_gb"), m.hertz)}};
          const NodeModel::Config config{.rank = rank,
                                         .links = number("links"),
                                         .packet_bytes = m.channels.packet_bytes,
                                         .reads = number("reads"),
                                         .depth = number("depth"),
                                         .latency = static_cast<unsigned>(m.channels.latency),
                                         .children = m.channels.children,
                                         .tile = m.channels.tile,
                                         .circuits = m.channels.circuits,
                                         .endpoints = endpoints[rank]};
          return std::make_unique<Board>(make_node(config, clock), endpoints[rank], rank, clock);
        };
        m.kinds.links["serial"] = [&m](const Values& values, LinkPort& a, LinkPort& b, const Clocks&) {
          const LinkLane::Config config{
              .latency = std::max<Tick>(1, std::llround(values.get<double>("latency_ns") * 1e-9 * m.hertz)),
              .rate = rate_of(values, m.channels.packet_bytes, m.ticks_per_second, m.clock->clock.period),
              .buffer = m.link_buffer};
          return std::make_unique<SerialLink>(config, dynamic_cast<SerialPort&>(a), dynamic_cast<SerialPort&>(b));
        };
        return m.kinds;
      }()) {
  clock_ = made->clock;
  hertz_ = made->hertz;
  channels_ = made->channels;
  banks_ = made->banks;
}

std::vector<Lost> Fabric::lost() {
  std::vector<Lost> all;
  for (unsigned rank = 0; rank < ranks(); ++rank) {
    const auto& node = board(rank).node();
    if (node.strays() > 0) all.push_back({rank, "packets to a port without an endpoint", node.strays()});
    if (node.unrouted() > 0)
      all.push_back({rank, "packets to a rank without a route in its send tables", node.unrouted()});
  }
  return all;
}

void Fabric::load(const std::vector<Tables>& tables) {
  require(tables.size() == ranks(),
          "tables are for " + std::to_string(tables.size()) + " ranks; there are " + std::to_string(ranks()));
  for (unsigned rank = 0; rank < ranks(); ++rank) {
    auto& node = board(rank).node();
    const auto& of = tables[rank];
    require(of.send.size() == node.links() && of.receive.size() == node.links(),
            "rank " + std::to_string(rank) + " has " + std::to_string(node.links()) + " links, but tables for " +
                std::to_string(of.send.size()) + " and " + std::to_string(of.receive.size()));
    for (unsigned link = 0; link < node.links(); ++link) {
      require(of.send[link].size() <= kMaxRanks && of.receive[link].size() <= 2 * kMaxPorts,
              "a table of rank " + std::to_string(rank) + " is too long");
      for (unsigned i = 0; i < of.send[link].size(); ++i) node.load_send(link, i, of.send[link][i]);
      for (unsigned i = 0; i < of.receive[link].size(); ++i) node.load_receive(link, i, of.receive[link][i]);
    }
  }
}

}  // namespace thalweg::smi
