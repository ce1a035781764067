// SPDX-License-Identifier: Apache-2.0
// Written by `thalweg cluster header vcsn-d5005`.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cluster/assembly.hpp"

// clang-format off
namespace clusters {

inline thalweg::Description vcsn_d5005() {
  using Table = thalweg::Values::Table;
  thalweg::Description made;
  made.ticks_per_second = 41250000000;
  made.clocks = {
      {"shell", {.period = 165, .phase = 0}},
      {"mac", {.period = 128, .phase = 0}},
  };
  const auto nodes = [&](unsigned count, const std::string& kind, const std::string& name, const Table& values) {
    for (unsigned k = 0; k < count; ++k)
      made.nodes.push_back({kind, {"node " + std::to_string(made.nodes.size()) + " (" + name + ")", values}});
  };
  const auto links = [&](const std::string& kind, const std::string& name, const Table& values,
                         const std::vector<std::array<unsigned, 4>>& all) {
    for (const auto& [a, port_a, b, port_b] : all)
      made.links.push_back({kind, {"link " + std::to_string(made.links.size()) + " (" + name + ")", values},
                            a, port_a, b, port_b});
  };
  nodes(16, "vcsn", "fpga", {{"dram_burst_bytes", std::int64_t{64}}, {"dram_row_bytes", std::int64_t{8192}}, {"dram_groups", std::int64_t{4}}, {"dram_banks", std::int64_t{4}}, {"dram_trcd_ns", 14.16}, {"dram_trp_ns", 14.16}, {"dram_tras_ns", std::int64_t{32}}, {"dram_trtp_ns", 7.5}, {"dram_twr_ns", std::int64_t{15}}, {"dram_tcl_ns", 14.16}, {"dram_tcwl_ns", std::int64_t{10}}, {"dram_twtr_ns", 2.5}, {"dram_trtw_ns", 1.67}, {"dram_tccd_l_ns", std::int64_t{5}}, {"dram_trrd_ns", 3.33}, {"dram_tfaw_ns", std::int64_t{21}}, {"dram_trefi_ns", std::int64_t{7800}}, {"dram_trfc_ns", std::int64_t{350}}, {"dram_starvation", std::int64_t{10}}, {"shell_clock", std::string("shell")}, {"line_clock", std::string("mac")}, {"ports", std::int64_t{2}}, {"dmas", std::int64_t{2}}, {"kernels", std::int64_t{1}}, {"banks", std::int64_t{4}}, {"bank_bytes", std::int64_t{8589934592}}, {"bank_gb", 19.2}, {"bank_ns", 102.0}, {"send_words", std::int64_t{512}}, {"send_frames", std::int64_t{32}}, {"receive_words", std::int64_t{2560}}, {"line_ns", 453.5}, {"frame_words", std::int64_t{143}}, {"virtual_ports", std::int64_t{2}}, {"sequencers", std::int64_t{0}}, {"resend_us", std::int64_t{20}}, {"reorder_frames", std::int64_t{3}}, {"tries", std::int64_t{16}}});
  nodes(1, "ethernet-switch", "switch", {{"clock", std::string("mac")}, {"ports", std::int64_t{16}}, {"latency_ns", 300.0}, {"forwarding", std::string("cut-through")}, {"buffer_bytes", std::int64_t{16777216}}, {"buffer", std::string("shared")}, {"addresses", std::string("given")}, {"flood_ports", std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}, {"routes", std::vector<std::int64_t>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15}}});
  nodes(1, "ethernet-switch", "switch", {{"clock", std::string("mac")}, {"ports", std::int64_t{16}}, {"latency_ns", 300.0}, {"forwarding", std::string("cut-through")}, {"buffer_bytes", std::int64_t{16777216}}, {"buffer", std::string("shared")}, {"addresses", std::string("given")}, {"flood_ports", std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}, {"routes", std::vector<std::int64_t>{65536, 0, 65537, 1, 65538, 2, 65539, 3, 65540, 4, 65541, 5, 65542, 6, 65543, 7, 65544, 8, 65545, 9, 65546, 10, 65547, 11, 65548, 12, 65549, 13, 65550, 14, 65551, 15}}});
  nodes(8, "vcsn-server", "server", {{"cards", std::int64_t{2}}, {"circuit_us", 15.5}, {"crossbar_us", 1.35}, {"start_us", 1.35}, {"interrupt_us", 0.0}, {"barrier_us", 5.84}, {"barrier_round_us", 33.4}, {"late_us", 52.0}, {"very_late_us", 210.0}, {"long_us", 500.0}, {"network_gbit_s", 100.0}});
  links("ethernet", "cable", {{"gbit_s", 100.0}, {"latency_ns", 15.0}, {"bit_error_rate", std::int64_t{0}}, {"frames_lost", std::int64_t{0}}, {"frames_duplicated", std::int64_t{0}}, {"frames_reordered", std::int64_t{0}}, {"seed", std::int64_t{1}}},
        {{0, 0, 16, 0}, {1, 0, 16, 1}, {2, 0, 16, 2}, {3, 0, 16, 3}, {4, 0, 16, 4}, {5, 0, 16, 5},
         {6, 0, 16, 6}, {7, 0, 16, 7}, {8, 0, 16, 8}, {9, 0, 16, 9}, {10, 0, 16, 10}, {11, 0, 16, 11},
         {12, 0, 16, 12}, {13, 0, 16, 13}, {14, 0, 16, 14}, {15, 0, 16, 15}, {0, 1, 17, 0}, {1, 1, 17, 1},
         {2, 1, 17, 2}, {3, 1, 17, 3}, {4, 1, 17, 4}, {5, 1, 17, 5}, {6, 1, 17, 6}, {7, 1, 17, 7},
         {8, 1, 17, 8}, {9, 1, 17, 9}, {10, 1, 17, 10}, {11, 1, 17, 11}, {12, 1, 17, 12}, {13, 1, 17, 13},
         {14, 1, 17, 14}, {15, 1, 17, 15}});
  links("wire", "slot", {{"latency_ns", 150.0}, {"gbit_s", 86.4}},
        {{18, 0, 0, 2}, {18, 1, 1, 2}, {19, 0, 2, 2}, {19, 1, 3, 2}, {20, 0, 4, 2}, {20, 1, 5, 2},
         {21, 0, 6, 2}, {21, 1, 7, 2}, {22, 0, 8, 2}, {22, 1, 9, 2}, {23, 0, 10, 2}, {23, 1, 11, 2},
         {24, 0, 12, 2}, {24, 1, 13, 2}, {25, 0, 14, 2}, {25, 1, 15, 2}});
  return made;
}

}  // namespace clusters
// clang-format on
