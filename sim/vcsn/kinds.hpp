// SPDX-License-Identifier: Apache-2.0
// The kind `vcsn`, as a cluster file says it (python/thalweg/systems/vcsn/cluster.py).
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include "cluster/assembly.hpp"
#include "memory/dram_values.hpp"
#include "vcsn/node.hpp"

namespace thalweg::vcsn {

/// `frames` outlives the nodes.
inline void add_kinds(Kinds& known, Tick ticks_per_second, ethernet::Frames& frames) {
  known.nodes["vcsn"] = [ticks_per_second, &frames](const Values& values, unsigned number, const Clocks& clocks) {
    Domain& shell = *clocks.at(values.get<std::string>("shell_clock"));
    Domain& mac = *clocks.at(values.get<std::string>("mac_clock"));
    const auto hertz = [ticks_per_second](const Domain& domain) {
      return static_cast<double>(ticks_per_second) / static_cast<double>(domain.clock.period);
    };
    const auto cycles = [&](const char* name, const Domain& domain) {
      return static_cast<Tick>(std::llround(values.get<double>(name) * 1e-9 * hertz(domain)));
    };
    const NodeConfig config{.ports = values.get<unsigned>("ports"),
                            .virtual_ports = values.get<unsigned>("virtual_ports"),
                            .dmas = values.get<unsigned>("dmas"),
                            .banks = values.get<unsigned>("banks"),
                            .bank_bytes = values.get<std::uint64_t>("bank_bytes"),
                            .bank = {.latency = std::max<Tick>(1, cycles("bank_ns", shell)),
                                     .dram = dram_of(values, values.get<double>("bank_gb"), hertz(shell))},
                            .send_words = values.get<unsigned>("send_words"),
                            .receive_words = values.get<unsigned>("receive_words"),
                            .frame_words = values.get<unsigned>("frame_words"),
                            .frames = values.get<unsigned>("send_frames"),
                            .mac_cycles = cycles("mac_ns", mac)};
    return std::make_unique<Node>(config, number, shell, mac, frames);
  };
}

}  // namespace thalweg::vcsn
