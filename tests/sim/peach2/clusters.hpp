// SPDX-License-Identifier: Apache-2.0
// Clusters of PEACH2 as a cluster file would describe them.
#pragma once

#include "../../dram.hpp"
#include "cluster/assembly.hpp"

namespace thalweg::peach2 {

/// One ring, or two rings joined node by node.
inline Description rings_of(unsigned count, unsigned nodes, Tick bus_phase = 0) {
  Description description;
  description.ticks_per_second = 750'000'000;
  description.clocks = {{"net", {.period = 3}}, {"bus", {.period = 5, .phase = bus_phase}}};
  Values::Table node{{"clock", std::string("net")},
                     {"bus_clock", std::string("bus")},
                     {"windows", std::int64_t{16}},
                     {"packets", std::int64_t{32}},
                     {"units", std::int64_t{256}},
                     {"reads", std::int64_t{16}},
                     {"bus_reads", std::int64_t{4}},
                     {"ram_bits", std::int64_t{11}},
                     {"contexts", std::int64_t{4}},
                     {"sums", std::int64_t{16}},
                     {"records", std::int64_t{8}},
                     {"latency", std::int64_t{8}},
                     {"starts", std::int64_t{8}},
                     {"host_link_ns", 140.0},
                     {"completion_timeout_us", 50000.0},
                     {"gen", std::int64_t{2}},
                     {"lanes", std::int64_t{8}},
                     {"south_lanes", std::int64_t{16}},
                     {"memory_ns", 100.0},
                     {"processor_read_ns", 267.0},
                     {"processor_read_gb", 8.0},
                     {"gpu_read_ns", 267.0},
                     {"gpu_read_gb", 2.8},
                     {"store_ns", 134.0},
                     {"landing_ns", 134.0},
                     {"poll_ns", 12.0},
                     {"copy_start_ns", 10000.0},
                     {"copy_gb", 6.0},
                     {"memory_gb", 8.528},
                     {"memory_commands", std::int64_t{8}},
                     {"gpu_landing_ns", 350.0},
                     {"pairs", std::vector<std::string>{"sum float32"}}};
  node.merge(ddr3_1066());
  for (unsigned n = 0; n < count * nodes; ++n)
    description.nodes.push_back({"peach2", Values("node " + std::to_string(n), node)});
  const auto join = [&](unsigned a, unsigned port_a, unsigned b, unsigned port_b) {
    const Values cable("link " + std::to_string(description.links.size()), {{"latency_ns", 140.0}});
    description.links.push_back({"pcie", cable, a, port_a, b, port_b});
  };
  for (unsigned ring = 0; ring < count; ++ring)
    for (unsigned i = 0; i < nodes && nodes > 1; ++i) join(ring * nodes + i, 0, ring * nodes + (i + 1) % nodes, 1);
  for (unsigned i = 0; i < nodes && count == 2; ++i) join(i, 2, nodes + i, 2);
  return description;
}

}  // namespace thalweg::peach2
