// SPDX-License-Identifier: Apache-2.0
// Lines of ranks as a cluster file would describe them, and their tables.
#pragma once

#include "../../dram.hpp"
#include "smi/driver/fabric.hpp"

namespace thalweg::smi {

struct LineValues {
  unsigned links = 2;  ///< of a rank; the line uses two, to the next rank and to the previous one
  std::int64_t reads = 8, depth = 16, link_buffer = 64;
  double latency_ns = 100, gbit_s = 64;
  std::string protocol = "degree", switching = "packet";
  std::int64_t circuit_packets = 0;
};

/// A cycle is 4 ns, which is one packet of 32 bytes at 64 Gb/s.
inline Description line_of(unsigned ranks, const LineValues& line = {}) {
  Description description;
  description.ticks_per_second = 250'000'000;
  description.clocks = {{"kernel", {}}};
  Values::Table node{{"links", std::int64_t{line.links}},
                     {"clock", std::string("kernel")},
                     {"packet_bytes", std::int64_t{32}},
                     {"reads", line.reads},
                     {"depth", line.depth},
                     {"link_buffer", line.link_buffer},
                     {"latency", std::int64_t{8}},
                     {"tile", std::int64_t{32}},
                     {"children", std::int64_t{15}},
                     {"protocol", line.protocol},
                     {"switching", line.switching},
                     {"circuit_packets", line.circuit_packets},
                     {"arity", std::int64_t{0}},
                     {"any_order", false},
                     {"banks", std::int64_t{4}},
                     {"bank_gb", 16.0},
                     {"bank_ns", 100.0}};
  node.merge(ddr4_2400());
  for (unsigned r = 0; r < ranks; ++r) description.nodes.push_back({"smi", Values("rank " + std::to_string(r), node)});
  for (unsigned r = 0; r + 1 < ranks; ++r)
    description.links.push_back(
        {"serial", Values("link " + std::to_string(r), {{"latency_ns", line.latency_ns}, {"gbit_s", line.gbit_s}}), r,
         line.links - 2, r + 1, line.links - 1});
  return description;
}

inline std::vector<Tables> tables_of(unsigned ranks, unsigned links,
                                     const std::vector<std::vector<EndpointOf>>& endpoints) {
  const auto other = [](unsigned own, unsigned to) { return to < own ? to : to - 1; };
  std::vector<Tables> all(ranks);
  for (unsigned r = 0; r < ranks; ++r) {
    auto& of = all[r];
    of.send.resize(links, std::vector<std::uint8_t>(ranks));
    of.receive.resize(links, std::vector<std::uint8_t>(512));
    for (unsigned l = 0; l < links; ++l) {
      for (unsigned d = 0; d < ranks; ++d) {
        const unsigned way = d > r ? links - 2 : links - 1;
        of.send[l][d] = static_cast<std::uint8_t>(d == r ? 1 : way == l ? 0 : 2 + other(l, way));
      }
      for (unsigned e = 0; e < endpoints[r].size(); ++e)
        for (unsigned control = 0; control < 2; ++control)
          of.receive[l][endpoints[r][e].port * 2 + control] =
              static_cast<std::uint8_t>(e % links == l ? links + 2 * (e / links) + control : 1 + other(l, e % links));
    }
  }
  return all;
}

}  // namespace thalweg::smi
