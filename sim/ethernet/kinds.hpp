// SPDX-License-Identifier: Apache-2.0
// Ethernet switches, NICs and links as kinds of nodes and links for the clusters of all systems, as in cluster files
// (python/thalweg/cluster/leaves.py).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cluster/assembly.hpp"
#include "ethernet/line.hpp"
#include "ethernet/nic.hpp"
#include "ethernet/optical_switch.hpp"
#include "ethernet/outside.hpp"
#include "ethernet/switch.hpp"

namespace thalweg::ethernet {

/// A node's address: locally administered, with the node's number in its lower half.
[[nodiscard]] constexpr Address address_of(unsigned node) {
  return 0x0200'0000'0000 | node;
}

/// Adds the kinds `nic`, `ethernet-switch`, `optical-switch`, `ethernet-outside` and `ethernet`. `frames` must outlive
/// the nodes.
inline void add_kinds(Kinds& known, Tick ticks_per_second, Frames& frames) {
  const auto hertz = [ticks_per_second](const Domain& domain) {
    return static_cast<double>(ticks_per_second) / static_cast<double>(domain.clock.period);
  };
  known.nodes["nic"] = [](const Values& values, unsigned number, const Clocks& clocks) {
    return std::make_unique<Nic>(address_of(number), *clocks.at(values.get<std::string>("clock")));
  };
  known.nodes["ethernet-outside"] = [&frames](const Values& values, unsigned, const Clocks& clocks) {
    return std::make_unique<Outside>(*clocks.at(values.get<std::string>("clock")), frames);
  };
  known.nodes["ethernet-switch"] = [hertz](const Values& values, unsigned, const Clocks& clocks) {
    Domain& domain = *clocks.at(values.get<std::string>("clock"));
    Switch::Config config{.ports = values.get<unsigned>("ports"),
                          .latency = values.get<double>("latency_ns") * 1e-9 * hertz(domain),
                          .mode = values.get<std::string>("forwarding") == "cut-through"
                                      ? Switch::Mode::cut_through
                                      : Switch::Mode::store_and_forward,
                          .buffer_bytes = values.get<std::uint64_t>("buffer_bytes"),
                          .shared = values.get<std::string>("buffer") == "shared",
                          .learns = values.get<std::string>("addresses") == "learned",
                          .floods = values.get<std::string>("addresses") == "learned",
                          .flood_ports = {}};
    if (values.has("flood_ports")) {
      config.flood_ports.assign(config.ports, false);
      for (const auto port : values.get<std::vector<std::int64_t>>("flood_ports"))
        config.flood_ports.at(static_cast<std::size_t>(port)) = true;
    }
    auto made = std::make_unique<Switch>(config, domain);
    if (values.has("routes")) {
      const auto& routes = values.get<std::vector<std::int64_t>>("routes");
      for (std::size_t k = 0; k + 1 < routes.size(); k += 2)
        made->set(address_of(static_cast<unsigned>(routes[k])), {static_cast<unsigned>(routes[k + 1])});
    }
    return made;
  };
  known.nodes["optical-switch"] = [hertz](const Values& values, unsigned, const Clocks& clocks) {
    Domain& domain = *clocks.at(values.get<std::string>("clock"));
    const auto& ports = values.get<std::vector<std::int64_t>>("connected");
    std::vector<std::pair<unsigned, unsigned>> pairs;
    for (std::size_t k = 0; k + 1 < ports.size(); k += 2)
      pairs.emplace_back(static_cast<unsigned>(ports[k]), static_cast<unsigned>(ports[k + 1]));
    const auto turning = values.get<double>("turning_ms") * 1e-3 * hertz(domain);
    return std::make_unique<OpticalSwitch>(values.get<unsigned>("ports"), static_cast<Tick>(std::ceil(turning)), pairs,
                                           domain);
  };
  known.links["ethernet"] = [hertz, ticks_per_second, made = std::uint64_t{0}](
                                const Values& values, LinkPort& a, LinkPort& b,
                                const Clocks&) mutable {  // each link has its own random numbers
    auto &one = dynamic_cast<Port&>(a), &other = dynamic_cast<Port&>(b);
    const Domain& domain = *one.domain;
    Line::Config config{.rate = Rate::of(values.get<double>("gbit_s"), domain.clock.period, ticks_per_second),
                        .latency = 0,
                        .faults = {.bit_error_rate = values.get<double>("bit_error_rate"),
                                   .frames_lost = values.get<double>("frames_lost"),
                                   .frames_duplicated = values.get<double>("frames_duplicated")},
                        .frames_reordered = values.get<double>("frames_reordered"),
                        .seed = mix(mix(values.get<std::uint64_t>("seed")) + made++)};
    config.latency = config.rate.cycles(values.get<double>("latency_ns") * 1e-9 * hertz(domain));
    auto back = config;
    back.seed = mix(config.seed);
    return std::make_unique<Cable>(config, back, one, other);
  };
}

}  // namespace thalweg::ethernet
