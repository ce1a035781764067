// SPDX-License-Identifier: Apache-2.0
// The node kind `accl` of a cluster file (python/thalweg/systems/accl/cluster.py).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "accl/node.hpp"
#include "cluster/assembly.hpp"
#include "ethernet/kinds.hpp"

namespace thalweg::accl {

/// IP address of a node in 10.0.0.0/8.
[[nodiscard]] constexpr std::uint32_t ip_of(unsigned node) {
  return 0x0A00'0001U + node;
}

/// `values` has three numbers per operation: the scenario, and the cycles of command and result.
[[nodiscard]] inline std::map<Scenario, Handling> processor_of(const std::vector<std::int64_t>& values) {
  std::map<Scenario, Handling> found;
  for (std::size_t i = 0; i + 2 < values.size(); i += 3)
    found[static_cast<Scenario>(values[i])] = {.command = values[i + 1], .result = values[i + 2]};
  return found;
}
/// `hertz`: frequency of the line's clock.
[[nodiscard]] inline ethernet::TcpConfig tcp_of(const Values& values, double hertz) {
  const auto resend = std::max<Tick>(4, std::llround(values.get<double>("resend_us") * 1e-6 * hertz));
  return {.segment = values.get<unsigned>("segment_bytes"),
          .window = values.get<std::uint64_t>("window_bytes"),
          .scaling = values.get<bool>("window_scaling"),
          .resend = resend,
          .most = std::max<Tick>(resend, std::llround(60 * hertz)),  // RFC 6298, section 2.5
          .delay = resend / 4,
          .tries = values.get<unsigned>("tries")};
}

/// `frames` must outlive the nodes.
inline void add_kinds(Kinds& known, Tick ticks_per_second, ethernet::Frames& frames) {
  const auto hertz = [ticks_per_second](const Domain& domain) {
    return static_cast<double>(ticks_per_second) / static_cast<double>(domain.clock.period);
  };
  known.nodes["accl"] = [hertz, &frames](const Values& values, unsigned number, const Clocks& clocks) {
    Domain& engine = *clocks.at(values.get<std::string>("engine_clock"));
    Domain& line = *clocks.at(values.get<std::string>("line_clock"));
    const auto cycles = [&](const char* name, double unit, const Domain& of) {
      return values.get<double>(name) * unit * hertz(of);
    };
    const NodeConfig config{.cycles_per_us = static_cast<Tick>(std::llround(hertz(engine) * 1e-6)),
                            .memory_bytes_per_cycle = values.get<double>("memory_gb") * 1e9 / hertz(engine),
                            .memory_latency = cycles("memory_ns", 1e-9, engine),
                            .host_bytes_per_cycle = values.get<double>("host_gb") * 1e9 / hertz(engine),
                            .host_latency = cycles("host_ns", 1e-9, engine),
                            .memory_limit = values.get<std::uint64_t>("memory_bytes"),
                            .arithmetic = values.get<bool>("arithmetic"),
                            .compression = values.get<bool>("compression"),
                            .reliable = values.get<std::string>("transport") != "udp",
                            .rendezvous = values.get<std::string>("transport") == "rdma",
                            .invocation = std::llround(cycles("invocation_us", 1e-6, engine)),
                            .processor = processor_of(values.get<std::vector<std::int64_t>>("processor")),
                            .contexts = values.get<unsigned>("calls"),
                            .packet_bytes = values.get<std::uint32_t>("packet_bytes"),
                            .port_latency = std::max<Tick>(1, std::llround(cycles("port_ns", 1e-9, line))),
                            .fifo_bytes = values.get<std::uint64_t>("fifo_bytes"),
                            .send_bytes = values.get<std::uint64_t>("send_bytes"),
                            .tcp = values.get<std::string>("transport") == "tcp"
                                       ? std::optional(tcp_of(values, hertz(line)))
                                       : std::nullopt,
                            .session = {.window = ethernet::kMostWindow,
                                        .resend = std::max<Tick>(4, std::llround(cycles("resend_us", 1e-6, line))),
                                        .reorder = values.get<unsigned>("reorder_packets"),
                                        .tries = values.get<unsigned>("tries")}};
    const ethernet::UdpEnd own{ethernet::address_of(number), ip_of(number), values.get<std::uint16_t>("udp_port")};
    return std::make_unique<Node>(config, own, number, engine, line, frames);
  };
  known.nodes["mpi-server"] = known.nodes["accl"];  // its adapter is an ACCL engine, too
}

}  // namespace thalweg::accl
