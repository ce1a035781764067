// SPDX-License-Identifier: Apache-2.0
// The node kinds `vcsn` and `dcn` of cluster files (python/thalweg/systems/vcsn/cluster.py).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include "cluster/assembly.hpp"
#include "memory/dram_values.hpp"
#include "vcsn/ethernet_port.hpp"
#include "vcsn/node.hpp"
#include "vcsn/serial_port.hpp"

namespace thalweg::vcsn {

/// `frames` must outlive the nodes.
inline void add_kinds(Kinds& known, Tick ticks_per_second, ethernet::Frames& frames) {
  const auto hertz = [ticks_per_second](const Domain& domain) {
    return static_cast<double>(ticks_per_second) / static_cast<double>(domain.clock.period);
  };
  const auto cycles = [hertz](const Values& values, const char* name, const Domain& domain, double unit = 1e-9) {
    return static_cast<Tick>(std::llround(values.get<double>(name) * unit * hertz(domain)));
  };
  const auto session_of = [cycles](const Values& values, const Domain& line) {
    if (!values.has("resend_us")) return SessionConfig{};  // serial links are lossless
    const auto room = values.get<unsigned>("receive_words") / values.get<unsigned>("frame_words");
    return SessionConfig{.window = std::bit_floor(std::min({kMostWindow, room, values.get<unsigned>("send_frames")})),
                         .resend = std::max<Tick>(4, cycles(values, "resend_us", line, 1e-6)),
                         .reorder = values.get<unsigned>("reorder_frames"),
                         .tries = values.get<unsigned>("tries")};
  };
  const auto config_of = [hertz, cycles, session_of](const Values& values, const Domain& shell, const Domain& line) {
    return NodeConfig{.ports = values.get<unsigned>("ports"),
                      .virtual_ports = values.has("virtual_ports") ? values.get<unsigned>("virtual_ports") : 1,
                      .dmas = values.get<unsigned>("dmas"),
                      .kernels = values.get<unsigned>("kernels"),
                      .sequencers = values.has("sequencers") ? values.get<unsigned>("sequencers") : 0,
                      .banks = values.get<unsigned>("banks"),
                      .bank_bytes = values.get<std::uint64_t>("bank_bytes"),
                      .bank = {.latency = std::max<Tick>(1, cycles(values, "bank_ns", shell)),
                               .dram = dram_of(values, values.get<double>("bank_gb"), hertz(shell))},
                      .send_words = values.get<unsigned>("send_words"),
                      .receive_words = values.get<unsigned>("receive_words"),
                      .frame_words = values.get<unsigned>("frame_words"),
                      .frames = values.get<unsigned>("send_frames"),
                      .session = session_of(values, line),
                      .line_cycles = cycles(values, "line_ns", line)};
  };
  known.nodes["vcsn"] = [config_of, &frames](const Values& values, unsigned number, const Clocks& clocks) {
    Domain& shell = *clocks.at(values.get<std::string>("shell_clock"));
    Domain& mac = *clocks.at(values.get<std::string>("line_clock"));
    const NodeConfig config = config_of(values, shell, mac);
    return std::make_unique<Node>(config, number, shell, mac, [&](unsigned port) {
      return std::make_unique<EthernetPort>(config, number, port, shell, mac, frames);
    });
  };
  known.nodes["dcn"] = [config_of, &frames](const Values& values, unsigned number, const Clocks& clocks) {
    Domain& shell = *clocks.at(values.get<std::string>("shell_clock"));
    Domain& link = *clocks.at(values.get<std::string>("line_clock"));
    const NodeConfig config = config_of(values, shell, link);
    return std::make_unique<Node>(config, number, shell, link,
                                  [&](unsigned) { return std::make_unique<SerialPort>(config, shell, link, frames); });
  };
  known.links["dcn"] = [cycles](const Values& values, LinkPort& a, LinkPort& b, const Clocks&) {
    auto &one = *dynamic_cast<SerialEnd&>(a).port, &other = *dynamic_cast<SerialEnd&>(b).port;
    return std::make_unique<SerialLink>(one, other, std::max<Tick>(1, cycles(values, "latency_ns", one.domain)));
  };
}

}  // namespace thalweg::vcsn
