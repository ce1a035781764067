// SPDX-License-Identifier: Apache-2.0
// Reads the timing of a DRAM channel from a cluster file: dram_trcd_ns and so on.
#pragma once

#include <string>

#include "cluster/values.hpp"
#include "memory/dram.hpp"

namespace thalweg {

/// Returns the timing in cycles of a clock of `hertz`; `gb_s`: rate of the data bus. Throws std::invalid_argument if a
/// value is missing.
[[nodiscard]] inline DramTiming dram_of(const Values& values, double gb_s, double hertz) {
  const auto number = [&](const std::string& name) { return values.get<unsigned>("dram_" + name); };
  const auto cycles = [&](const std::string& name) {
    return values.get<double>("dram_" + name + "_ns") * 1e-9 * hertz;
  };
  return {.bytes_per_cycle = gb_s * 1e9 / hertz,
          .burst_bytes = number("burst_bytes"),
          .row_bytes = number("row_bytes"),
          .groups = number("groups"),
          .banks = number("banks"),
          .trcd = cycles("trcd"),
          .trp = cycles("trp"),
          .tras = cycles("tras"),
          .trtp = cycles("trtp"),
          .twr = cycles("twr"),
          .tcl = cycles("tcl"),
          .tcwl = cycles("tcwl"),
          .twtr = cycles("twtr"),
          .trtw = cycles("trtw"),
          .tccd_l = cycles("tccd_l"),
          .trrd = cycles("trrd"),
          .tfaw = cycles("tfaw"),
          .trefi = cycles("trefi"),
          .trfc = cycles("trfc"),
          .starvation = number("starvation")};
}

}  // namespace thalweg
