// SPDX-License-Identifier: Apache-2.0
// Formats simulated time in microseconds.
#pragma once

#include <array>
#include <cstdio>
#include <string>

#include "core/types.hpp"

namespace thalweg {

/// "2.004 us".
[[nodiscard]] inline std::string in_microseconds(Tick ticks, double ticks_per_second) {
  std::array<char, 48> text;
  std::snprintf(text.data(), text.size(), "%.3f us", static_cast<double>(ticks) * 1e6 / ticks_per_second);
  return text.data();
}

}  // namespace thalweg
