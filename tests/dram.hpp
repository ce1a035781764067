// SPDX-License-Identifier: Apache-2.0
// Channels of DRAM as cluster files say them; python/thalweg/cluster/dram.py has the sources of the values.
#pragma once

#include <cstdint>

#include "cluster/values.hpp"

namespace thalweg {

/// Four devices of 1 Gbit and 16 bits: the memory of a PEACH2 board.
inline Values::Table ddr3_1066() {
  return {{"dram_burst_bytes", std::int64_t{64}},
          {"dram_row_bytes", std::int64_t{8192}},
          {"dram_groups", std::int64_t{1}},
          {"dram_banks", std::int64_t{8}},
          {"dram_trcd_ns", 13.125},
          {"dram_trp_ns", 13.125},
          {"dram_tras_ns", 37.5},
          {"dram_trtp_ns", 7.5},
          {"dram_twr_ns", 15.0},
          {"dram_tcl_ns", 13.125},
          {"dram_tcwl_ns", 11.25},
          {"dram_twtr_ns", 7.5},
          {"dram_trtw_ns", 3.75},
          {"dram_tccd_l_ns", 7.5},
          {"dram_trrd_ns", 10.0},
          {"dram_tfaw_ns", 50.0},
          {"dram_trefi_ns", 7800.0},
          {"dram_trfc_ns", 110.0},
          {"dram_starvation", std::int64_t{10}}};
}

/// Eight devices of 8 Gbit and 8 bits: a bank of an SMI board.
inline Values::Table ddr4_2400() {
  return {{"dram_burst_bytes", std::int64_t{64}},
          {"dram_row_bytes", std::int64_t{8192}},
          {"dram_groups", std::int64_t{4}},
          {"dram_banks", std::int64_t{4}},
          {"dram_trcd_ns", 14.16},
          {"dram_trp_ns", 14.16},
          {"dram_tras_ns", 32.0},
          {"dram_trtp_ns", 7.5},
          {"dram_twr_ns", 15.0},
          {"dram_tcl_ns", 14.16},
          {"dram_tcwl_ns", 10.0},
          {"dram_twtr_ns", 2.5},
          {"dram_trtw_ns", 1.67},
          {"dram_tccd_l_ns", 5.0},
          {"dram_trrd_ns", 3.33},
          {"dram_tfaw_ns", 21.0},
          {"dram_trefi_ns", 7800.0},
          {"dram_trfc_ns", 350.0},
          {"dram_starvation", std::int64_t{10}}};
}

}  // namespace thalweg
